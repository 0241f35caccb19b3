/// The subcommands of smem. Each adds itself to the command line, and when it was chosen leaves its exit
/// code.
#pragma once

#include "cli/parser.hpp"

namespace smem::cli {

/// 2 is left to the command line's own errors. An interrupt ends with 130.
enum ExitCode { kGood = 0, kFailure = 1, kUsage = 2 };

void add_devices(Command root, int& exit_code);
void add_explain(Command root, int& exit_code);
void add_ladder(Command root, int& exit_code);
void add_roofline(Command root, int& exit_code);
void add_bench(Command root, int& exit_code);
void add_bench_operations(Command bench, int& exit_code);
void add_explain_operations(Command explain, int& exit_code);
void add_bench_banks(Command bench, int& exit_code);
void add_bench_rates(Command bench);
void add_bench_host(Command bench, int& exit_code);
void add_bench_first_call(Command bench, int& exit_code);
void add_selftest(Command root, int& exit_code);
void add_tune(Command root, int& exit_code);
void add_cache(Command root, int& exit_code);
/// These two describe the whole command line, so they are added last.
void add_completion(Command root);
void add_man(Command root);

}  // namespace smem::cli
