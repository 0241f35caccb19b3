// Which types a reduction takes, computes with, and gives.
#include "plan/reduce_types.hpp"
#include "formatted.hpp"

#include "plan/sizes.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

namespace smem {

namespace {

// In the order of the enumeration, which is also that of the OP_ numbers in cl/reduce/operation.clh.
constexpr std::array<std::string_view, 15> kReductions{"sum",    "product", "min",  "max",    "bit_and",
                                                       "bit_or", "any",     "all",  "minmax", "argmin",
                                                       "argmax", "mean",    "norm", "dot",    "custom"};

bool is_sum(ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::dot; }
bool is_place(ReduceOp op) { return op == ReduceOp::argmin || op == ReduceOp::argmax; }
bool is_average(ReduceOp op) { return op == ReduceOp::mean || op == ReduceOp::norm; }

}  // namespace

std::string_view name_of(ReduceOp op) { return plan::name_among(kReductions, op); }

namespace plan {

const char* operation_name(const ReduceProblem& problem) {
  if (problem.reduction.op == ReduceOp::dot) {
    return problem.shape == ReduceShape::rows      ? "matvec"
           : problem.shape == ReduceShape::columns ? "vecmat"
                                                   : "dot";
  }
  static constexpr std::array<const char*, 4> kOfShape{"reduce", "reduce_rows", "reduce_columns",
                                                       "reduce_segments"};
  return kOfShape.at(std::min<std::size_t>(static_cast<std::size_t>(problem.shape), 3));
}

const char* result_name(const ReduceProblem& problem) {
  return problem.reduction.op == ReduceOp::dot && problem.shape != ReduceShape::vector ? "y" : "out";
}

namespace {

/// Empty when `out` is a type that the operation can give, else which ones it can.
std::string wrong_result(const ReduceProblem& problem) {
  const ReduceOp op = problem.reduction.op;
  const Scalar out = problem.out;
  if (is_average(op) || (is_sum(op) && is_float(problem.in)))
    return is_float(out) ? "" : "half, float32 or float64";
  if (is_sum(op)) return is_float(out) ? "an integer type" : "";
  if (is_place(op)) return out == Scalar::uint32 || out == Scalar::uint64 ? "" : "uint32 or uint64";
  if (op == ReduceOp::any || op == ReduceOp::all) return out == Scalar::uint8 ? "" : "uint8";
  return out == problem.in ? "" : formatted("{}, as in has", name_of(problem.in));
}

}  // namespace

void check_operation(const Device& device, const char* operation, const char* result,
                     const ReduceProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.reduction;
  require_number(operation, "in", problem.in);
  require_number(operation, result, problem.out);
  if ((op == ReduceOp::bit_and || op == ReduceOp::bit_or) && is_float(problem.in))
    refuse(operation, "in", formatted("integers for {}", name_of(op)), name_of(problem.in));
  if (op == ReduceOp::custom) {
    require_code(operation, "expression", expression);
    require_code(operation, "identity", identity);
  }
  if (const std::string types = wrong_result(problem); !types.empty()) {
    refuse(operation, result, formatted("{} for {} of {}", types, name_of(op), name_of(problem.in)),
           name_of(problem.out));
  }
  require_fp64(operation, device, "in", problem.in);
  require_fp64(operation, device, result, problem.out);
}

void check_reduction(const Device& device, const ReduceProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.reduction;
  const char* operation = operation_name(problem);
  require_known(operation, "reduction", op, ReduceOp::custom);
  require_known(operation, "mode", mode, FloatMode::compensated);
  require_known(operation, "shape", problem.shape, ReduceShape::segments);
  if (problem.shape == ReduceShape::segments) {  // as many as there are offsets, of any lengths
    require_known(operation, "offsets", problem.bounds);
    require_elements(operation, "offsets", {problem.rows, problem.batch});
    require_elements(operation, "in", {problem.cols, problem.batch});
  } else {
    require_elements(operation, "in", {problem.rows, problem.cols, problem.batch});
  }
  if (mode == FloatMode::compensated &&
      (op == ReduceOp::product || op == ReduceOp::norm || op == ReduceOp::custom)) {
    refuse(operation, "mode", formatted("reproducible: there is no compensated {}", name_of(op)),
           "compensated");
  }
  check_operation(device, operation, result_name(problem), problem);
  if (problem.shape == ReduceShape::segments)
    require_one_of(operation, "offsets", problem.bounds, {Scalar::uint32, Scalar::uint64});
  constexpr std::size_t kMostOfBatch = (std::size_t{1} << 32) - 1;  // what kernels divide by has 32 bits
  if (problem.batch > 1 && problem.results() > kMostOfBatch) {
    refuse(operation, "in", formatted("a batch of at most {} results", kMostOfBatch),
           formatted("{}", problem.results()));
  }
  const std::size_t count = problem.count();
  if (is_place(op) && problem.out == Scalar::uint32 && count > std::size_t{1} << 32) {
    refuse(operation, "out", formatted("uint64 for places among {} elements", count), "uint32");
  }
  if (is_place(op) && count == 0 && problem.results() > 0 && problem.shape != ReduceShape::segments) {
    refuse(operation, "in", formatted("at least one element for {}", name_of(op)), "none");
  }
}

Scalar value_type(Scalar in) {
  if (in == Scalar::half) return Scalar::float32;
  if (in == Scalar::int8 || in == Scalar::int16) return Scalar::int32;
  if (in == Scalar::uint8 || in == Scalar::uint16) return Scalar::uint32;
  return in;
}

Scalar bits_of(Scalar type) {
  return static_cast<Scalar>(static_cast<int>(Scalar::uint8) + std::countr_zero(size_of(type)));
}

Scalar accumulator_type(const ReduceProblem& problem) {
  const ReduceOp op = problem.reduction.op;
  if (op == ReduceOp::any || op == ReduceOp::all) return Scalar::uint32;
  const bool integers = !is_float(problem.in);
  if (integers && (is_sum(op) || op == ReduceOp::mean))
    return op == ReduceOp::mean || size_of(problem.out) == 8 ? Scalar::uint64 : Scalar::uint32;
  if (is_sum(op) || is_average(op)) {
    const bool wide = problem.in == Scalar::float64 || problem.out == Scalar::float64;
    return wide ? Scalar::float64 : Scalar::float32;
  }
  return value_type(problem.in);
}

std::size_t accumulator_numbers(const ReduceProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.reduction;
  if (op == ReduceOp::norm) return 3;
  const bool pair = op == ReduceOp::minmax || is_place(op) ||
                    (mode == FloatMode::compensated && is_float(problem.in) &&
                     (op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::dot));
  return pair ? 2 : 1;
}

namespace {

/// Whether an index has 32 bits, beside a number of 32.
bool has_short_index(const ReduceProblem& problem) {
  const std::size_t elements = problem.shape == ReduceShape::columns ? problem.rows : problem.cols;
  return is_place(problem.reduction.op) && size_of(accumulator_type(problem)) == 4 &&
         elements < std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

std::size_t accumulator_bytes(const ReduceProblem& problem) {
  if (is_place(problem.reduction.op)) return has_short_index(problem) ? 8 : 16;
  return accumulator_numbers(problem) * size_of(accumulator_type(problem));
}

void define_operation(Launch& plan, const ReduceProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.reduction;
  const Scalar value = value_type(problem.in), accumulator = accumulator_type(problem);
  const auto flag = [&](const char* name, bool set) {
    if (set) define(plan, name, 1);
  };
  const auto word = [&](const char* name, std::string_view text) {
    plan.text_defines.emplace_back(name, text);
  };
  define(plan, {{"OPERATION", static_cast<int>(op)}, {"FLOATING", is_float(problem.in)}});
  const bool wide = problem.in == Scalar::float64 || problem.out == Scalar::float64;
  flag("USE_DOUBLE", wide);
  flag("COMPENSATED", mode == FloatMode::compensated && is_float(problem.in));
  flag("WIDE_ACC", size_of(accumulator) == 8);
  flag("SHORT_INDEX", has_short_index(problem));
  flag("ELEMENT_HALF", problem.in == Scalar::half);
  flag("RESULT_HALF", problem.out == Scalar::half);
  flag("NORM_DOUBLE", op == ReduceOp::norm && accumulator == Scalar::float64);
  define_types(plan,
               {{"ELEMENT", problem.in}, {"VALUE", value}, {"ACC", accumulator}, {"RESULT", problem.out}});
  if (!is_float(problem.in)) {
    static constexpr std::array<std::string_view, 8> kLimits{"CHAR",  "SHRT",  "INT",  "LONG",
                                                             "UCHAR", "USHRT", "UINT", "ULONG"};
    const std::string_view limit = kLimits.at(static_cast<std::size_t>(problem.in));
    word("LARGEST", formatted("{}_MAX", limit));
    word("SMALLEST", is_signed(problem.in) ? formatted("{}_MIN", limit) : "0");
  }
  if (op == ReduceOp::mean) {
    word("MEAN_TYPE", wide ? "double" : "float");
    if (!is_float(problem.in) && is_signed(problem.in)) word("SIGNED_ACC", "long");
  }
  if (op == ReduceOp::custom) {
    const std::string_view type = opencl_name_of(value);
    plan.preamble = formatted(
        "#line 1 \"custom.cl\"\n"
        "static inline {0} custom_combine({0} a, {0} b) {{ return (\n"
        "#line 1 \"expression.cl\"\n{1}\n"
        "#line 2 \"custom.cl\"\n); }}\n"
        "static inline {0} custom_identity(void) {{ return ({0})(\n"
        "#line 1 \"identity.cl\"\n{2}\n"
        "#line 4 \"custom.cl\"\n); }}\n",
        type, expression, identity);
    if (wide) plan.preamble.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  }
}

}  // namespace plan

}  // namespace smem
