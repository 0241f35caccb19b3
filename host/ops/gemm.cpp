// Products of matrices: arguments -> plan -> launch; one before it where factors are packed, and one after it
// where sums are made in parts.
#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "ops/views.hpp"
#include "plan/gemm_variants.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/gemm.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

using plan::gemm::refuse;

/// A matrix of the call: as the caller gave it, under the caller's name.
struct Operand {
  const char* name = "";
  Matrix view = {};
  ops::Memory memory = {};
  bool used = false;
};

/// A product as the kernels know it: row-major.
struct Operands {
  Operand a, b, c, residual, bias;
};

bool has_residual(const Gemm& product) { return product.epilogue.residual.buffer != nullptr; }
bool has_bias(const Gemm& product) { return product.epilogue.bias.buffer != nullptr; }

std::string shape_of(const Matrix& view) { return formatted("{} x {}", view.rows, view.cols); }

/// \throws Error unless the shapes fit each other. \returns the problem, row-major, but for alignments.
GemmProblem check_shapes(const Gemm& product, const Matrix& a, const Matrix& b, const Matrix& c) {
  // Rows and columns of the matrices, whatever the order in memory.
  const bool turned = product.order == Order::column_major;
  if (!turned && product.order != Order::row_major)
    refuse("order", "row_major or column_major", formatted("number {}", static_cast<int>(product.order)));
  const auto rows = [&](const Matrix& view) { return turned ? view.cols : view.rows; };
  const auto cols = [&](const Matrix& view) { return turned ? view.rows : view.cols; };
  const std::size_t m = product.transpose_a ? cols(a) : rows(a);
  const std::size_t k = product.transpose_a ? rows(a) : cols(a);
  const std::size_t b_rows = product.transpose_b ? cols(b) : rows(b);
  const std::size_t n = product.transpose_b ? rows(b) : cols(b);
  const auto named = [](const char* name, bool transposed) {
    return transposed ? formatted("the transpose of {}", name) : std::string(name);
  };
  if (b_rows != k) {
    refuse("b",
           formatted("{} rows of {}, as {} has columns", k, named("b", product.transpose_b),
                     named("a", product.transpose_a)),
           formatted("{}", b_rows));
  }
  if (rows(c) != m || cols(c) != n)
    refuse("c", formatted("{} x {}", m, n), formatted("{} x {}", rows(c), cols(c)));
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
std::size_t check_batch(const Gemm& product, const Matrix& a, const Matrix& b, const Matrix& c) {
  const Vector& list = product.list;
  const bool listed = list.buffer != nullptr;
  const std::size_t products = listed ? list.size / 3 : c.batch;
  if (listed && list.type != Scalar::uint64) refuse("list", "uint64", plan::gemm::text_of(list.type));
  if (listed && list.size % 3 != 0)
    refuse("list", "three offsets for each product", formatted("{} elements", list.size));
  const auto check = [&](const char* name, const Matrix& view) {
    if (listed && view.batch != 1)
      refuse(name, "a batch of 1: the list says where the others are", formatted("{}", view.batch));
    if (!listed && view.batch != products && view.batch != 1)
      refuse(name, formatted("a batch of {}, as c has, or 1", products), formatted("{}", view.batch));
  };
  check("a", a);
  check("b", b);
  check("c", c);
  const Matrix& residual = product.epilogue.residual;
  if (has_residual(product) && residual.batch != products && residual.batch != 1) {
    refuse("residual", formatted("a batch of {}, as c has, or 1", products), formatted("{}", residual.batch));
  }
  return products;
}

void check_numbers(const Gemm& product, Scalar out) {
  const Epilogue& epilogue = product.epilogue;
  if (out != Scalar::int32) return;
  for (const auto& [name, number] :
       {std::pair{"alpha", product.alpha}, {"beta", product.beta}, {"scale", epilogue.scale}}) {
    if (!(std::abs(number) <= 2147483647.0) || number != std::trunc(number))
      refuse(name, "a whole number of 32 bits, for int32", formatted("{}", number));
  }
}

void check_epilogue(const Gemm& product, const GemmProblem& problem, Scalar out) {
  const Epilogue& epilogue = product.epilogue;
  const std::size_t rows = problem.turned ? problem.n : problem.m,
                    cols = problem.turned ? problem.m : problem.n;
  if (has_bias(product)) {
    const bool of_row = epilogue.bias_of == BiasOf::row;
    if (!of_row && epilogue.bias_of != BiasOf::column)
      refuse("bias_of", "column or row", formatted("number {}", static_cast<int>(epilogue.bias_of)));
    const std::size_t wanted = of_row ? rows : cols;
    if (epilogue.bias.type != out) {
      refuse("bias", formatted("{}, as c has", name_of(out)), plan::gemm::text_of(epilogue.bias.type));
    }
    if (epilogue.bias.size != wanted) {
      refuse("bias", formatted("{} elements, one for each {} of c", wanted, of_row ? "row" : "column"),
             formatted("{}", epilogue.bias.size));
    }
  }
  if (has_residual(product)) {
    const Matrix& residual = epilogue.residual;
    if (residual.element_bytes != size_of(out)) {
      refuse("residual", formatted("elements of {} bytes, as c has", size_of(out)),
             formatted("elements of {} bytes", residual.element_bytes));
    }
    if (residual.rows != problem.m || residual.cols != problem.n)
      refuse("residual", formatted("{} x {}, as c", problem.m, problem.n), shape_of(residual));
  }
}

/// Whether the residual is C as it was: with a list, each product's own.
bool is_c(const Matrix& residual, const Matrix& c) {
  return residual.buffer == c.buffer && residual.offset == c.offset && residual.pitch == c.pitch &&
         residual.batch == c.batch && (c.batch == 1 || residual.batch_stride == c.batch_stride);
}

/// Checks the views' places. \throws Error naming the one that is wrong.
void check_views(const Context& context, const Gemm& product, Operands& o) {
  // A list moves the matrices of a view about in their buffers, and may say so of the same buffer: where they
  // are is known on the device alone.
  const bool listed = product.list.buffer != nullptr;
  for (Operand* operand : {&o.a, &o.b, &o.c, &o.residual, &o.bias}) {
    if (!operand->used || ops::is_empty(operand->view)) continue;
    operand->memory = ops::check_view(context, "gemm", operand->name, operand->view, operand == &o.c);
  }
  if (ops::is_empty(o.c.view)) return;
  const Matrix& c = o.c.view;
  for (const Operand* operand : {&o.a, &o.b, &o.residual, &o.bias}) {
    const Matrix& view = operand->view;
    if (!operand->used || ops::is_empty(view)) continue;
    if (operand == &o.residual && is_c(view, c)) continue;
    if (listed && operand != &o.bias) continue;
    ops::check_apart("gemm", view, operand->memory, c, o.c.memory, operand->name, "c");
  }
}

/// All that the plan depends on.
runtime::ProblemKey key_of(const GemmProblem& problem, const PlanOverrides& fixed, ops::PlanMaker maker) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto power = [](std::size_t alignment) {
    return static_cast<std::uint64_t>(std::countr_zero(alignment));
  };
  const auto text = ops::text_key(std::string_view(problem.expression));
  return ops::make_key(
      maker,
      {number(problem.in) | number(problem.out) << 8 | number(problem.a_along_k) << 16 |
           number(problem.b_along_k) << 17 | number(problem.reads_c) << 18 | number(problem.listed) << 19 |
           number(problem.epilogue) << 20 | number(problem.row_bias) << 22 |
           number(problem.column_bias) << 23 | number(problem.residual) << 31 |
           number(problem.residual_is_c) << 44 | number(problem.turned) << 21 | number(problem.tf32) << 30 |
           number(problem.activation) << 24 | power(problem.a_alignment) << 32 |
           power(problem.b_alignment) << 36 | power(problem.c_alignment) << 40 |
           ops::variant_number(fixed.variant, gemm_variants()) << 48,
       problem.m, problem.n, problem.k, problem.batch, text[0], text[1]},
      fixed);
}

/// Elements that a listed matrix may begin behind its view's own offset, so that it ends in its buffer.
cl_ulong room_of(const Matrix& view) {
  std::size_t bytes = 0;
  runtime::check(clGetMemObjectInfo(view.buffer, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr),
                 "clGetMemObjectInfo", "gemm");
  return bytes / view.element_bytes - view.offset - (view.rows - 1) * view.pitch - view.cols;
}

/// A factor as kernels take it.
struct Factor {
  cl_mem buffer = nullptr;
  cl_ulong offset = 0, pitch = 0, stride = 0;
};

/// Enqueues the launch that packs what is to be packed, and makes the factors those in scratch memory.
cl::Event pack(runtime::Runtime& runtime, const GemmProblem& problem, const plan::gemm::Packing& packing,
               const runtime::ProblemKey& key, std::span<const cl::Event> wait_for, Factor& a, Factor& b,
               cl_mem memory) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto lines = [&](bool is_packed, bool along_k, std::size_t across) {
    return is_packed ? number(along_k ? across : problem.k) : 0;
  };
  const auto along = [&](bool along_k, std::size_t across) { return number(along_k ? problem.k : across); };
  cl::Event event = runtime.run(
      key, [&](const Device&) { return plan::gemm::pack(problem, packing); }, wait_for, a.buffer, a.offset,
      a.pitch, a.stride, lines(packing.a, problem.a_along_k, problem.m), along(problem.a_along_k, problem.m),
      cl_ulong{packing.a ? 1U : 0U}, b.buffer, b.offset, b.pitch, b.stride,
      lines(packing.b, problem.b_along_k, problem.n), along(problem.b_along_k, problem.n),
      cl_ulong{packing.b ? 1U : 0U}, memory, cl_ulong{0}, number(packing.a_pitch), number(packing.b_at),
      number(packing.b_pitch));
  if (packing.a) a = {memory, 0, number(packing.a_pitch), 0};
  if (packing.b) b = {memory, number(packing.b_at), number(packing.b_pitch), 0};
  return event;
}

[[noreturn]] void rethrow(const GemmProblem& problem, const Error& error) {
  ops::rethrow("gemm", "expression", "an expression of x, row and col in OpenCL C", problem.expression,
               error);
}

/// Compiles the caller's own expression where nothing is launched: a wrong one is refused all the same.
void build(const Context& context, const GemmProblem& problem, const PlanOverrides& fixed) {
  try {
    context.runtime().build(key_of(problem, fixed, ops::PlanMaker::gemm),
                            [&](const Device& device) { return plan_gemm(device, problem, fixed); });
  } catch (const Error& error) {
    rethrow(problem, error);
  }
}

/// `T`: what sums are made in, as kernels take it.
template <class T>
cl::Event launch_fixed(const Context& context, const GemmProblem& problem, const Gemm& product,
                       const Operands& o, const CallOptions& options, const PlanOverrides& fixed) {
  runtime::Runtime& runtime = context.runtime();
  // All launches must be of one mind, also where the driver refuses the target of one.
  Device device = context.device();
  plan::gemm::Choice parts = runtime.memo().get(key_of(problem, fixed, ops::PlanMaker::gemm),
                                                [&] { return plan::gemm::choose(device, problem, fixed); });
  if ((parts.scratch_bytes > 0 || parts.packing.bytes > 0) && parts.variant == "wgmma") {
    const plan::gemm::Attempt attempt = plan::gemm::wgmma(device, problem, fixed, parts);
    device.retargeting = attempt.plan && runtime.programs().find(*attempt.plan) != nullptr;
    parts = plan::gemm::choose(device, problem, fixed);
  }
  const auto as_chosen = [&](Device asked) {
    // Both launches of stream_k have the same tiles, or none.
    if (parts.variant == "stream_k") return device;
    asked.retargeting = asked.retargeting && device.retargeting;
    return asked;
  };
  runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes),
      packed(runtime.scratch(), parts.packing.bytes);
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto stride = [&](const Matrix& view) { return view.batch == 1 ? 0 : number(view.batch_stride); };
  // Factors that are not read may have no buffer: any one stands in for them.
  const cl_mem c = o.c.view.buffer;
  const auto buffer_of = [&](const Operand& operand) { return operand.used ? operand.view.buffer : c; };
  const bool reads = problem.k > 0, listed = problem.listed;
  const Matrix& a_view = o.a.view;
  const Matrix& b_view = o.b.view;
  Factor a{buffer_of(o.a), number(a_view.offset), number(a_view.pitch), stride(a_view)};
  Factor b{buffer_of(o.b), number(b_view.offset), number(b_view.pitch), stride(b_view)};
  const Matrix& residual = o.residual.view;
  const auto run = [&](ops::PlanMaker maker, std::span<const cl::Event> wait_for, const auto& make_plan) {
    return runtime.run(
        key_of(problem, fixed, maker), make_plan, wait_for, a.buffer, a.offset, a.pitch, a.stride, b.buffer,
        b.offset, b.pitch, b.stride, c, number(o.c.view.offset), number(o.c.view.pitch), stride(o.c.view),
        number(problem.m), number(problem.n), number(problem.k), number(problem.batch),
        static_cast<T>(product.alpha), static_cast<T>(product.beta), listed ? product.list.buffer : c,
        number(product.list.offset), listed && reads ? room_of(a_view) : ~cl_ulong{0},
        listed && reads ? room_of(b_view) : ~cl_ulong{0}, listed ? room_of(o.c.view) : ~cl_ulong{0},
        buffer_of(o.bias), number(o.bias.view.offset), buffer_of(o.residual), number(residual.offset),
        number(residual.pitch), stride(residual), static_cast<T>(product.epilogue.scale),
        static_cast<cl_uint>(parts.parts), number(parts.part_depth), scratch.memory_or(c));
  };
  try {
    std::span<const cl::Event> wait_for = options.wait_for;
    std::array<cl::Event, 1> factors;
    if (parts.packing.bytes > 0) {
      factors = {pack(runtime, problem, parts.packing, key_of(problem, fixed, ops::PlanMaker::gemm_pack),
                      options.wait_for, a, b, packed.memory_or(c))};
      wait_for = factors;
      packed.used_until(factors.front());
    }
    cl::Event event = run(ops::PlanMaker::gemm, wait_for,
                          [&](const Device& asked) { return plan_gemm(as_chosen(asked), problem, fixed); });
    if (parts.packing.bytes > 0) packed.used_until(event);
    if (parts.scratch_bytes > 0) {
      scratch.used_until(event);
      const std::array<cl::Event, 1> sums{event};
      event = run(ops::PlanMaker::gemm_finish, sums, [&](const Device& asked) {
        return plan_gemm_finish(as_chosen(asked), problem, fixed).value();
      });
      scratch.used_until(event);
    }
    return event;
  } catch (const Error& error) {
    rethrow(problem, error);
  }
}

template <class T>
cl::Event launch(const Context& context, const GemmProblem& problem, const Gemm& product, const Operands& o,
                 const CallOptions& options) {
  const auto make_plan = [&](const PlanOverrides& overrides) {
    return plan_gemm(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed) { return key_of(problem, fixed, ops::PlanMaker::gemm); };
  const PlanOverrides asked = ops::checked_choice(context.runtime(), "gemm", options, key, make_plan);
  return ops::launch_tuned(context.runtime(), "gemm", problem, options, asked, key, make_plan,
                           [&](const PlanOverrides& fixed) {
                             return launch_fixed<T>(context, problem, product, o, options, fixed);
                           });
}

}  // namespace

cl::Event gemm(const Context& context, const Matrix& a, const Matrix& b, Scalar in, const Matrix& c,
               Scalar out, const Gemm& call, const CallOptions& options) {
  Gemm product = call;
  const Epilogue& epilogue = product.epilogue;
  GemmProblem problem = check_shapes(product, a, b, c);
  problem.in = in;
  problem.out = out;
  problem.activation = epilogue.activation;
  problem.expression = epilogue.expression;
  problem.batch = check_batch(product, a, b, c);
  plan::gemm::check(context.device(), problem);
  for (const auto& [name, view, type] : {std::tuple{"a", &a, in}, {"b", &b, in}, {"c", &c, out}}) {
    if (view->element_bytes != size_of(type)) {
      refuse(name, formatted("elements of {} bytes for {}", size_of(type), name_of(type)),
             formatted("elements of {} bytes", view->element_bytes));
    }
  }
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

  Operands o;
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
    const Matrix list = ops::as_matrix(product.list);
    if (!ops::is_empty(list)) {
      const ops::Memory memory = ops::check_view(context, "gemm", "list", list, false);
      if (!ops::is_empty(c)) ops::check_apart("gemm", list, memory, c, o.c.memory, "list", "c");
    }
  }
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) {
    // What is wrong with the options is refused all the same.
    const PlanOverrides fixed = ops::overrides_of(context.runtime(), "gemm", options);
    plan_gemm(context.device(), problem, fixed);
    if (!problem.expression.empty()) build(context, problem, fixed);
    return context.runtime().marker(options.wait_for);
  }
  // A listed matrix may begin anywhere: at a multiple of its elements.
  const auto alignment = [&](const Operand& operand) {
    if (!operand.used) return std::size_t{64};
    return problem.listed ? operand.view.element_bytes : ops::row_alignment(operand.view, operand.memory);
  };
  problem.a_alignment = alignment(o.a);
  problem.b_alignment = alignment(o.b);
  problem.c_alignment = alignment(o.c);
  switch (plan::gemm::value_type(in)) {
    case Scalar::float64:
      return launch<cl_double>(context, problem, product, o, options);
    case Scalar::int32:
      return launch<cl_int>(context, problem, product, o, options);
    default:
      return launch<cl_float>(context, problem, product, o, options);
  }
}

}  // namespace smem
