// smem bench host: what a call of smem costs the host, beside the bare OpenCL calls.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "measure/measure.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

constexpr double kGoal = 1.5e-6;    // seconds that a call may cost more than the bare one
constexpr std::size_t kBatch = 64;  // calls between two waits: the queue never grows long
constexpr std::size_t kBatches = 100;
constexpr std::size_t kEdge = 64;  // of the matrix: the kernel ends before the next call

// The arguments of smem's transpose kernels, and about the same work.
constexpr const char* kSource = R"(
kernel void bare(global const uint* in, ulong in_offset, long in_pitch, ulong in_stride, global uint* out,
                 ulong out_offset, long out_pitch, ulong out_stride, ulong rows, ulong cols, ulong batch) {
  for (ulong k = get_global_id(0) + get_global_size(0) * get_global_id(1); k < rows * cols;
       k += get_global_size(0) * get_global_size(1))
    out[out_offset + k % cols * out_pitch + k / cols] = in[in_offset + k / cols * in_pitch + k % cols];
}
)";

/// The host's time of a call of every operation, at its small samples; each call ends before
/// the next begins.
void print_operations(const Context& context, std::size_t calls) {
  Table table({{"operation", 20, Column::Kind::title},
               {"host time of a call", 54, Column::Kind::text},
               {"median us", 10},
               {"10-90 % us", 14}});
  fmt::print("\n{} calls each, with a wait after each\n", calls);
  fmt::print("{}", table.head());
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
      fmt::print("{}",
                 table.row({std::string(operation.name), one.text, fmt::format("{:.2f}", time.median * 1e6),
                            fmt::format("{:.2f}-{:.2f}", time.low * 1e6, time.high * 1e6)}));
      std::fflush(stdout);
    }
  }
}

int run(const std::string& device, std::size_t batches, bool all) {
  const Context context({.device = device});
  const Plan plan = plan_transpose(context.device(), TransposeProblem{4, kEdge, kEdge});
  const cl::Buffer in = make_buffer(context, kEdge * kEdge * 4),
                   out = make_buffer(context, kEdge * kEdge * 4);
  const std::vector<cl_uint> numbers(kEdge * kEdge, 1);
  write_buffer(context, in, numbers.data(), numbers.size() * 4);
  const MatrixView<const cl_uint> from(in, kEdge, kEdge);
  const MatrixView<cl_uint> to(out, kEdge, kEdge);
  const cl::Kernel kernel = measure::plain_kernel(context, kSource, "bare");
  const cl_command_queue queue = context.queue()();

  const auto by_smem = [&] { transpose(context, from, to); };  // the event is released here
  const auto bare = [&](bool with_event) {
    const cl_mem a = in(), b = out();
    const cl_ulong zero = 0, edge = kEdge, area = kEdge * kEdge, one = 1;
    const cl_long pitch = kEdge;
    measure::set_arguments(kernel(), a, zero, pitch, area, b, zero, pitch, area, edge, edge, one);
    cl_event event = nullptr;
    measure::check(clEnqueueNDRangeKernel(queue, kernel(), 3, nullptr, plan.global.data(),
                                          plan.work_group.data(), 0, nullptr, with_event ? &event : nullptr),
                   "clEnqueueNDRangeKernel");
    if (with_event) clReleaseEvent(event);
  };
  std::vector<double> smem_times, event_times, bare_times;
  const auto time_batch = [&](std::vector<double>& times, const auto& call) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const auto start = measure::Clock::now();
      call();
      times.push_back(measure::seconds_since(start));
    }
    context.finish();
  };
  constexpr std::size_t kWarmUp = 5;
  for (std::size_t i = 0; i < batches + kWarmUp; ++i) {
    if (i == kWarmUp) {
      for (auto* times : {&smem_times, &event_times, &bare_times})
        times->clear();
    }
    time_batch(smem_times, by_smem);
    time_batch(event_times, [&] { bare(true); });
    time_batch(bare_times, [&] { bare(false); });
  }

  print_fitted(fmt::format("{} ({}, driver {})\n", context.device().name, context.device().platform,
                           context.device().driver));
  print_fitted(fmt::format(
      "{} calls of each kind, in turns of {} with a wait after each turn; {} x {} float, variant {}\n",
      smem_times.size(), kBatch, kEdge, kEdge, plan.variant));
  fmt::print("{:<54}{:>10}{:>14}\n", "host time of a call", "median us", "10-90 % us");
  const auto row = [](const char* what, const measure::Statistics& s) {
    fmt::print("{:<54}{:>10.2f}{:>14}\n", what, s.median * 1e6,
               fmt::format("{:.2f}-{:.2f}", s.low * 1e6, s.high * 1e6));
  };
  const measure::Statistics smem = measure::statistics(smem_times), event = measure::statistics(event_times);
  row("smem::transpose", smem);
  row("11 clSetKernelArg, clEnqueueNDRangeKernel with an event", event);
  row("the same without an event", measure::statistics(bare_times));
  const double more = smem.median - event.median;
  fmt::print("smem costs {:+.2f} us more than the bare calls (goal: at most {:.1f}): {}\n", more * 1e6,
             kGoal * 1e6, more <= kGoal ? "PASS" : "MISS");
  if (all) print_operations(context, batches);
  return more <= kGoal ? kGood : kFailure;
}

}  // namespace

void add_bench_host(CLI::App* bench, Measurements& measurements, int& exit_code) {
  CLI::App* const command =
      bench->add_subcommand("host", "Host time of a call, beside that of bare OpenCL calls");
  struct Options {
    std::string device;
    std::size_t batches = kBatches;
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  add_device_option(command, options->device);
  command->add_option("--batches", options->batches, fmt::format("Number of batches of {} calls", kBatch))
      ->capture_default_str()
      ->check(count_validator());
  command->add_flag("--all", options->all, "Also measure calls of every operation");
  command->callback([options, &measurements, &exit_code] {
    measurements.emplace_back([options, &exit_code] {
      exit_code = std::max(exit_code, run(options->device, options->batches, options->all));
    });
  });
}

}  // namespace smem::cli
