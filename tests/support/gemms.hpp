/// Runs one product of matrices on one shape and layout, and compares every element of C's buffer with what
/// plain loops in double precision give, within the bounds of the arithmetic.
#pragma once

#include "support/case_sweep.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// How matrices lie in their buffers.
enum class Place { packed, odd, aligned };

struct GemmCase {
  smem::Scalar in = smem::Scalar::float32;
  smem::Scalar out = smem::Scalar::float32;
  bool mixed = false;  ///< of fp8: A is of `in`, B of the other type
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;
  bool column_major = false;
  Place place = Place::odd;
  double alpha = 1, beta = 0;
  std::string variant = {};
  bool listed = false;    ///< the batch's matrices lie as a list says
  bool shared_b = false;  ///< one B serves all products
  int bias = 0;           ///< 1: of rows, 2: of columns
  smem::Activation activation = smem::Activation::none;
  bool tf32 = false;
  bool custom = false;  ///< the expression x * 0.5 + row - col
  double scale = 1;
  int residual = 0;  ///< 1: a matrix of its own, 2: C itself
  smem::PlanOverrides overrides = {};

  smem::Scalar b_in() const {
    if (!mixed) return in;
    return in == smem::Scalar::e4m3 ? smem::Scalar::e5m2 : smem::Scalar::e4m3;
  }
  Tested tested() const {
    return {"gemm", variant, types_text(in, out) + (mixed ? ", mixed" : "") + (tf32 ? " by TF32" : "")};
  }
  std::string text() const {
    constexpr const char* kPlaces[] = {"packed", "odd", "aligned"};
    return fmt::format(
        "gemm {} x {} -> {}, m {} n {} k {}, batch {}{}{}, op(A) {} op(B) {}{}, {}, alpha {} beta {}, bias "
        "{} "
        "{}{}{} "
        "scale {} residual {}, variant \"{}\", tile {} x {} by {}; SMEM_SEED={}",
        smem::name_of(in), smem::name_of(b_in()), smem::name_of(out), m, n, k, batch, listed ? " listed" : "",
        shared_b ? " of one B" : "", transpose_a ? "T" : "N", transpose_b ? "T" : "N",
        column_major ? ", column-major" : "", kPlaces[static_cast<int>(place)], alpha, beta, bias,
        smem::name_of(activation), custom ? " custom" : "", tf32 ? " TF32" : "", scale, residual, variant,
        overrides.tile_rows, overrides.tile_cols, overrides.work_items, seed());
  }
};

/// Numbers of a type, with all their bits.
class Numbers {
 public:
  Numbers(smem::Scalar type, std::size_t count)
      : type_(type), bytes_(std::max<std::size_t>(count, 1) * smem::size_of(type)) {}
  void set(std::size_t i, double value) {
    switch (type_) {
      case smem::Scalar::half:
        return put(i, smem::half(static_cast<float>(value)));
      case smem::Scalar::bfloat16:
        return put(i, smem::bfloat16(static_cast<float>(value)));
      case smem::Scalar::e4m3:
        return put(i, smem::e4m3(static_cast<float>(value)));
      case smem::Scalar::e5m2:
        return put(i, smem::e5m2(static_cast<float>(value)));
      case smem::Scalar::int8:
        return put(i, static_cast<std::int8_t>(value));
      case smem::Scalar::int32:
        return put(i, static_cast<std::int32_t>(value));
      case smem::Scalar::float64:
        return put(i, value);
      default:
        return put(i, static_cast<float>(value));
    }
  }
  double get(std::size_t i) const {
    switch (type_) {
      case smem::Scalar::half:
        return static_cast<float>(take<smem::half>(i));
      case smem::Scalar::bfloat16:
        return static_cast<float>(take<smem::bfloat16>(i));
      case smem::Scalar::e4m3:
        return static_cast<float>(take<smem::e4m3>(i));
      case smem::Scalar::e5m2:
        return static_cast<float>(take<smem::e5m2>(i));
      case smem::Scalar::int8:
        return take<std::int8_t>(i);
      case smem::Scalar::int32:
        return take<std::int32_t>(i);
      case smem::Scalar::float64:
        return take<double>(i);
      default:
        return take<float>(i);
    }
  }
  bool same(std::size_t i, const Numbers& other) const {
    const std::size_t size = smem::size_of(type_);
    return std::memcmp(bytes_.data() + i * size, other.bytes_.data() + i * size, size) == 0;
  }
  std::size_t size() const { return bytes_.size() / smem::size_of(type_); }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  std::vector<unsigned char>& bytes() { return bytes_; }

 private:
  template <class T>
  void put(std::size_t i, T value) {
    std::memcpy(bytes_.data() + i * sizeof value, &value, sizeof value);
  }
  template <class T>
  T take(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof value, sizeof value);
    return value;
  }
  smem::Scalar type_;
  std::vector<unsigned char> bytes_;
};

/// One matrix of a case, or a batch of them: its view, and where its elements are.
struct GemmMatrix {
  smem::Matrix view{nullptr, smem::Scalar::float32, 0, 0};
  bool turned = false;  ///< the view's rows are the matrix's columns
  std::vector<std::size_t> starts = {};

  GemmMatrix() = default;
  GemmMatrix(const GemmCase& c, smem::Scalar type, std::size_t rows, std::size_t cols, std::size_t batch)
      : turned(c.column_major) {
    if (turned) std::swap(rows, cols);
    smem::Extent extent;
    if (c.place != Place::packed) {
      const Layout layout = c.place == Place::odd ? strided(rows, cols, batch) : aligned(rows, cols, batch);
      extent = layout.extent;
    }
    extent.batch = batch;
    view = smem::Matrix(nullptr, type, rows, cols, extent);
    // Of a list aligned rows have gaps, in which some matrices begin later, at no multiples.
    const bool shifts = c.listed && c.place == Place::aligned && view.pitch > view.cols + 2;
    for (std::size_t b = 0; b < batch; ++b)
      starts.push_back(view.offset + b * view.batch_stride + (shifts ? b % 3 : 0));
    if (c.listed) view.batch = 1;
  }
  std::size_t elements() const { return (starts.empty() ? 0 : starts.back()) + view.rows * view.pitch + 9; }
  std::size_t at(std::size_t b, std::size_t i, std::size_t j) const {
    return starts[b % starts.size()] + (turned ? j * view.pitch + i : i * view.pitch + j);
  }
  /// Numbers inside the matrices, and NaN (of integers: anything) between them.
  template <class Number>
  Numbers fill(smem::Scalar type, std::size_t rows, std::size_t cols, Random& random,
               const Number& number) const {
    Numbers numbers(type, elements());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers.set(i, smem::is_float(type) ? std::numeric_limits<double>::quiet_NaN()
                                          : static_cast<double>(random.between(0, 255)) - 128);
    }
    for (std::size_t b = 0; b < starts.size(); ++b)
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j)
          numbers.set(at(b, i, j), number());
    return numbers;
  }
};

/// A sum of products, and that of their sizes.
struct Sums {
  double sum = 0, size = 0;
};

/// Four sums at a time, which do not wait for each other: references take most of the time of long sums.
inline Sums sums_of(const double* left, const double* right, std::size_t k) {
  Sums a, b, c, d;
  const auto add = [&](Sums& to, std::size_t q) {
    const double term = left[q] * right[q];
    to.sum += term;
    to.size += std::abs(term);
  };
  std::size_t q = 0;
  for (; q + 4 <= k; q += 4) {
    add(a, q);
    add(b, q + 1);
    add(c, q + 2);
    add(d, q + 3);
  }
  for (; q < k; ++q)
    add(a, q);
  return {a.sum + b.sum + (c.sum + d.sum), a.size + b.size + (c.size + d.size)};
}

inline double unit_of(smem::Scalar type) {  // half of the distance of neighbours around 1
  switch (type) {
    case smem::Scalar::half:
      return 0x1p-11;
    case smem::Scalar::bfloat16:
      return 0x1p-8;
    case smem::Scalar::float64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

inline smem::GemmProblem problem_of(const GemmCase& c) {
  smem::GemmProblem problem;
  problem.m = c.column_major ? c.n : c.m;
  problem.n = c.column_major ? c.m : c.n;
  problem.k = c.k;
  problem.batch = c.batch;
  problem.tf32 = c.tf32;
  problem.in = c.column_major ? c.b_in() : c.in;
  problem.mixed = c.mixed;
  problem.out = c.out;
  problem.reads_c = c.beta != 0;
  problem.a_along_k = c.column_major ? !c.transpose_b : !c.transpose_a;
  problem.b_along_k = c.column_major ? c.transpose_a : c.transpose_b;
  return problem;
}

/// The matrices of a case, and their numbers before the call. Numbers of the bias begin behind three others.
struct GemmInput {
  static constexpr std::size_t kBeforeBias = 3;

  GemmInput(const GemmCase& c, Random& random)
      : a(c, c.in, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, c.batch),
        b(c, c.b_in(), c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, c.shared_b ? 1 : c.batch),
        out(c, c.out, c.m, c.n, c.batch),
        other(c, c.out, c.m, c.n, c.listed ? 1 : c.batch),
        bias(c.out, (c.bias == 1 ? c.m : c.n) + kBeforeBias) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const bool integer = !smem::is_float(c.in);
    const auto number = [&] {
      if (integer) return static_cast<double>(random.between(0, 255)) - 128;
      const double x = static_cast<double>(random.next() >> 40) * 0x1p-23 - 1;
      return c.variant == "matrix_units" && std::abs(x) < 0x1p-14 ? 0 : x;  // gfx90a flushes subnormal halves
    };
    of_a = a.fill(c.in, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, random, number);
    of_b = b.fill(c.b_in(), c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, random, number);
    // Where C is not read, it holds NaNs only.
    const bool reads_c = c.beta != 0 || c.residual == 2;
    before = out.fill(c.out, c.m, c.n, random, [&] { return reads_c || integer ? number() : kNan; });
    added = other.fill(c.out, c.m, c.n, random, number);
    for (std::size_t i = 0; i < bias.size(); ++i)
      bias.set(i, i < kBeforeBias && !integer ? kNan : number());
  }

  GemmMatrix a, b, out, other;
  Numbers of_a{smem::Scalar::float32, 0}, of_b = of_a, before = of_a, added = of_a;
  Numbers bias;
};

/// The list of a case's matrices, behind one number that is not read.
inline std::vector<std::uint64_t> gemm_list(const GemmCase& c, const GemmInput& of) {
  std::vector<std::uint64_t> list(c.listed ? 1 + 3 * c.batch : 4, 0);
  for (std::size_t p = 0; c.listed && p < c.batch; ++p) {
    list[1 + 3 * p] = of.a.starts[p] - of.a.view.offset;
    list[2 + 3 * p] = of.b.starts[p % of.b.starts.size()] - of.b.view.offset;
    list[3 + 3 * p] = of.out.starts[p] - of.out.view.offset;
  }
  return list;
}

/// The call's options, but for those that have views.
inline smem::Gemm gemm_options(const GemmCase& c) {
  smem::Gemm call;
  call.alpha = c.alpha;
  call.beta = c.beta;
  call.transpose_a = c.transpose_a;
  call.transpose_b = c.transpose_b;
  call.tf32 = c.tf32;
  call.order = c.column_major ? smem::Order::column_major : smem::Order::row_major;
  call.epilogue.activation = c.activation;
  if (c.custom) call.epilogue.expression = "x * 2 + (int)row - (int)col";
  call.epilogue.scale = c.scale;
  return call;
}

/// Plans a case. \returns its fault, or that the plan refuses the variant.
inline Outcome plan_outcome(const smem::Context& context, const GemmCase& c) {
  try {
    smem::PlanOverrides fixed = c.overrides;
    fixed.variant = c.variant;
    smem::GemmProblem problem = problem_of(c);
    // Factors that are not read have any alignment.
    const bool reads_factors = c.m * c.n * c.k * c.batch > 0 && c.alpha != 0;
    if (c.place == Place::odd && reads_factors)
      problem.a_alignment = problem.b_alignment = smem::size_of(c.in);
    const smem::Plan plan = smem::plan_gemm(context.device(), problem, fixed);
    if (plan.local_bytes > context.device().local_bytes ||
        plan.work_items() > context.device().max_work_group)
      return {false, "the plan does not fit the device"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant") return {false, fmt::format("no plan: {}", error.what())};
    return refusal(error);
  }
  return {};
}

/// A number, and what a result may differ from it by.
struct Bounded {
  double x = 0, error = 0;
};

/// Element (i, j) of product p, of a sum along k. `short_sums`: as Hopper's units add 32 products of fp8 to a
/// sum, of 128 at most, with about 14 bits.
inline Bounded gemm_element(const GemmCase& c, const GemmInput& of, const Sums& sums, bool short_sums,
                            std::size_t p, std::size_t i, std::size_t j) {
  const double eps = unit_of(c.in == smem::Scalar::float64 ? c.in : smem::Scalar::float32);
  const double old = of.before.get(of.out.at(p, i, j));
  const double scaled = c.k == 0 || c.alpha == 0 ? 0 : c.alpha * sums.sum;
  double x = scaled + (c.beta != 0 ? c.beta * old : 0);
  // K roundings of partial sums, none larger than the sum of sizes; two for what comes after, in all.
  double error = ((static_cast<double>(c.k) + 2) * eps + (c.tf32       ? 0x1.01p-9
                                                          : short_sums ? 0x1p-11
                                                                       : 0)) *
                     std::abs(c.alpha) * sums.size +
                 4 * eps * (c.beta != 0 ? std::abs(c.beta * old) : 0) + 2 * eps * std::abs(x);
  if (c.bias != 0) x += of.bias.get(GemmInput::kBeforeBias + (c.bias == 1 ? i : j));
  if (c.activation == smem::Activation::relu) x = x < 0 ? 0 : x;
  if (c.activation == smem::Activation::gelu) {  // no steeper than 1.13; erf within 16 units
    error = 1.13 * error + 20 * eps * std::abs(x);
    x = x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  }
  if (c.custom) {
    x = x * 2 + static_cast<double>(i) - static_cast<double>(j);
    error = 2 * error + 2 * eps * static_cast<double>(c.m + c.n);
  }
  x *= c.scale;
  error *= std::abs(c.scale);
  if (c.residual != 0) x += c.residual == 1 ? of.added.get(of.other.at(p, i, j)) : old;
  error += 4 * eps * (std::abs(x) + 4) * (c.bias != 0 || c.residual != 0 || c.scale != 1 ? 1 : 0.25);
  if (c.out != smem::Scalar::float64)
    error += unit_of(c.out) * std::abs(x) + (c.out == smem::Scalar::half ? 0x1p-25 : 0);
  if (!smem::is_float(c.in))
    return {static_cast<double>(
                static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)))),
            0};
  return {x, error};
}

/// Compares all of C's buffer with plain loops in double precision; what lies along k comes first, for speed.
inline Outcome compare_products(const GemmCase& c, const GemmInput& of, const Numbers& got, bool short_sums) {
  std::vector<bool> inside(got.size());
  std::vector<double> left(c.k), right(c.k * c.n);
  for (std::size_t p = 0; p < c.batch; ++p) {
    for (std::size_t q = 0; q < c.k; ++q)
      for (std::size_t j = 0; j < c.n; ++j)
        right[j * c.k + q] = of.of_b.get(c.transpose_b ? of.b.at(p, j, q) : of.b.at(p, q, j));
    for (std::size_t i = 0; i < c.m; ++i) {
      for (std::size_t q = 0; q < c.k; ++q)
        left[q] = of.of_a.get(c.transpose_a ? of.a.at(p, q, i) : of.a.at(p, i, q));
      for (std::size_t j = 0; j < c.n; ++j) {
        const Sums sums = c.alpha != 0 ? sums_of(left.data(), right.data() + j * c.k, c.k) : Sums{};
        const auto [x, error] = gemm_element(c, of, sums, short_sums, p, i, j);
        const std::size_t place = of.out.at(p, i, j);
        inside[place] = true;
        const double result = got.get(place);
        const bool right_nan = std::isnan(x) && std::isnan(result);
        if (!right_nan && !(std::abs(result - x) <= error)) {
          return {false, fmt::format("element ({}, {}) of product {}: expected {} within {}, got {}", i, j, p,
                                     x, error, result)};
        }
      }
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!inside[i] && !got.same(i, of.before))
      return {false, fmt::format("element {} of the buffer, outside C, has changed", i)};
  }
  return {};
}

inline Outcome run(const smem::Context& context, const GemmCase& c, Random& random) {
  GemmInput of(c, random);
  const auto array = [&](const Numbers& numbers) {
    return smem::Array<unsigned char>(context, numbers.bytes());
  };
  const auto a_array = array(of.of_a), b_array = array(of.of_b), c_array = array(of.before),
             other_array = array(of.added), bias_array = array(of.bias);
  of.a.view.buffer = a_array.buffer()();
  of.b.view.buffer = b_array.buffer()();
  of.out.view.buffer = c_array.buffer()();
  of.other.view.buffer = other_array.buffer()();
  const smem::Array<std::uint64_t> list_array(context, gemm_list(c, of));

  smem::Gemm call = gemm_options(c);
  if (c.listed) call.list = list_array.vector(1, 3 * c.batch);
  if (c.bias != 0) {
    call.epilogue.bias =
        smem::Vector(bias_array.buffer()(), c.out, c.bias == 1 ? c.m : c.n, GemmInput::kBeforeBias);
    call.epilogue.bias_of = c.bias == 1 ? smem::BiasOf::row : smem::BiasOf::column;
  }
  if (c.residual != 0) call.epilogue.residual = c.residual == 1 ? of.other.view : of.out.view;
  smem::CallOptions options;
  options.variant = c.variant;
  if (c.overrides != smem::PlanOverrides{}) options.overrides = &c.overrides;

  const Outcome planned = plan_outcome(context, c);
  if (!planned.fault.empty()) return planned;
  try {
    const cl::Event event = smem::gemm(context, of.a.view, of.b.view, of.out.view, call, options);
    if (event() == nullptr) return {false, "the call returned no event"};
    if (planned.refused) return {false, "the plan refuses the variant, and the call runs it"};
  } catch (const smem::Error& error) {
    if (!planned.refused || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  Numbers got(c.out, of.out.elements());
  got.bytes() = c_array.to_host();
  Outcome outcome = compare_products(c, of, got, smem::is_fp8(c.in) && context.device().retargeting);
  if (outcome.fault.empty() && (a_array.to_host() != of.of_a.bytes() || b_array.to_host() != of.of_b.bytes()))
    return {false, "an input has changed"};
  return outcome;
}

using GemmSweep = CaseSweep<GemmCase>;

/// Whether every device runs a variant: of any type, with tiles as small as its local memory.
inline bool is_portable_gemm(std::string_view variant) {
  return variant != "multistage" && variant != "packed" && variant != "mma" && variant != "wgmma" &&
         variant != "matrix_units" && variant != "cpu";
}

/// Shapes around the tiles, skinny and wide ones, and empty ones, with alpha and beta of all kinds.
inline void gemm_shapes(GemmSweep& sweep, GemmCase c) {
  struct Shape {
    std::size_t m, n, k;
    double alpha = 1, beta = 0;
  };
  for (const Shape& shape : std::initializer_list<Shape>{{1, 1, 1},
                                                         {16, 16, 16, 2},
                                                         {15, 17, 31, 1, 1},
                                                         {0, 5, 7},
                                                         {5, 0, 7},
                                                         {5, 7, 0, 1, -2},
                                                         {6, 5, 0},
                                                         {64, 64, 64},
                                                         {63, 65, 33, -3, 2},
                                                         {67, 131, 19},
                                                         {1, 200, 97, 1, 1},
                                                         {130, 1, 45, 2, 0},
                                                         {3, 5, 301, 1, 3},
                                                         {31, 29, 37, 0, 2}}) {
    c.m = shape.m;
    c.n = shape.n;
    c.k = shape.k;
    c.alpha = shape.alpha;
    c.beta = shape.beta;
    sweep.run(c);
  }
}

/// Whether a plan for large matrices, with both factors along k, is the variant's.
inline bool runs_gemm(const smem::Device& device, const char* variant, smem::Scalar in, bool tf32) {
  smem::GemmProblem problem;
  problem.m = problem.n = problem.k = 1024;
  problem.in = in;
  problem.out = in == smem::Scalar::int8      ? smem::Scalar::int32
                : in == smem::Scalar::float64 ? in
                                              : smem::Scalar::float32;
  problem.b_along_k = true;
  problem.tf32 = tf32;
  try {
    smem::plan_gemm(device, problem, {.variant = std::string(variant)});
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

}  // namespace test
