// top_k and nth_element: every variant, type, order and kind of elements beside std::stable_sort.
#include "support/broken.hpp"
#include "support/level.hpp"
#include "support/top_ks.hpp"

#include "plan/driver_faults.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using smem::Scalar;
using smem::TopKProblem;
using test::Keys;
using test::TopKCall;

namespace {

/// Whether the driver is known to break the variant by such a launch.
bool is_broken_in(const smem::Device& device, std::string_view variant, const smem::Launch& launch) {
  const std::vector<smem::plan::LaunchFault> faults = smem::plan::known_launch_faults(device);
  return std::any_of(faults.begin(), faults.end(), [&](const smem::plan::LaunchFault& fault) {
    return fault.broken.operation == "top_k" && fault.broken.variant == variant && fault.is_in(launch);
  });
}

/// Whether plans of rows of this length refuse the variant for a launch that the driver is known to break.
bool is_refused_as_broken(const smem::Device& device, std::string_view variant, std::size_t cols,
                          std::size_t k, std::size_t bytes) {
  smem::TopKProblem problem;
  problem.type = bytes == 1   ? smem::Scalar::uint8
                 : bytes == 2 ? smem::Scalar::uint16
                 : bytes == 4 ? smem::Scalar::uint32
                              : smem::Scalar::uint64;
  problem.cols = cols;
  problem.k = k;
  std::string refusal;
  try {
    smem::plan_top_k(device, problem, {.variant = std::string(variant)});
  } catch (const smem::Error& error) {
    refusal = error.details().got;
  }
  const std::vector<smem::plan::LaunchFault> faults = smem::plan::known_launch_faults(device);
  return std::any_of(faults.begin(), faults.end(), [&](const smem::plan::LaunchFault& fault) {
    return fault.broken.variant == variant && test::contains(refusal, fault.broken.reason);
  });
}

/// Whether the variant runs rows of this length for so few results.
bool must_run(const smem::Device& device, std::string_view variant, std::size_t cols, std::size_t k,
              std::size_t bytes) {
  if (test::is_broken(device, "top_k", variant) || is_refused_as_broken(device, variant, cols, k, bytes))
    return false;
  if (variant == "tile") return cols <= 2000;
  if (variant == "registers") return cols <= 2000 && k <= 64;
  if (variant == "network") return cols <= 256;
  if (variant == "row_delegates") return bytes <= 4 && cols <= 20011 && k <= 64 && 64 * k <= cols;
  if (variant == "delegates") return k <= 64 && cols >= 16 * 64;
  return variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

template <class K, class Place = std::uint32_t>
void check_selection(const smem::Context& context, Keys kind, const TopKCall& call) {
  CAPTURE(call.variant);
  CAPTURE(call.cols);
  CAPTURE(call.k);
  CAPTURE(static_cast<int>(kind));
  const auto keys = test::make_keys<K>(kind, call.rows * call.batch * call.cols, call.cols);
  const bool ran = test::selects<K, Place>(context, keys, call);
  CHECK((ran || !must_run(context.device(), call.variant, call.cols, call.k, sizeof(K))));
}

}  // namespace

TEST_CASE("small: top_k" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "top_k", smem::top_k_variants())) {
    check_selection<std::uint16_t>(context, Keys::zipf,
                                   {.variant = variant, .rows = 2, .cols = 1500, .k = 9, .gap = 1});
  }
}

// Each program costs a driver's compiler a second, so that types, orders and variants take turns.
TEST_CASE("top_k: every variant, every type") {
  const smem::Context context;
  std::size_t t = 0;
  const auto check = [&](auto key) {
    using K = decltype(key);
    CAPTURE(smem::name_of(smem::scalar_of<K>));
    const auto variants = smem::top_k_variants();
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if ((t + v) % 4 != 0 && t > 0) continue;
      TopKCall call{.variant = variants[v]};
      call.which = {.least = t % 2 == 1, .sorted = t % 3 != 2, .total_order = t % 5 == 1};
      for (const std::size_t cols : {1, 2, 63, 20011}) {
        if (cols == 20011 && (variants[v] == "tile" || variants[v] == "registers")) continue;
        call.cols = cols;
        for (const std::size_t k : {std::size_t{1}, std::size_t{7}, cols - 1, cols}) {
          if (k == 0 || k > cols) continue;
          call.k = k;
          check_selection<K>(context, Keys::uniform, call);
        }
      }
    }
    ++t;
  };
  std::apply([&](auto... key) { (check(key), ...); },
             std::tuple<std::uint32_t, float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                        std::int32_t, std::int64_t, std::uint64_t, smem::half, smem::bfloat16, double>());
}

TEST_CASE("top_k: every variant, elements of every kind") {
  const smem::Context context;
  for (const std::string_view variant : smem::top_k_variants())
    for (const Keys kind : test::kKeys)
      for (const std::size_t cols : {1500, 300007})
        for (const std::size_t k : {1, 50, 1400})
          check_selection<std::uint32_t>(context, kind, {.variant = variant, .cols = cols, .k = k});
}

TEST_CASE("top_k_rows: short rows of every kind by a network") {
  const smem::Context context;
  for (const Keys kind : test::kKeys) {
    TopKCall call{.variant = "network", .rows = 11, .cols = 200, .gap = 1};
    for (const std::size_t k : {1, 70, 200}) {
      call.k = k;
      check_selection<std::uint16_t>(context, kind, call);
      check_selection<float>(context, kind, call);
      check_selection<std::uint64_t>(context, kind, call);
    }
  }
}

TEST_CASE("top_k: zeros, NaNs, infinities and the smallest numbers, by values and in totalOrder") {
  const smem::Context context;
  std::size_t turn = 0;
  for (const std::string_view variant : smem::top_k_variants()) {
    for (const bool total : {false, true}) {
      TopKCall call{.variant = variant, .cols = 1900, .k = 60};
      call.which = {.least = turn % 2 == 0, .sorted = total, .total_order = total};
      check_selection<float>(context, Keys::special, call);
      // All are NaN, of both signs and with any payload; all are -infinity.
      std::vector<float> nans(call.cols), low(call.cols, std::bit_cast<float>(0xff800000u));
      for (std::size_t i = 0; i < nans.size(); ++i)
        nans[i] = std::bit_cast<float>((i % 3 == 0 ? 0xff800001u : 0x7fc00000u) +
                                       static_cast<unsigned>(i * 7 % 99));
      for (const std::vector<float>& all : {nans, low}) {
        const bool ran = test::selects<float, std::uint32_t>(context, all, call);
        CHECK((ran || !must_run(context.device(), variant, call.cols, call.k, sizeof(float))));
      }
      if (!total) {
        call.which.nan_least = true;
        check_selection<float>(context, Keys::special, call);
        const bool ran = test::selects<float, std::uint32_t>(context, nans, call);
        CHECK((ran || !must_run(context.device(), variant, call.cols, call.k, sizeof(float))));
      }
      call.which.least = !call.which.least;
      if (!total) check_selection<float>(context, Keys::special, call);
      if (turn++ % 4 < 2) check_selection<smem::half>(context, Keys::special, call);
      if (turn % 4 < 2) check_selection<double>(context, Keys::special, call);
    }
  }
  // What the order is, in numbers.
  const float nan = std::bit_cast<float>(0xffc00001u), infinity = std::bit_cast<float>(0x7f800000u);
  const smem::Array<float> in(context, {-0.0F, nan, 0.0F, 2.0F, infinity, -0.0F, -1.0F});
  const smem::Array<float> values(context, smem::Count{5});
  const smem::Array<std::uint32_t> places(context, smem::Count{5});
  const auto selected = [&](const smem::TopK& which) {
    smem::top_k(context, in, values, places, which);
    return places.to_host();
  };
  CHECK(selected({}) == std::vector<std::uint32_t>{1, 4, 3, 0, 2});
  CHECK(std::bit_cast<std::uint32_t>(values.to_host()[0]) == 0xffc00001u);
  CHECK(std::bit_cast<std::uint32_t>(values.to_host()[3]) == 0x80000000u);
  CHECK(selected({.sorted = false}) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(selected({.least = true}) == std::vector<std::uint32_t>{6, 0, 2, 5, 3});
  CHECK(selected({.total_order = true}) == std::vector<std::uint32_t>{4, 3, 2, 0, 5});
  CHECK(selected({.least = true, .total_order = true}) == std::vector<std::uint32_t>{1, 6, 0, 5, 2});
  CHECK(selected({.nan_least = true}) == std::vector<std::uint32_t>{4, 3, 0, 2, 5});
  CHECK(selected({.least = true, .nan_least = true}) == std::vector<std::uint32_t>{1, 6, 0, 2, 5});
}

TEST_CASE("top_k_rows: rows and matrices with gaps, each as if it were alone") {
  const smem::Context context;
  for (const std::string_view variant : smem::top_k_variants()) {
    CAPTURE(variant);
    for (const std::size_t gap : {0, 3, 5}) {
      TopKCall call{.variant = variant, .rows = 3, .cols = 1700, .k = 40, .batch = 2, .gap = gap};
      check_selection<float>(context, Keys::zipf, call);
      check_selection<float>(context, Keys::two, call);
      call.cols = 9001;
      call.k = 2500;
      check_selection<float>(context, Keys::small, call);
    }
    TopKCall wide{.variant = variant, .rows = 2, .cols = 1801, .k = 33, .gap = 1};
    check_selection<std::uint16_t, std::uint64_t>(context, Keys::uniform, wide);
    TopKCall many{.variant = variant, .rows = 700, .cols = 40, .k = 9, .gap = 1};
    check_selection<float>(context, Keys::uniform, many);
    many.which.sorted = false;
    check_selection<float>(context, Keys::two, many);
  }
}

TEST_CASE("top_k: results that fill several sorted runs") {
  const smem::Context context;
  for (const std::size_t k : {2048, 2049, 4097, 10000, 19999}) {
    check_selection<float>(context, Keys::zipf, {.variant = "radix_select", .cols = 20011, .k = k});
    check_selection<float>(context, Keys::equal,
                           {.variant = "radix_select", .rows = 2, .cols = 20011, .k = k, .gap = 1});
  }
}

TEST_CASE("top_k: so many spans that groups share them") {
  const smem::Context context;
  const bool runs = !is_broken_in(context.device(), "delegates", {.variant = "listed_count"});
  std::size_t refused = 0;  // a driver's fault stands for plans with many listed spans
  const auto check = [&](auto key, Keys kind, TopKCall call) {
    using K = decltype(key);
    call.variant = "delegates";
    const auto keys = test::make_keys<K>(kind, call.rows * call.cols, call.k);
    const bool ran = test::selects<K, std::uint32_t>(context, keys, call);
    refused += ran ? 0 : 1;
    CHECK((ran || !runs));
  };
  for (const Keys kind : {Keys::special, Keys::equal, Keys::zipf})
    check(float{}, kind, {.rows = 2, .cols = 200003, .k = 5000, .gap = 1});
  check(float{}, Keys::two, {.cols = 200003, .k = 5000, .which = {.sorted = false}});
  check(std::uint64_t{}, Keys::uniform, {.cols = 100001, .k = 6000});
  const smem::NthElement which{.n = 6000};
  const bool ran =
      test::finds_nth(context, test::make_keys<float>(Keys::special, 200003, 1), which, "delegates");
  CHECK((ran || !runs));
  CHECK((refused > 0) == !runs);
}

TEST_CASE("nth_element: every variant, ties, and the ends") {
  const smem::Context context;
  std::size_t turn = 0;
  for (const std::string_view variant : smem::top_k_variants()) {
    CAPTURE(variant);
    for (const std::size_t size : {1, 2, 1801, 20011}) {
      CAPTURE(size);
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{31}, size / 2, size - 1}) {
        if (n >= size) continue;
        CAPTURE(n);
        const smem::NthElement which{.n = n, .descending = turn++ % 2 == 0};
        for (const Keys kind : {Keys::uniform, Keys::special}) {
          const bool ran = test::finds_nth(context, test::make_keys<float>(kind, size, n), which, variant);
          CHECK((ran || !must_run(context.device(), variant, size, n + 1, sizeof(float))));
        }
      }
    }
  }
}

// Parts that list what has the digits found so far, parts that have too much of it, and images of zeros and
// NaNs.
TEST_CASE("nth_element on CPUs: digits counted by all threads") {
  const smem::Context context;
  const auto check = [&](auto key, Keys kind, std::size_t size, std::size_t n, smem::NthElement which) {
    using K = decltype(key);
    CAPTURE(smem::name_of(smem::scalar_of<K>));
    CAPTURE(static_cast<int>(kind));
    CAPTURE(n);
    which.n = n;
    const bool ran = test::finds_nth(context, test::make_keys<K>(kind, size, n), which, "cpu");
    CHECK((ran || !must_run(context.device(), "cpu", size, n + 1, sizeof(K))));
  };
  for (const std::size_t n : {3000, 50000, 100000, 150000, 197000}) {
    for (const Keys kind : test::kKeys) {
      check(float{}, kind, 200003, n, {.descending = n == 50000, .nan_least = n < 60000});
      check(std::uint32_t{}, kind, 200003, n, {.descending = n == 100000});
    }
    check(double{}, Keys::special, 200003, n, {.descending = n == 50000});
    check(double{}, Keys::uniform, 200003, n, {.total_order = true});
    check(std::int64_t{}, Keys::uniform, 200003, n, {});
    check(std::int8_t{}, Keys::uniform, 200003, n, {.descending = n == 50000});
    check(smem::half{}, Keys::special, 200003, n, {});
    check(std::int16_t{}, Keys::zipf, 200003, n, {});
  }
}

TEST_CASE("random: the greatest and the least of rows") {
  const smem::Context context;
  test::run_random("top_k", 305, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    const std::string variant = test::some_variant(random, smem::top_k_variants());
    const bool one = random.chance(4);
    smem::TopK which{.least = random.chance(2), .sorted = random.chance(2), .total_order = random.chance(3)};
    which.nan_least = !which.total_order && random.chance(3);
    return [=, &context](test::Random& more, std::string& text) {
      test::Outcome outcome;
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        using Wide = std::conditional_t<sizeof(K) == 2, std::uint64_t, std::uint32_t>;
        const Keys kind = test::one_of(more, test::kKeys);
        TopKCall call{.variant = variant, .cols = test::random_length(more), .which = which};
        if (one) {
          const auto keys = test::make_keys<K>(kind, call.cols + 1, more.next());
          const smem::NthElement nth{.n = more.chance(2)
                                              ? more.between(0, call.cols)
                                              : more.between(0, std::min<std::size_t>(call.cols, 70)),
                                     .descending = !which.least,
                                     .total_order = which.total_order,
                                     .nan_least = which.nan_least};
          text = fmt::format("element {} of {} {}, kind {}, {}{}, \"{}\"", nth.n, keys.size(),
                             smem::name_of(smem::scalar_of<K>), static_cast<int>(kind),
                             nth.descending ? "descending" : "ascending",
                             nth.total_order ? " in totalOrder"
                             : nth.nan_least ? " NaN least"
                                             : "",
                             variant);
          outcome.refused = !test::finds_nth(context, keys, nth, variant);
          return;
        }
        if (more.chance(2)) call.rows = more.between(1, 100000 / (call.cols + 400) + 1);
        call.batch = more.chance(4) ? more.between(1, 3) : 1;
        call.gap = more.chance(2) ? 0 : more.between(1, 9);
        call.k = more.between(0, more.chance(3) ? call.cols : std::min<std::size_t>(call.cols, 100));
        text = fmt::format("{}{} {} of {} x {} x {} {}, kind {}{}, gap {}, \"{}\"", call.k,
                           which.sorted ? "" : " unsorted", which.least ? "least" : "greatest", call.batch,
                           call.rows, call.cols, smem::name_of(smem::scalar_of<K>), static_cast<int>(kind),
                           which.total_order ? " in totalOrder"
                           : which.nan_least ? " NaN least"
                                             : "",
                           call.gap, variant);
        const auto keys = test::make_keys<K>(kind, call.rows * call.batch * call.cols, more.next());
        outcome.refused = !test::selects<K, Wide>(context, keys, call);
      });
      return outcome;
    };
  });
}

TEST_CASE("clamped: selections on smaller devices") {
  for (const std::string limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const std::string variant : {"radix_select", "delegates", "row_delegates", "tile", ""}) {
      CAPTURE(variant);
      const bool is_short = variant == "row_delegates";  // which a small group can keep
      const std::size_t cols = is_short ? 63 : 9001, k = is_short ? 1 : 5;
      const auto keys = test::make_keys<std::uint32_t>(Keys::uniform, 9001, 1);
      const bool runs = test::selects<std::uint32_t, std::uint32_t>(
          context, {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(cols)},
          {.variant = variant, .cols = cols, .k = k});
      const bool is_broken = is_broken_in(
          context.device(), variant,
          {.entry_point = "top_k_" + variant, .work_group = {context.device().max_work_group, 1, 1}});
      CHECK((runs || is_broken || is_short || variant == "tile" || limits == "local=512" ||
             limits == "local=4K" ||
             is_refused_as_broken(context.device(), variant, cols, k, sizeof(std::uint32_t))));
      CHECK_FALSE((runs && is_broken));
      if (variant.empty()) CHECK(runs);
      CHECK(test::selects<std::uint32_t, std::uint32_t>(
          context, keys, {.variant = "radix_select", .cols = 9001, .k = 3000}));
    }
  }
}

TEST_CASE("top_k: the plan is the whole call") {
  const smem::Device hopper = test::target("sm_90");
  TopKProblem problem;
  problem.cols = std::size_t{1} << 28;
  problem.k = 64;
  smem::Plan plan = smem::plan_top_k(hopper, problem);
  CHECK(plan.variant == "delegates");
  CHECK(plan.launches().size() <= 6);
  double bytes = 0;
  for (const smem::Launch* launch : plan.launches())
    bytes += launch->prediction.bytes();
  CHECK(bytes < 1.05 * 4 * static_cast<double>(problem.cols));  // one reading, and little more
  for (const std::size_t k : {std::size_t{2048}, std::size_t{100000}}) {
    problem.k = k;
    plan = smem::plan_top_k(hopper, problem);
    CHECK(plan.variant == "delegates");
    CHECK(plan.before.size() == 6);
    bytes = 0;
    for (const smem::Launch* launch : plan.launches())
      bytes += launch->prediction.bytes();
    CHECK(bytes < 1.5 * 4 * static_cast<double>(problem.cols));
  }
  plan = smem::plan_top_k(hopper, problem, {.variant = "radix_select"});
  CHECK(plan.before.size() == 2);
  CHECK(plan.before[0].repeats == 3);
  CHECK(plan.after.size() == 2);
  problem.sorted = false;
  CHECK(smem::plan_top_k(hopper, problem).after.empty());
  problem.rows = 4096;
  problem.cols = 8192;
  problem.k = 64;
  plan = smem::plan_top_k(hopper, problem);
  CHECK(plan.variant == "row_delegates");
  CHECK(plan.launches().size() == 1);
  CHECK(plan.prediction.bytes() < 1.2 * 4 * 4096 * 8192);
  problem.cols = 30000;
  CHECK(smem::plan_top_k(hopper, problem).variant == "row_delegates");
  problem.rows = 4;  // several groups a row
  CHECK(smem::plan_top_k(hopper, problem).variant != "row_delegates");
  CHECK(plan.alternatives.size() == 6);
  for (const smem::Alternative& other : plan.alternatives)
    CHECK_FALSE(other.why_not.empty());
}

TEST_CASE("bad input of top_k: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), c(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](const auto& call, std::string_view operation = "top_k") {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    for (const smem::Array<std::uint32_t>* array : {&a, &b, &c})
      CHECK(array->to_host() == poison);
    return error.argument;
  };
  const auto top = [&](const smem::ConstVector& in, const smem::Vector& values, const smem::Vector& places,
                       const smem::CallOptions& options = {}) {
    return refused([&] { smem::top_k(context, in, values, places, {}, options); });
  };
  CHECK(top(a.vector(0, 50), b.vector(0, 51), c.vector(0, 51)) == "values");
  CHECK(top(a.vector(), b.vector(0, 5), c.vector(0, 4)) == "places");
  CHECK(top(a.vector(), f.vector(0, 5), c.vector(0, 5)) == "values");
  CHECK(top(a.vector(), b.vector(0, 5), f.vector(0, 5)) == "places");
  CHECK(top(a.vector(), a.vector(0, 5), c.vector(0, 5)) == "values");
  CHECK(top(a.vector(), b.vector(0, 5), a.vector(95, 5)) == "places");
  CHECK(top(a.vector(), b.vector(0, 5), b.vector(4, 5)) == "places");
  CHECK(top(a.vector(60, 50), b.vector(0, 5), c.vector(0, 5)) == "in");
  CHECK(top(a.vector(), b.vector(98, 5), c.vector(0, 5)) == "values");
  CHECK(top(smem::Vector(nullptr, Scalar::uint32, 5), b.vector(0, 5), c.vector(0, 5)) == "in");
  CHECK(top(smem::Vector(a.buffer()(), static_cast<Scalar>(99), 5), b.vector(0, 5), c.vector(0, 5)) == "in");
  CHECK(top(a.vector(), b.vector(0, 5), c.vector(0, 5), {.variant = "heap"}) == "variant");
  const smem::Array<float> five(context, smem::Count{5});
  CHECK(refused([&] {
          smem::top_k(context, f, five, c.vector(0, 5), {.total_order = true, .nan_least = true});
        }) == "nan_least");
  const smem::PlanOverrides tile{.tile_cols = 64};
  CHECK(top(a.vector(), b.vector(0, 5), c.vector(0, 5), {.overrides = &tile}) == "tile_cols");
  const auto rows = [&](const smem::ConstMatrix& in, const smem::Matrix& values, const smem::Matrix& places) {
    return refused([&] { smem::top_k_rows(context, in, values, places); });
  };
  CHECK(rows(a.matrix(5, 20), b.matrix(4, 2), c.matrix(5, 2)) == "values");
  CHECK(rows(a.matrix(5, 20), b.matrix(5, 2), c.matrix(5, 3)) == "places");
  CHECK(rows(a.matrix(5, 20), b.matrix(4, 25), c.matrix(4, 25)) == "values");
  CHECK(rows(a.matrix(20, 5), b.matrix(20, 5), c.matrix(5, 20)) == "places");
  const auto nth = [&](const smem::ConstVector& in, const smem::Vector& out, std::size_t n) {
    return refused([&] { smem::nth_element(context, in, out, {.n = n}); }, "nth_element");
  };
  CHECK(nth(a.vector(), b.vector(0, 1), 100) == "n");
  CHECK(nth(a.vector(), b.vector(0, 2), 1) == "out");
  CHECK(nth(a.vector(), f.vector(0, 1), 1) == "out");
  CHECK(nth(a.vector(), a.vector(3, 1), 1) == "out");
  CHECK(nth(smem::Vector(a.buffer()(), Scalar::uint32, 0), b.vector(0, 1), 0) == "n");
  TopKProblem problem;
  problem.cols = std::size_t{1} << 32;
  CHECK(test::failure_of([&] { smem::plan_top_k(context.device(), problem); }).argument == "in");
}

TEST_CASE("top_k: nothing, and events to wait for") {
  const smem::Context context;
  const smem::Array<std::int32_t> a(context, {3, -1, 2}), b(context, smem::Count{2}),
      d(context, smem::Count{1});
  const smem::Array<std::uint32_t> c(context, smem::Count{2});
  smem::top_k(context, a, b.vector(0, 0), c.vector(0, 0)).wait();
  smem::top_k_rows(context, smem::Matrix(nullptr, Scalar::int32, 0, 5),
                   smem::Matrix(nullptr, Scalar::int32, 0, 2), smem::Matrix(nullptr, Scalar::uint64, 0, 2))
      .wait();
  const cl::Event first = smem::top_k(context, a, b, c, {.least = true});
  smem::nth_element(context, b, d, {.n = 1}, {.wait_for = {first}}).wait();
  CHECK(b.to_host() == std::vector<std::int32_t>{-1, 2});
  CHECK(c.to_host() == std::vector<std::uint32_t>{1, 2});
  CHECK(d.to_host() == std::vector<std::int32_t>{2});
}
