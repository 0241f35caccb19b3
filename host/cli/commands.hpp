/// The subcommands of smem. Each adds itself to the command line, and when it was chosen leaves its exit
/// code.
#pragma once

#include <CLI/CLI.hpp>

namespace smem::cli {

/// 2 is left to the command line's own errors. An interrupt ends with 130.
enum ExitCode { kGood = 0, kFailure = 1, kUsage = 2 };

void add_devices(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_ladder(CLI::App& app, int& exit_code);
void add_roofline(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_bench_transpose(CLI::App& bench, int& exit_code);
void add_bench_banks(CLI::App& bench, int& exit_code);
void add_bench_rates(CLI::App& bench);
void add_bench_reduce(CLI::App& bench, int& exit_code);
void add_bench_histogram(CLI::App& bench, int& exit_code);
void add_bench_scan(CLI::App& bench, int& exit_code);
void add_bench_select(CLI::App& bench, int& exit_code);
void add_bench_gemm(CLI::App& bench, int& exit_code);
void add_bench_heat(CLI::App& bench, int& exit_code);
void add_bench_blur(CLI::App& bench, int& exit_code);
void add_bench_pool(CLI::App& bench, int& exit_code);
void add_bench_moving_mean(CLI::App& bench, int& exit_code);
void add_bench_stencil(CLI::App& bench, int& exit_code);
void add_bench_conv2d(CLI::App& bench, int& exit_code);
void add_bench_host(CLI::App& bench, int& exit_code);
void add_bench_first_call(CLI::App& bench, int& exit_code);
void add_selftest(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
/// These two describe the whole command line, so they are added last.
void add_completion(CLI::App& app);
void add_man(CLI::App& app);

}  // namespace smem::cli
