/// Runs one scan on one shape and layout, and compares every byte of the output buffer with what a plain loop
/// gives.
#pragma once

#include "support/case_sweep.hpp"
#include "support/reduce_sweep.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

/// The functions x -> low * x + high, composed from left to right, in 16 bits each: associative, and not
/// commutative.
inline smem::Reduction affine() {
  return smem::Reduction::custom(
      "((a & 0xffffu) * (b & 0xffffu) & 0xffffu) | ((a >> 16) * (b & 0xffffu) + (b >> 16)) << 16", "1u");
}
inline std::uint32_t compose(std::uint32_t a, std::uint32_t b) {
  return ((a & 0xffffU) * (b & 0xffffU) & 0xffffU) | ((a >> 16) * (b & 0xffffU) + (b >> 16)) << 16;
}

struct ScanCase {
  smem::ScanShape shape = smem::ScanShape::vector;
  smem::Reduction operation = smem::ReduceOp::sum;  ///< custom: affine()
  bool exclusive = false;
  std::optional<int> initial = {};
  smem::Scalar in = smem::Scalar::int32;
  std::optional<smem::Scalar> out = {};  ///< else the usual one
  std::string variant = {};
  std::size_t work_items = 0;  ///< fixed, where it is not 0
  std::size_t rows = 1;
  std::size_t cols = 0;
  Layout from = {};
  Layout to = {};
  bool in_place = false;                     ///< `to` is not used
  std::size_t nans = 0;                      ///< one element of this number is a NaN; 0: none
  std::vector<std::uint64_t> marks = {};     ///< offsets, or keys
  smem::Scalar mark = smem::Scalar::uint32;  ///< their type
  std::size_t marks_offset = 0;              ///< of their view

  Tested tested() const {
    const char* const names[] = {"scan", "scan_rows", "scan_columns", "scan_segments", "scan_by_key"};
    return {names[static_cast<int>(shape)], variant, std::string(smem::name_of(in))};
  }
  std::string text() const {
    return fmt::format(
        "{}{} of {} {} x {}, shape {}, initial {}, in: offset {} pitch {} batch {} stride {}, out: offset {} "
        "pitch {}{}, {} marks of {} from {}, variant \"{}\"; SMEM_SEED={}",
        exclusive ? "exclusive " : "", smem::name_of(operation.op), smem::name_of(in), rows, cols,
        static_cast<int>(shape), initial.value_or(-1), from.extent.offset, from.extent.pitch,
        from.extent.batch, from.extent.batch_stride, to.extent.offset, to.extent.pitch,
        in_place ? ", in place" : "", marks.size(), smem::name_of(mark), marks_offset, variant, seed());
  }
};

inline ScanCase vector_case(smem::ReduceOp op, smem::Scalar type, std::string_view variant) {
  ScanCase c;
  c.operation = op;
  c.in = type;
  c.variant = variant;
  return c;
}

/// The variants that do more than whole vectors.
inline constexpr const char* kShapedScans[] = {"reduce_then_scan", "short_rows", "look_back", "cpu"};

inline smem::ScanProblem problem_of(const ScanCase& c) {
  smem::ScanProblem problem;
  problem.operation = c.operation;
  problem.shape = c.shape;
  problem.exclusive = c.exclusive;
  problem.in = c.in;
  problem.out = c.out.value_or(usual_result(c.operation.op, c.in));
  problem.rows = c.rows;
  problem.cols = c.cols;
  problem.batch = c.from.extent.batch;
  problem.marks = c.mark;
  // Of the first element, where all rows follow each other without gaps.
  const auto packed = [&](const smem::Extent& extent, smem::Scalar type) -> std::size_t {
    const std::size_t pitch = extent.pitch == 0 ? c.cols : extent.pitch,
                      stride = extent.batch_stride == 0 ? c.rows * pitch : extent.batch_stride;
    if (c.rows * extent.batch * c.cols == 0) return 0;  // a call of nothing looks at no view
    if (c.rows > 1 && pitch != c.cols) return 0;
    if (extent.batch > 1 && stride != c.rows * c.cols) return 0;
    return std::size_t{1} << std::countr_zero(16 | extent.offset * smem::size_of(type));
  };
  if (c.shape == smem::ScanShape::rows) {
    problem.packed_alignment = std::min(packed(c.from.extent, problem.in),
                                        packed(c.in_place ? c.from.extent : c.to.extent, problem.out));
  }
  return problem;
}

/// The state of a plain loop.
template <class T>
class PlainScan {
 public:
  explicit PlainScan(const ScanCase& c) : c_(c) { begin(); }

  void begin() {
    now_ = {};
    if (c_.initial) {
      now_.integer = static_cast<std::uint64_t>(static_cast<std::int64_t>(*c_.initial));
      now_.real = *c_.initial;
      return;
    }
    using smem::ReduceOp;
    const ReduceOp op = c_.operation.op;
    constexpr bool kFloat = smem::is_float(smem::scalar_of<T>);
    if (op == ReduceOp::product || op == ReduceOp::all || op == ReduceOp::custom) {
      now_.integer = 1;
      now_.real = 1;
    } else if (op == ReduceOp::min || op == ReduceOp::max) {
      now_.real = std::numeric_limits<double>::quiet_NaN();
      if constexpr (!kFloat)
        now_.integer =
            bits_of(op == ReduceOp::min ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
    } else if (op == ReduceOp::bit_and) {
      now_.integer = ~std::uint64_t{0};
    }
  }
  void add(T element) {
    using smem::ReduceOp;
    const ReduceOp op = c_.operation.op;
    if constexpr (smem::is_float(smem::scalar_of<T>)) {
      const auto x = static_cast<double>(element);
      if (op == ReduceOp::sum) now_.real += x;
      if (op == ReduceOp::product) now_.real *= x;
      const bool less = op == ReduceOp::min ? x < now_.real : x > now_.real;
      if ((op == ReduceOp::min || op == ReduceOp::max) && (std::isnan(now_.real) || less)) {
        if (!std::isnan(x)) now_.real = x;
      }
      if (op == ReduceOp::any) now_.integer |= x != 0;
      if (op == ReduceOp::all) now_.integer &= x != 0;
    } else {
      const std::uint64_t x = bits_of(element);
      switch (op) {
        case ReduceOp::sum:
          now_.integer += x;
          break;
        case ReduceOp::product:
          now_.integer *= x;
          break;
        case ReduceOp::min:
          if (element < static_cast<T>(now_.integer)) now_.integer = x;
          break;
        case ReduceOp::max:
          if (element > static_cast<T>(now_.integer)) now_.integer = x;
          break;
        case ReduceOp::bit_and:
          now_.integer &= x;
          break;
        case ReduceOp::bit_or:
          now_.integer |= x;
          break;
        case ReduceOp::any:
          now_.integer |= x != 0;
          break;
        case ReduceOp::all:
          now_.integer &= x != 0;
          break;
        default:
          now_.integer = compose(static_cast<std::uint32_t>(now_.integer), static_cast<std::uint32_t>(x));
      }
    }
  }
  const Expected& now() const { return now_; }

 private:
  const ScanCase& c_;
  Expected now_;
};

/// Launches the scan of a case.
inline cl::Event launch_scan(const smem::Context& context, const ScanCase& c, const smem::Matrix& in,
                             const smem::Matrix& out, const smem::Vector& marks) {
  using smem::ScanShape;
  const smem::PlanOverrides fixed{.variant = std::string(c.variant), .work_items = c.work_items};
  const smem::CallOptions options =
      c.work_items != 0 ? smem::CallOptions{.overrides = &fixed} : smem::CallOptions{.variant = c.variant};
  const smem::Vector from(in.buffer, c.in, c.cols, in.offset), to(out.buffer, out.type, c.cols, out.offset);
  const smem::Initial initial = c.initial ? smem::Initial(*c.initial) : smem::Initial();
  const bool ex = c.exclusive;
  switch (c.shape) {
    case ScanShape::rows:
      return ex ? exclusive_scan_rows(context, in, out, c.operation, initial, options)
                : inclusive_scan_rows(context, in, out, c.operation, options);
    case ScanShape::columns:
      return ex ? exclusive_scan_columns(context, in, out, c.operation, initial, options)
                : inclusive_scan_columns(context, in, out, c.operation, options);
    case ScanShape::segments:
      return ex ? exclusive_scan_segments(context, from, marks, to, c.operation, initial, options)
                : inclusive_scan_segments(context, from, marks, to, c.operation, options);
    case ScanShape::keys:
      return ex ? exclusive_scan_by_key(context, marks, from, to, c.operation, initial, options)
                : inclusive_scan_by_key(context, marks, from, to, c.operation, options);
    default:
      return ex          ? smem::exclusive_scan(context, from, to, c.operation, initial, options)
             : c.initial ? smem::inclusive_scan(context, from, to, c.operation, initial, options)
                         : smem::inclusive_scan(context, from, to, c.operation, options);
  }
}

/// A result by the plain loop, and its place among the elements of the output buffer.
using PlacedResult = std::pair<std::size_t, Expected>;

template <class T>
std::vector<PlacedResult> plain_results(const ScanCase& c, const std::vector<T>& input,
                                        const smem::Matrix& in_shape, const smem::Matrix& out_shape) {
  std::vector<PlacedResult> results;
  const bool by_columns = c.shape == smem::ScanShape::columns;
  for (std::size_t b = 0; b < in_shape.batch; ++b) {
    for (std::size_t line = 0; line < (by_columns ? c.cols : c.rows); ++line) {
      PlainScan<T> scan(c);
      std::size_t mark = 0;
      for (std::size_t k = 0; k < (by_columns ? c.rows : c.cols); ++k) {
        const std::size_t i = by_columns ? k : line, j = by_columns ? line : k;
        bool begins = false;
        if (c.shape == smem::ScanShape::keys) begins = k > 0 && c.marks[k] != c.marks[k - 1];
        if (c.shape == smem::ScanShape::segments)
          for (; mark < c.marks.size() && c.marks[mark] <= k; ++mark)
            begins |= c.marks[mark] == k;
        if (begins) scan.begin();
        const Expected before = scan.now();
        scan.add(input[in_shape.offset + b * in_shape.batch_stride + i * in_shape.pitch + j]);
        results.emplace_back(out_shape.offset + b * out_shape.batch_stride + i * out_shape.pitch + j,
                             c.exclusive ? before : scan.now());
      }
    }
  }
  return results;
}

/// Keys and offsets as numbers of their type.
inline std::vector<unsigned char> mark_bytes_of(const ScanCase& c) {
  const std::size_t mark_bytes = smem::size_of(c.mark);
  std::vector<unsigned char> marks((c.marks_offset + c.marks.size() + 1) * mark_bytes);
  for (std::size_t m = 0; m < c.marks.size(); ++m)
    std::memcpy(marks.data() + (c.marks_offset + m) * mark_bytes, &c.marks[m], mark_bytes);  // little-endian
  return marks;
}

/// Compares the whole output buffer: what is no result is as it was in `poison`.
inline Outcome compare_scan(const std::vector<PlacedResult>& results, smem::Scalar type,
                            const std::vector<unsigned char>& poison, std::vector<unsigned char> got) {
  const std::size_t out_bytes = smem::size_of(type);
  for (const auto& [place, result] : results) {
    unsigned char* bytes = got.data() + place * out_bytes;
    if (!is_right(result, type, bytes)) {
      return {false, fmt::format("element {} of {} in the buffer is wrong, expected {} or {}", place,
                                 results.size(), result.real, result.integer)};
    }
    std::memcpy(bytes, poison.data() + place * out_bytes, out_bytes);
  }
  if (got != poison) return {false, "the output buffer has changed outside the results"};
  return {};
}

template <class T>
Outcome run_typed(const smem::Context& context, const ScanCase& c, Random& random) {
  const smem::ScanProblem problem = problem_of(c);
  const std::size_t out_bytes = smem::size_of(problem.out);
  const Layout& to = c.in_place ? c.from : c.to;
  smem::Extent out_extent = to.extent;
  out_extent.batch = c.from.extent.batch;
  const smem::Matrix in_shape(nullptr, smem::scalar_of<T>, c.rows, c.cols, c.from.extent);
  const smem::Matrix out_shape(nullptr, problem.out, c.rows, c.cols, out_extent);
  std::vector<T> input(elements_of(in_shape) + c.from.tail + 1);
  for (T& element : input)
    element = element_for<T>(c.operation.op, random, c.nans);
  std::vector<unsigned char> expected;
  if (c.in_place) {
    expected.resize(input.size() * sizeof(T));
    std::memcpy(expected.data(), input.data(), expected.size());
  } else {
    expected = random.bytes((elements_of(out_shape) + to.tail + 1) * out_bytes);
  }
  const smem::Array<T> in_array(context, input);
  const smem::Array<unsigned char> out_array(context, expected);
  const std::vector<unsigned char> poison = expected;

  const std::vector<PlacedResult> results = plain_results(c, input, in_shape, out_shape);
  const smem::Array<unsigned char> mark_array(context, mark_bytes_of(c));

  bool plan_refuses = false;
  try {
    smem::plan_scan(context.device(), problem, {.variant = std::string(c.variant)});
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant") return {false, fmt::format("no plan: {}", error.what())};
    plan_refuses = true;
  }
  const cl_mem to_buffer = c.in_place ? in_array.buffer()() : out_array.buffer()();
  try {
    const cl::Event event = launch_scan(
        context, c, smem::Matrix(in_array.buffer()(), smem::scalar_of<T>, c.rows, c.cols, c.from.extent),
        smem::Matrix(to_buffer, problem.out, c.rows, c.cols, out_extent),
        smem::Vector(mark_array.buffer()(), c.mark, c.marks.size(), c.marks_offset));
    context.finish();
    if (event() == nullptr) return {false, "the call returned no event"};
    if (plan_refuses) return {false, "the plan refuses the variant, and the call runs it"};
  } catch (const smem::Error& error) {
    if (!plan_refuses || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  std::vector<unsigned char> got(poison.size());
  smem::read_buffer(context, c.in_place ? in_array.buffer() : out_array.buffer(), got.data(), got.size());
  Outcome outcome = compare_scan(results, problem.out, poison, std::move(got));
  if (c.in_place || !outcome.fault.empty()) return outcome;
  const std::vector<T> after = in_array.to_host();
  if (std::memcmp(after.data(), input.data(), input.size() * sizeof(T)) != 0)
    return {false, "the input has changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const ScanCase& c, Random& random) {
  return with_type(c.in, [&](auto zero) { return run_typed<decltype(zero)>(context, c, random); });
}

using ScanSweep = CaseSweep<ScanCase>;

/// A vector of every size that a kernel can get wrong, at different places in its buffer.
inline void scan_vectors(ScanSweep& sweep, ScanCase c) {
  c.cols = 1 << 20;
  std::size_t tile = 0;
  try {
    tile = smem::plan_scan(sweep.context().device(), problem_of(c), {.variant = std::string(c.variant)})
               .tile_cols;
  } catch (const smem::Error&) {
    sweep.run(c);  // refused, or an error to look into
    return;
  }
  const bool exact = !smem::is_float(c.in) || c.operation.op != smem::ReduceOp::sum;
  std::size_t turn = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, tile - 1, tile, tile + 1,
                                 2 * tile + 1, std::size_t{509}, std::size_t{99991}, 3 * tile + 5003}) {
    c.cols = size;
    // Whole packs and single elements are two programs: some types have both.
    const bool packs = c.in == smem::Scalar::float32 || c.in == smem::Scalar::uint16;
    c.from.extent.offset = packs && turn % 2 == 0 ? 0 : 1 + turn % 4;
    c.to.extent.offset = packs && turn % 2 == 0 ? 0 : turn % 3;
    c.from.tail = turn % 3;
    c.to.tail = 2;
    c.in_place = turn % 4 == 3 && smem::size_of(c.in) == smem::size_of(problem_of(c).out);
    c.nans = exact && turn % 4 == 2 ? 3 : 0;
    if (c.operation.op == smem::ReduceOp::product) c.nans = 0;
    sweep.run(c);
    ++turn;
  }
}

/// Ascending offsets of segments: many empty or short, a few long; or keys that change there.
inline std::vector<std::uint64_t> marks_for(smem::ScanShape shape, std::size_t size,
                                            std::size_t long_one_in) {
  Random random(size);
  std::vector<std::uint64_t> marks;
  if (shape == smem::ScanShape::keys) {
    std::uint64_t key = 3;
    for (std::size_t i = 0; i < size; ++i) {
      if (random.chance(long_one_in)) key = random.between(0, 250);
      marks.push_back(key);
    }
    return marks;
  }
  for (std::size_t at = random.between(0, 3); at < size; at += random.between(0, 2 * long_one_in))
    marks.push_back(at);
  marks.push_back(size);
  marks.push_back(size + 5);  // has no meaning
  return marks;
}

}  // namespace test
