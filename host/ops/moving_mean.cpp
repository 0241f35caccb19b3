// Moving means: arguments -> plan -> launch, or two for each slice of the rows where windows are long.
#include "ops/grids.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/moving_mean_parts.hpp"
#include "plan/sizes.hpp"
#include "runtime/scratch.hpp"

#include <smem/error.hpp>
#include <smem/moving_mean.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace smem {

namespace {

constexpr const char* kOperation = "moving_mean";

runtime::ProblemKey key_of(const MovingMeanProblem& p, const PlanOverrides& fixed, std::uint64_t phase) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return ops::make_key(ops::PlanMaker::moving_mean,
                       {number(p.in) | number(p.out) << 8 | phase << 16 |
                            ops::variant_number(fixed.variant, moving_mean_variants()) << 24,
                        p.width, p.rows, p.window, 0, 0, 0},
                       fixed);
}

cl::Event launch(const Context& context, const MovingMeanProblem& problem, const PlanOverrides& fixed,
                 const Grid& in, const Grid& out, MeanEnds ends, std::span<const cl::Event> wait_for) {
  runtime::Runtime& runtime = context.runtime();
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto run = [&](std::uint64_t phase, std::size_t first, std::size_t rows, cl_mem scratch,
                       std::span<const cl::Event> ready, const auto& maker) {
    return runtime.run(key_of(problem, fixed, phase), maker, ready, in.buffer, number(in.offset),
                       number(in.pitch), number(in.plane), number(in.batch_stride), out.buffer,
                       number(out.offset), number(out.pitch), number(out.plane), number(out.batch_stride),
                       number(in.size.width), number(in.size.height), number(in.size.depth), number(first),
                       number(rows), number(problem.window),
                       static_cast<cl_uint>(ends == MeanEnds::zero ? 1 : 0), scratch);
  };
  const auto make_plan = [&](const Device& device) { return plan_moving_mean(device, problem, fixed); };
  const bool in_blocks = runtime.memo().get(key_of(problem, fixed, 1), [&] {
    return plan::moving_mean_choice(context.device(), problem, fixed) == "blocks";
  });
  if (!in_blocks) return run(1, 0, problem.rows, out.buffer, wait_for, make_plan);
  const plan::MovingMeanSlices slices = plan::moving_mean_slices(problem);
  runtime::Lease scratch(runtime.scratch(), slices.scratch_bytes);
  const cl_mem memory = scratch.memory_or(out.buffer);
  cl::Event event;
  for (std::size_t first = 0; first < problem.rows; first += slices.rows) {
    const std::size_t rows = std::min(slices.rows, problem.rows - first);
    const cl::Event before = event;
    const std::span<const cl::Event> ready = first == 0 ? wait_for : std::span<const cl::Event>(&before, 1);
    const cl::Event sums = run(0, first, rows, memory, ready, [&](const Device& device) {
      return plan_moving_mean_first(device, problem, fixed).value();
    });
    scratch.used_until(sums);
    event = run(1, first, rows, memory, std::span<const cl::Event>(&sums, 1), make_plan);
    scratch.used_until(event);
  }
  return event;
}

}  // namespace

cl::Event moving_mean(const Context& context, const Grid& in, const Grid& out, std::size_t window,
                      MeanEnds ends, const CallOptions& options) {
  for (const auto& [name, grid] : {std::pair{"in", &in}, {"out", &out}}) {
    if (grid->channels == 1) continue;
    throw Error({.operation = kOperation,
                 .argument = name,
                 .expected = "one channel",
                 .got = std::to_string(grid->channels)});
  }
  ops::check_same_grid(kOperation, in, out);
  plan::require_known(kOperation, "ends", ends, MeanEnds::zero);
  const MovingMeanProblem problem{in.type, out.type, in.size.width,
                                  plan::size_product(in.size.height, in.size.depth, in.batch), window};
  plan::check_moving_mean(context.device(), problem);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_moving_mean(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed) { return key_of(problem, fixed, 1); };
  runtime::Runtime& runtime = context.runtime();
  const PlanOverrides asked = ops::checked_choice(runtime, kOperation, options, key, plan_here);
  if (ops::is_empty(in)) return runtime.marker(options.wait_for);
  const ops::Memory in_memory = ops::check_grid(context, kOperation, "in", in, false);
  const ops::Memory out_memory = ops::check_grid(context, kOperation, "out", out, true);
  ops::check_apart(kOperation, in, in_memory, out, out_memory);

  return ops::launch_tuned(runtime, kOperation, problem, options, asked, key, plan_here,
                           [&](const PlanOverrides& fixed) {
                             return launch(context, problem, fixed, in, out, ends, options.wait_for);
                           });
}

}  // namespace smem
