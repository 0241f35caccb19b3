// smem bench rates: the two rates of the roofline, measured anew and kept.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>

namespace smem::cli {

void add_bench_rates(Command bench) {
  const Command command = bench.add_command(
      "rates", "Copy bandwidth and fp32 rate of the device: measured anew, and kept for the roofline");
  auto device = std::make_shared<std::string>();
  add_device_option(command, *device);
  command.on_run([device] {
    const Context context({.device = *device});
    const Rates rates = measure_rates(context, true);
    fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
               context.device().driver);
    fmt::print("copy  {:>10.1f} GB/s, read and written\nfp32  {:>10.1f} GFLOP/s\n", rates.copy * 1e-9,
               rates.fp32 * 1e-9);
    fmt::print("balance {:>8.1f} operations a byte: below it memory bounds a kernel, above it arithmetic\n",
               rates.fp32 / rates.copy);
  });
}

}  // namespace smem::cli
