/// layer_norm and rms_norm by plain loops in double, for tests.
#pragma once

#include "operations/data.hpp"
#include "support/case_report.hpp"
#include "support/case_sweep.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace test {

/// Which result is written over which input.
enum class NormInPlace { none, out_in, out_residual, sum_residual, both };

/// Of columns, `rows` counts those, and `cols` their elements.
struct NormCase {
  smem::NormOp op = smem::NormOp::layer;
  smem::Scalar in = smem::Scalar::float32, out = smem::Scalar::float32, weights = smem::Scalar::float32;
  bool weight = false, bias = false, residual = false, sum = false, statistics = false;
  std::size_t rows = 9, cols = 1, batch = 1;
  bool columns = false, gaps = false;
  bool offsets = false;  ///< without gaps, views begin in the middle of their buffers
  NormInPlace in_place = NormInPlace::none;
  double epsilon = 1e-5;
  std::string variant = {};
  std::size_t work_items = 0;                ///< fixed, where it is not 0
  std::size_t tile_rows = 0, tile_cols = 0;  ///< the same

  Tested tested() const {
    return {std::string(name_of(op)) + (columns ? "_columns" : ""), variant,
            fmt::format("{} to {}", name_of(in), name_of(out))};
  }
  std::size_t down() const { return columns ? cols : rows; }
  std::size_t across() const { return columns ? rows : cols; }
  std::string text() const {
    return fmt::format(
        "{} of {} {} of {} x {}, {} to {}{}{}{}{}{}{}, in place {}, epsilon {}, variant \"{}\", {} "
        "work-items",
        name_of(op), columns ? "columns of" : "rows of", batch, rows, cols, name_of(in), name_of(out),
        weight ? ", weight" : "", bias ? ", bias" : "", residual ? ", residual" : "", sum ? ", sum" : "",
        statistics ? ", statistics" : "",
        gaps      ? ", gaps"
        : offsets ? ", offsets"
                  : "",
        static_cast<int>(in_place), epsilon, variant, work_items);
  }
};

/// Element i of a row: rows take turns at what is hard.
inline double element_of(const NormCase& c, std::size_t row, std::size_t i, Random& random) {
  const double usual = static_cast<double>(random.between(0, (1 << 12) - 1)) / 512 - 4;
  const bool middle = i == c.cols / 2;
  const bool is_half = c.in == smem::Scalar::half;
  switch (row % 9) {
    case 1:  // a mean far larger than the deviation
      return (is_half ? 1000 : 10000) + std::floor(usual);
    case 2:
      return middle ? std::nan("") : usual;
    case 3:
      return middle ? std::numeric_limits<double>::infinity() : usual;
    case 4:  // the first element is nothing like the others
      return i == 0 ? (is_half ? -60000 : -1e6) : usual;
    case 5:
      return 3;
    case 6:
      return 0;
    case 7:  // squares that exceed float32, unless the type has no such numbers
      return is_half || c.in == smem::Scalar::float64 ? usual : middle ? 1e30 : usual;
    case 8:  // parts of a row with other means
      return std::floor(64.0 * static_cast<double>(i) / static_cast<double>(c.cols)) + usual;
    default:
      return usual;
  }
}

/// A view's place in its buffer.
inline smem::Extent extent_of(const NormCase& c, std::size_t offset, std::size_t gap) {
  if (!c.gaps) return {.offset = c.offsets ? offset : 0, .batch = c.batch};
  return {.offset = offset,
          .pitch = c.across() + gap,
          .batch = c.batch,
          .batch_stride = c.down() * (c.across() + gap) + 5};
}

/// An array on both sides, of which a view is used.
struct NormPlace {
  smem::ConstMatrix view;
  smem::operations::HostArray before;
  cl::Buffer buffer = {};
  bool columns = false;

  NormPlace(const NormCase& c, smem::Scalar type, std::size_t offset, std::size_t gap)
      : view(nullptr, type, c.down(), c.across(), extent_of(c, offset, gap)), columns(c.columns) {
    fill(view.offset + (view.batch - 1) * view.batch_stride + (view.rows - 1) * view.pitch + view.cols + 3);
  }
  NormPlace(smem::Scalar type, std::size_t elements, std::size_t offset)
      : view(nullptr, type, 1, elements, {.offset = offset}) {
    fill(offset + elements + 3);
  }
  void fill(std::size_t elements) {
    before = {view.type.scalar.value(), std::vector<unsigned char>(elements * view.type.bytes, 0x5a)};
  }
  /// Element i of a row, or of a column.
  std::size_t at(std::size_t row, std::size_t i) const {
    if (columns) return view.offset + row / view.cols * view.batch_stride + i * view.pitch + row % view.cols;
    return view.offset + row / view.rows * view.batch_stride + row % view.rows * view.pitch + i;
  }
  void upload(const smem::Context& context) {
    buffer = smem::make_buffer(context, before.bytes.size());
    smem::write_buffer(context, buffer, before.bytes.data(), before.bytes.size());
    view.buffer = buffer();
  }
  smem::Matrix matrix() const {
    return {
        view.buffer,
        view.type,
        view.rows,
        view.cols,
        {.offset = view.offset, .pitch = view.pitch, .batch = view.batch, .batch_stride = view.batch_stride}};
  }
  smem::Vector vector() const { return {view.buffer, view.type, view.cols, view.offset}; }
  smem::operations::HostArray now(const smem::Context& context) const {
    smem::operations::HostArray got = before;
    smem::read_buffer(context, buffer, got.bytes.data(), got.bytes.size());
    return got;
  }
};

struct NormResult {
  double value, tolerance;
};
inline bool is_right(const NormResult& wanted, double got) {
  if (wanted.tolerance == std::numeric_limits<double>::infinity()) return true;
  if (std::isnan(wanted.value)) return std::isnan(got);
  if (std::isinf(wanted.value)) return got == wanted.value;
  return std::abs(got - wanted.value) <= wanted.tolerance;
}

inline double norm_rounding(smem::Scalar type) {
  return type == smem::Scalar::half ? 0x1p-11 : type == smem::Scalar::bfloat16 ? 0x1p-8 : 0;
}

/// What is wanted of a row, by plain loops in long double: of float64, a mean that is rounded to double would
/// show in the differences.
struct NormRow {
  std::vector<NormResult> out, sum;
  NormResult mean, factor;
};
inline NormRow results_of(const NormCase& c, const std::vector<double>& row,
                          const smem::operations::HostArray& weight, const smem::operations::HostArray& bias,
                          std::size_t weight_offset, std::size_t bias_offset) {
  const double count = static_cast<double>(c.cols), unit = c.in == smem::Scalar::float64 ? 0x1p-53 : 0x1p-24;
  // "naive" adds one by one, so that the errors of equal elements add up; others' err at random.
  const double error = unit * (16 + (c.variant == "naive" ? count : 4 * std::sqrt(count)));
  long double exact_mean = 0, exact_squares = 0;
  for (const double v : row)
    exact_mean += c.op == smem::NormOp::layer ? v : 0;
  exact_mean /= static_cast<long double>(c.cols);
  for (const double v : row)
    exact_squares += (v - exact_mean) * (v - exact_mean);
  const auto mean = static_cast<double>(exact_mean);
  auto squares = static_cast<double>(exact_squares);
  if (c.in != smem::Scalar::float64 && squares > static_cast<double>(std::numeric_limits<float>::max()))
    squares = std::numeric_limits<double>::infinity();
  const double factor = std::isfinite(squares) ? 1 / std::sqrt(squares / count + c.epsilon) : std::nan("");
  NormRow wanted;
  // Of rows that are NaN, means are unspecified.
  wanted.mean = {mean, std::isfinite(factor) ? std::abs(mean) * unit * 4 + error * std::sqrt(squares / count)
                                             : std::numeric_limits<double>::infinity()};
  wanted.factor = {factor, factor * error};
  const double rounding = norm_rounding(c.out);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double w = c.weight ? weight.number(weight_offset + i) : 1;
    const double b = c.bias ? bias.number(bias_offset + i) : 0;
    const double value = static_cast<double>(row[i] - exact_mean) * factor * w + b;
    const double least = (c.out == smem::Scalar::half ? 0x1p-24 : 0) + error * (std::abs(b) + std::abs(w));
    wanted.out.push_back({value, (std::abs(value) + std::abs(value - b)) * (error + rounding) + least});
    wanted.sum.push_back({row[i], std::abs(row[i]) * rounding + (c.out == smem::Scalar::half ? 0x1p-24 : 0)});
    // Halves have no such numbers.
    if (c.out == smem::Scalar::half && std::abs(row[i]) > 65504)
      wanted.sum.back().tolerance = std::numeric_limits<double>::infinity();
  }
  return wanted;
}

/// The arrays of a case, filled and on the device.
struct NormArrays {
  NormPlace in, residual, weight, bias, out, sum, mean, factor;
  std::vector<std::vector<double>> rows;

  NormArrays(const smem::Context& context, const NormCase& c, Random& random)
      : in(c, c.in, 3, 5),
        residual(c, c.in, 3, c.in_place == NormInPlace::none ? 7 : 5),
        weight(c.weights, c.cols, c.gaps ? 1 : 0),
        bias(c.weights, c.cols, c.gaps ? 3 : 0),
        out(c, c.out, c.in_place == NormInPlace::none ? 2 : 3, c.in_place == NormInPlace::none ? 1 : 5),
        sum(c, c.out, c.in_place == NormInPlace::none ? 1 : 3, c.in_place == NormInPlace::none ? 2 : 5),
        mean(c.in == smem::Scalar::float64 ? smem::Scalar::float64 : smem::Scalar::float32, c.rows * c.batch,
             2),
        factor(mean.before.type, c.rows * c.batch, 1) {
    for (NormPlace* place : {&in, &residual, &weight, &bias})
      for (std::size_t i = 0; i < place->before.size(); ++i)
        place->before.set(i, std::nan(""));  // gaps do not reach results
    for (std::size_t r = 0; r < c.rows * c.batch; ++r) {
      rows.emplace_back();
      for (std::size_t i = 0; i < c.cols; ++i) {
        in.before.set(in.at(r, i), element_of(c, r, i, random));
        residual.before.set(residual.at(r, i), static_cast<double>(random.between(0, 7)) - 3);
        const double x = in.before.number(in.at(r, i)), more = residual.before.number(residual.at(r, i));
        const double whole = c.residual ? x + more : x;
        rows.back().push_back(c.in == smem::Scalar::float64 ? whole : static_cast<float>(whole));
      }
    }
    for (std::size_t i = 0; i < c.cols; ++i) {
      weight.before.set(weight.at(0, i), static_cast<double>(random.between(0, 15)) / 8 - 1);
      bias.before.set(bias.at(0, i), static_cast<double>(random.between(0, 15)) / 4 - 2);
    }
    for (NormPlace* place : {&in, &residual, &weight, &bias, &out, &sum, &mean, &factor})
      place->upload(context);
    const auto be = [](NormPlace& result, const NormPlace& input) {
      result.buffer = input.buffer;
      result.view.buffer = input.view.buffer;
      result.before = input.before;
    };
    if (c.in_place == NormInPlace::out_in || c.in_place == NormInPlace::both) be(out, in);
    if (c.in_place == NormInPlace::out_residual) be(out, residual);
    if (c.in_place == NormInPlace::sum_residual || c.in_place == NormInPlace::both) be(sum, residual);
  }
};

inline void call(const smem::Context& context, const NormCase& c, const NormArrays& a) {
  smem::Norm what{.epsilon = c.epsilon};
  if (c.weight) what.weight = a.weight.vector();
  if (c.bias) what.bias = a.bias.vector();
  if (c.residual) what.residual = a.residual.view;
  if (c.sum) what.sum = a.sum.matrix();
  if (c.statistics && c.op == smem::NormOp::layer) what.mean = a.mean.vector();
  if (c.statistics) what.reciprocal_deviation = a.factor.vector();
  const smem::PlanOverrides fixed{
      .variant = c.variant, .tile_rows = c.tile_rows, .tile_cols = c.tile_cols, .work_items = c.work_items};
  const smem::CallOptions options{.overrides = &fixed};
  const auto norm = c.op == smem::NormOp::layer ? (c.columns ? smem::layer_norm_columns : smem::layer_norm)
                                                : (c.columns ? smem::rms_norm_columns : smem::rms_norm);
  norm(context, a.in.view, a.out.matrix(), what, options);
}

/// Compares results, and the rest of the buffer with what it was.
inline std::string wrong(const smem::Context& context, const std::string& name, const NormPlace& place,
                         const std::vector<std::vector<NormResult>>& rows) {
  const smem::operations::HostArray got = place.now(context);
  std::vector<bool> is_result(got.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::size_t at = place.at(r, i);
      is_result[at] = true;
      if (!is_right(rows[r][i], got.number(at)))
        return fmt::format("{} {} of row {}: expected {}, got {}", name, i, r, rows[r][i].value,
                           got.number(at));
    }
  }
  const std::size_t bytes = size_of(got.type);
  for (std::size_t i = 0; i < got.size() * bytes; ++i)
    if (!is_result[i / bytes] && got.bytes[i] != place.before.bytes[i])
      return fmt::format("element {} of {}'s buffer, outside of the results, has changed", i / bytes, name);
  return {};
}

inline Outcome run(const smem::Context& context, const NormCase& c, Random& random) {
  const NormArrays a(context, c, random);
  try {
    call(context, c, a);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  std::vector<std::vector<NormResult>> out, sum;
  std::vector<NormResult> mean, factor;
  for (const std::vector<double>& row : a.rows) {
    const NormRow wanted =
        results_of(c, row, a.weight.before, a.bias.before, a.weight.view.offset, a.bias.view.offset);
    out.push_back(wanted.out);
    sum.push_back(wanted.sum);
    mean.push_back(wanted.mean);
    factor.push_back(wanted.factor);
  }
  const bool has_mean = c.statistics && c.op == smem::NormOp::layer;
  using Rows = std::vector<std::vector<NormResult>>;
  std::vector<std::string> texts{wrong(context, "out", a.out, out)};
  if (c.sum || a.sum.buffer() != a.residual.buffer())
    texts.push_back(wrong(context, "sum", a.sum, c.sum ? sum : Rows{}));
  texts.push_back(wrong(context, "mean", a.mean, has_mean ? Rows{mean} : Rows{}));
  texts.push_back(wrong(context, "reciprocal_deviation", a.factor, c.statistics ? Rows{factor} : Rows{}));
  for (const NormPlace* input : {&a.in, &a.residual, &a.weight, &a.bias})
    if (input->buffer() != a.out.buffer() && input->buffer() != a.sum.buffer())
      texts.push_back(wrong(context, "an input", *input, {}));
  for (const std::string& text : texts)
    if (!text.empty()) return {false, text};
  return {};
}

}  // namespace test
