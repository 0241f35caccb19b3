// Which types a reduction takes, computes with, and gives.
#include "plan/reduce_types.hpp"
#include "formatted.hpp"

#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <array>
#include <string>
#include <utility>

namespace smem {

namespace {

// In the order of the enumeration, which is also that of the OP_ numbers in cl/reduce/operation.clh.
constexpr std::array<std::string_view, 15> kNames{"sum",    "product", "min",  "max",    "bit_and",
                                                  "bit_or", "any",     "all",  "minmax", "argmin",
                                                  "argmax", "mean",    "norm", "dot",    "custom"};

bool is_sum(ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::dot; }
bool is_place(ReduceOp op) { return op == ReduceOp::argmin || op == ReduceOp::argmax; }
bool is_average(ReduceOp op) { return op == ReduceOp::mean || op == ReduceOp::norm; }

[[noreturn]] void refuse(const ReduceProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = plan::operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

}  // namespace

std::string_view name_of(ReduceOp op) { return plan::name_among(kNames, op); }

namespace plan {

const char* operation_name(const ReduceProblem& problem) {
  if (problem.reduction.op == ReduceOp::dot) {
    return problem.shape == ReduceShape::rows      ? "matvec"
           : problem.shape == ReduceShape::columns ? "vecmat"
                                                   : "dot";
  }
  switch (problem.shape) {
    case ReduceShape::vector:
      return "reduce";
    case ReduceShape::rows:
      return "reduce_rows";
    case ReduceShape::columns:
      return "reduce_columns";
    case ReduceShape::segments:
      return "reduce_segments";
  }
  return "reduce";
}

const char* result_name(const ReduceProblem& problem) {
  return problem.reduction.op == ReduceOp::dot && problem.shape != ReduceShape::vector ? "y" : "out";
}

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
  require_number(operation_name(problem), "in", problem.in);
  require_number(operation_name(problem), result_name(problem), problem.out);
  if ((op == ReduceOp::bit_and || op == ReduceOp::bit_or) && is_float(problem.in)) {
    refuse(problem, "in", formatted("integers for {}", name_of(op)), std::string(name_of(problem.in)));
  }
  if (mode == FloatMode::compensated &&
      (op == ReduceOp::product || op == ReduceOp::norm || op == ReduceOp::custom)) {
    refuse(problem, "mode", formatted("reproducible: there is no compensated {}", name_of(op)),
           "compensated");
  }
  if (op == ReduceOp::custom && (expression.empty() || identity.empty())) {
    refuse(problem, expression.empty() ? "expression" : "identity", "OpenCL C", "nothing");
  }
  if (const std::string types = wrong_result(problem); !types.empty()) {
    refuse(problem, result_name(problem),
           formatted("{} for {} of {}", types, name_of(op), name_of(problem.in)),
           std::string(name_of(problem.out)));
  }
  if (!device.fp64 && (problem.in == Scalar::float64 || problem.out == Scalar::float64)) {
    throw Error({.operation = operation_name(problem),
                 .argument = problem.in == Scalar::float64 ? "in" : result_name(problem),
                 .expected = "a type that the device computes with; it has no fp64",
                 .got = "float64",
                 .device = device.name});
  }
  if (problem.shape == ReduceShape::segments && problem.bounds != Scalar::uint32 &&
      problem.bounds != Scalar::uint64) {
    refuse(problem, "offsets", "uint32 or uint64", std::string(name_of(problem.bounds)));
  }
  constexpr std::size_t kMostOfBatch = (std::size_t{1} << 32) - 1;  // what kernels divide by has 32 bits
  if (problem.batch > 1 && problem.results() > kMostOfBatch) {
    refuse(problem, "in", formatted("a batch of at most {} results", kMostOfBatch),
           formatted("{}", problem.results()));
  }
  const std::size_t count = problem.count();
  if (is_place(op) && problem.out == Scalar::uint32 && count > std::size_t{1} << 32) {
    refuse(problem, "out", formatted("uint64 for places among {} elements", count), "uint32");
  }
  if (is_place(op) && count == 0 && problem.results() > 0 && problem.shape != ReduceShape::segments) {
    refuse(problem, "in", formatted("at least one element for {}", name_of(op)), "none");
  }
}

Scalar value_type(Scalar in) {
  if (in == Scalar::half) return Scalar::float32;
  if (in == Scalar::int8 || in == Scalar::int16) return Scalar::int32;
  if (in == Scalar::uint8 || in == Scalar::uint16) return Scalar::uint32;
  return in;
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

std::size_t accumulator_bytes(const ReduceProblem& problem) {
  if (is_place(problem.reduction.op)) return 16;  // a ulong, and a number of 4 or 8 bytes
  return accumulator_numbers(problem) * size_of(accumulator_type(problem));
}

void define_operation(Launch& plan, const ReduceProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.reduction;
  const Scalar value = value_type(problem.in), accumulator = accumulator_type(problem);
  const auto flag = [&](const char* name, bool set) {
    if (set) plan.defines.emplace_back(name, 1);
  };
  const auto word = [&](const char* name, std::string_view text) {
    plan.text_defines.emplace_back(name, text);
  };
  plan.defines.emplace_back("OPERATION", static_cast<long>(op));
  plan.defines.emplace_back("FLOATING", is_float(problem.in) ? 1 : 0);
  const bool wide = [&] {
    for (const Scalar type : {problem.in, problem.out, accumulator})
      if (type == Scalar::float64) return true;
    return false;
  }();
  flag("USE_DOUBLE", wide);
  flag("COMPENSATED", mode == FloatMode::compensated && is_float(problem.in));
  flag("WIDE_ACC", size_of(accumulator) == 8);
  flag("ELEMENT_HALF", problem.in == Scalar::half);
  flag("RESULT_HALF", problem.out == Scalar::half);
  flag("NORM_DOUBLE", op == ReduceOp::norm && accumulator == Scalar::float64);
  word("ELEMENT", opencl_name_of(problem.in));
  word("VALUE", opencl_name_of(value));
  word("ACC", opencl_name_of(accumulator));
  word("RESULT", opencl_name_of(problem.out));
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
