// Scans: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/in_place.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_types.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>
#include <smem/scan.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace smem {

using ops::refuse;

namespace {

/// What a kernel of scan is given besides the problem; see cl/scan/operation.clh. `marks`: keys or offsets.
struct ScanOperands {
  ConstMatrix in;
  Matrix out;
  ConstVector marks;
  const Initial& initial;
};

/// What is scanned into, as its bits: the low four bytes of a number of four.
cl_ulong initial_bits(const ScanProblem& problem, const Initial& initial) {
  if (!initial.is_set()) return 0;
  const Scalar number = plan::accumulator_type(plan::as_reduction(problem));
  const ReduceOp op = problem.operation.op;
  if (op == ReduceOp::any || op == ReduceOp::all) return initial.real() != 0 ? 1 : 0;
  if (number == Scalar::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(initial.real()));
  if (number == Scalar::float64) return std::bit_cast<std::uint64_t>(initial.real());
  return initial.integer();
}

cl::Event launch(const Context& context, const ScanProblem& problem, const ScanOperands& o,
                 const CallOptions& options) {
  const cl_ulong initial = initial_bits(problem, o.initial);
  const cl_uint has_initial = o.initial.is_set() ? 1 : 0;
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    launch(runtime::packed(o.in, o.marks, o.marks.size, problem.rows, problem.cols, problem.batch,
                           l.number("parts"), l.number("piece"), o.out, initial, has_initial,
                           launch.scratch(0), launch.epoch()));
  };
  return ops::run(context, plan::operation_name(problem), plan_scan, problem, options, bind);
}

/// Of the first element, where all rows follow each other without gaps; else 0.
std::size_t packed_alignment(ConstMatrix view, const ops::Memory& memory) {
  if (!ops::is_packed(view)) return 0;
  view.rows = view.batch = 1;
  return ops::row_alignment(view, memory);
}

/// The checks that all shapes share, and the launch.
cl::Event check_and_launch(const Context& context, ScanProblem problem, const ScanOperands& o,
                           const CallOptions& options) try {
  const char* operation = plan::operation_name(problem);
  plan::check_scan(context.device(), problem);
  if (o.initial.is_set() && is_float(o.initial.type()) && !is_float(problem.in) &&
      problem.operation.op != ReduceOp::any && problem.operation.op != ReduceOp::all) {
    refuse(plan::operation_name(problem), "initial", formatted("an integer for {}", name_of(problem.in)),
           std::string(name_of(o.initial.type())));
  }
  if (ops::is_empty(o.in)) return ops::run_empty(context, operation, plan_scan, problem, options);
  const ops::Memory in_memory = ops::check_view(context, operation, "in", o.in, false);
  const ops::Memory out_memory = ops::check_view(context, operation, "out", o.out, true);
  if (!ops::is_in_place(o.in, in_memory, o.out, out_memory))
    ops::check_apart(operation, o.in, in_memory, o.out, out_memory);
  if (plan::is_segmented(problem) && o.marks.size > 0) {
    const ConstMatrix marks = ops::as_matrix(o.marks);
    const char* const name = problem.shape == ScanShape::keys ? "keys" : "offsets";
    const ops::Memory memory = ops::check_view(context, operation, name, marks, false);
    ops::check_apart(operation, marks, memory, o.out, out_memory, name);
    if (problem.shape == ScanShape::keys)
      problem.marks_alignment = std::min<std::size_t>(16, ops::row_alignment(marks, memory));
  }
  problem.in_alignment = std::min<std::size_t>(16, ops::row_alignment(o.in, in_memory));
  problem.out_alignment = std::min<std::size_t>(16, ops::row_alignment(o.out, out_memory));
  if (problem.shape == ScanShape::rows) {
    problem.packed_alignment = std::min<std::size_t>(
        {16, packed_alignment(o.in, in_memory), packed_alignment(ConstMatrix(o.out), out_memory)});
  }
  return launch(context, problem, o, options);
} catch (const Error& error) {
  ops::rethrow(plan::operation_name(problem), problem.operation, error);
}

ScanProblem problem_of(ScanShape shape, bool exclusive, const Reduction& operation, const ElementType& in,
                       const ElementType& out) {
  ScanProblem problem;
  problem.operation = operation;
  problem.shape = shape;
  problem.exclusive = exclusive;
  problem.in = ops::number_type(plan::operation_name(problem), "in", in);
  problem.out = ops::number_type(plan::operation_name(problem), "out", out);
  return problem;
}

cl::Event scan_vector(const Context& context, ScanShape shape, bool exclusive, const ConstVector& in,
                      const ConstVector& marks, const Vector& out, const Reduction& operation,
                      const Initial& initial, const CallOptions& options) {
  ScanProblem problem = problem_of(shape, exclusive, operation, in.type, out.type);
  problem.cols = in.size;
  if (plan::is_segmented(problem)) {
    problem.marks = ops::number_type(plan::operation_name(problem),
                                     shape == ScanShape::keys ? "keys" : "offsets", marks.type);
  }
  ops::check_size(plan::operation_name(problem), "out", out.size, in.size);
  if (shape == ScanShape::keys) ops::check_size(plan::operation_name(problem), "keys", marks.size, in.size);
  const Matrix to(out.buffer, out.type, 1, out.size, {.offset = out.offset});
  return check_and_launch(context, problem, {ops::as_matrix(in), to, marks, initial}, options);
}

cl::Event scan_matrix(const Context& context, ScanShape shape, bool exclusive, const ConstMatrix& in,
                      const Matrix& out, const Reduction& operation, const Initial& initial,
                      const CallOptions& options) {
  ScanProblem problem = problem_of(shape, exclusive, operation, in.type, out.type);
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  if (out.rows != in.rows || out.cols != in.cols || out.batch != in.batch) {
    refuse(plan::operation_name(problem), "out",
           formatted("{} x {}, {} of them, as in has", in.rows, in.cols, in.batch),
           formatted("{} x {}, {} of them", out.rows, out.cols, out.batch));
  }
  return check_and_launch(context, problem, {in, out, {}, initial}, options);
}

}  // namespace

cl::Event inclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                         const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::vector, false, in, {}, out, operation, {}, options);
}
cl::Event inclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                         const Reduction& operation, const Initial& initial, const CallOptions& options) {
  return scan_vector(context, ScanShape::vector, false, in, {}, out, operation, initial, options);
}
cl::Event exclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                         const Reduction& operation, const Initial& initial, const CallOptions& options) {
  return scan_vector(context, ScanShape::vector, true, in, {}, out, operation, initial, options);
}

cl::Event inclusive_scan_rows(const Context& context, const ConstMatrix& in, const Matrix& out,
                              const Reduction& operation, const CallOptions& options) {
  return scan_matrix(context, ScanShape::rows, false, in, out, operation, {}, options);
}
cl::Event exclusive_scan_rows(const Context& context, const ConstMatrix& in, const Matrix& out,
                              const Reduction& operation, const Initial& initial,
                              const CallOptions& options) {
  return scan_matrix(context, ScanShape::rows, true, in, out, operation, initial, options);
}

cl::Event inclusive_scan_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                 const Reduction& operation, const CallOptions& options) {
  return scan_matrix(context, ScanShape::columns, false, in, out, operation, {}, options);
}
cl::Event exclusive_scan_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                 const Reduction& operation, const Initial& initial,
                                 const CallOptions& options) {
  return scan_matrix(context, ScanShape::columns, true, in, out, operation, initial, options);
}

cl::Event inclusive_scan_segments(const Context& context, const ConstVector& in, const ConstVector& offsets,
                                  const Vector& out, const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::segments, false, in, offsets, out, operation, {}, options);
}
cl::Event exclusive_scan_segments(const Context& context, const ConstVector& in, const ConstVector& offsets,
                                  const Vector& out, const Reduction& operation, const Initial& initial,
                                  const CallOptions& options) {
  return scan_vector(context, ScanShape::segments, true, in, offsets, out, operation, initial, options);
}

cl::Event inclusive_scan_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                const Vector& out, const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::keys, false, in, keys, out, operation, {}, options);
}
cl::Event exclusive_scan_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                const Vector& out, const Reduction& operation, const Initial& initial,
                                const CallOptions& options) {
  return scan_vector(context, ScanShape::keys, true, in, keys, out, operation, initial, options);
}

}  // namespace smem
