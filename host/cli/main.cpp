// smem: see, measure and compare the library on one's own device.
#include "cli/commands.hpp"

#include <smem/smem.hpp>

#include <fmt/core.h>

#include <exception>

// NOLINTNEXTLINE(bugprone-exception-escape): a throw before the try block is a fault of this program
int main(int argc, char** argv) {
  using namespace smem::cli;
  int exit_code = kGood;
  CLI::App app("OpenCL kernels around local memory: what they would do on a device, and how fast they are.",
               "smem");
  app.set_version_flag("--version", "smem " SMEM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 good, 1 failure, 2 usage. Without --device: SMEM_DEVICE, else the best GPU, else a "
      "CPU.");
  add_devices(app, exit_code);
  add_explain(app, exit_code);
  CLI::App* bench = app.add_subcommand("bench", "Measure operations, calls and first calls");
  bench->require_subcommand(1);
  add_bench_transpose(*bench, exit_code);
  add_bench_banks(*bench, exit_code);
  add_bench_rates(*bench, exit_code);
  add_bench_reduce(*bench, exit_code);
  add_bench_histogram(*bench, exit_code);
  add_bench_scan(*bench, exit_code);
  add_bench_select(*bench, exit_code);
  add_bench_gemm(*bench, exit_code);
  add_bench_stencil(*bench, exit_code);
  add_bench_host(*bench, exit_code);
  add_bench_first_call(*bench, exit_code);

  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kUsage;  // --help and --version end here too
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "smem: {}\n", error.what());
    return kFailure;
  }
}
