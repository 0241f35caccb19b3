/// Runs one reduction on one shape and layout, and compares every byte of the output buffer with what plain
/// loops give.
#pragma once

#include "support/matrices.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace test {

inline constexpr smem::Scalar kScalars[] = {smem::Scalar::int8,    smem::Scalar::int16,  smem::Scalar::int32,
                                            smem::Scalar::int64,   smem::Scalar::uint8,  smem::Scalar::uint16,
                                            smem::Scalar::uint32,  smem::Scalar::uint64, smem::Scalar::half,
                                            smem::Scalar::float32, smem::Scalar::float64};

/// All but dot and custom, which have tests of their own.
inline constexpr smem::ReduceOp kReduceOps[] = {
    smem::ReduceOp::sum,     smem::ReduceOp::product, smem::ReduceOp::min,    smem::ReduceOp::max,
    smem::ReduceOp::bit_and, smem::ReduceOp::bit_or,  smem::ReduceOp::any,    smem::ReduceOp::all,
    smem::ReduceOp::minmax,  smem::ReduceOp::argmin,  smem::ReduceOp::argmax, smem::ReduceOp::mean,
    smem::ReduceOp::norm};

/// Calls `work(T{})` with the C++ type of a scalar.
template <class Work>
auto with_type(smem::Scalar type, const Work& work) {
  switch (type) {
    case smem::Scalar::int8:
      return work(std::int8_t{});
    case smem::Scalar::int16:
      return work(std::int16_t{});
    case smem::Scalar::int32:
      return work(std::int32_t{});
    case smem::Scalar::int64:
      return work(std::int64_t{});
    case smem::Scalar::uint8:
      return work(std::uint8_t{});
    case smem::Scalar::uint16:
      return work(std::uint16_t{});
    case smem::Scalar::uint32:
      return work(std::uint32_t{});
    case smem::Scalar::uint64:
      return work(std::uint64_t{});
    case smem::Scalar::half:
      return work(smem::half{});
    case smem::Scalar::float32:
      return work(float{});
    default:
      return work(double{});
  }
}

/// The result type that the blocking functions use.
inline smem::Scalar usual_result(smem::ReduceOp op, smem::Scalar in) {
  using smem::ReduceOp, smem::Scalar;
  if (op == ReduceOp::argmin || op == ReduceOp::argmax) return Scalar::uint64;
  if (op == ReduceOp::any || op == ReduceOp::all) return Scalar::uint8;
  if (op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::dot) {
    if (smem::is_float(in)) return in == Scalar::float64 ? in : Scalar::float32;
    return smem::is_signed(in) ? Scalar::int64 : Scalar::uint64;
  }
  if (op == ReduceOp::mean || op == ReduceOp::norm)
    return in == Scalar::half || in == Scalar::float32 ? Scalar::float32 : Scalar::float64;
  return in;
}

/// Elements for which every operation has one right result: sums of floats are exact in any order, and so are
/// products; all bits of integers occur. `nans`: one element of `nans` is a NaN.
template <class T>
T element_for(smem::ReduceOp op, Random& random, std::size_t nans) {
  if constexpr (smem::is_float(smem::scalar_of<T>)) {
    if (nans != 0 && random.chance(nans)) return T(std::numeric_limits<float>::quiet_NaN());
    if (op == smem::ReduceOp::product) return T(random.chance(2) ? 1.0F : -1.0F);
    if (op == smem::ReduceOp::any) return T(random.chance(100000) ? 0.5F : 0.0F);
    if (op == smem::ReduceOp::all) return T(random.chance(100000) ? 0.0F : 0.5F);
    return T(static_cast<float>(static_cast<int>(random.between(0, 16)) - 8));
  } else {
    if (op == smem::ReduceOp::any) return static_cast<T>(random.chance(100000) ? random.next() | 1 : 0);
    if (op == smem::ReduceOp::all) return static_cast<T>(random.chance(100000) ? 0 : random.next() | 1);
    if (op == smem::ReduceOp::bit_and)
      return static_cast<T>(random.next() | random.next() | random.next() | random.next());
    if (op == smem::ReduceOp::product) return static_cast<T>(random.next() | 1);  // else soon 0
    return static_cast<T>(random.next());
  }
}

/// One result: an integer's 64 bits, of which narrower types keep the low ones, or a floating-point number.
struct Expected {
  std::uint64_t integer = 0;
  double real = 0;
  double relative_error = 0;  ///< that is allowed
};

template <class T>
std::uint64_t bits_of(T value) {
  return static_cast<std::uint64_t>(value);  // sign-extended
}

/// `at(i)` is element i of n. The second of the results is the greatest of minmax.
template <class T, class At>
std::pair<Expected, Expected> expected_of(smem::ReduceOp op, std::size_t n, const At& at) {
  using smem::ReduceOp;
  constexpr bool kFloat = smem::is_float(smem::scalar_of<T>);
  using Value = std::conditional_t<kFloat, double, T>;
  const auto value = [&](std::size_t i) {
    if constexpr (std::is_same_v<T, smem::half>) {
      return static_cast<double>(static_cast<float>(at(i)));
    } else {
      return static_cast<Value>(at(i));
    }
  };
  const auto number = [](Value v) {
    Expected e;
    if constexpr (kFloat) {
      e.real = v;
    } else {
      e.integer = bits_of(v);
    }
    return e;
  };
  const auto is_nan = [](Value v) { return v != v; };
  Expected first, second;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean: {
      double real = 0;
      std::uint64_t integer = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if constexpr (kFloat) {
          real += value(i);
        } else {
          integer += bits_of(value(i));
        }
      }
      first.integer = integer;
      first.real = real;
      if (op == ReduceOp::mean) {
        if constexpr (!kFloat)
          first.real = std::is_signed_v<T> ? static_cast<double>(static_cast<std::int64_t>(integer))
                                           : static_cast<double>(integer);
        first.real /= static_cast<double>(n);
        first.relative_error = 4;  // one division of OpenCL C: 2.5 ulp; and the conversion
      }
      return {first, second};
    }
    case ReduceOp::product: {
      first.integer = 1;
      first.real = 1;
      for (std::size_t i = 0; i < n; ++i) {
        if constexpr (kFloat) {
          first.real *= value(i);
        } else {
          first.integer *= bits_of(value(i));
        }
      }
      return {first, second};
    }
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::minmax: {
      Value least, greatest;
      if constexpr (kFloat) {
        least = greatest = std::numeric_limits<double>::quiet_NaN();
      } else {
        least = std::numeric_limits<T>::max();
        greatest = std::numeric_limits<T>::min();
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (is_nan(value(i))) continue;
        if (is_nan(least) || value(i) < least) least = value(i);
        if (is_nan(greatest) || value(i) > greatest) greatest = value(i);
      }
      if (op == ReduceOp::max) return {number(greatest), second};
      return {number(least), number(greatest)};
    }
    case ReduceOp::bit_and:
    case ReduceOp::bit_or: {
      first.integer = op == ReduceOp::bit_and ? ~std::uint64_t{0} : 0;
      if constexpr (!kFloat) {
        for (std::size_t i = 0; i < n; ++i) {
          if (op == ReduceOp::bit_and) {
            first.integer &= bits_of(value(i));
          } else {
            first.integer |= bits_of(value(i));
          }
        }
      }
      return {first, second};
    }
    case ReduceOp::any:
    case ReduceOp::all: {
      first.integer = op == ReduceOp::all ? 1 : 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (op == ReduceOp::any && value(i) != 0) first.integer = 1;
        if (op == ReduceOp::all && value(i) == 0) first.integer = 0;
      }
      return {first, second};
    }
    case ReduceOp::argmin:
    case ReduceOp::argmax: {
      if (n == 0) first.integer = ~std::uint64_t{0};
      for (std::size_t i = 1; i < n; ++i) {
        const Value best = value(first.integer), v = value(i);
        const bool better = op == ReduceOp::argmin ? v < best : v > best;
        if (better || (is_nan(best) && !is_nan(v))) first.integer = i;
      }
      return {first, second};
    }
    case ReduceOp::norm: {
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i)
        squares += static_cast<double>(value(i)) * static_cast<double>(value(i));
      first.real = std::sqrt(squares);
      first.relative_error = static_cast<double>(n) + 16;
      return {first, second};
    }
    default:
      throw std::logic_error("no reference for this operation");
  }
}

/// Whether the `bytes` of a result of type `out` are what was expected.
inline bool is_right(const Expected& expected, smem::Scalar out, const unsigned char* bytes) {
  return with_type(out, [&](auto zero) {
    using Out = decltype(zero);
    Out got;
    std::memcpy(&got, bytes, sizeof got);
    if constexpr (smem::is_float(smem::scalar_of<Out>)) {
      const double eps = std::is_same_v<Out, double>  ? 0x1p-52
                         : std::is_same_v<Out, float> ? 0x1p-23
                                                      : 0x1p-10;
      double value = 0, wanted = expected.real;
      if constexpr (std::is_same_v<Out, double>) {
        value = got;
      } else {
        value = static_cast<float>(got);
        wanted = static_cast<float>(Out(static_cast<float>(wanted)));
      }
      if (std::isnan(value) || std::isnan(wanted)) return std::isnan(value) && std::isnan(wanted);
      return value == wanted || std::abs(value - wanted) <= expected.relative_error * eps * std::abs(wanted);
    } else {
      return got == static_cast<Out>(expected.integer);
    }
  });
}

struct ReduceCase {
  smem::ReduceShape shape = smem::ReduceShape::vector;
  smem::Reduction reduction = smem::ReduceOp::sum;
  smem::Scalar in = smem::Scalar::float32;
  std::optional<smem::Scalar> out = {};  ///< else the usual one
  std::string variant = {};
  std::size_t rows = 1;
  std::size_t cols = 0;
  Layout layout = {};
  std::size_t out_offset = 0;
  std::size_t nans = 0;                       ///< one element of this number is a NaN; 0: none
  std::vector<std::uint64_t> bounds = {};     ///< of segments
  smem::Scalar bound = smem::Scalar::uint32;  ///< their type

  Tested tested() const {
    const char* const names[] = {"reduce", "reduce_rows", "reduce_columns", "reduce_segments"};
    return {names[static_cast<int>(shape)], variant, std::string(smem::name_of(in))};
  }
  std::string text() const {
    return fmt::format(
        "{}: {} of {} {} x {}, offset {} pitch {} batch {} stride {}, out offset {}, NaNs 1/{}, variant "
        "\"{}\"; SMEM_SEED={}",
        tested().operation, smem::name_of(reduction.op), smem::name_of(in), rows, cols, layout.extent.offset,
        layout.extent.pitch, layout.extent.batch, layout.extent.batch_stride, out_offset, nans, variant,
        seed());
  }
};

inline smem::ReduceProblem problem_of(const ReduceCase& c) {
  smem::ReduceProblem problem;
  problem.reduction = c.reduction;
  problem.shape = c.shape;
  problem.in = c.in;
  problem.out = c.out.value_or(usual_result(c.reduction.op, c.in));
  problem.rows = c.shape == smem::ReduceShape::segments ? c.bounds.size() - 1 : c.rows;
  problem.cols = c.cols;
  problem.batch = c.layout.extent.batch;
  problem.bounds = c.bound;
  // As the call finds it: the work-groups of columns depend on it.
  const smem::Matrix in(nullptr, c.in, c.rows, c.cols, c.layout.extent);
  if (c.shape == smem::ReduceShape::rows && (in.rows == 1 || in.pitch == in.cols) &&
      (in.batch == 1 || in.batch_stride == in.rows * in.cols))
    problem.packed_alignment = elements_of(in) > in.offset ? std::min<std::size_t>(16, alignment_of(in)) : 16;
  if (c.shape == smem::ReduceShape::columns && elements_of(in) > in.offset)
    problem.alignment = std::min<std::size_t>(16, alignment_of(in));
  return problem;
}

/// Whether the case's variant runs on the device.
inline bool has_plan(const smem::Device& device, const ReduceCase& c) {
  try {
    smem::plan_reduce(device, problem_of(c), {.variant = c.variant});
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

/// Where element (i, j) of matrix b lies.
inline std::size_t place_in(const smem::Matrix& shape, std::size_t b, std::size_t i, std::size_t j) {
  return shape.offset + b * shape.batch_stride + i * shape.pitch + j;
}

/// The elements of a case; between the rows and around them lie NaNs, or any integers.
template <class T>
std::vector<T> reduce_input(const ReduceCase& c, const smem::Matrix& shape, Random& random) {
  std::vector<T> input(std::max<std::size_t>(elements_of(shape) + c.layout.tail, 1));
  for (T& element : input) {
    if constexpr (smem::is_float(smem::scalar_of<T>)) {
      element = T(std::numeric_limits<float>::quiet_NaN());
    } else {
      element = static_cast<T>(random.next());
    }
  }
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      for (std::size_t j = 0; j < shape.cols; ++j)
        input[place_in(shape, b, i, j)] = element_for<T>(c.reduction.op, random, c.nans);
    }
  }
  return input;
}

/// The results by plain loops, in their order.
template <class T>
std::vector<Expected> reduce_expected(const ReduceCase& c, const smem::Matrix& shape,
                                      const std::vector<T>& input) {
  using smem::ReduceShape;
  std::vector<Expected> expected;
  const auto expect = [&](std::size_t n, const auto& at) {
    const auto [first, second] = expected_of<T>(c.reduction.op, n, at);
    expected.push_back(first);
    if (c.reduction.op == smem::ReduceOp::minmax) expected.push_back(second);
  };
  if (c.shape == ReduceShape::segments) {
    for (std::size_t s = 0; s + 1 < c.bounds.size(); ++s) {
      const std::size_t begin = std::min<std::size_t>(c.bounds[s], c.cols);
      const std::size_t end = std::max(begin, std::min<std::size_t>(c.bounds[s + 1], c.cols));
      expect(end - begin, [&](std::size_t i) { return input[place_in(shape, 0, 0, begin + i)]; });
    }
  } else if (c.shape == ReduceShape::columns) {
    for (std::size_t b = 0; b < shape.batch; ++b) {
      for (std::size_t j = 0; j < shape.cols; ++j)
        expect(shape.rows, [&](std::size_t i) { return input[place_in(shape, b, i, j)]; });
    }
  } else {
    for (std::size_t b = 0; b < shape.batch; ++b) {
      for (std::size_t i = 0; i < shape.rows; ++i)
        expect(shape.cols, [&](std::size_t j) { return input[place_in(shape, b, i, j)]; });
    }
  }
  return expected;
}

/// Launches the reduction of a case.
inline cl::Event launch_reduce(const smem::Context& context, const ReduceCase& c, const smem::Matrix& in,
                               const smem::Vector& out) {
  using smem::ReduceShape;
  const smem::CallOptions options{.variant = c.variant};
  const smem::Vector vector(in.buffer, c.in, c.cols, in.offset);
  if (c.shape == ReduceShape::vector) return smem::reduce(context, vector, out, c.reduction, options);
  if (c.shape == ReduceShape::rows) return smem::reduce_rows(context, in, out, c.reduction, options);
  if (c.shape == ReduceShape::columns) return smem::reduce_columns(context, in, out, c.reduction, options);
  const std::vector<std::uint32_t> narrow(c.bounds.begin(), c.bounds.end());
  const smem::Array<std::uint32_t> bounds32(context, narrow);
  const smem::Array<std::uint64_t> bounds64(context, c.bounds);
  const bool wide = c.bound == smem::Scalar::uint64;
  cl::Event event = smem::reduce_segments(
      context, vector, wide ? smem::Vector(bounds64.vector()) : smem::Vector(bounds32.vector()), out,
      c.reduction, options);
  context.finish();  // the bounds go with this scope
  return event;
}

/// Compares the whole output buffer: results from element `first` on, and all else as it was in `poison`.
inline Outcome compare_results(const std::vector<Expected>& expected, smem::Scalar type, std::size_t first,
                               const std::vector<unsigned char>& poison, std::vector<unsigned char> got) {
  const std::size_t out_bytes = smem::size_of(type);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    unsigned char* bytes = got.data() + (first + r) * out_bytes;
    if (!is_right(expected[r], type, bytes)) {
      const std::string value = with_type(type, [&](auto zero) {
        std::memcpy(&zero, bytes, sizeof zero);
        if constexpr (std::is_same_v<decltype(zero), smem::half>) {
          return fmt::format("{}", static_cast<float>(zero));
        } else {
          return fmt::format("{}", zero);
        }
      });
      return {false, fmt::format("result {} of {} is {}, expected {} or {}", r, expected.size(), value,
                                 expected[r].real, expected[r].integer)};
    }
    std::memcpy(bytes, poison.data() + (first + r) * out_bytes, out_bytes);
  }
  if (got != poison) return {false, "the output buffer has changed outside the results"};
  return {};
}

template <class T>
Outcome run_typed(const smem::Context& context, const ReduceCase& c, Random& random) {
  const smem::ReduceProblem problem = problem_of(c);
  const smem::Matrix shape(nullptr, smem::scalar_of<T>, c.rows, c.cols, c.layout.extent);
  const std::vector<T> input = reduce_input<T>(c, shape, random);
  const std::vector<Expected> expected = reduce_expected(c, shape, input);
  const std::vector<unsigned char> poison =
      random.bytes((c.out_offset + expected.size() + 3) * smem::size_of(problem.out));
  const smem::Array<T> in_array(context, input);
  const smem::Array<unsigned char> out_array(context, poison);

  bool plan_refuses = false;
  try {
    smem::plan_reduce(context.device(), problem, {.variant = std::string(c.variant)});
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant") return {false, fmt::format("no plan: {}", error.what())};
    plan_refuses = true;
  }
  try {
    const cl::Event event = launch_reduce(
        context, c, smem::Matrix(in_array.buffer()(), smem::scalar_of<T>, c.rows, c.cols, c.layout.extent),
        smem::Vector(out_array.buffer()(), problem.out, expected.size(), c.out_offset));
    if (event() == nullptr) return {false, "the call returned no event"};
    if (plan_refuses) return {false, "the plan refuses the variant, and the call runs it"};
  } catch (const smem::Error& error) {
    if (!plan_refuses || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (out_array.to_host() != poison) return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  Outcome outcome = compare_results(expected, problem.out, c.out_offset, poison, out_array.to_host());
  const std::vector<T> after = in_array.to_host();
  if (outcome.fault.empty() && std::memcmp(after.data(), input.data(), input.size() * sizeof(T)) != 0)
    return {false, "the input has changed"};
  return outcome;
}

inline Outcome run(const smem::Context& context, const ReduceCase& c, Random& random) {
  return with_type(c.in, [&](auto zero) { return run_typed<decltype(zero)>(context, c, random); });
}

}  // namespace test
