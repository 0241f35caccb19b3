// Reductions: views -> problem -> launch.
#include "ops/reduce.hpp"

#include "ops/custom.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/reduce_types.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>
#include <smem/reduce.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace smem {

using ops::refuse;

namespace {

cl::Event launch(const Context& context, const ReduceProblem& problem, const ops::ReduceOperands& o,
                 const CallOptions& options) {
  const bool by_columns = problem.shape == ReduceShape::columns;
  const auto bind = [&](const ops::Launching& launch) {
    const std::size_t parts = launch.plan().number("parts"), results = problem.results();
    const std::size_t fold = std::max<std::size_t>(launch.plan().number("fold"), 1);
    const cl_mem partials = launch.scratch(0);
    if (launch.plan().variant == "short") {
      const std::array<cl_ulong, 4> numbers{o.in.offset, o.other.offset, o.out.offset, problem.cols};
      if (problem.reduction.op == ReduceOp::dot)
        launch(o.in.buffer, o.other.buffer, o.out.buffer, numbers);
      else
        launch(o.in.buffer, o.out.buffer, numbers);
    } else if (launch.plan().variant == "short_rows") {
      launch(o.in.buffer, o.in.offset, o.other, results, static_cast<cl_uint>(problem.cols),
             static_cast<cl_uint>(launch.plan().number("piece")), o.out);
    } else if (launch.plan().variant == "balanced") {
      const auto room = static_cast<cl_uint>(launch.plan().number("room"));
      const cl_mem list = partials, finished = launch.scratch(2);
      if (launch.is_main()) {
        launch(o.in.buffer, o.in.offset, o.bounds, problem.rows, problem.cols,
               static_cast<cl_uint>(launch.plan().number("piece")), o.out, list, finished, launch.counters(),
               room);
      } else {
        launch(o.in.buffer, o.in.offset, o.bounds, problem.cols, o.out, list, launch.scratch(1), finished,
               launch.counters(), room);
      }
    } else if (launch.is_main()) {
      // Results are counted in elements, or in pairs of them.
      ConstMatrix in = o.in;
      in.pitch *= fold;
      launch(runtime::packed(in, o.other, o.bounds, problem.rows / fold, problem.cols * fold, problem.batch,
                             parts, o.out, partials, launch.counters(), fold,
                             problem.rows % fold * problem.cols));
    } else {
      // Parts of a row lie beside each other, those of columns a row of results apart.
      launch(partials, results, fold > 1 ? launch.plan().number("shares") : parts,
             by_columns ? std::size_t{1} : parts, by_columns ? results : std::size_t{1},
             by_columns ? problem.rows : problem.cols, o.out);
    }
  };
  return ops::run(context, plan::operation_name(problem), plan_reduce, problem, options, bind);
}

}  // namespace

namespace {

/// The steps in bytes, as the bits of one number, by which rows move away from a vector for each matrix.
std::size_t rows_apart(const ConstMatrix& in) {
  const std::size_t pitch = in.rows > 1 ? in.pitch : 0;
  const std::size_t stride = in.batch > 1 ? in.batch_stride - in.cols : 0;
  return (pitch | stride) * in.type.bytes;
}

}  // namespace

cl::Event ops::reduce(const Context& context, ReduceProblem problem, const ReduceOperands& o,
                      const CallOptions& options) try {
  const char* operation = plan::operation_name(problem);
  const bool is_dot = problem.reduction.op == ReduceOp::dot;
  const char* in_name = is_dot ? "a" : "in";
  const char* other_name = problem.shape == ReduceShape::vector ? "b" : "x";
  const char* out_name = plan::result_name(problem);
  plan::check_reduction(context.device(), problem);
  const std::size_t needed = problem.results() * (problem.reduction.op == ReduceOp::minmax ? 2 : 1);
  check_room(operation, out_name, o.out.size, needed);
  // Whose rows may be read several at once; of products with a vector they are not.
  const bool one_matrix = problem.shape == ReduceShape::columns && problem.batch == 1 && !is_dot;
  if ((problem.shape == ReduceShape::rows || one_matrix) && is_packed(o.in)) problem.packed_alignment = 16;
  if (needed == 0) return run_empty(context, operation, plan_reduce, problem, options);
  Vector written = o.out;
  written.size = needed;
  const ConstMatrix out = as_matrix(written);
  const Memory out_memory = check_view(context, operation, out_name, out, true);
  std::size_t bits = 16, apart_bits = 16;
  if (!is_empty(o.in)) {
    const Memory memory = check_view(context, operation, in_name, o.in, false);
    check_apart(operation, o.in, memory, out, out_memory, in_name, out_name);
    bits |= memory.host_address;
    if (problem.shape == ReduceShape::columns) bits |= row_alignment(o.in, memory);
    ConstMatrix first = o.in;
    if (one_matrix) first.rows = 1;
    problem.packed_alignment = std::min(problem.packed_alignment, row_alignment(first, memory));
    if (is_dot) {
      const ConstMatrix other = as_matrix(o.other);
      const Memory other_memory = check_view(context, operation, other_name, other, false);
      check_apart(operation, other, other_memory, out, out_memory, other_name, out_name);
      bits |= other_memory.host_address;
      const std::size_t apart = (o.in.offset - o.other.offset) * other.type.bytes;
      if (problem.shape == ReduceShape::vector) bits |= apart;
      if (problem.shape == ReduceShape::rows) apart_bits |= apart | rows_apart(o.in);
    }
  }
  if (problem.shape == ReduceShape::segments) {
    const ConstMatrix bounds = as_matrix(o.bounds);
    const Memory memory = check_view(context, operation, "offsets", bounds, false);
    check_apart(operation, bounds, memory, out, out_memory, "offsets");
  }
  problem.alignment = std::size_t{1} << std::countr_zero(bits);
  problem.other_alignment = std::size_t{1} << std::countr_zero(apart_bits | bits);
  return launch(context, problem, o, options);
} catch (const Error& error) {
  rethrow(plan::operation_name(problem), problem.reduction, error);
}

namespace {

/// The problem of a reduction of one input, but for its extents.
ReduceProblem problem_of(ReduceShape shape, const ElementType& in, const ElementType& out,
                         const Reduction& reduction) {
  ReduceProblem problem;
  problem.reduction = reduction;
  problem.shape = shape;
  const char* operation = plan::operation_name(problem);
  problem.in = ops::number_type(operation, "in", in);
  problem.out = ops::number_type(operation, "out", out);
  if (reduction.op == ReduceOp::dot)
    refuse(plan::operation_name(problem), "reduction", "an operation of one input", "dot");
  return problem;
}

cl::Event reduce_matrix(const Context& context, ReduceShape shape, const ConstMatrix& in, const Vector& out,
                        const Reduction& reduction, const CallOptions& options) {
  ReduceProblem problem = problem_of(shape, in.type, out.type, reduction);
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  return ops::reduce(context, problem, {in, {}, {}, out}, options);
}

}  // namespace

cl::Event reduce(const Context& context, const ConstVector& in, const Vector& out, const Reduction& reduction,
                 const CallOptions& options) {
  ReduceProblem problem = problem_of(ReduceShape::vector, in.type, out.type, reduction);
  problem.cols = in.size;
  return ops::reduce(context, problem, {ops::as_matrix(in), {}, {}, out}, options);
}

cl::Event reduce_rows(const Context& context, const ConstMatrix& in, const Vector& out,
                      const Reduction& reduction, const CallOptions& options) {
  return reduce_matrix(context, ReduceShape::rows, in, out, reduction, options);
}

cl::Event reduce_columns(const Context& context, const ConstMatrix& in, const Vector& out,
                         const Reduction& reduction, const CallOptions& options) {
  return reduce_matrix(context, ReduceShape::columns, in, out, reduction, options);
}

cl::Event reduce_segments(const Context& context, const ConstVector& in, const ConstVector& offsets,
                          const Vector& out, const Reduction& reduction, const CallOptions& options) {
  ReduceProblem problem = problem_of(ReduceShape::segments, in.type, out.type, reduction);
  problem.bounds = ops::number_type(plan::operation_name(problem), "offsets", offsets.type);
  problem.cols = in.size;
  if (offsets.size == 0)
    refuse(plan::operation_name(problem), "offsets", "one more than there are segments", "none");
  problem.rows = offsets.size - 1;
  return ops::reduce(context, problem, {ops::as_matrix(in), {}, offsets, out}, options);
}

cl::Event dot(const Context& context, const ConstVector& a, const ConstVector& b, const Vector& out,
              FloatMode mode, const CallOptions& options) {
  ReduceProblem problem;
  problem.reduction = {ReduceOp::dot, mode};
  problem.in = ops::number_type("dot", "a", a.type);
  problem.out = ops::number_type("dot", "out", out.type);
  problem.cols = a.size;
  ops::check_type("dot", "b", b.type, a.type, "a");
  ops::check_size("dot", "b", b.size, a.size, "a");
  return ops::reduce(context, problem, {ops::as_matrix(a), b, {}, out}, options);
}

void detail::reduce_to_host(const Context& context, const ConstVector& in, const ConstVector* other,
                            const Reduction& reduction, void* result, Scalar type, std::size_t count,
                            const CallOptions& options) {
  const std::span to(static_cast<std::byte*>(result), count * size_of(type));
  ops::run_to_host(context, "reduce", to, [&](cl_mem memory) {
    const Vector out(memory, type, count);
    return other != nullptr ? dot(context, in, *other, out, reduction.mode, options)
                            : reduce(context, in, out, reduction, options);
  });
}

}  // namespace smem
