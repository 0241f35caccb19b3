// Selections of the greatest or least elements: views -> problem -> launch.
#include <smem/top_k.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "plan/top_k_checks.hpp"

#include <algorithm>
#include <string>

namespace smem {

using ops::refuse;

namespace {

/// The matrices of a call. One of an n-th element has no places.
struct TopKOperands {
  ConstMatrix in, values, places;
};

/// The number of a launch, for its kernel: merges alternate between two arrays.
cl_uint turn_of(const ops::Launching& launch) {
  const std::size_t repeat = launch.repeat();
  const bool merges = launch.launch().variant == "merge";
  const bool reads_out = (launch.launch().repeats - repeat) % 2 == 0;
  return static_cast<cl_uint>(merges ? 2 * repeat + (reads_out ? 1 : 0)
                                     : launch.launch().number("turn") + repeat);
}

cl::Event launch(const Context& context, const TopKProblem& problem, const TopKOperands& o,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto word = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    const cl_mem in = o.in.buffer;
    const bool has_places = problem.op == TopKOp::top_k;
    launch(runtime::packed(
        in, number(o.in.offset), number(o.in.pitch), number(o.in.batch_stride), o.values.buffer,
        number(o.values.offset), number(o.values.pitch), number(o.values.batch_stride),
        has_places ? o.places.buffer : cl_mem{}, number(o.places.offset), number(o.places.pitch),
        number(o.places.batch_stride), number(problem.rows),
        number(plan::size_product(problem.rows, problem.batch)), word(l.number("size")), word(problem.k),
        word(l.number("parts")), word(l.number("piece")), word(l.number("span_bits")), turn_of(launch),
        number(l.number("from")), number(l.number("to")), number(l.number("bins_at")),
        number(l.number("list_at")), launch.scratch(0), launch.scratch(1), launch.scratch(2)));
  };
  return ops::run(context, name_of(problem.op).data(), plan_top_k, problem, options, bind);
}

/// Checks views of at least one element, and launches.
cl::Event check_and_launch(const Context& context, TopKProblem problem, const TopKOperands& o,
                           const CallOptions& options) {
  const char* operation = name_of(problem.op).data();
  const bool has_places = problem.op == TopKOp::top_k;
  const char* out = has_places ? "values" : "out";
  const ops::Memory in = ops::check_view(context, operation, "in", o.in, false);
  const ops::Memory values = ops::check_view(context, operation, out, o.values, true);
  ops::check_apart(operation, o.in, in, o.values, values, "in", out);
  if (has_places) {
    const ops::Memory places = ops::check_view(context, operation, "places", o.places, true);
    ops::check_apart(operation, o.in, in, o.places, places, "in", "places");
    ops::check_apart(operation, o.values, values, o.places, places, "values", "places");
    // Sorted runs of results take turns between them and temporary memory.
    ops::require_readable(operation, "values", values);
    ops::require_readable(operation, "places", places);
  }
  problem.row_alignment = std::min<std::size_t>(16, ops::row_alignment(o.in, in));
  return launch(context, problem, o, options);
}

/// \throws Error unless the matrix has the rows and matrices of `in`, and `cols` columns.
void require_shape(const char* name, const ConstMatrix& matrix, const ConstMatrix& in, std::size_t cols) {
  if (matrix.rows == in.rows && matrix.cols == cols && matrix.batch == in.batch) return;
  refuse("top_k", name, formatted("{} matrices of {} x {}", in.batch, in.rows, cols),
         formatted("{} of {} x {}", matrix.batch, matrix.rows, matrix.cols));
}

cl::Event top_k_of(const Context& context, const TopKOperands& o, const TopK& which,
                   const CallOptions& options) {
  constexpr const char* kOperation = "top_k";
  TopKProblem problem;
  problem.type = ops::number_type(kOperation, "in", o.in.type);
  ops::check_type(kOperation, "values", o.values.type, o.in.type);
  problem.places = ops::number_type(kOperation, "places", o.places.type);
  problem.rows = o.in.rows;
  problem.cols = o.in.cols;
  problem.k = o.values.cols;
  problem.batch = o.in.batch;
  problem.least = which.least;
  problem.sorted = which.sorted;
  problem.total_order = which.total_order && is_float(problem.type);
  problem.nan_least = which.nan_least && is_float(problem.type);
  require_shape("values", o.values, o.in, problem.k);
  require_shape("places", o.places, o.in, problem.k);
  plan::check_top_k(context.device(), problem);
  if (ops::is_empty(o.values)) return ops::run_empty(context, kOperation, plan_top_k, problem, options);
  return check_and_launch(context, problem, o, options);
}

}  // namespace

cl::Event top_k(const Context& context, const ConstVector& in, const Vector& values, const Vector& places,
                const TopK& which, const CallOptions& options) {
  const TopKOperands operands{ops::as_matrix(in), ops::as_matrix(values), ops::as_matrix(places)};
  return top_k_of(context, operands, which, options);
}

cl::Event top_k_rows(const Context& context, const ConstMatrix& in, const Matrix& values,
                     const Matrix& places, const TopK& which, const CallOptions& options) {
  return top_k_of(context, {in, values, places}, which, options);
}

cl::Event nth_element(const Context& context, const ConstVector& in, const Vector& out,
                      const NthElement& which, const CallOptions& options) {
  constexpr const char* kOperation = "nth_element";
  TopKProblem problem;
  problem.op = TopKOp::nth_element;
  problem.type = ops::number_type(kOperation, "in", in.type);
  ops::check_type(kOperation, "out", out.type, in.type);
  ops::check_size(kOperation, "out", out.size, 1, "the result");
  problem.cols = in.size;
  if (which.n >= in.size) {
    refuse(kOperation, "n", formatted("less than {}, the elements of in", in.size), formatted("{}", which.n));
  }
  problem.k = which.n + 1;
  problem.least = !which.descending;
  problem.total_order = which.total_order && is_float(problem.type);
  problem.nan_least = which.nan_least && is_float(problem.type);
  plan::check_top_k(context.device(), problem);
  return check_and_launch(context, problem, {ops::as_matrix(in), ops::as_matrix(out), {}}, options);
}

}  // namespace smem
