// smem: see, measure and compare the library on one's own device.
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"

#include <smem/smem.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

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
  const Parser parser(
      "smem", SMEM_VERSION,
      "OpenCL kernels around local memory: what they would do on a device, and how fast they are.");
  const Command root = parser.root();
  root.require_commands(1, 1);
  root.footer(
      "Exit codes: 0 good, 1 failure, 2 usage, 130 interrupted. Without --device: SMEM_DEVICE, else the best "
      "GPU, else a CPU.");
  add_devices(root, exit_code);
  add_explain(root, exit_code);
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
    root.command(name).on_chosen([] { ::setenv("SMEM_TUNING", "0", 1); });

  recorded().command = "smem";
  for (int i = 1; i < argc; ++i)
    recorded().command.append(" ").append(argv[i]);

  try {
    return with_output(parser.run(argc, argv) ? exit_code : kUsage);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{} {}\n", painted(stderr, Paint::red, "smem:"), error.what());
    return kFailure;
  }
}
