// softmax, log_softmax and logsumexp along rows and columns: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "operations/data.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/level.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using smem::MaskedRows;
using smem::Scalar;
using smem::SoftmaxOp;
using smem::operations::HostArray;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of columns, `rows` counts those, and `cols` their elements.
struct SoftmaxCase {
  SoftmaxOp op = SoftmaxOp::softmax;
  Scalar in = Scalar::float32, out = Scalar::float32;
  std::size_t rows = 11, cols = 1, batch = 1;
  bool gaps = false, in_place = false;
  MaskedRows masked = MaskedRows::nan;
  std::string variant = {};
  std::size_t work_items = 0;  ///< fixed, where it is not 0
  std::size_t tile_cols = 0;   ///< the same
  bool columns = false;

  std::size_t down() const { return columns ? cols : rows; }
  std::size_t across() const { return columns ? rows : cols; }
  test::Tested tested() const {
    return {std::string(name_of(op)) + (columns ? "_columns" : ""), variant,
            fmt::format("{} to {}", name_of(in), name_of(out))};
  }
  std::string text() const {
    return fmt::format("{} of {} {} of {} x {}, {} to {}{}{}{}, variant \"{}\", {} work-items", name_of(op),
                       columns ? "columns of" : "rows of", batch, rows, cols, name_of(in), name_of(out),
                       gaps ? ", gaps" : "", in_place ? ", in place" : "",
                       masked == MaskedRows::zero ? ", masked rows are 0" : "", variant, work_items);
  }
};

/// Element i of a row: rows take turns at what is hard.
double element_of(const SoftmaxCase& c, std::size_t row, std::size_t i, test::Random& random) {
  const double usual = static_cast<double>(random.between(0, (1 << 16) - 1)) / 4096 - 8;
  const bool middle = i == c.cols / 2;
  switch (row % 11) {
    case 1:
      return -kInfinity;
    case 2:
      return middle ? std::nan("") : usual;
    case 3:
      return middle ? kInfinity : usual;
    case 4:  // one that all others are nothing beside
      return middle ? 60000 : usual;
    case 5:
      return 3;
    case 6:
      return i % 3 == 1 ? -kInfinity : usual;
    case 7:
      return middle ? std::nan("") : kInfinity;
    case 8:  // the first tiles have nothing
      return i < c.cols * 3 / 4 ? -kInfinity : usual;
    case 9:  // the largest element so far grows and grows
      return std::floor(64.0 * static_cast<double>(i) / static_cast<double>(c.cols)) - 30;
    case 10:
      return middle ? std::nan("") : -kInfinity;
    default:
      return usual;
  }
}

/// A view's place in its buffer.
smem::Extent extent_of(const SoftmaxCase& c, std::size_t offset, std::size_t gap) {
  if (!c.gaps) return {.batch = c.batch};
  return {.offset = offset,
          .pitch = c.across() + gap,
          .batch = c.batch,
          .batch_stride = c.down() * (c.across() + gap) + 5};
}

std::size_t elements_of(const smem::ConstMatrix& view) {
  return view.offset + (view.batch - 1) * view.batch_stride + (view.rows - 1) * view.pitch + view.cols + 3;
}

struct Wanted {
  double value, tolerance;
};

/// The results of a row, by plain loops in double.
std::vector<Wanted> results_of(const SoftmaxCase& c, const std::vector<double>& row) {
  double largest = -kInfinity, sum = 0;
  bool is_nan = false;
  for (const double v : row) {
    is_nan = is_nan || std::isnan(v);
    if (v > largest) largest = v;
  }
  const bool is_masked = !is_nan && largest == -kInfinity;
  for (const double v : row)
    sum += is_masked ? 0 : std::exp(v - largest);
  const double unit = c.in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  const auto n = static_cast<double>(row.size());
  const double error =
      unit * (16 + (c.variant == "naive" ? n : 4 * std::sqrt(n)));  // naive: one sum, in order
  const double rounding = c.out == Scalar::half ? 0x1p-11 : c.out == Scalar::bfloat16 ? 0x1p-8 : 0;
  const double logarithm = largest + std::log(sum);
  if (c.op == SoftmaxOp::logsumexp) {
    const double value = is_nan                 ? std::nan("")
                         : is_masked            ? -kInfinity
                         : largest == kInfinity ? kInfinity
                                                : logarithm;
    return {{value, std::abs(value) * (error + rounding) + error}};
  }
  std::vector<Wanted> results;
  for (const double v : row) {
    double value = c.op == SoftmaxOp::softmax ? std::exp(v - largest) / sum : v - largest - std::log(sum);
    if (is_nan || largest == kInfinity) value = std::nan("");
    if (is_masked)
      value = c.masked == MaskedRows::nan ? std::nan("") : c.op == SoftmaxOp::softmax ? 0 : -kInfinity;
    // Exponentials below the least normal number may be 0, and halves are rounded to multiples of 2^-24.
    const double least = c.op != SoftmaxOp::softmax ? 100 * error
                         : c.out == Scalar::half    ? 0x1p-24
                         : c.in == Scalar::float64  ? 0x1p-1022
                                                    : 0x1p-126;
    results.push_back({value, std::abs(value) * (error + rounding) + least});
  }
  return results;
}

bool is_right(const Wanted& wanted, double got) {
  if (std::isnan(wanted.value)) return std::isnan(got);
  if (std::isinf(wanted.value)) return got == wanted.value;
  return std::abs(got - wanted.value) <= wanted.tolerance;
}

test::Outcome run(const smem::Context& context, const SoftmaxCase& c, test::Random& random) {
  const bool one_a_row = c.op == SoftmaxOp::logsumexp;
  const smem::ConstMatrix in_view(nullptr, c.in, c.down(), c.across(), extent_of(c, 3, 5));
  smem::Matrix out_view(nullptr, c.out, c.down(), c.across(),
                        c.in_place ? extent_of(c, 3, 5) : extent_of(c, 2, 1));
  smem::Vector vector(nullptr, c.out, c.rows * c.batch, c.gaps ? 3 : 0);
  HostArray in{c.in, {}};
  in.bytes.resize(elements_of(in_view) * size_of(c.in));
  for (std::size_t i = 0; i < in.size(); ++i)
    in.set(i, std::nan(""));  // gaps do not reach results
  const std::size_t out_elements = one_a_row ? vector.offset + vector.size + 3 : elements_of(out_view);
  HostArray out{c.out, std::vector<unsigned char>(out_elements * size_of(c.out), 0x5a)};
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
    if (c.op == SoftmaxOp::softmax)
      (c.columns ? smem::softmax_columns : smem::softmax)(context, from, out_view, c.masked, options);
    if (c.op == SoftmaxOp::log_softmax)
      (c.columns ? smem::log_softmax_columns : smem::log_softmax)(context, from, out_view, c.masked, options);
    if (one_a_row) (c.columns ? smem::logsumexp_columns : smem::logsumexp)(context, from, vector, options);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return test::refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  HostArray got{c.out, out_array.to_host()};
  const HostArray before = c.in_place ? in : out;
  std::vector<bool> is_result(got.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<Wanted> wanted = results_of(c, rows[r]);
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

using SoftmaxSweep = test::CaseSweep<SoftmaxCase>;

}  // namespace

TEST_CASE("small: softmax" * doctest::test_suite("small")) {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "softmax", smem::softmax_variants())) {
    CAPTURE(variant);
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 300;
    c.gaps = true;
    sweep.run(c);
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? 1 : 0));
  }
}

TEST_CASE("softmax: every variant, also of rows with infinities and NaNs") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant : smem::softmax_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 129, 1000, 4099}) {
      for (const MaskedRows masked : {MaskedRows::nan, MaskedRows::zero}) {
        SoftmaxCase c;
        c.variant = variant;
        c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
        c.masked = masked;
        c.cols = cols;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? turn : 0));
  }
}

TEST_CASE("softmax: every type") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::bfloat16, Scalar::float32},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const char* variant : {"", "registers", "online"}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.variant = variant;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.cols = 389 + turn % 2;
      c.gaps = turn % 4 == 0;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("softmax: in place") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const char* variant : {"", "registers", "tiled", "online", "split", "ahead", "cooperative"}) {
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 333;
    c.in_place = c.gaps = true;
    sweep.run(c);
  }
  CHECK(sweep.ran() == (test::runs_on_rows(context.device(), "cooperative") ? 7 : 6));
}

TEST_CASE("softmax: rows longer than a cache or a group's registers, and rows that groups share") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const char* variant : {"", "online", "split"}) {
    for (const std::size_t work_items : {0, 16}) {
      if (work_items != 0 && *variant == 0) continue;
      SoftmaxCase c;
      c.variant = variant;
      c.work_items = work_items;
      c.cols = 70001;
      c.gaps = true;
      sweep.run(c);
      c.rows = 1;
      c.op = SoftmaxOp::logsumexp;
      sweep.run(c);
      if (work_items != 0) continue;
      c.op = SoftmaxOp::softmax;
      c.cols = (1 << 20) + 3;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 13);
  const smem::SoftmaxProblem row{.rows = 1, .cols = 70001};
  const smem::Plan plan = smem::plan_softmax(context.device(), row, {.variant = "split", .work_items = 16});
  CHECK(plan.number("parts") > 1);
}

TEST_CASE("softmax: groups share rows, and read the parts of others that publish late") {
  for (const char* limit : {"", "poll_limit=0"}) {
    CAPTURE(std::string(limit));
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    if (!test::runs_on_rows(context.device(), "cooperative") || context.device().max_work_group < 32) return;
    SoftmaxSweep sweep(context);
    std::size_t turn = 0;
    for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
      if (type == Scalar::float64 && !context.device().fp64) continue;
      if (*limit != 0 && turn > 1) continue;
      SoftmaxCase c;
      c.variant = "cooperative";
      c.in = c.out = type;
      c.op = static_cast<SoftmaxOp>(turn % 2);
      c.tile_cols = 256;
      c.work_items = 32;
      c.cols = turn % 3 == 2 ? 1000 : 1003;
      c.rows = 55;  // more than teams
      c.gaps = turn % 3 != 2;
      c.batch = 1 + turn % 2;
      c.in_place = *limit != 0;
      c.masked = turn % 2 == 0 ? MaskedRows::nan : MaskedRows::zero;
      sweep.run(c);
      ++turn;
    }
    CHECK(sweep.ran() == turn);
    SoftmaxCase c;
    c.variant = "cooperative";
    c.op = SoftmaxOp::logsumexp;
    c.tile_cols = 256;
    c.work_items = 32;
    c.cols = 4099;
    if (*limit == 0) sweep.run(c);
  }
}

TEST_CASE("softmax: rows shorter than a CPU's vectors, of which it has several at once") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::bfloat16, Scalar::float32},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t cols : {3, 16, 64}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
      c.masked = turn % 4 == 0 ? MaskedRows::zero : MaskedRows::nan;
      c.rows = 111;
      c.cols = cols;
      c.batch = 1 + turn % 2;
      c.gaps = turn % 3 == 0;
      c.in_place = turn % 5 == 4 && in == out && c.op != SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
  const smem::SoftmaxProblem rows{.rows = 1000, .cols = 16};
  CHECK(smem::plan_softmax(test::target("cpu"), rows).tile_rows == 16);
}

TEST_CASE("softmax_columns: every variant, also of columns with infinities and NaNs") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant : smem::softmax_columns_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 130, 1000, 2050}) {
      for (const MaskedRows masked : {MaskedRows::nan, MaskedRows::zero}) {
        SoftmaxCase c;
        c.columns = true;
        c.variant = variant;
        c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
        c.masked = masked;
        c.cols = cols;
        c.rows = turn % 4 == 3 ? 77 : 11;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? turn : 0));
  }
}

TEST_CASE("softmax_columns: types, in place, and columns longer than a cache or that groups share") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  const auto run = [&](SoftmaxCase c) {
    c.columns = true;
    c.gaps = turn % 2 == 0;
    sweep.run(c);
    ++turn;
  };
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const char* variant : {"", "tiled", "online"}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.variant = variant;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.rows = 40;
      c.cols = 389;
      run(c);
    }
  }
  for (const char* variant : {"", "tiled", "online", "split", "together"}) {
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 333;
    c.in_place = true;
    run(c);
  }
  for (const char* variant : {"", "online", "split"}) {
    SoftmaxCase c;
    c.variant = variant;
    c.work_items = *variant == 0 ? 0 : 16;
    c.cols = 40001;
    run(c);
    c.op = SoftmaxOp::logsumexp;
    run(c);
  }
  CHECK(sweep.ran() == turn);
  const smem::SoftmaxColumnsProblem shared{.rows = 40001, .cols = 11};
  const smem::PlanOverrides fixed{.variant = "split", .work_items = 16};
  CHECK(smem::plan_softmax_columns(context.device(), shared, fixed).number("parts") > 1);
}

TEST_CASE("clamped: softmax on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    SoftmaxSweep sweep(context);
    for (const bool columns : {false, true}) {
      std::vector<std::string_view> all =
          columns ? smem::softmax_columns_variants() : smem::softmax_variants();
      all.emplace_back("");  // the plan's choice, which always runs
      for (const std::string_view variant : all) {
        CAPTURE(variant);
        SoftmaxCase c;
        c.columns = columns;
        c.variant = variant;
        c.cols = 1000;
        c.gaps = true;
        sweep.run(c);
        CHECK((sweep.ran() == 1 || !variant.empty()));
      }
    }
  }
}

TEST_CASE("random: softmax") {
  const smem::Context context;
  test::run_random("softmax", 309, [&](test::Random& random) -> test::RandomCase {
    SoftmaxCase drawn;
    drawn.op = static_cast<SoftmaxOp>(random.between(0, 2));
    drawn.variant = test::some_variant(random, smem::softmax_variants());
    drawn.in = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64});
    const bool is_short = drawn.in == Scalar::half || drawn.in == Scalar::bfloat16;
    drawn.out = is_short && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.masked = random.chance(2) ? MaskedRows::nan : MaskedRows::zero;
    return [=, &context](test::Random& more, std::string& text) {
      if (drawn.in == Scalar::float64 && !context.device().fp64) return test::without_fp64();
      SoftmaxCase c = drawn;
      c.cols = 1 + test::random_length(more) % 100000;
      c.rows = more.between(1, 60000 / (c.cols + 400) + 1);
      c.batch = more.chance(3) ? more.between(1, 3) : 1;
      c.gaps = more.chance(2);
      c.in_place = c.op != SoftmaxOp::logsumexp && c.in == c.out && more.chance(3);
      text = c.text();
      return run(context, c, more);
    };
  });
}

TEST_CASE("softmax: the same bits twice") {
  const smem::Context context;
  std::vector<float> host(3 * 5003);
  test::Random random(7);
  for (float& v : host)
    v = static_cast<float>(random.between(0, 999)) / 100;
  const smem::Array<float> in(context, host), one(context, smem::Count{host.size()}),
      two(context, smem::Count{host.size()});
  for (const std::string_view variant : {"", "split", "tiled"}) {
    smem::softmax(context, in.matrix(3, 5003), one.matrix(3, 5003), {}, {.variant = variant});
    smem::softmax(context, in.matrix(3, 5003), two.matrix(3, 5003), {}, {.variant = variant});
    CHECK(one.to_host() == two.to_host());
  }
}

TEST_CASE("softmax: plans for devices that are not here") {
  const auto variant_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_softmax(test::target(target), {.rows = rows, .cols = cols}).variant;
  };
  CHECK(variant_of("sm_90", 4096, 4096) == "shuffle");
  CHECK(variant_of("sm_90", 16384, 16384) == "ahead");
  CHECK(variant_of("sm_90", 4096, 50257) == "ahead");
  CHECK(variant_of("sm_75", 16384, 16384) == "shuffle");
  CHECK(variant_of("sm_90", 4096, 1 << 20) == "cooperative");
  CHECK(variant_of("sm_90", 1, 1 << 20) == "split");
  CHECK(variant_of("gfx90a", 8192, 1000) == "registers");
  CHECK(variant_of("cpu", 8192, 1000) == "cpu");
  // Short rows share a group; rows that begin anywhere have a pack more.
  CHECK(smem::plan_softmax(test::target("sm_90"), {.rows = 1000000, .cols = 128}).tile_rows == 32);
  const smem::SoftmaxProblem loose{.rows = 4096, .cols = 128, .row_alignment = 4};
  CHECK(smem::plan_softmax(test::target("sm_90"), loose).tile_cols > 128);
}
