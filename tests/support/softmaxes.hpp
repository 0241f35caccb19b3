/// softmax, log_softmax and logsumexp by plain loops in double, for tests.
#pragma once

#include "operations/data.hpp"
#include "support/case_report.hpp"
#include "support/case_sweep.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace test {

/// Of columns, `rows` counts those, and `cols` their elements.
struct SoftmaxCase {
  smem::SoftmaxOp op = smem::SoftmaxOp::softmax;
  smem::Scalar in = smem::Scalar::float32, out = smem::Scalar::float32;
  std::size_t rows = 12, cols = 1, batch = 1;
  bool gaps = false, in_place = false;
  bool offsets = false;  ///< without gaps, views begin in the middle of their buffers
  smem::MaskedRows masked = smem::MaskedRows::nan;
  std::string variant = {};
  std::size_t work_items = 0;  ///< fixed, where it is not 0
  std::size_t tile_cols = 0;   ///< the same
  bool columns = false;

  std::size_t down() const { return columns ? cols : rows; }
  std::size_t across() const { return columns ? rows : cols; }
  Tested tested() const {
    return {std::string(name_of(op)) + (columns ? "_columns" : ""), variant,
            fmt::format("{} to {}", name_of(in), name_of(out))};
  }
  std::string text() const {
    return fmt::format("{} of {} {} of {} x {}, {} to {}{}{}{}, variant \"{}\", {} work-items", name_of(op),
                       columns ? "columns of" : "rows of", batch, rows, cols, name_of(in), name_of(out),
                       gaps      ? ", gaps"
                       : offsets ? ", offsets"
                                 : "",
                       in_place ? ", in place" : "",
                       masked == smem::MaskedRows::zero ? ", masked rows are 0" : "", variant, work_items);
  }
};

/// Element i of a row: rows take turns at what is hard.
inline double element_of(const SoftmaxCase& c, std::size_t row, std::size_t i, Random& random) {
  const double usual = static_cast<double>(random.between(0, (1 << 16) - 1)) / 4096 - 8;
  const bool middle = i == c.cols / 2;
  switch (row % 12) {
    case 1:
      return -HUGE_VAL;
    case 2:
      return middle ? std::nan("") : usual;
    case 3:
      return middle ? HUGE_VAL : usual;
    case 4:  // one that all others are nothing beside
      return middle ? 60000 : usual;
    case 5:
      return 3;
    case 6:
      return i % 3 == 1 ? -HUGE_VAL : usual;
    case 7:
      return middle ? std::nan("") : HUGE_VAL;
    case 8:  // the first tiles have nothing
      return i < c.cols * 3 / 4 ? -HUGE_VAL : usual;
    case 9:  // the largest element so far grows and grows
      return std::floor(64.0 * static_cast<double>(i) / static_cast<double>(c.cols)) - 30;
    case 10:
      return middle ? std::nan("") : -HUGE_VAL;
    case 11:  // the first tiles have nothing, and exponentials of all others are nothing unless they are
              // shifted
      return i < c.cols * 3 / 4 ? -HUGE_VAL : usual - 200;
    default:
      return usual;
  }
}

/// A view's place in its buffer.
inline smem::Extent extent_of(const SoftmaxCase& c, std::size_t offset, std::size_t gap) {
  if (!c.gaps) return {.offset = c.offsets ? offset : 0, .batch = c.batch};
  return {.offset = offset,
          .pitch = c.across() + gap,
          .batch = c.batch,
          .batch_stride = c.down() * (c.across() + gap) + 5};
}

inline std::size_t softmax_elements(const smem::ConstMatrix& view) {
  return view.offset + (view.batch - 1) * view.batch_stride + (view.rows - 1) * view.pitch + view.cols + 3;
}

struct WantedSoftmax {
  double value, tolerance;
};

/// The results of a row, by plain loops in double.
inline std::vector<WantedSoftmax> softmax_results(const SoftmaxCase& c, const std::vector<double>& row) {
  double largest = -HUGE_VAL, sum = 0;
  bool is_nan = false;
  for (const double v : row) {
    is_nan = is_nan || std::isnan(v);
    if (v > largest) largest = v;
  }
  const bool is_masked = !is_nan && largest == -HUGE_VAL;
  for (const double v : row)
    sum += is_masked ? 0 : std::exp(v - largest);
  const double unit = c.in == smem::Scalar::float64 ? 0x1p-53 : 0x1p-24;
  const auto n = static_cast<double>(row.size());
  const double error =
      unit * (16 + (c.variant == "naive" ? n : 4 * std::sqrt(n)));  // naive: one sum, in order
  const double rounding = c.out == smem::Scalar::half       ? 0x1p-11
                          : c.out == smem::Scalar::bfloat16 ? 0x1p-8
                                                            : 0;
  const double logarithm = largest + std::log(sum);
  if (c.op == smem::SoftmaxOp::logsumexp) {
    const double value = is_nan                ? std::nan("")
                         : is_masked           ? -HUGE_VAL
                         : largest == HUGE_VAL ? HUGE_VAL
                                               : logarithm;
    return {{value, std::abs(value) * (error + rounding) + error}};
  }
  std::vector<WantedSoftmax> results;
  for (const double v : row) {
    double value =
        c.op == smem::SoftmaxOp::softmax ? std::exp(v - largest) / sum : v - largest - std::log(sum);
    if (is_nan || largest == HUGE_VAL) value = std::nan("");
    if (is_masked)
      value = c.masked == smem::MaskedRows::nan  ? std::nan("")
              : c.op == smem::SoftmaxOp::softmax ? 0
                                                 : -HUGE_VAL;
    // Exponentials below the least normal number may be 0, and halves are rounded to multiples of 2^-24.
    const double least = c.op != smem::SoftmaxOp::softmax ? 100 * error
                         : c.out == smem::Scalar::half    ? 0x1p-24
                         : c.in == smem::Scalar::float64  ? 0x1p-1022
                                                          : 0x1p-126;
    results.push_back({value, std::abs(value) * (error + rounding) + least});
  }
  return results;
}

inline bool is_right(const WantedSoftmax& wanted, double got) {
  if (std::isnan(wanted.value)) return std::isnan(got);
  if (std::isinf(wanted.value)) return got == wanted.value;
  return std::abs(got - wanted.value) <= wanted.tolerance;
}

inline Outcome run(const smem::Context& context, const SoftmaxCase& c, Random& random) {
  const bool one_a_row = c.op == smem::SoftmaxOp::logsumexp;
  const smem::ConstMatrix in_view(nullptr, c.in, c.down(), c.across(), extent_of(c, 3, 5));
  smem::Matrix out_view(nullptr, c.out, c.down(), c.across(),
                        c.in_place ? extent_of(c, 3, 5) : extent_of(c, 2, 1));
  smem::Vector vector(nullptr, c.out, c.rows * c.batch, c.gaps ? 3 : 0);
  smem::operations::HostArray in{c.in, {}};
  in.bytes.resize(softmax_elements(in_view) * size_of(c.in));
  for (std::size_t i = 0; i < in.size(); ++i)
    in.set(i, std::nan(""));  // gaps do not reach results
  const std::size_t out_elements = one_a_row ? vector.offset + vector.size + 3 : softmax_elements(out_view);
  smem::operations::HostArray out{c.out, std::vector<unsigned char>(out_elements * size_of(c.out), 0x5a)};
  std::vector<std::vector<double>> rows;
  for (std::size_t b = 0; b < c.batch; ++b) {
    for (std::size_t r = 0; r < c.rows; ++r) {
      rows.emplace_back();
      for (std::size_t i = 0; i < c.cols; ++i) {
        const std::size_t place = in_view.offset + b * in_view.batch_stride +
                                  (c.columns ? i * in_view.pitch + r : r * in_view.pitch + i);
        in.set(place, element_of(c, r + b, i, random));
        rows.back().push_back(in.number(place));
      }
    }
  }
  const smem::Array<unsigned char> in_array(context, in.bytes);
  const smem::Array<unsigned char> out_array =
      c.in_place ? in_array : smem::Array<unsigned char>(context, out.bytes);
  smem::ConstMatrix from = in_view;
  from.buffer = in_array.buffer()();
  out_view.buffer = vector.buffer = out_array.buffer()();
  const smem::PlanOverrides fixed{.variant = c.variant, .tile_cols = c.tile_cols, .work_items = c.work_items};
  const smem::CallOptions options{.overrides = &fixed};
  try {
    if (c.op == smem::SoftmaxOp::softmax)
      (c.columns ? smem::softmax_columns : smem::softmax)(context, from, out_view, c.masked, options);
    if (c.op == smem::SoftmaxOp::log_softmax)
      (c.columns ? smem::log_softmax_columns : smem::log_softmax)(context, from, out_view, c.masked, options);
    if (one_a_row) (c.columns ? smem::logsumexp_columns : smem::logsumexp)(context, from, vector, options);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  smem::operations::HostArray got{c.out, out_array.to_host()};
  const smem::operations::HostArray before = c.in_place ? in : out;
  std::vector<bool> is_result(got.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<WantedSoftmax> wanted = softmax_results(c, rows[r]);
    const std::size_t first = one_a_row ? vector.offset + r
                                        : out_view.offset + r / c.rows * out_view.batch_stride +
                                              r % c.rows * (c.columns ? 1 : out_view.pitch);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t place = first + i * (c.columns ? out_view.pitch : 1);
      is_result[place] = true;
      if (is_right(wanted[i], got.number(place))) continue;
      return {false, fmt::format("result {} of row {}: expected {}, got {}", i, r, wanted[i].value,
                                 got.number(place))};
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto bytes = static_cast<std::ptrdiff_t>(size_of(c.out)),
               at = static_cast<std::ptrdiff_t>(i) * bytes;
    if (!is_result[i] &&
        !std::equal(got.bytes.begin() + at, got.bytes.begin() + at + bytes, before.bytes.begin() + at))
      return {false, fmt::format("element {} of the buffer, outside of the results, has changed", i)};
  }
  if (!c.in_place && in_array.to_host() != in.bytes) return {false, "the input has changed"};
  return {};
}

using SoftmaxSweep = CaseSweep<SoftmaxCase>;

}  // namespace test
