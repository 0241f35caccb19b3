// smem: see, measure and compare the library on one's own device.
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
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
  CLI::App app("OpenCL kernels around local memory: what they would do on a device, and how fast they are.",
               "smem");
  app.set_version_flag("--version", "smem " SMEM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 good, 1 failure, 2 usage, 130 interrupted. Without --device: SMEM_DEVICE, else the best "
      "GPU, else a CPU.");
  add_devices(app, exit_code);
  add_explain(app, exit_code);
  add_ladder(app, exit_code);
  add_roofline(app, exit_code);
  add_bench(app, exit_code);
  add_selftest(app, exit_code);
  add_tune(app, exit_code);
  add_cache(app, exit_code);
  add_completion(app);
  add_man(app);

  // Benchmarks compare what smem ships, whatever was tuned here. Variables are read by contexts, which open
  // later.
  for (const char* name : {"bench", "ladder", "roofline"})
    app.get_subcommand(name)->preparse_callback([](std::size_t) { ::setenv("SMEM_TUNING", "0", 1); });

  try {
    app.parse(argc, argv);
    return with_output(exit_code);
  } catch (const CLI::ParseError& error) {
    return with_output(app.exit(error) == 0 ? kGood : kUsage);  // --help and --version end here too
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{} {}\n", painted(stderr, Paint::red, "smem:"), error.what());
    return kFailure;
  }
}
