// Weighted histograms: arguments -> plans -> launches: the greatest weight, the sums, and the results.
#include "formatted.hpp"
#include "ops/bins.hpp"
#include "ops/clear.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "ops/views.hpp"
#include "plan/histogram_parts.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/histogram.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

constexpr const char* kOperation = "histogram_weighted";

[[noreturn]] void refuse(const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

runtime::ProblemKey key_of(const WeightedHistogramProblem& p, const PlanOverrides& fixed,
                           ops::PlanMaker maker) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return ops::make_key(maker,
                       {ops::bins_number(p.counts) | number(p.weights) << 32 | number(p.out) << 40 |
                            ops::variant_number(fixed.variant, histogram_weighted_variants()) << 48,
                        p.counts.bins, p.counts.rows, p.counts.cols, p.counts.batch},
                       fixed);
}

cl::Event launch(const Context& context, const WeightedHistogramProblem& problem, const PlanOverrides& fixed,
                 const Matrix& in, const Matrix& weights, const Vector& out, const ops::BinArguments& bins,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const HistogramProblem& p = problem.counts;
  runtime::Runtime& runtime = context.runtime();
  const plan::WeightedParts parts =
      runtime.memo().get(key_of(problem, fixed, ops::PlanMaker::histogram_weighted),
                         [&] { return plan::weighted_parts(context.device(), problem, fixed.variant); });
  // Three pieces of temporary memory, each a buffer of its own: kernels take them as such.
  const std::size_t marks_bytes = parts.sums_at - parts.marks_at,
                    sums_bytes = parts.scratch_bytes - parts.sums_at;
  runtime::Lease greatest(runtime.scratch(), parts.marks_at), marks(runtime.scratch(), marks_bytes);
  runtime::Lease sums(runtime.scratch(), sums_bytes);
  std::vector<cl::Event> ready(options.wait_for.begin(), options.wait_for.end());
  const auto used_until = [&](const cl::Event& event) {
    for (runtime::Lease* lease : {&greatest, &marks, &sums})
      lease->used_until(event);
  };
  ops::clear(runtime, greatest, parts.marks_at, kOperation, ready);
  ops::clear(runtime, marks, marks_bytes, kOperation, ready);
  ops::clear(runtime, sums, sums_bytes, kOperation, ready);
  const cl_mem exponent = greatest.memory_or(nullptr);
  const auto room = static_cast<cl_uint>(std::bit_width(problem.elements()));
  const runtime::ProblemKey scale_key = key_of(problem, {}, ops::PlanMaker::weight_scale);
  const auto is_scaled = [&] { return plan_weight_scale(context.device(), problem).has_value(); };
  if (problem.elements() > 0 && runtime.memo().get(scale_key, is_scaled)) {
    ready = {runtime.run(
        scale_key, [&](const Device& device) { return plan_weight_scale(device, problem).value(); }, ready,
        weights.buffer, number(weights.offset), number(weights.pitch), number(weights.batch_stride),
        number(p.rows), number(p.cols), number(p.batch), exponent)};
    used_until(ready.front());
  }
  if (problem.elements() > 0) {
    ready = {bins.with(in.buffer, [&](auto... how) {
      return runtime.run(
          key_of(problem, fixed, ops::PlanMaker::histogram_weighted),
          [&](const Device& device) { return plan_histogram_weighted(device, problem, fixed); }, ready,
          in.buffer, number(in.offset), number(in.pitch), number(in.batch_stride), weights.buffer,
          number(weights.offset), number(weights.pitch), number(weights.batch_stride), number(p.rows),
          number(p.cols), number(p.batch), number(parts.parts), how..., exponent, room,
          marks.memory_or(nullptr), sums.memory_or(nullptr));
    })};
    used_until(ready.front());
  }
  cl::Event ended = runtime.run(
      key_of(problem, fixed, ops::PlanMaker::histogram_weighted_finish),
      [&](const Device& device) { return plan_histogram_weighted_finish(device, problem, fixed.variant); },
      ready, sums.memory_or(nullptr), marks.memory_or(nullptr), exponent, room, static_cast<cl_uint>(p.bins),
      number(p.batch), number(parts.tables), out.buffer, number(out.offset));
  used_until(ended);
  return ended;
}

}  // namespace

cl::Event histogram_weighted(const Context& context, const Vector& in, const Vector& weights,
                             const Vector& out, const Bins& bins, const CallOptions& options) {
  plan::require_known(kOperation, "in", in.type);
  plan::require_known(kOperation, "weights", weights.type);
  return histogram_weighted(context, ops::as_matrix(in), in.type, ops::as_matrix(weights), weights.type, out,
                            bins, options);
}

cl::Event histogram_weighted(const Context& context, const Matrix& in, Scalar type, const Matrix& weights,
                             Scalar weights_type, const Vector& out, const Bins& bins,
                             const CallOptions& options) {
  const auto check_type = [](const char* argument, const char* view, const Matrix& matrix, Scalar scalar) {
    plan::require_known(kOperation, argument, scalar);
    if (matrix.element_bytes == size_of(scalar)) return;
    refuse(argument, formatted("a type of {} bytes, as elements of {} have", matrix.element_bytes, view),
           std::string(name_of(scalar)));
  };
  check_type("type", "in", in, type);
  check_type("weights_type", "weights", weights, weights_type);
  if (weights.rows != in.rows || weights.cols != in.cols || weights.batch != in.batch) {
    refuse("weights", formatted("{} x {}, {} of them, as in has", in.rows, in.cols, in.batch),
           formatted("{} x {}, {} of them", weights.rows, weights.cols, weights.batch));
  }
  WeightedHistogramProblem problem;
  problem.counts.in = type;
  problem.counts.rows = in.rows;
  problem.counts.cols = in.cols;
  problem.counts.batch = in.batch;
  problem.weights = weights_type;
  problem.out = out.type;
  const ops::BinArguments arguments = ops::bin_arguments(kOperation, bins, problem.counts);
  plan::check_weighted(context.device(), problem);
  const auto make_plan = [&](const PlanOverrides& overrides) {
    return plan_histogram_weighted(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed) {
    return key_of(problem, fixed, ops::PlanMaker::histogram_weighted);
  };
  const PlanOverrides asked = ops::checked_choice(context.runtime(), kOperation, options, key, make_plan);
  const std::size_t results = problem.counts.results();
  if (out.size < results)
    refuse("out", formatted("at least {} elements", results), formatted("{}", out.size));
  if (results == 0) return context.runtime().marker(options.wait_for);
  Vector written = out;
  written.size = results;
  const Matrix to = ops::as_matrix(written);
  const ops::Memory to_memory = ops::check_view(context, kOperation, "out", to, true);
  const auto check_read = [&](const char* argument, const Matrix& view) {
    if (ops::is_empty(view)) return;
    const ops::Memory memory = ops::check_view(context, kOperation, argument, view, false);
    ops::check_apart(kOperation, view, memory, to, to_memory, argument);
  };
  check_read("in", in);
  check_read("weights", weights);
  if (problem.counts.rule == BinRule::edges) check_read("bins.edges", ops::as_matrix(arguments.edges));
  return ops::launch_tuned(context.runtime(), kOperation, problem, options, asked, key, make_plan,
                           [&](const PlanOverrides& fixed) {
                             return launch(context, problem, fixed, in, weights, written, arguments, options);
                           });
}

}  // namespace smem
