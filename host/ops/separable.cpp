// Separable filters: arguments -> plan -> launch, and for large windows one before it.
#include "ops/filters.hpp"
#include "ops/key.hpp"
#include "plan/pixels.hpp"
#include "plan/separable_parts.hpp"
#include "runtime/scratch.hpp"

#include <smem/error.hpp>
#include <smem/separable.hpp>

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

namespace smem {

namespace {

runtime::ProblemKey key_of(const SeparableProblem& p, const PlanOverrides& fixed, ops::PlanMaker maker) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return ops::make_key(
      maker,
      {number(p.in) | number(p.out) << 8 | number(p.boundary) << 16 | number(p.channels) << 20 |
           number(p.unsharp) << 24 | number(p.half_up) << 25 | number(p.in_alignment) << 32 |
           number(p.out_alignment) << 40 | ops::variant_number(fixed.variant, separable_variants()) << 48,
       p.width, p.height, p.planes, p.row_taps, p.column_taps},
      fixed);
}

/// What stands in a kernel's weights: see cl/separable/arguments.clh.
template <class T>
std::vector<std::byte> encode(const SeparableOptions& options, const ops::SeparableCall& how,
                              std::span<const double> row, std::span<const double> column) {
  std::vector<T> numbers{options.boundary == Boundary::constant ? static_cast<T>(options.value) : T(0),
                         static_cast<T>(how.amount), static_cast<T>(how.threshold), T(0)};
  for (const auto& weights : {row, column}) {
    for (const double weight : weights)
      numbers.push_back(static_cast<T>(weight));
  }
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::size_t checked_origin(const char* operation, const char* argument, std::optional<std::size_t> origin,
                           std::size_t taps) {
  if (!origin) return taps / 2;
  if (*origin < taps) return *origin;
  throw Error({.operation = operation,
               .argument = argument,
               .expected = fmt::format("one of the {} weights", taps),
               .got = fmt::format("number {}", *origin)});
}

}  // namespace

cl::Event ops::run_separable(const Context& context, const Grid& in, const Grid& out,
                             std::span<const double> row_weights, std::span<const double> column_weights,
                             const SeparableOptions& options, const CallOptions& call,
                             const SeparableCall& how) {
  SeparableProblem problem;
  problem.in = in.type;
  problem.out = out.type;
  problem.boundary = options.boundary;
  problem.width = in.size.width;
  problem.height = in.size.height;
  problem.planes = in.size.depth * in.batch;
  problem.channels = in.channels;
  problem.row_taps = row_weights.size();
  problem.column_taps = column_weights.size();
  problem.unsharp = how.unsharp;
  problem.half_up = how.half_up;
  PlanOverrides fixed = overrides_of(how.operation, call);
  plan_separable(context.device(), problem, fixed);  // refuses what cannot be, also of nothing
  const std::size_t row_origin =
      checked_origin(how.operation, "row_origin", options.row_origin, problem.row_taps);
  const std::size_t column_origin =
      checked_origin(how.operation, "column_origin", options.column_origin, problem.column_taps);
  check_same_grid(how.operation, in, out);
  runtime::Runtime& runtime = context.runtime();
  if (is_empty(in)) return runtime.marker(call.wait_for);
  const auto reach = [&](const char* argument, std::size_t taps, std::size_t origin, std::size_t extent) {
    check_reach(how.operation, argument, options.boundary, std::max(origin, taps - 1 - origin), extent);
  };
  reach("row_weights", problem.row_taps, row_origin, in.size.width);
  reach("column_weights", problem.column_taps, column_origin, in.size.height);
  const Memory in_memory = check_grid(context, how.operation, "in", in, false);
  const Memory out_memory = check_grid(context, how.operation, "out", out, true);
  check_apart(how.operation, in, in_memory, out, out_memory);
  problem.in_alignment = row_alignment(in, in_memory);
  problem.out_alignment = row_alignment(out, out_memory);
  fixed = checked_choice(how.operation, call, [&](const PlanOverrides& overrides) {
    return plan_separable(context.device(), problem, overrides);
  });
  const Written cols = written(options.boundary, in.size.width, problem.row_taps, row_origin, in.channels);
  const Written rows = written(options.boundary, in.size.height, problem.column_taps, column_origin);
  if (cols.first >= cols.end || rows.first >= rows.end) return runtime.marker(call.wait_for);

  const plan::SeparableParts parts = plan::separable_parts_of(context.device(), problem, fixed);
  const bool wide = plan::pixel_value(problem.in, problem.out) == Scalar::float64;
  const cl::Buffer weights =
      runtime.constants().get(wide ? encode<double>(options, how, row_weights, column_weights)
                                   : encode<float>(options, how, row_weights, column_weights));
  runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes);
  const cl_mem memory = scratch.memory_or(out.buffer);
  const KernelGrid from(in), to(out);
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const auto run = [&](PlanMaker maker, std::span<const cl::Event> wait_for, const auto& make_plan) {
    return runtime.run(key_of(problem, fixed, maker), make_plan, wait_for, from.buffer, from.offset,
                       from.pitch, from.plane, from.stride, to.buffer, to.offset, to.pitch, to.plane,
                       to.stride, number(problem.row_elements()), number(problem.height),
                       number(in.size.depth), number(problem.planes), cols.first, cols.end, rows.first,
                       rows.end, small(problem.row_taps), small(problem.column_taps), small(row_origin),
                       small(column_origin), weights(), small(parts.band), small(parts.streaming), memory);
  };
  cl::Event first;
  std::span<const cl::Event> wait_for = call.wait_for;
  if (parts.scratch_bytes > 0) {
    first = run(PlanMaker::separable_first, wait_for,
                [&](const Device& device) { return plan_separable_first(device, problem, fixed).value(); });
    scratch.used_until(first);
    wait_for = std::span<const cl::Event>(&first, 1);
  }
  cl::Event event = run(PlanMaker::separable, wait_for,
                        [&](const Device& device) { return plan_separable(device, problem, fixed); });
  if (parts.scratch_bytes > 0) scratch.used_until(event);
  return event;
}

cl::Event separable(const Context& context, const Grid& in, const Grid& out,
                    std::span<const double> row_weights, std::span<const double> column_weights,
                    const SeparableOptions& options, const CallOptions& call) {
  return ops::run_separable(context, in, out, row_weights, column_weights, options, call, {});
}

}  // namespace smem
