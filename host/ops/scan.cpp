// Scans: arguments -> plan -> launch, and where needed one before it.
#include "formatted.hpp"
#include "ops/clear.hpp"
#include "ops/custom.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "ops/views.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_parts.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/scan.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

[[noreturn]] void refuse(const ScanProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = plan::operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

/// What a kernel of scan is given besides the problem; see cl/scan/operation.clh. `marks`: keys or offsets.
struct Operands {
  Matrix in, out;
  Vector marks;
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

/// All that the plan depends on.
runtime::ProblemKey key_of(const ScanProblem& problem, const PlanOverrides& fixed, ops::PlanMaker maker) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto& [op, mode, expression, identity, commutes] = problem.operation;
  const auto text = ops::text_key(problem.operation);
  return ops::make_key(
      maker,
      {number(op) | number(problem.exclusive) << 8 | number(problem.shape) << 12 | number(problem.in) << 16 |
           number(problem.out) << 24 | number(problem.marks) << 32 |
           ops::variant_number(fixed.variant, scan_variants()) << 40 | number(problem.in_alignment) << 48 |
           number(problem.out_alignment) << 56,
       problem.rows, problem.cols, problem.batch, text[0], text[1]},
      fixed);
}

cl::Event launch_fixed(const Context& context, const ScanProblem& problem, const Operands& o,
                       const CallOptions& options, const PlanOverrides& fixed) {
  const char* operation = plan::operation_name(problem);
  runtime::Runtime& runtime = context.runtime();
  const plan::ScanParts parts = runtime.memo().get(key_of(problem, fixed, ops::PlanMaker::scan), [&] {
    return plan::scan_parts_of(context.device(), problem, fixed);
  });
  runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes);
  std::vector<cl::Event> wait_for(options.wait_for.begin(), options.wait_for.end());
  ops::clear(runtime, scratch, parts.zeroed_bytes, operation, wait_for);
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const cl_mem in = o.in.buffer, out = o.out.buffer;
  const cl_mem marks = o.marks.buffer != nullptr ? o.marks.buffer : in;
  const cl_mem memory = scratch.memory_or(out);
  const cl_uint has_initial = o.initial.is_set() ? 1 : 0;
  const auto run = [&](ops::PlanMaker maker, const auto& make_plan) {
    return runtime.run(key_of(problem, fixed, maker), make_plan, wait_for, in, number(o.in.offset),
                       number(o.in.pitch), number(o.in.batch_stride), marks, number(o.marks.offset),
                       number(o.marks.size), number(problem.rows), number(problem.cols),
                       number(problem.batch), number(parts.parts), number(parts.piece), out,
                       number(o.out.offset), number(o.out.pitch), number(o.out.batch_stride),
                       initial_bits(problem, o.initial), has_initial, memory);
  };
  try {
    if (parts.two_launches) {
      const cl::Event first = run(ops::PlanMaker::scan_first, [&](const Device& device) {
        return plan_scan_first(device, problem, fixed).value();
      });
      scratch.used_until(first);
      wait_for = {first};
    }
    cl::Event event =
        run(ops::PlanMaker::scan, [&](const Device& device) { return plan_scan(device, problem, fixed); });
    scratch.used_until(event);
    return event;
  } catch (const Error& error) {
    ops::rethrow(plan::operation_name(problem), problem.operation, error);
  }
}

/// Compiles the caller's own operation where nothing is launched: a wrong one is refused all the same.
void build(const Context& context, const ScanProblem& problem, const PlanOverrides& fixed) {
  try {
    context.runtime().build(key_of(problem, fixed, ops::PlanMaker::scan),
                            [&](const Device& device) { return plan_scan(device, problem, fixed); });
  } catch (const Error& error) {
    ops::rethrow(plan::operation_name(problem), problem.operation, error);
  }
}

cl::Event launch(const Context& context, const ScanProblem& problem, const Operands& o,
                 const CallOptions& options) {
  const auto make_plan = [&](const PlanOverrides& overrides) {
    return plan_scan(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed) { return key_of(problem, fixed, ops::PlanMaker::scan); };
  const PlanOverrides asked =
      ops::checked_choice(context.runtime(), plan::operation_name(problem), options, key, make_plan);
  return ops::launch_tuned(
      context.runtime(), "scan", problem, options, asked, key, make_plan,
      [&](const PlanOverrides& fixed) { return launch_fixed(context, problem, o, options, fixed); });
}

/// Whether the views are the very same elements, of types of one size.
bool is_in_place(const Matrix& in, const ops::Memory& in_memory, const Matrix& out,
                 const ops::Memory& out_memory) {
  return in_memory.root == out_memory.root && in.element_bytes == out.element_bytes &&
         in_memory.origin + in.offset * in.element_bytes ==
             out_memory.origin + out.offset * out.element_bytes &&
         (in.rows == 1 || in.pitch == out.pitch) && (in.batch == 1 || in.batch_stride == out.batch_stride);
}

/// The checks that all shapes share, and the launch.
cl::Event check_and_launch(const Context& context, ScanProblem problem, const Operands& o,
                           const CallOptions& options) {
  const char* operation = plan::operation_name(problem);
  plan::check_scan(context.device(), problem);
  if (o.initial.is_set() && is_float(o.initial.type()) && !is_float(problem.in) &&
      problem.operation.op != ReduceOp::any && problem.operation.op != ReduceOp::all) {
    refuse(problem, "initial", formatted("an integer for {}", name_of(problem.in)),
           std::string(name_of(o.initial.type())));
  }
  if (ops::is_empty(o.in)) {
    const PlanOverrides fixed = ops::overrides_of(context.runtime(), operation, options);
    plan_scan(context.device(), problem, fixed);  // a wrong choice is refused
    if (problem.operation.op == ReduceOp::custom) build(context, problem, fixed);
    return context.runtime().marker(options.wait_for);
  }
  const ops::Memory in_memory = ops::check_view(context, operation, "in", o.in, false);
  const ops::Memory out_memory = ops::check_view(context, operation, "out", o.out, true);
  if (!is_in_place(o.in, in_memory, o.out, out_memory))
    ops::check_apart(operation, o.in, in_memory, o.out, out_memory);
  if (plan::is_segmented(problem) && o.marks.size > 0) {
    const Matrix marks = ops::as_matrix(o.marks);
    const ops::Memory memory = ops::check_view(
        context, operation, problem.shape == ScanShape::keys ? "keys" : "offsets", marks, false);
    ops::check_apart(operation, marks, memory, o.out, out_memory);
  }
  problem.in_alignment = std::min<std::size_t>(16, ops::row_alignment(o.in, in_memory));
  problem.out_alignment = std::min<std::size_t>(16, ops::row_alignment(o.out, out_memory));
  return launch(context, problem, o, options);
}

ScanProblem problem_of(ScanShape shape, bool exclusive, const Reduction& operation, Scalar in, Scalar out) {
  ScanProblem problem;
  problem.operation = operation;
  problem.shape = shape;
  problem.exclusive = exclusive;
  problem.in = in;
  problem.out = out;
  return problem;
}

cl::Event scan_vector(const Context& context, ScanShape shape, bool exclusive, const Vector& in,
                      const Vector& marks, const Vector& out, const Reduction& operation,
                      const Initial& initial, const CallOptions& options) {
  ScanProblem problem = problem_of(shape, exclusive, operation, in.type, out.type);
  problem.cols = in.size;
  if (shape == ScanShape::keys || shape == ScanShape::segments) problem.marks = marks.type;
  plan::require_known(plan::operation_name(problem), "in", in.type);
  plan::require_known(plan::operation_name(problem), "out", out.type);
  if (out.size != in.size)
    refuse(problem, "out", formatted("{} elements, as in has", in.size), formatted("{}", out.size));
  if (shape == ScanShape::keys && marks.size != in.size)
    refuse(problem, "keys", formatted("{} elements, as in has", in.size), formatted("{}", marks.size));
  return check_and_launch(context, problem, {ops::as_matrix(in), ops::as_matrix(out), marks, initial},
                          options);
}

cl::Event scan_matrix(const Context& context, ScanShape shape, bool exclusive, const Matrix& in,
                      Scalar in_type, const Matrix& out, Scalar out_type, const Reduction& operation,
                      const Initial& initial, const CallOptions& options) {
  ScanProblem problem = problem_of(shape, exclusive, operation, in_type, out_type);
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  const auto check_type = [&](const char* argument, const char* view, const Matrix& matrix, Scalar type) {
    plan::require_known(plan::operation_name(problem), argument, type);
    if (matrix.element_bytes == size_of(type)) return;
    refuse(problem, argument,
           formatted("a type of {} bytes, as elements of {} have", matrix.element_bytes, view),
           std::string(name_of(type)));
  };
  check_type("in_type", "in", in, in_type);
  check_type("out_type", "out", out, out_type);
  if (out.rows != in.rows || out.cols != in.cols || out.batch != in.batch) {
    refuse(problem, "out", formatted("{} x {}, {} of them, as in has", in.rows, in.cols, in.batch),
           formatted("{} x {}, {} of them", out.rows, out.cols, out.batch));
  }
  return check_and_launch(context, problem, {in, out, {}, initial}, options);
}

}  // namespace

cl::Event inclusive_scan(const Context& context, const Vector& in, const Vector& out,
                         const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::vector, false, in, {}, out, operation, {}, options);
}
cl::Event exclusive_scan(const Context& context, const Vector& in, const Vector& out,
                         const Reduction& operation, const Initial& initial, const CallOptions& options) {
  return scan_vector(context, ScanShape::vector, true, in, {}, out, operation, initial, options);
}

cl::Event inclusive_scan_rows(const Context& context, const Matrix& in, Scalar in_type, const Matrix& out,
                              Scalar out_type, const Reduction& operation, const CallOptions& options) {
  return scan_matrix(context, ScanShape::rows, false, in, in_type, out, out_type, operation, {}, options);
}
cl::Event exclusive_scan_rows(const Context& context, const Matrix& in, Scalar in_type, const Matrix& out,
                              Scalar out_type, const Reduction& operation, const Initial& initial,
                              const CallOptions& options) {
  return scan_matrix(context, ScanShape::rows, true, in, in_type, out, out_type, operation, initial, options);
}

cl::Event inclusive_scan_columns(const Context& context, const Matrix& in, Scalar in_type, const Matrix& out,
                                 Scalar out_type, const Reduction& operation, const CallOptions& options) {
  return scan_matrix(context, ScanShape::columns, false, in, in_type, out, out_type, operation, {}, options);
}
cl::Event exclusive_scan_columns(const Context& context, const Matrix& in, Scalar in_type, const Matrix& out,
                                 Scalar out_type, const Reduction& operation, const Initial& initial,
                                 const CallOptions& options) {
  return scan_matrix(context, ScanShape::columns, true, in, in_type, out, out_type, operation, initial,
                     options);
}

cl::Event inclusive_scan_segments(const Context& context, const Vector& in, const Vector& offsets,
                                  const Vector& out, const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::segments, false, in, offsets, out, operation, {}, options);
}
cl::Event exclusive_scan_segments(const Context& context, const Vector& in, const Vector& offsets,
                                  const Vector& out, const Reduction& operation, const Initial& initial,
                                  const CallOptions& options) {
  return scan_vector(context, ScanShape::segments, true, in, offsets, out, operation, initial, options);
}

cl::Event inclusive_scan_by_key(const Context& context, const Vector& keys, const Vector& in,
                                const Vector& out, const Reduction& operation, const CallOptions& options) {
  return scan_vector(context, ScanShape::keys, false, in, keys, out, operation, {}, options);
}
cl::Event exclusive_scan_by_key(const Context& context, const Vector& keys, const Vector& in,
                                const Vector& out, const Reduction& operation, const Initial& initial,
                                const CallOptions& options) {
  return scan_vector(context, ScanShape::keys, true, in, keys, out, operation, initial, options);
}

}  // namespace smem
