// layer_norm and rms_norm: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "operations/data.hpp"
#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using smem::NormOp;
using smem::Scalar;
using smem::operations::HostArray;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Which result is written over which input.
enum class InPlace { none, out_in, out_residual, sum_residual, both };

struct NormCase {
  NormOp op = NormOp::layer;
  Scalar in = Scalar::float32, out = Scalar::float32, weights = Scalar::float32;
  bool weight = false, bias = false, residual = false, sum = false, statistics = false;
  std::size_t rows = 9, cols = 1, batch = 1;
  bool gaps = false;
  InPlace in_place = InPlace::none;
  double epsilon = 1e-5;
  std::string variant = {};
  std::size_t work_items = 0;  ///< fixed, where it is not 0

  test::Tested tested() const {
    return {std::string(name_of(op)), variant, fmt::format("{} to {}", name_of(in), name_of(out))};
  }
  std::string text() const {
    return fmt::format(
        "{} of {} of {} x {}, {} to {}{}{}{}{}{}{}, in place {}, epsilon {}, variant \"{}\", {} work-items",
        name_of(op), batch, rows, cols, name_of(in), name_of(out), weight ? ", weight" : "",
        bias ? ", bias" : "", residual ? ", residual" : "", sum ? ", sum" : "",
        statistics ? ", statistics" : "", gaps ? ", gaps" : "", static_cast<int>(in_place), epsilon, variant,
        work_items);
  }
};

/// Element i of a row: rows take turns at what is hard.
double element_of(const NormCase& c, std::size_t row, std::size_t i, test::Random& random) {
  const double usual = static_cast<double>(random.between(0, (1 << 12) - 1)) / 512 - 4;
  const bool middle = i == c.cols / 2;
  const bool is_half = c.in == Scalar::half;
  switch (row % 9) {
    case 1:  // a mean far larger than the deviation
      return (is_half ? 1000 : 10000) + std::floor(usual);
    case 2:
      return middle ? std::nan("") : usual;
    case 3:
      return middle ? kInfinity : usual;
    case 4:  // the first element is nothing like the others
      return i == 0 ? (is_half ? -60000 : -1e6) : usual;
    case 5:
      return 3;
    case 6:
      return 0;
    case 7:  // squares that exceed float32, unless the type has no such numbers
      return is_half || c.in == Scalar::float64 ? usual : middle ? 1e30 : usual;
    case 8:  // parts of a row with other means
      return std::floor(64.0 * static_cast<double>(i) / static_cast<double>(c.cols)) + usual;
    default:
      return usual;
  }
}

/// A view's place in its buffer.
smem::Extent extent_of(const NormCase& c, std::size_t offset, std::size_t gap) {
  if (!c.gaps) return {.batch = c.batch};
  return {
      .offset = offset, .pitch = c.cols + gap, .batch = c.batch, .batch_stride = c.rows * (c.cols + gap) + 5};
}

/// An array on both sides, of which a view is used.
struct Place {
  smem::ConstMatrix view;
  HostArray before;
  cl::Buffer buffer = {};

  Place(const NormCase& c, Scalar type, std::size_t offset, std::size_t gap)
      : view(nullptr, type, c.rows, c.cols, extent_of(c, offset, gap)) {
    fill(view.offset + (view.batch - 1) * view.batch_stride + (view.rows - 1) * view.pitch + view.cols + 3);
  }
  Place(Scalar type, std::size_t elements, std::size_t offset)
      : view(nullptr, type, 1, elements, {.offset = offset}) {
    fill(offset + elements + 3);
  }
  void fill(std::size_t elements) {
    before = {view.type.scalar.value(), std::vector<unsigned char>(elements * view.type.bytes, 0x5a)};
  }
  std::size_t at(std::size_t row, std::size_t i) const {
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
  HostArray now(const smem::Context& context) const {
    HostArray got = before;
    smem::read_buffer(context, buffer, got.bytes.data(), got.bytes.size());
    return got;
  }
};

struct Wanted {
  double value, tolerance;
};
bool is_right(const Wanted& wanted, double got) {
  if (wanted.tolerance == kInfinity) return true;
  if (std::isnan(wanted.value)) return std::isnan(got);
  if (std::isinf(wanted.value)) return got == wanted.value;
  return std::abs(got - wanted.value) <= wanted.tolerance;
}

double rounding_of(Scalar type) {
  return type == Scalar::half ? 0x1p-11 : type == Scalar::bfloat16 ? 0x1p-8 : 0;
}

/// What is wanted of a row, by plain loops in double.
struct RowWanted {
  std::vector<Wanted> out, sum;
  Wanted mean, factor;
};
RowWanted results_of(const NormCase& c, const std::vector<double>& row, const HostArray& weight,
                     const HostArray& bias, std::size_t weight_offset, std::size_t bias_offset) {
  const double count = static_cast<double>(c.cols), unit = c.in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  // "naive" adds one by one, so that the errors of equal elements add up; others' err at random.
  const double error = unit * (16 + (c.variant == "naive" ? count : 4 * std::sqrt(count)));
  double mean = 0, squares = 0;
  for (const double v : row)
    mean += c.op == NormOp::layer ? v : 0;
  mean /= count;
  for (const double v : row)
    squares += (v - mean) * (v - mean);
  if (c.in != Scalar::float64 && squares > static_cast<double>(std::numeric_limits<float>::max()))
    squares = kInfinity;
  const double factor = std::isfinite(squares) ? 1 / std::sqrt(squares / count + c.epsilon) : std::nan("");
  RowWanted wanted;
  // Of rows that are NaN, means are unspecified.
  wanted.mean = {mean, std::isfinite(factor) ? std::abs(mean) * unit * 4 + error * std::sqrt(squares / count)
                                             : kInfinity};
  wanted.factor = {factor, factor * error};
  const double rounding = rounding_of(c.out);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double w = c.weight ? weight.number(weight_offset + i) : 1;
    const double b = c.bias ? bias.number(bias_offset + i) : 0;
    const double value = (row[i] - mean) * factor * w + b;
    const double least = (c.out == Scalar::half ? 0x1p-24 : 0) + error * (std::abs(b) + std::abs(w));
    wanted.out.push_back({value, (std::abs(value) + std::abs(value - b)) * (error + rounding) + least});
    wanted.sum.push_back({row[i], std::abs(row[i]) * rounding + (c.out == Scalar::half ? 0x1p-24 : 0)});
    // Halves have no such numbers.
    if (c.out == Scalar::half && std::abs(row[i]) > 65504) wanted.sum.back().tolerance = kInfinity;
  }
  return wanted;
}

/// The arrays of a case, filled and on the device.
struct Arrays {
  Place in, residual, weight, bias, out, sum, mean, factor;
  std::vector<std::vector<double>> rows;

  Arrays(const smem::Context& context, const NormCase& c, test::Random& random)
      : in(c, c.in, 3, 5),
        residual(c, c.in, 3, c.in_place == InPlace::none ? 7 : 5),
        weight(c.weights, c.cols, c.gaps ? 1 : 0),
        bias(c.weights, c.cols, c.gaps ? 3 : 0),
        out(c, c.out, c.in_place == InPlace::none ? 2 : 3, c.in_place == InPlace::none ? 1 : 5),
        sum(c, c.out, c.in_place == InPlace::none ? 1 : 3, c.in_place == InPlace::none ? 2 : 5),
        mean(c.in == Scalar::float64 ? Scalar::float64 : Scalar::float32, c.rows * c.batch, 2),
        factor(mean.before.type, c.rows * c.batch, 1) {
    for (Place* place : {&in, &residual, &weight, &bias})
      for (std::size_t i = 0; i < place->before.size(); ++i)
        place->before.set(i, std::nan(""));  // gaps do not reach results
    for (std::size_t r = 0; r < c.rows * c.batch; ++r) {
      rows.emplace_back();
      for (std::size_t i = 0; i < c.cols; ++i) {
        in.before.set(in.at(r, i), element_of(c, r, i, random));
        residual.before.set(residual.at(r, i), static_cast<double>(random.between(0, 7)) - 3);
        const double x = in.before.number(in.at(r, i)), more = residual.before.number(residual.at(r, i));
        const double whole = c.residual ? x + more : x;
        rows.back().push_back(c.in == Scalar::float64 ? whole : static_cast<float>(whole));
      }
    }
    for (std::size_t i = 0; i < c.cols; ++i) {
      weight.before.set(weight.at(0, i), static_cast<double>(random.between(0, 15)) / 8 - 1);
      bias.before.set(bias.at(0, i), static_cast<double>(random.between(0, 15)) / 4 - 2);
    }
    for (Place* place : {&in, &residual, &weight, &bias, &out, &sum, &mean, &factor})
      place->upload(context);
    const auto be = [](Place& result, const Place& input) {
      result.buffer = input.buffer;
      result.view.buffer = input.view.buffer;
      result.before = input.before;
    };
    if (c.in_place == InPlace::out_in || c.in_place == InPlace::both) be(out, in);
    if (c.in_place == InPlace::out_residual) be(out, residual);
    if (c.in_place == InPlace::sum_residual || c.in_place == InPlace::both) be(sum, residual);
  }
};

void call(const smem::Context& context, const NormCase& c, const Arrays& a) {
  smem::Norm what{.epsilon = c.epsilon};
  if (c.weight) what.weight = a.weight.vector();
  if (c.bias) what.bias = a.bias.vector();
  if (c.residual) what.residual = a.residual.view;
  if (c.sum) what.sum = a.sum.matrix();
  if (c.statistics && c.op == NormOp::layer) what.mean = a.mean.vector();
  if (c.statistics) what.reciprocal_deviation = a.factor.vector();
  const smem::PlanOverrides fixed{.variant = c.variant, .work_items = c.work_items};
  const smem::CallOptions options{.overrides = &fixed};
  if (c.op == NormOp::layer) smem::layer_norm(context, a.in.view, a.out.matrix(), what, options);
  if (c.op == NormOp::rms) smem::rms_norm(context, a.in.view, a.out.matrix(), what, options);
}

/// Compares results, and that nothing else of the buffer has changed.
std::string wrong(const smem::Context& context, const std::string& name, const Place& place,
                  const std::vector<std::vector<Wanted>>& rows) {
  const HostArray got = place.now(context);
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

test::Outcome run(const smem::Context& context, const NormCase& c, test::Random& random) {
  const Arrays a(context, c, random);
  try {
    call(context, c, a);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return test::refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  std::vector<std::vector<Wanted>> out, sum;
  std::vector<Wanted> mean, factor;
  for (const std::vector<double>& row : a.rows) {
    const RowWanted wanted =
        results_of(c, row, a.weight.before, a.bias.before, a.weight.view.offset, a.bias.view.offset);
    out.push_back(wanted.out);
    sum.push_back(wanted.sum);
    mean.push_back(wanted.mean);
    factor.push_back(wanted.factor);
  }
  const bool has_mean = c.statistics && c.op == NormOp::layer;
  using Rows = std::vector<std::vector<Wanted>>;
  std::vector<std::string> texts{wrong(context, "out", a.out, out)};
  if (c.sum || a.sum.buffer() != a.residual.buffer())
    texts.push_back(wrong(context, "sum", a.sum, c.sum ? sum : Rows{}));
  texts.push_back(wrong(context, "mean", a.mean, has_mean ? Rows{mean} : Rows{}));
  texts.push_back(wrong(context, "reciprocal_deviation", a.factor, c.statistics ? Rows{factor} : Rows{}));
  for (const Place* input : {&a.in, &a.residual, &a.weight, &a.bias})
    if (input->buffer() != a.out.buffer() && input->buffer() != a.sum.buffer())
      texts.push_back(wrong(context, "an input", *input, {}));
  for (const std::string& text : texts)
    if (!text.empty()) return {false, text};
  return {};
}

using NormSweep = test::CaseSweep<NormCase>;

bool runs_here(const smem::Context& context, std::string_view variant) {
  const smem::Device& device = context.device();
  if (variant == "shuffle") return device.vendor == smem::Vendor::nvidia;
  return variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

}  // namespace

TEST_CASE("norm: every variant, also of rows with large means, infinities and NaNs") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const std::string_view variant : smem::norm_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 129, 1000, 4099}) {
      for (const NormOp op : {NormOp::layer, NormOp::rms}) {
        NormCase c;
        c.variant = variant;
        c.op = op;
        c.cols = cols;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        c.weight = c.bias = op == NormOp::layer;
        c.residual = c.sum = op == NormOp::rms;
        c.statistics = turn % 4 < 2;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == (runs_here(context, variant) ? turn : 0));
  }
}

TEST_CASE("norm: every type, of weights too") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  struct Types {
    Scalar in, out, weights;
  };
  for (const Types& types :
       {Types{Scalar::half, Scalar::half, Scalar::half}, Types{Scalar::half, Scalar::half, Scalar::float32},
        Types{Scalar::half, Scalar::float32, Scalar::float32},
        Types{Scalar::bfloat16, Scalar::bfloat16, Scalar::bfloat16},
        Types{Scalar::bfloat16, Scalar::float32, Scalar::float32},
        Types{Scalar::float64, Scalar::float64, Scalar::float64}}) {
    if (types.in == Scalar::float64 && !context.device().fp64) continue;
    const char* third = turn % 8 == 0 ? "online" : turn % 8 == 4 ? "tiled" : "registers";
    for (const char* variant : {"", third}) {
      for (const bool gaps : {false, true}) {
        NormCase c;
        c.in = types.in;
        c.out = types.out;
        c.weights = types.weights;
        c.variant = variant;
        c.op = static_cast<NormOp>(turn / 4 % 2);
        c.cols = gaps ? 389 : 384;
        c.weight = c.residual = c.sum = true;
        c.bias = turn / 4 % 3 != 2;
        c.statistics = gaps;
        c.gaps = gaps;
        sweep.run(c);
        ++turn;
      }
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm: in place of the input, of the residual, and of both") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  for (const char* variant : {"", "naive", "registers", "tiled", "online", "split"}) {
    for (const InPlace in_place :
         {InPlace::out_in, InPlace::out_residual, InPlace::sum_residual, InPlace::both}) {
      NormCase c;
      c.variant = variant;
      c.work_items = *variant == 's' ? 16 : 0;
      c.rows = *variant == 's' ? 2 : 9;  // rows that groups share
      c.cols = *variant == 's' ? 20001 : 333;
      c.op = NormOp::rms;
      c.residual = c.sum = true;
      c.in_place = in_place;
      c.gaps = true;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm: rows longer than a cache or a group's registers, and rows that groups share") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const char* variant : {"", "online", "split"}) {
    for (const std::size_t work_items : {0, 16}) {
      if (work_items != 0 && *variant == 0) continue;
      NormCase c;
      c.variant = variant;
      c.work_items = work_items;
      c.cols = 70001;
      c.gaps = c.weight = c.bias = c.statistics = true;
      sweep.run(c);
      c.rows = 1;
      c.op = NormOp::rms;
      c.weight = c.bias = false;
      c.residual = c.sum = true;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 10);
  const smem::NormProblem row{.rows = 1, .cols = 70001};
  CHECK(smem::plan_norm(context.device(), row, {.variant = "split", .work_items = 16}).number("parts") > 1);
}

TEST_CASE("norm: without an epsilon, rows of equal elements are NaN") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const char* variant : {"", "registers", "online"}) {
    NormCase c;
    c.variant = variant;
    c.cols = 129;
    c.epsilon = 0;
    c.weight = c.bias = true;
    sweep.run(c);
    c.op = NormOp::rms;
    c.weight = c.bias = false;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 6);
}

TEST_CASE("norm: the same bits twice") {
  const smem::Context context;
  std::vector<float> host(3 * 5003);
  test::Random random(7);
  for (float& v : host)
    v = static_cast<float>(random.between(0, 999)) / 100;
  const smem::Array<float> in(context, host), one(context, smem::Count{host.size()}),
      two(context, smem::Count{host.size()});
  for (const std::string_view variant : {"", "split", "tiled"}) {
    smem::layer_norm(context, in.matrix(3, 5003), one.matrix(3, 5003), {}, {.variant = variant});
    smem::layer_norm(context, in.matrix(3, 5003), two.matrix(3, 5003), {}, {.variant = variant});
    CHECK(one.to_host() == two.to_host());
  }
}

TEST_CASE("norm: plans for devices that are not here") {
  const auto variant_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_norm(test::target(target), {.rows = rows, .cols = cols}).variant;
  };
  CHECK(variant_of("sm_90", 16384, 16384) == "shuffle");
  CHECK(variant_of("sm_90", 4096, 1 << 20) == "online");
  CHECK(variant_of("sm_90", 1, 1 << 20) == "split");
  CHECK(variant_of("gfx90a", 8192, 1000) == "registers");
  CHECK(variant_of("cpu", 8192, 1000) == "cpu");
  // A residual is read, and a sum written, as often as the elements.
  const smem::NormProblem usual{.rows = 4096, .cols = 4096};
  smem::NormProblem sum = usual;
  sum.residual = sum.sum = true;
  const auto one = smem::plan_norm(test::target("sm_90"), usual).prediction,
             two = smem::plan_norm(test::target("sm_90"), sum).prediction;
  CHECK(two.bytes_read == 2 * one.bytes_read);
  CHECK(two.bytes_written == 2 * one.bytes_written);
}

TEST_CASE("bad input of norm") {
  const smem::Context context, other;
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)), out(context, poison),
      more(context, poison), foreign(other, poison);
  const smem::Array<int> integers(context, std::vector<int>(200, 1));
  const smem::Matrix from = in.matrix(10, 20), to = out.matrix(10, 20);
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const smem::Norm& what = {},
                         const char* variant = "") {
    const auto error = test::failure_of([&] { smem::layer_norm(context, a, b, what, {.variant = variant}); });
    CHECK(error.operation == "layer_norm");
    return error.argument;
  };
  const auto fails_with = [&](const smem::Norm& what) { return fails(from, to, what); };
  CHECK(fails(from, out.matrix(20, 10)) == "out");
  CHECK(fails(from, out.matrix(5, 20, {.batch = 2})) == "out");
  CHECK(fails(integers.matrix(10, 20), to) == "in");
  CHECK(fails(from, integers.matrix(10, 20)) == "out");
  CHECK(fails(in.matrix(11, 20), out.matrix(11, 20)) == "in");
  CHECK(fails(in.matrix(9, 20), in.matrix(9, 20, {.offset = 20})) == "out");  // moved by a row
  CHECK(fails(from, to, {}, "nosuch") == "variant");
  smem::Matrix longest = from, longest_out = to;
  longest.cols = longest.pitch = longest_out.cols = longest_out.pitch = (std::size_t{1} << 30) + 1;
  CHECK(fails(longest, longest_out) == "in");
  for (const double epsilon : {-1e-9, std::nan(""), kInfinity, 1e300})
    CHECK(fails_with({.epsilon = epsilon}) == "epsilon");
  CHECK(fails_with({.weight = more.vector(0, 19)}) == "weight");
  CHECK(fails_with({.weight = integers.vector(0, 20)}) == "weight");
  CHECK(fails_with({.weight = out.vector(0, 20)}) == "out");
  CHECK(fails_with({.weight = foreign.vector(0, 20)}) == "weight");
  CHECK(fails_with({.bias = more.vector(190, 20)}) == "bias");
  CHECK(fails_with({.bias = more.vector(0, 21)}) == "bias");
  CHECK(fails_with({.residual = more.matrix(10, 19)}) == "residual");
  CHECK(fails_with({.residual = integers.matrix(10, 20)}) == "residual");
  CHECK(fails_with({.residual = out.matrix(9, 20, {.offset = 20})}) == "residual");
  CHECK(fails_with({.sum = more.matrix(10, 20)}) == "sum");  // without a residual
  CHECK(fails_with({.residual = more.matrix(10, 20), .sum = to}) == "sum");
  CHECK(fails_with({.residual = more.matrix(10, 20), .sum = more.matrix(10, 19)}) == "sum");
  CHECK(fails_with({.mean = more.vector(0, 9)}) == "mean");
  CHECK(fails_with({.mean = integers.vector(0, 10)}) == "mean");
  CHECK(fails_with({.mean = out.vector(0, 10)}) == "mean");
  CHECK(fails_with({.mean = smem::Vector(nullptr, Scalar::float32, 10)}) == "mean");
  CHECK(fails_with({.mean = more.vector(0, 10), .reciprocal_deviation = more.vector(9, 10)}) ==
        "reciprocal_deviation");
  CHECK(test::failure_of([&] { smem::rms_norm(context, from, to, {.mean = more.vector(0, 10)}); }).argument ==
        "mean");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] { smem::rms_norm(context, from, to, {}, {.overrides = &group}); }).argument ==
        "work_items");
  CHECK(out.to_host() == poison);
  CHECK(more.to_host() == poison);
  // Of nothing.
  CHECK(smem::layer_norm(context, in.matrix(0, 20), out.matrix(0, 20))() != nullptr);
  CHECK(smem::rms_norm(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(out.to_host() == poison);
  for (const char* variant : {"", "registers", "online", "tiled", "naive"}) {
    smem::layer_norm(context, in.matrix(3, 0), out.matrix(3, 0),
                     {.mean = out.vector(0, 3), .reciprocal_deviation = out.vector(3, 3)},
                     {.variant = variant});
    const std::vector<float> got = out.to_host();
    CHECK(std::count_if(got.begin(), got.begin() + 6, [](float v) { return std::isnan(v); }) == 6);
    CHECK(std::count(got.begin() + 6, got.end(), 7.0F) == 194);
    smem::write_buffer(context, out.buffer(), poison.data(), 800);
  }
}
