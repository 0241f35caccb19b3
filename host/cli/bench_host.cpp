// smem bench host: what a call of smem costs the host, beside the bare OpenCL calls.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "measure/host_times.hpp"
#include "measure/measure.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

constexpr double kGoal = 1.5e-6;  // seconds that a call may cost more than the bare one
constexpr std::size_t kBatches = 100;

/// The host's time of a call of every operation, at its small samples; each call ends before
/// the next begins.
void print_operations(const Context& context, std::size_t calls) {
  Table table({{"operation", 20, Column::Kind::title},
               {"host time of a call", 54, Column::Kind::text},
               {"median us", 10},
               {"10-90 % us", 14}});
  fmt::print("\n{} calls each, with a wait after each\n", calls);
  table.print_head();
  for (const operations::Operation& operation : operations::all()) {
    for (const auto& [one, goal] : samples_of(operation, context.device(), operations::Scale::small)) {
      const CaseData data(one);
      const measure::BufferPair pair{make_buffer(context, data.bytes()), make_buffer(context, data.bytes())};
      data.write(context, pair);
      std::vector<double> times;
      for (std::size_t i = 0; i <= calls; ++i) {
        const auto start = measure::Clock::now();
        one.call(context, data.arrays(pair), {});
        const double seconds = measure::seconds_since(start);
        context.finish();
        if (i > 0) times.push_back(seconds);  // the first one compiles
      }
      const measure::Statistics time = measure::statistics(times);
      table.print_row({std::string(operation.name), one.text, fmt::format("{:.2f}", time.median * 1e6),
                       fmt::format("{:.2f}-{:.2f}", time.low * 1e6, time.high * 1e6)});
    }
  }
}

int run(const std::string& device, std::size_t batches, bool all) {
  const Context context({.device = device});
  const measure::HostTimes times = measure::host_times(context, batches);
  print_fitted(device_text(context.device()) + "\n");
  print_fitted(fmt::format(
      "{} calls of each kind, in turns of {} with a wait after each turn; {} x {} float, variant {}\n",
      times.calls, measure::kHostBatch, measure::kHostEdge, measure::kHostEdge, times.variant));
  fmt::print("{:<54}{:>10}{:>14}\n", "host time of a call", "median us", "10-90 % us");
  const auto row = [](const char* what, const measure::Statistics& s) {
    fmt::print("{:<54}{:>10.2f}{:>14}\n", what, s.median * 1e6,
               fmt::format("{:.2f}-{:.2f}", s.low * 1e6, s.high * 1e6));
  };
  row("smem::transpose", times.smem);
  row("11 clSetKernelArg, clEnqueueNDRangeKernel with an event", times.with_event);
  row("the same without an event", times.bare);
  const double more = times.smem.median - times.with_event.median;
  fmt::print("smem costs {:+.2f} us more than the bare calls (goal: at most {:.1f}): {}\n", more * 1e6,
             kGoal * 1e6, more <= kGoal ? "PASS" : "MISS");
  if (all) print_operations(context, batches);
  return more <= kGoal ? kGood : kFailure;
}

}  // namespace

void add_bench_host(CLI::App* bench, Measurements& measurements) {
  CLI::App* const command =
      bench->add_subcommand("host", "Host time of a call, beside that of bare OpenCL calls");
  struct Options {
    std::string device;
    std::size_t batches = kBatches;
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  add_device_option(command, options->device);
  command
      ->add_option("--batches", options->batches,
                   fmt::format("Number of batches of {} calls", measure::kHostBatch))
      ->capture_default_str()
      ->check(count_validator());
  command->add_flag("--all", options->all, "Also measure calls of every operation");
  command->callback([options, &measurements] {
    measurements.emplace_back([options] { return run(options->device, options->batches, options->all); });
  });
}

}  // namespace smem::cli
