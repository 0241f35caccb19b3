// Products of matrices: views -> problem -> launches: one before the main one where factors are packed, and
// one after it where sums are made in parts.
#include "ops/gemm.hpp"

#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/products.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/gemm_variants.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/gemm.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace smem {

namespace {

using ops::refuse;

/// A matrix of the call: as the caller gave it, under the caller's name.
struct GemmOperand {
  const char* name = "";
  ConstMatrix view = {};
  ops::Memory memory = {};
  bool used = false;
};

/// A product as the kernels know it: row-major.
struct GemmOperands {
  GemmOperand a, b, c, residual, bias;
};

bool has_residual(const Gemm& product) { return product.epilogue.residual.buffer != nullptr; }
bool has_bias(const Gemm& product) { return product.epilogue.bias.buffer != nullptr; }

std::string shape_of(const ConstMatrix& view) { return formatted("{} x {}", view.rows, view.cols); }

/// \throws Error unless the shapes fit each other. \returns the problem, row-major, but for alignments.
GemmProblem check_shapes(const Gemm& product, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  const auto [turned, m, n, k] = ops::check_product("gemm", product, a, b, c);
  GemmProblem problem;
  problem.turned = turned;
  problem.m = turned ? n : m;
  problem.n = turned ? m : n;
  problem.k = k;
  problem.a_along_k = turned ? !product.transpose_b : !product.transpose_a;
  problem.b_along_k = turned ? product.transpose_a : product.transpose_b;
  return problem;
}

/// \throws Error unless the batches fit each other. \returns the number of products.
std::size_t check_batch(const Gemm& product, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  const ConstVector& list = product.list;
  const bool listed = list.buffer != nullptr;
  const std::size_t products = listed ? list.size / 3 : c.batch;
  if (listed && list.type != Scalar::uint64)
    refuse("gemm", "list", "uint64", std::string(name_of(ops::number_type("gemm", "list", list.type))));
  if (listed && list.size % 3 != 0)
    refuse("gemm", "list", "three offsets for each product", formatted("{} elements", list.size));
  const auto check = [&](const char* name, const ConstMatrix& view) {
    if (listed && view.batch != 1)
      refuse("gemm", name, "a batch of 1: the list says where the others are", view.batch);
    if (!listed && view.batch != products && view.batch != 1)
      refuse("gemm", name, formatted("a batch of {}, as c has, or 1", products), view.batch);
  };
  check("a", a);
  check("b", b);
  check("c", c);
  const ConstMatrix& residual = product.epilogue.residual;
  if (has_residual(product) && residual.batch != products && residual.batch != 1)
    refuse("gemm", "residual", formatted("a batch of {}, as c has, or 1", products), residual.batch);
  return products;
}

void check_numbers(const Gemm& product, Scalar out) {
  const Epilogue& epilogue = product.epilogue;
  if (out != Scalar::int32) return;
  for (const auto& [name, number] :
       {std::pair{"alpha", product.alpha}, {"beta", product.beta}, {"scale", epilogue.scale}}) {
    if (!(std::abs(number) <= 2147483647.0) || number != std::trunc(number))
      refuse("gemm", name, "a whole number of 32 bits, for int32", number);
  }
}

void check_epilogue(const Gemm& product, const GemmProblem& problem, Scalar out) {
  const Epilogue& epilogue = product.epilogue;
  const std::size_t rows = problem.turned ? problem.n : problem.m,
                    cols = problem.turned ? problem.m : problem.n;
  if (has_bias(product)) {
    const bool of_row = epilogue.bias_of == BiasOf::row;
    if (!of_row && epilogue.bias_of != BiasOf::column)
      refuse("gemm", "bias_of", "column or row", formatted("number {}", static_cast<int>(epilogue.bias_of)));
    const std::size_t wanted = of_row ? rows : cols;
    ops::check_type("gemm", "bias", epilogue.bias.type, out, "c");
    if (epilogue.bias.size != wanted) {
      refuse("gemm", "bias",
             formatted("{} elements, one for each {} of c", wanted, of_row ? "row" : "column"),
             epilogue.bias.size);
    }
  }
  if (has_residual(product)) {
    const ConstMatrix& residual = epilogue.residual;
    ops::check_type("gemm", "residual", residual.type, out, "c");
    if (residual.rows != problem.m || residual.cols != problem.n)
      refuse("gemm", "residual", formatted("{} x {}, as c", problem.m, problem.n), shape_of(residual));
  }
}

/// Whether the residual is C as it was: with a list, each product's own.
bool is_c(const ConstMatrix& residual, const ConstMatrix& c) {
  return residual.buffer == c.buffer && residual.offset == c.offset && residual.pitch == c.pitch &&
         residual.batch == c.batch && (c.batch == 1 || residual.batch_stride == c.batch_stride);
}

/// Checks the views' places. \throws Error naming the one that is wrong.
void check_views(const Context& context, const Gemm& product, GemmOperands& o) {
  // A list moves the matrices of a view about in their buffers, and may say so of the same buffer: where they
  // are is known on the device alone.
  const bool listed = product.list.buffer != nullptr;
  for (GemmOperand* operand : {&o.a, &o.b, &o.c, &o.residual, &o.bias}) {
    if (!operand->used || ops::is_empty(operand->view)) continue;
    operand->memory = ops::check_view(context, "gemm", operand->name, operand->view, operand == &o.c);
  }
  if (ops::is_empty(o.c.view)) return;
  const ConstMatrix& c = o.c.view;
  for (const GemmOperand* operand : {&o.a, &o.b, &o.residual, &o.bias}) {
    const ConstMatrix& view = operand->view;
    if (!operand->used || ops::is_empty(view)) continue;
    if (operand == &o.residual && is_c(view, c)) continue;
    if (listed && operand != &o.bias) continue;
    ops::check_apart("gemm", view, operand->memory, c, o.c.memory, operand->name, "c");
  }
}

/// Elements that a listed matrix may begin behind its view's own offset, so that it ends in its buffer.
cl_ulong room_of(const ConstMatrix& view) {
  std::size_t bytes = 0;
  runtime::check(clGetMemObjectInfo(view.buffer, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr),
                 "clGetMemObjectInfo", "gemm");
  return bytes / view.type.bytes - view.offset - (view.rows - 1) * view.pitch - view.cols;
}

/// A factor as kernels take it.
struct GemmFactor {
  cl_mem buffer;
  cl_ulong offset, pitch, stride;
};

GemmFactor factor_of(const GemmOperand& operand) {
  const ConstMatrix& view = operand.view;
  return {operand.used ? view.buffer : nullptr, view.offset, view.pitch,
          view.batch == 1 ? 0 : view.batch_stride};
}

/// Factors whose lines are copied to `memory` before the product: a pitch of 0 says that one is not.
struct Packed {
  Packed(const ops::Launching& launch, const GemmProblem& of)
      : problem(of),
        memory(launch.scratch(1)),
        a_pitch(launch.plan().number("packed_a_pitch")),
        b(launch.plan().number("packed_b")),
        b_pitch(launch.plan().number("packed_b_pitch")) {}
  const GemmProblem& problem;
  cl_mem memory;
  cl_ulong a_pitch, b, b_pitch;

  /// Lines that are contiguous in memory, of a factor along k or across it; and their elements.
  cl_ulong lines(bool along_k, std::size_t across) const { return along_k ? across : problem.k; }
  cl_ulong along(bool along_k, std::size_t across) const { return along_k ? problem.k : across; }
  /// Matrices of a factor: one, unless each product has its own.
  cl_ulong matrices(const GemmFactor& factor) const { return factor.stride == 0 ? 1 : problem.batch; }
  GemmFactor packed_a(const GemmFactor& a) const {
    return {memory, 0, a_pitch, a.stride == 0 ? 0 : lines(problem.a_along_k, problem.m) * a_pitch};
  }
  GemmFactor packed_b(const GemmFactor& from) const {
    return {memory, b, b_pitch, from.stride == 0 ? 0 : lines(problem.b_along_k, problem.n) * b_pitch};
  }
};

/// The arguments of the launch that packs or widens.
void bind_pack(const ops::Launching& launch, const GemmFactor& a, const GemmFactor& b, const Packed& packed) {
  const GemmProblem& p = packed.problem;
  const bool of_a = packed.a_pitch > 0, of_b = packed.b_pitch > 0;
  launch(runtime::packed(a.buffer, a.offset, a.pitch, a.stride, of_a ? packed.lines(p.a_along_k, p.m) : 0,
                         packed.along(p.a_along_k, p.m), of_a ? packed.matrices(a) : 0, b.buffer, b.offset,
                         b.pitch, b.stride, of_b ? packed.lines(p.b_along_k, p.n) : 0,
                         packed.along(p.b_along_k, p.n), of_b ? packed.matrices(b) : 0, packed.memory,
                         cl_ulong{0}, packed.a_pitch, packed.b, packed.b_pitch));
}

/// The arguments of a launch. `T`: what sums are made in, as kernels take it.
template <class T>
void bind(const ops::Launching& launch, const GemmProblem& problem, const Gemm& product,
          const GemmOperands& o) {
  const GemmFactor c = factor_of(o.c), residual = factor_of(o.residual);
  const bool reads = problem.k > 0, listed = problem.listed;
  GemmFactor a = factor_of(o.a), b = factor_of(o.b);
  const Packed packed(launch, problem);
  if (launch.launch().variant == "pack" || launch.launch().variant == "widen")
    return bind_pack(launch, a, b, packed);
  if (packed.a_pitch > 0) a = packed.packed_a(a);
  if (packed.b_pitch > 0) b = packed.packed_b(b);
  launch(runtime::packed(
      a.buffer, a.offset, a.pitch, a.stride, b.buffer, b.offset, b.pitch, b.stride, c.buffer, c.offset,
      c.pitch, c.stride, problem.m, problem.n, problem.k, problem.batch, static_cast<T>(product.alpha),
      static_cast<T>(product.beta), listed ? product.list.buffer : cl_mem{}, product.list.offset,
      listed && reads ? room_of(o.a.view) : ~cl_ulong{0}, listed && reads ? room_of(o.b.view) : ~cl_ulong{0},
      listed ? room_of(o.c.view) : ~cl_ulong{0}, o.bias.used ? o.bias.view.buffer : cl_mem{},
      o.bias.view.offset, residual.buffer, residual.offset, residual.pitch, residual.stride,
      static_cast<T>(product.epilogue.scale), static_cast<cl_uint>(launch.plan().number("parts")),
      launch.plan().number("part_depth"), launch.scratch(0), launch.counters()));
}
void bind(const ops::Launching& launch, const GemmProblem& problem, const Gemm& product,
          const GemmOperands& o) {
  switch (plan::gemm::value_type(problem.in)) {
    case Scalar::float64:
      return bind<cl_double>(launch, problem, product, o);
    case Scalar::int32:
      return bind<cl_int>(launch, problem, product, o);
    default:
      return bind<cl_float>(launch, problem, product, o);
  }
}

}  // namespace

void ops::bind_product(const Launching& launch, const CheckedProduct& product) {
  const auto& [a, b, c, how] = product;
  GemmProblem problem;
  problem.m = c.rows;
  problem.n = c.cols;
  problem.k = how.transpose_a ? a.rows : a.cols;
  problem.batch = c.batch;
  problem.in = *a.type.scalar;
  problem.a_along_k = !how.transpose_a;
  problem.b_along_k = how.transpose_b;
  GemmOperands o;
  o.a = {"a", a, {}, true};
  o.b = {"b", b, {}, true};
  o.c = {"c", c, {}, true};
  if (has_bias(how)) o.bias = {"bias", as_matrix(how.epilogue.bias), {}, true};
  bind(launch, problem, how, o);
}

cl::Event gemm(const Context& context, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
               const Gemm& given, const CallOptions& options) try {
  Gemm product = given;
  const Scalar of_a = ops::number_type("gemm", "a", a.type), out = ops::number_type("gemm", "c", c.type);
  const Scalar of_b = ops::number_type("gemm", "b", b.type);
  const bool both_fp8 = is_fp8(of_a) && is_fp8(of_b);
  if (!both_fp8) ops::check_type("gemm", "b", b.type, of_a, "a");
  const Epilogue& epilogue = product.epilogue;
  GemmProblem problem = check_shapes(product, a, b, c);
  const Scalar in = problem.turned ? of_b : of_a;
  problem.in = in;
  problem.mixed = of_a != of_b;
  problem.out = out;
  problem.activation = epilogue.activation;
  problem.expression = epilogue.expression;
  problem.batch = check_batch(product, a, b, c);
  plan::gemm::check(context.device(), problem);
  check_numbers(product, out);
  check_epilogue(product, problem, out);
  if (plan::gemm::value_type(in) == Scalar::float32) {
    product.alpha = static_cast<float>(product.alpha);
    product.beta = static_cast<float>(product.beta);
  }
  // What is multiplied by 0 is not read, whatever it is.
  if (product.alpha == 0) problem.k = 0;
  if (problem.k == 0) product.alpha = 0;
  problem.reads_c = product.beta != 0;
  problem.listed = product.list.buffer != nullptr;
  problem.tf32 = product.tf32;
  problem.epilogue = has_bias(product) || has_residual(product) || epilogue.scale != 1 ||
                     problem.activation != Activation::none || !problem.expression.empty();

  GemmOperands o;
  o.a = {"a", a, {}, problem.k > 0};
  o.b = {"b", b, {}, problem.k > 0};
  if (problem.turned) std::swap(o.a, o.b);
  o.c = {"c", c, {}, true};
  if (has_residual(product)) o.residual = {"residual", epilogue.residual, {}, true};
  if (has_bias(product)) o.bias = {"bias", ops::as_matrix(epilogue.bias), {}, true};
  problem.row_bias = has_bias(product) && (epilogue.bias_of == BiasOf::row) != problem.turned;
  problem.column_bias = has_bias(product) && !problem.row_bias;
  problem.residual = has_residual(product);
  problem.residual_is_c = problem.residual && problem.listed && is_c(epilogue.residual, c);
  check_views(context, product, o);
  if (problem.reads_c) ops::require_readable("gemm", "c", o.c.memory);
  if (problem.listed) {
    const ConstMatrix list = ops::as_matrix(product.list);
    if (!ops::is_empty(list)) {
      const ops::Memory memory = ops::check_view(context, "gemm", "list", list, false);
      if (!ops::is_empty(c)) ops::check_apart("gemm", list, memory, c, o.c.memory, "list", "c");
    }
  }
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0)
    return ops::run_empty(context, "gemm", plan_gemm, problem, options);
  // A listed matrix may begin anywhere: at a multiple of its elements.
  const auto alignment = [&](const GemmOperand& operand) {
    if (!operand.used) return std::size_t{64};
    return problem.listed ? operand.view.type.bytes : ops::row_alignment(operand.view, operand.memory);
  };
  problem.a_alignment = alignment(o.a);
  problem.b_alignment = alignment(o.b);
  problem.c_alignment = alignment(o.c);
  for (const GemmOperand* operand : {&o.a, &o.b, &o.c}) {
    if (problem.listed && operand->used) {
      problem.list_alignment =
          std::min(problem.list_alignment, ops::row_alignment(operand->view, operand->memory));
    }
  }
  return ops::run(context, "gemm", plan_gemm, problem, options,
                  [&](const ops::Launching& launch) { bind(launch, problem, product, o); });
} catch (const Error& error) {
  ops::rethrow("gemm", "expression", "an expression of x, row and col in OpenCL C", given.epilogue.expression,
               error);
}

}  // namespace smem
