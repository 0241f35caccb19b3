// layer_norm and rms_norm along rows and columns: views -> problem -> launch.
#include <smem/norm.hpp>

#include "formatted.hpp"
#include "ops/in_place.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/norm_checks.hpp"
#include "plan/rows.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

/// A view that a call may have, and its buffer once that is checked.
struct NormOperand {
  const char* name;
  bool given = false;
  ConstMatrix view = {};
  bool written = false;
  ops::Memory memory = {};

  bool used() const { return memory.root != nullptr; }
};

struct NormOperands {
  NormOperand in{"in"}, weight{"weight"}, bias{"bias"}, residual{"residual"};
  NormOperand out{"out"}, sum{"sum"}, mean{"mean"}, factor{"reciprocal_deviation"};
};

/// A call along rows or columns.
struct NormCall {
  NormProblem p;
  bool columns = false;

  const char* operation() const {
    if (columns) return p.op == NormOp::rms ? "rms_norm_columns" : "layer_norm_columns";
    return name_of(p.op).data();
  }
  /// Elements of a row or a column, and their number.
  std::size_t length() const { return columns ? p.rows : p.cols; }
  std::size_t vectors() const { return plan::size_product(columns ? p.cols : p.rows, p.batch); }
  NormColumnsProblem of_columns() const {
    return {p.op, p.in, p.out, p.weights, p.weight, p.bias, p.residual, p.sum, p.rows, p.cols, p.batch};
  }
};

std::string shape_with_batch(const ConstMatrix& m) {
  return formatted("{} of {} x {}", m.batch, m.rows, m.cols);
}

void check_vectors(const NormCall& call, const Norm& what) {
  const NormProblem& p = call.p;
  const char* operation = call.operation();
  for (const auto& [name, vector] : {std::pair{"weight", what.weight}, {"bias", what.bias}}) {
    if (vector.buffer == nullptr) continue;
    const Scalar type = ops::number_type(operation, name, vector.type);
    plan::require_one_of(operation, name, type, {p.in, plan::row_value(p.in)});
    if (type != p.weights) {
      ops::refuse(operation, name, formatted("{}, as weight has", name_of(p.weights)),
                  std::string(name_of(type)));
    }
    if (vector.size != call.length()) {
      ops::refuse(
          operation, name,
          formatted("{} elements, one for each of a {}", call.length(), call.columns ? "column" : "row"),
          vector.size);
    }
  }
}

/// A result for each row or column.
NormOperand of_vectors(const NormCall& call, const char* name, const std::optional<Vector>& vector) {
  if (!vector) return {name};
  const Scalar type = ops::number_type(call.operation(), name, vector->type);
  plan::require_one_of(call.operation(), name, type, {plan::row_value(call.p.in)});
  ops::check_room(call.operation(), name, vector->size, call.vectors());
  Vector written = *vector;
  written.size = call.vectors();
  return {name, true, ops::as_matrix(written), true};
}

void check_matrix(const char* operation, const char* name, const ConstMatrix& view, Scalar type,
                  const ConstMatrix& in) {
  plan::require_one_of(operation, name, ops::number_type(operation, name, view.type), {type});
  if (view.rows != in.rows || view.cols != in.cols || view.batch != in.batch)
    ops::refuse(operation, name, formatted("{}, as in", shape_with_batch(in)), shape_with_batch(view));
}

void check_epsilon(const char* operation, const NormProblem& p, double epsilon) {
  const double most = p.in == Scalar::float64 ? std::numeric_limits<double>::max()
                                              : static_cast<double>(std::numeric_limits<float>::max());
  if (!(epsilon >= 0 && epsilon <= most))
    ops::refuse(operation, "epsilon", formatted("a number from 0 to {}", most), epsilon);
}

NormCall call_of(const Context& context, NormOp op, bool columns, const ConstMatrix& in, const Matrix& out,
                 const Norm& what) {
  NormCall call{{.op = op}, columns};
  const char* operation = call.operation();
  NormProblem& p = call.p;
  p = NormProblem{.op = op,
                  .in = ops::number_type(operation, "in", in.type),
                  .out = ops::number_type(operation, "out", out.type),
                  .weight = what.weight.buffer != nullptr,
                  .bias = what.bias.buffer != nullptr,
                  .residual = what.residual.buffer != nullptr,
                  .sum = what.sum.has_value(),
                  .rows = in.rows,
                  .cols = in.cols,
                  .batch = in.batch};
  p.weights = plan::row_value(p.in);
  if (p.weight) p.weights = ops::number_type(operation, "weight", what.weight.type);
  if (p.bias && !p.weight) p.weights = ops::number_type(operation, "bias", what.bias.type);
  if (columns) {
    plan::check_norm_columns(context.device(), call.of_columns());
  } else {
    plan::check_norm(context.device(), p);
  }
  return call;
}

/// The views, with all that needs no buffer checked.
NormOperands operands_of(const NormCall& call, const ConstMatrix& in, const Matrix& out, const Norm& what) {
  const NormProblem& p = call.p;
  const char* operation = call.operation();
  check_epsilon(operation, p, what.epsilon);
  check_vectors(call, what);
  NormOperands o;
  o.in = {"in", true, in};
  check_matrix(operation, "out", out, p.out, in);
  o.out = {"out", true, out, true};
  if (p.weight) o.weight = {"weight", true, ops::as_matrix(what.weight)};
  if (p.bias) o.bias = {"bias", true, ops::as_matrix(what.bias)};
  if (p.residual) {
    check_matrix(operation, "residual", what.residual, p.in, in);
    o.residual = {"residual", true, what.residual};
  }
  if (p.sum) {
    check_matrix(operation, "sum", *what.sum, p.out, in);
    o.sum = {"sum", true, *what.sum, true};
  }
  if (what.mean && p.op == NormOp::rms)
    ops::refuse(operation, "mean", "none, as no mean is subtracted", "a vector");
  o.mean = of_vectors(call, "mean", what.mean);
  o.factor = of_vectors(call, "reciprocal_deviation", what.reciprocal_deviation);
  return o;
}

/// Whether a result may be its own input: each element is read before its place is written.
bool may_be(const NormOperand& read, const NormOperand& written, const NormOperands& o) {
  return (&read == &o.in || &read == &o.residual) && (&written == &o.out || &written == &o.sum) &&
         ops::is_in_place(read.view, read.memory, written.view, written.memory);
}

void check_memory(const Context& context, const char* operation, NormOperands& o, bool has_elements) {
  std::array<NormOperand*, 8> all{&o.in, &o.weight, &o.bias, &o.residual, &o.out, &o.sum, &o.mean, &o.factor};
  for (NormOperand* operand : all) {
    const bool of_vectors = operand == &o.mean || operand == &o.factor;
    if (!operand->given || (!has_elements && !of_vectors)) continue;
    operand->memory = ops::check_view(context, operation, operand->name, operand->view, operand->written);
  }
  for (std::size_t w = 4; w < all.size(); ++w) {
    for (std::size_t other = 0; other < w; ++other) {
      const NormOperand &written = *all[w], &before = *all[other];
      if (written.used() && before.used() && !may_be(before, written, o)) {
        ops::check_apart(operation, before.view, before.memory, written.view, written.memory, before.name,
                         written.name);
      }
    }
  }
}

void set_alignment(NormProblem& p, const NormOperands& o) {
  p.alignment = 16;
  for (const NormOperand* operand : {&o.in, &o.weight, &o.bias, &o.residual, &o.out, &o.sum})
    if (operand->used()) p.alignment = std::min(p.alignment, operand->memory.alignment());
  p.row_alignment = p.alignment;
  p.packed = ops::is_packed(o.in.view) && ops::is_packed(o.out.view);
  for (const NormOperand* operand : {&o.in, &o.weight, &o.bias, &o.residual, &o.out, &o.sum}) {
    if (!operand->used()) continue;
    const std::size_t bytes = ops::row_alignment(operand->view, operand->memory);
    p.row_alignment = std::min(p.row_alignment, bytes * size_of(p.in) / operand->view.type.bytes);
  }
}

cl::Event launch(const Context& context, const NormCall& call, const NormOperands& o, double epsilon,
                 const CallOptions& options) {
  const NormProblem& problem = call.p;
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto buffer = [](const NormOperand& operand) {
    return operand.used() ? operand.view.buffer : nullptr;
  };
  const cl_uint flags =
      (o.mean.used() ? 1U : 0U) | (o.factor.used() ? 2U : 0U) | (problem.alignment >= 16 ? 4U : 0U);
  // Kernels count the elements of a row or a column in 32 bits.
  const auto enqueue = [&](const ops::Launching& launching, auto typed_epsilon, auto rows, auto cols) {
    const auto bind = [&](const auto&... more) {
      const ConstMatrix &in = o.in.view, &out = o.out.view, &residual = o.residual.view, &sum = o.sum.view;
      launching(
          runtime::packed(buffer(o.in), number(in.offset), number(in.pitch), number(in.batch_stride),
                          buffer(o.out), number(out.offset), number(out.pitch), number(out.batch_stride),
                          rows, cols, number(problem.batch), typed_epsilon, flags, buffer(o.weight),
                          number(o.weight.view.offset), buffer(o.bias), number(o.bias.view.offset),
                          buffer(o.residual), number(residual.offset), number(residual.pitch),
                          number(residual.batch_stride), buffer(o.sum), number(sum.offset), number(sum.pitch),
                          number(sum.batch_stride), buffer(o.mean), number(o.mean.view.offset),
                          buffer(o.factor), number(o.factor.view.offset)),
          more...);
    };
    const std::string& variant = launching.plan().variant;
    const std::size_t parts = launching.plan().number("parts");
    if (variant == "online" || variant == "split" || (variant == "cpu" && parts != 0)) {
      bind(number(parts), launching.scratch(0));
    } else if (variant == "persistent" && parts != 0) {
      bind(launching.epoch(), launching.scratch(0), launching.counters());
    } else if (variant == "cooperative") {
      bind(static_cast<cl_uint>(parts), launching.epoch(), launching.scratch(0));
    } else if (variant == "persistent") {
      bind(launching.counters());
    } else if (variant == "short_rows") {
      bind(static_cast<cl_uint>(launching.plan().number("piece")));
    } else {
      bind();
    }
  };
  const auto bind = [&](const ops::Launching& launching) {
    const auto with = [&](auto typed_epsilon) {
      if (call.columns) {
        enqueue(launching, typed_epsilon, static_cast<cl_int>(problem.rows), number(problem.cols));
      } else {
        enqueue(launching, typed_epsilon, number(problem.rows), static_cast<cl_int>(problem.cols));
      }
    };
    if (problem.in == Scalar::float64) {
      with(static_cast<cl_double>(epsilon));
    } else {
      with(static_cast<cl_float>(epsilon));
    }
  };
  if (call.columns)
    return ops::run(context, call.operation(), plan_norm_columns, call.of_columns(), options, bind);
  return ops::run(context, call.operation(), plan_norm, problem, options, bind);
}

cl::Event norm_of(const Context& context, NormOp op, bool columns, const ConstMatrix& in, const Matrix& out,
                  const Norm& what, const CallOptions& options) {
  NormCall call = call_of(context, op, columns, in, out, what);
  NormOperands operands = operands_of(call, in, out, what);
  if (call.vectors() == 0 || (ops::is_empty(in) && !what.mean && !what.reciprocal_deviation)) {
    if (columns)
      return ops::run_empty(context, call.operation(), plan_norm_columns, call.of_columns(), options);
    return ops::run_empty(context, call.operation(), plan_norm, call.p, options);
  }
  check_memory(context, call.operation(), operands, !ops::is_empty(in));
  if (!ops::is_empty(in)) set_alignment(call.p, operands);
  return launch(context, call, operands, what.epsilon, options);
}

}  // namespace

cl::Event layer_norm(const Context& context, const ConstMatrix& in, const Matrix& out, const Norm& what,
                     const CallOptions& options) {
  return norm_of(context, NormOp::layer, false, in, out, what, options);
}

cl::Event rms_norm(const Context& context, const ConstMatrix& in, const Matrix& out, const Norm& what,
                   const CallOptions& options) {
  return norm_of(context, NormOp::rms, false, in, out, what, options);
}

cl::Event layer_norm_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                             const Norm& what, const CallOptions& options) {
  return norm_of(context, NormOp::layer, true, in, out, what, options);
}

cl::Event rms_norm_columns(const Context& context, const ConstMatrix& in, const Matrix& out, const Norm& what,
                           const CallOptions& options) {
  return norm_of(context, NormOp::rms, true, in, out, what, options);
}

}  // namespace smem
