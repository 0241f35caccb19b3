// smem: see, measure and compare the library on one's own device.
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"

#include <smem/smem.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace {

/// The exit code, or failure when not all that was printed has arrived, as on a full disk.
int with_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  fmt::print(stderr, "smem: cannot write the output: {}\n", std::strerror(errno));
  return exit_code == smem::cli::kGood ? smem::cli::kFailure : exit_code;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a throw before the try block is a fault of this program
int main(int argc, char** argv) {
  using namespace smem::cli;
  end_on_interrupt();
  int exit_code = kGood;
  CLI::App app("OpenCL kernels around local memory: what they would do on a device, and how fast they are.",
               "smem");
  CLI::App* const root = &app;
  root->set_version_flag("--version", "smem " SMEM_VERSION);
  root->require_subcommand(1, 1);
  root->footer(
      "Exit codes: 0 good, 1 failure, 2 usage, 130 interrupted. Without --device: SMEM_DEVICE, else the best "
      "GPU, else a CPU.");
  add_devices(root, exit_code);
  add_explain(root);
  add_ladder(root, exit_code);
  add_roofline(root, exit_code);
  add_bench(root, exit_code);
  add_selftest(root, exit_code);
  add_tune(root, exit_code);
  add_cache(root, exit_code);
  add_completion(root);
  add_man(root);

  // Benchmarks compare what smem ships, whatever was tuned here. Variables are read by contexts, which open
  // later.
  for (const char* name : {"bench", "ladder", "roofline"})
    root->get_subcommand(name)->preparse_callback([](std::size_t) { ::setenv("SMEM_TUNING", "0", 1); });

  recorded().command = "smem";
  for (int i = 1; i < argc; ++i)
    recorded().command.append(" ").append(argv[i]);

  try {
    if (argc > 1 && std::strcmp(argv[1], "--complete") == 0)
      return complete(root, std::vector<std::string>(argv + 2, argv + argc));
    return with_output(parse(app, argc, argv) ? exit_code : kUsage);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{} {}\n", painted(stderr, Paint::red, "smem:"), error.what());
    return kFailure;
  }
}
