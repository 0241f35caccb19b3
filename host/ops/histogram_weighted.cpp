// Weighted histograms: views -> problem -> launches.
#include "formatted.hpp"
#include "ops/bins.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/histogram_types.hpp"
#include "plan/sizes.hpp"

#include <smem/histogram.hpp>

#include <bit>

namespace smem {

using ops::refuse;

namespace {

cl::Event launch(const Context& context, const WeightedHistogramProblem& problem, const ConstMatrix& in,
                 const ConstMatrix& weights, const Vector& out, const ops::BinArguments& bins,
                 const CallOptions& options) {
  const HistogramProblem& p = problem.counts;
  const auto room = static_cast<cl_uint>(std::bit_width(problem.elements()));
  const auto bind = [&](const ops::Launching& launch) {
    const cl_mem exponent = launch.scratch(0, nullptr), marks = launch.scratch(1, nullptr),
                 sums = launch.scratch(2, nullptr);
    if (launch.is_main()) {
      bins.with(in.buffer, [&](auto... how) {
        launch(in, weights, p.rows, p.cols, p.batch, launch.launch().number("parts"), how..., exponent, room,
               marks, sums);
      });
    } else if (launch.launch().variant == "scale") {
      launch(weights, p.rows, p.cols, p.batch, exponent);
    } else {
      launch(sums, marks, exponent, room, static_cast<cl_uint>(p.bins), p.batch,
             launch.launch().number("tables"), out);
    }
  };
  return ops::run(context, plan::kWeightedHistogramName, plan_histogram_weighted, problem, options, bind);
}

}  // namespace

cl::Event histogram_weighted(const Context& context, const ConstVector& in, const ConstVector& weights,
                             const Vector& out, const Bins& bins, const CallOptions& options) {
  return histogram_weighted(context, ops::as_matrix(in), ops::as_matrix(weights), out, bins, options);
}

cl::Event histogram_weighted(const Context& context, const ConstMatrix& in, const ConstMatrix& weights,
                             const Vector& out, const Bins& bins, const CallOptions& options) {
  if (weights.rows != in.rows || weights.cols != in.cols || weights.batch != in.batch) {
    refuse(plan::kWeightedHistogramName, "weights",
           formatted("{} x {}, {} of them, as in has", in.rows, in.cols, in.batch),
           formatted("{} x {}, {} of them", weights.rows, weights.cols, weights.batch));
  }
  WeightedHistogramProblem problem;
  problem.counts.in = ops::number_type(plan::kWeightedHistogramName, "in", in.type);
  problem.counts.channels = bins.channels;
  problem.counts.rows = in.rows;
  problem.counts.cols = in.cols;
  problem.counts.batch = in.batch;
  problem.weights = ops::number_type(plan::kWeightedHistogramName, "weights", weights.type);
  problem.out = ops::number_type(plan::kWeightedHistogramName, "out", out.type);
  const ops::BinArguments arguments = ops::bin_arguments(plan::kWeightedHistogramName, bins, problem.counts);
  plan::check_weighted(context.device(), problem);
  const std::size_t results = problem.counts.results();
  ops::check_room(plan::kWeightedHistogramName, "out", out.size, results);
  if (results == 0)
    return ops::run_empty(context, plan::kWeightedHistogramName, plan_histogram_weighted, problem, options);
  Vector written = out;
  written.size = results;
  const ConstMatrix to = ops::as_matrix(written);
  const ops::Memory to_memory = ops::check_view(context, plan::kWeightedHistogramName, "out", to, true);
  const auto check_read = [&](const char* argument, const ConstMatrix& view) {
    if (ops::is_empty(view)) return;
    const ops::Memory memory = ops::check_view(context, plan::kWeightedHistogramName, argument, view, false);
    ops::check_apart(plan::kWeightedHistogramName, view, memory, to, to_memory, argument);
  };
  check_read("in", in);
  check_read("weights", weights);
  if (problem.counts.rule == BinRule::edges) check_read("bins.edges", ops::as_matrix(arguments.edges));
  return launch(context, problem, in, weights, written, arguments, options);
}

}  // namespace smem
