// layer_norm and rms_norm: views -> problem -> launch.
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
struct Operand {
  const char* name;
  bool given = false;
  ConstMatrix view = {};
  bool written = false;
  ops::Memory memory = {};

  bool used() const { return memory.root != nullptr; }
};

struct Operands {
  Operand in{"in"}, weight{"weight"}, bias{"bias"}, residual{"residual"};
  Operand out{"out"}, sum{"sum"}, mean{"mean"}, factor{"reciprocal_deviation"};
};

std::string shape_of(const ConstMatrix& m) { return formatted("{} of {} x {}", m.batch, m.rows, m.cols); }

void check_vectors(const char* operation, const NormProblem& p, const Norm& what) {
  for (const auto& [name, vector] : {std::pair{"weight", what.weight}, {"bias", what.bias}}) {
    if (vector.buffer == nullptr) continue;
    const Scalar type = ops::number_type(operation, name, vector.type);
    plan::require_one_of(operation, name, type, {p.in, plan::row_value(p.in)});
    if (type != p.weights) {
      ops::refuse(operation, name, formatted("{}, as weight has", name_of(p.weights)),
                  std::string(name_of(type)));
    }
    if (vector.size != p.cols)
      ops::refuse(operation, name, formatted("{} elements, one for each of a row", p.cols), vector.size);
  }
}

/// A result for each row.
Operand of_rows(const char* operation, const char* name, const std::optional<Vector>& vector,
                const NormProblem& p) {
  if (!vector) return {name};
  const Scalar type = ops::number_type(operation, name, vector->type);
  plan::require_one_of(operation, name, type, {plan::row_value(p.in)});
  const std::size_t rows = plan::size_product(p.rows, p.batch);
  ops::check_room(operation, name, vector->size, rows);
  Vector written = *vector;
  written.size = rows;
  return {name, true, ops::as_matrix(written), true};
}

void check_matrix(const char* operation, const char* name, const ConstMatrix& view, Scalar type,
                  const ConstMatrix& in) {
  plan::require_one_of(operation, name, ops::number_type(operation, name, view.type), {type});
  if (view.rows != in.rows || view.cols != in.cols || view.batch != in.batch)
    ops::refuse(operation, name, formatted("{}, as in", shape_of(in)), shape_of(view));
}

void check_epsilon(const char* operation, const NormProblem& p, double epsilon) {
  const double most = p.in == Scalar::float64 ? std::numeric_limits<double>::max()
                                              : static_cast<double>(std::numeric_limits<float>::max());
  if (!(epsilon >= 0 && epsilon <= most))
    ops::refuse(operation, "epsilon", formatted("a number from 0 to {}", most), epsilon);
}

NormProblem problem_of(const Context& context, NormOp op, const ConstMatrix& in, const Matrix& out,
                       const Norm& what) {
  const char* operation = name_of(op).data();
  NormProblem p{.op = op,
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
  plan::check_norm(context.device(), p);
  return p;
}

/// The views, with all that needs no buffer checked.
Operands operands_of(const NormProblem& p, const ConstMatrix& in, const Matrix& out, const Norm& what) {
  const char* operation = name_of(p.op).data();
  check_epsilon(operation, p, what.epsilon);
  check_vectors(operation, p, what);
  Operands o;
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
  o.mean = of_rows(operation, "mean", what.mean, p);
  o.factor = of_rows(operation, "reciprocal_deviation", what.reciprocal_deviation, p);
  return o;
}

/// Whether a result may be what it is made of: each element is read before that place is written.
bool may_be(const Operand& read, const Operand& written, const Operands& o) {
  return (&read == &o.in || &read == &o.residual) && (&written == &o.out || &written == &o.sum) &&
         ops::is_in_place(read.view, read.memory, written.view, written.memory);
}

void check_memory(const Context& context, const char* operation, Operands& o, bool has_elements) {
  std::array<Operand*, 8> all{&o.in, &o.weight, &o.bias, &o.residual, &o.out, &o.sum, &o.mean, &o.factor};
  for (Operand* operand : all) {
    const bool of_rows = operand == &o.mean || operand == &o.factor;
    if (!operand->given || (!has_elements && !of_rows)) continue;
    operand->memory = ops::check_view(context, operation, operand->name, operand->view, operand->written);
  }
  for (std::size_t w = 4; w < all.size(); ++w) {
    for (std::size_t other = 0; other < w; ++other) {
      const Operand &written = *all[w], &before = *all[other];
      if (written.used() && before.used() && !may_be(before, written, o)) {
        ops::check_apart(operation, before.view, before.memory, written.view, written.memory, before.name,
                         written.name);
      }
    }
  }
}

void set_alignment(NormProblem& p, const Operands& o) {
  p.alignment = 16;
  for (const Operand* operand : {&o.in, &o.weight, &o.bias, &o.residual, &o.out, &o.sum})
    if (operand->used()) p.alignment = std::min(p.alignment, operand->memory.alignment());
  p.row_alignment = std::min(p.alignment, ops::row_alignment(o.in.view, o.in.memory));
}

cl::Event launch(const Context& context, const NormProblem& problem, const Operands& o, double epsilon,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  // What is not there is not read: any buffer stands for it.
  const cl_mem any = o.out.used()    ? o.out.view.buffer
                     : o.mean.used() ? o.mean.view.buffer
                                     : o.factor.view.buffer;
  const auto buffer = [any](const Operand& operand) { return operand.used() ? operand.view.buffer : any; };
  const cl_uint flags =
      (o.mean.used() ? 1U : 0U) | (o.factor.used() ? 2U : 0U) | (problem.alignment >= 16 ? 4U : 0U);
  const auto enqueue = [&](const ops::Launching& launching, auto typed_epsilon) {
    const auto bind = [&](const auto&... more) {
      const ConstMatrix &in = o.in.view, &out = o.out.view, &residual = o.residual.view, &sum = o.sum.view;
      launching(buffer(o.in), number(in.offset), number(in.pitch), number(in.batch_stride), buffer(o.out),
                number(out.offset), number(out.pitch), number(out.batch_stride), number(problem.rows),
                static_cast<cl_int>(problem.cols), number(problem.batch), typed_epsilon, flags,
                buffer(o.weight), number(o.weight.view.offset), buffer(o.bias), number(o.bias.view.offset),
                buffer(o.residual), number(residual.offset), number(residual.pitch),
                number(residual.batch_stride), buffer(o.sum), number(sum.offset), number(sum.pitch),
                number(sum.batch_stride), buffer(o.mean), number(o.mean.view.offset), buffer(o.factor),
                number(o.factor.view.offset), more...);
    };
    const std::string& variant = launching.plan().variant;
    if (variant == "online" || variant == "split") {
      bind(number(launching.plan().number("parts")), launching.scratch(0, any));
    } else {
      bind();
    }
  };
  return ops::run(context, name_of(problem.op).data(), plan_norm, problem, options,
                  [&](const ops::Launching& launching) {
                    if (problem.in == Scalar::float64) {
                      enqueue(launching, static_cast<cl_double>(epsilon));
                    } else {
                      enqueue(launching, static_cast<cl_float>(epsilon));
                    }
                  });
}

cl::Event norm_of(const Context& context, NormOp op, const ConstMatrix& in, const Matrix& out,
                  const Norm& what, const CallOptions& options) {
  const char* operation = name_of(op).data();
  NormProblem problem = problem_of(context, op, in, out, what);
  Operands operands = operands_of(problem, in, out, what);
  const bool no_rows = plan::size_product(in.rows, in.batch) == 0;
  if (no_rows || (ops::is_empty(in) && !what.mean && !what.reciprocal_deviation))
    return ops::run_empty(context, operation, plan_norm, problem, options);
  check_memory(context, operation, operands, !ops::is_empty(in));
  if (!ops::is_empty(in)) set_alignment(problem, operands);
  return launch(context, problem, operands, what.epsilon, options);
}

}  // namespace

cl::Event layer_norm(const Context& context, const ConstMatrix& in, const Matrix& out, const Norm& what,
                     const CallOptions& options) {
  return norm_of(context, NormOp::layer, in, out, what, options);
}

cl::Event rms_norm(const Context& context, const ConstMatrix& in, const Matrix& out, const Norm& what,
                   const CallOptions& options) {
  return norm_of(context, NormOp::rms, in, out, what, options);
}

}  // namespace smem
