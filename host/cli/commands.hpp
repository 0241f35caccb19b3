/// The subcommands of smem. Each adds itself to the command line, and when it was chosen leaves its exit
/// code.
#pragma once

#include "cli/cli11.hpp"

#include <functional>
#include <string>
#include <vector>

namespace smem::cli {

/// 2 is left to the command line's own errors. An interrupt ends with 130.
enum ExitCode { kGood = 0, kFailure = 1, kUsage = 2 };

void add_devices(CLI::App* root, int& exit_code);
void add_explain(CLI::App* root);
void add_ladder(CLI::App* root, int& exit_code);
void add_roofline(CLI::App* root, int& exit_code);
void add_bench(CLI::App* root, int& exit_code);
/// What the subcommands of bench have yet to measure, in their order: each checks its own words first, so
/// that nothing is measured where one of them is wrong. Each returns its exit code.
using Measurements = std::vector<std::function<int()>>;
void add_bench_operations(CLI::App* bench, Measurements& measurements);
void add_bench_banks(CLI::App* bench, Measurements& measurements);
void add_bench_host(CLI::App* bench, Measurements& measurements);
void add_bench_first_call(CLI::App* bench, Measurements& measurements);
void add_selftest(CLI::App* root, int& exit_code);
void add_tune(CLI::App* root, int& exit_code);
void add_cache(CLI::App* root, int& exit_code);
/// How help is printed; before commands are added, which take it from the one above.
void set_help(CLI::App& app);
/// Parses, and runs what was chosen; without any argument prints the help. \returns false after an error of
/// usage, which was printed in a line.
bool parse(CLI::App& app, int argc, char** argv);
/// Calls operations (of none: all) on little data, with the plans' own choices, so that their programs are
/// built and kept. Prints how many were, and the time. \returns the exit code.
int warm_cache(const std::string& device, const std::vector<std::string>& operations);
/// Prints what the last of the words after "smem" can become, a line each with its description.
int complete(CLI::App* root, std::vector<std::string> words);
/// These two describe the whole command line, so they are added last.
void add_completion(CLI::App* root);
void add_man(CLI::App* root);

}  // namespace smem::cli
