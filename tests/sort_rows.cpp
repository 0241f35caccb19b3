// Sorts of rows and columns: every variant, type, order and kind of keys beside std::stable_sort.
#include "support/sort_rows.hpp"
#include "support/broken.hpp"
#include "support/level.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using smem::Scalar;
using smem::SortPayload;
using smem::SortRowsProblem;
using test::Keys;
using test::RowsCall;

namespace {

bool must_run(const smem::Device& device, const RowsCall& call) {
  const std::size_t cols = call.columns ? call.rows : call.cols;
  if (test::is_broken(device, "sort_rows", call.variant)) return false;
  if (call.variant == "network") return cols <= 256;
  if (call.variant == "keys_only") {
    const bool all_bits = call.order.begin_bit == 0 && !call.order.end_bit;
    return all_bits && call.value_bytes == 0 && cols <= 1000;
  }
  if (call.variant == "tile") return cols <= 1000;
  return call.variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

template <class K>
void check_rows(const smem::Context& context, Keys kind, const RowsCall& call) {
  CAPTURE(call.variant);
  CAPTURE(smem::name_of(smem::scalar_of<K>));
  CAPTURE(call.rows);
  CAPTURE(call.cols);
  CAPTURE(call.value_bytes);
  CAPTURE(static_cast<int>(kind));
  const bool ran =
      test::sorts_rows(context, test::make_keys<K>(kind, test::spread_size(call), call.cols), call);
  CHECK((ran || !must_run(context.device(), call)));
}

/// Lengths of rows that a variant meets: few programs for them all.
std::vector<std::size_t> lengths_for(std::string_view variant) {
  if (variant == "network") return {1, 2, 3, 32, 31, 33, 256, 200};
  if (variant == "tile") return {1, 2, 65, 256, 255, 1000, 2048};
  if (variant == "keys_only") return {1, 2, 3, 32, 31, 200, 1000, 2048, 1025};
  if (variant == "cpu") return {1, 2, 63, 64, 65, 5000};
  return {1, 2, 777, 4095, 4096, 4097, 12301};
}

}  // namespace

TEST_CASE("small: sort rows" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "sort_rows", smem::sort_rows_variants()))
    check_rows<std::uint16_t>(context, Keys::uniform, {.variant = variant, .rows = 5, .cols = 130, .gap = 1});
}

// Each program costs a driver's compiler a second, so that types and variants take turns.
TEST_CASE("sort_rows: every variant, every type") {
  const smem::Context context;
  std::size_t t = 0;
  const auto check = [&](auto key) {
    using K = decltype(key);
    const auto variants = smem::sort_rows_variants();
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if ((t + v) % 4 != 0 && t > 0 && variants[v] != "cpu") continue;
      const std::vector<std::size_t> lengths = lengths_for(variants[v]);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (t > 0 && variants[v] != "radix" && i % 3 != t % 3) continue;
        RowsCall call{
            .variant = variants[v], .rows = 5, .cols = lengths[i], .batch = 1 + i % 2, .gap = i % 4};
        call.order.descending = t % 2 == 1;
        call.keys_in_place = t % 4 > 1;
        check_rows<K>(context, Keys::uniform, call);
      }
    }
    ++t;
  };
  std::apply([&](auto... key) { (check(key), ...); },
             std::tuple<std::uint32_t, float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                        std::int32_t, std::int64_t, std::uint64_t, smem::half, smem::bfloat16, double>());
}

TEST_CASE("sort_rows: every variant, keys of every kind") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_rows_variants()) {
    for (const Keys kind : test::kKeys) {
      for (const std::size_t cols : {200, 1000}) {
        RowsCall call{.variant = variant, .rows = 3, .cols = cols, .gap = 1};
        call.keys_in_place = kind == Keys::small || kind == Keys::two;  // an odd number of passes, or none
        check_rows<float>(context, kind, call);
        call.order = {.total_order = true};
        if (kind == Keys::special && cols == 200) check_rows<float>(context, kind, call);
        call.order = {.descending = cols == 200, .nan_least = true};
        if (kind == Keys::special) check_rows<float>(context, kind, call);
      }
    }
    check_rows<std::uint32_t>(context, Keys::ones, {.variant = variant, .rows = 300, .cols = 19});
    check_rows<std::uint32_t>(context, Keys::zipf, {.variant = variant, .rows = 2, .cols = 30011});
  }
  // So many tiles that groups scan their counts.
  check_rows<std::uint8_t>(context, Keys::uniform, {.variant = "radix", .rows = 1, .cols = 1100003});
}

// Lengths around those of registers, of whole vectors, of the blocks that the first cache holds and of two
// steps at a time; rows that fill all lanes and some.
TEST_CASE("sort_rows on CPUs: rows in lanes of vectors") {
  const smem::Context context;
  const auto check = [&](auto key, Keys kind, std::size_t cols, bool in_place, const smem::SortOrder& order) {
    using K = decltype(key);
    RowsCall call{.variant = "cpu", .rows = 37, .cols = cols, .order = order};
    call.keys_in_place = in_place;
    call.gap = cols % 3;
    check_rows<K>(context, kind, call);
  };
  for (const std::size_t cols :
       {3, 7, 8, 9, 15, 16, 17, 24, 40, 100, 129, 255, 272, 520, 1023, 1300, 2600, 9000, 17001}) {
    check(float{}, Keys::special, cols, cols % 2 == 0,
          {.descending = cols % 4 > 1, .nan_least = cols % 8 > 3});
    check(std::uint32_t{}, cols % 2 == 0 ? Keys::uniform : Keys::equal, cols, cols % 2 == 1, {});
  }
  for (const std::size_t cols : {7, 31, 700, 1100}) {
    check(double{}, Keys::special, cols, false, {.descending = cols > 100});
    check(smem::half{}, Keys::special, cols, true, {.total_order = cols > 100});
    check(std::int8_t{}, Keys::uniform, cols, false, {});
    check(std::int64_t{}, Keys::uniform, cols, true, {.descending = true});
  }
  for (const std::size_t cols : {5, 33, 1100, 17001}) {
    for (const bool places : {true, false}) {
      RowsCall call{.variant = "cpu", .rows = 37, .cols = cols, .gap = 1};
      call.payload = places ? SortPayload::places : SortPayload::values;
      call.value_bytes = places ? 8 : 12;
      check_rows<float>(context, Keys::special, call);
      check_rows<std::uint8_t>(context, Keys::two, call);
    }
  }
}

TEST_CASE("sort_rows: ranges of bits") {
  const smem::Context context;
  using Range = std::pair<std::size_t, std::size_t>;
  for (const std::string_view variant : smem::sort_rows_variants()) {
    for (const Range& bits : {Range{0, 0}, {32, 32}, {31, 32}, {5, 12}, {3, 20}, {8, 27}}) {
      const std::size_t begin = bits.first, end = bits.second;
      CAPTURE(begin);
      CAPTURE(end);
      for (const std::size_t cols : {60, 250}) {
        const RowsCall call{.variant = variant,
                            .rows = 3,
                            .cols = cols,
                            .order = {.begin_bit = begin, .end_bit = end},
                            .keys_in_place = end % 2 == 0};
        check_rows<std::uint32_t>(context, Keys::uniform, call);
      }
    }
  }
}

TEST_CASE("sort_pairs_rows and argsort_rows: every variant, equal keys in their order") {
  const smem::Context context;
  std::size_t turn = 0;
  for (const std::string_view variant : smem::sort_rows_variants()) {
    for (const std::size_t bytes : {4, 12, 1, 8, 3, 16}) {
      const std::size_t cols = variant == "network" ? 250 : turn % 2 == 0 ? 61 : 999;
      RowsCall call{.variant = variant, .rows = 4, .cols = cols, .batch = 2, .gap = 3};
      call.payload = SortPayload::values;
      call.value_bytes = bytes;
      call.keys_in_place = turn % 2 == 1;
      call.values_in_place = turn % 3 == 1;
      check_rows<std::uint16_t>(context, turn % 2 == 0 ? Keys::small : Keys::two, call);
      ++turn;
    }
    for (const std::size_t bytes : {4, 8}) {
      RowsCall call{.variant = variant, .rows = 3, .cols = 251, .payload = SortPayload::places};
      call.value_bytes = bytes;
      call.gap = bytes / 4;
      check_rows<float>(context, Keys::special, call);
      call.order.begin_bit = 9;  // passes: an odd number
      check_rows<float>(context, Keys::uniform, call);
    }
    const RowsCall wide{
        .variant = variant, .rows = 2, .cols = 100, .payload = SortPayload::places, .value_bytes = 4};
    check_rows<std::uint64_t>(context, Keys::zipf, wide);
    const RowsCall long_rows{
        .variant = variant, .rows = 2, .cols = 20011, .payload = SortPayload::places, .value_bytes = 4};
    check_rows<float>(context, Keys::special, long_rows);
  }
}

TEST_CASE("sort_columns: keys, values and places") {
  const smem::Context context;
  for (const SortPayload payload : {SortPayload::none, SortPayload::values, SortPayload::places}) {
    RowsCall call{.rows = 67, .cols = 41, .batch = 2, .payload = payload, .columns = true, .gap = 2};
    call.value_bytes = payload == SortPayload::none ? 0 : 4;
    check_rows<float>(context, Keys::special, call);
    call.keys_in_place = payload != SortPayload::places;
    call.values_in_place = payload == SortPayload::values;
    call.order.descending = true;
    check_rows<float>(context, Keys::zipf, call);
  }
  check_rows<std::uint8_t>(context, Keys::uniform,
                           {.variant = "radix", .rows = 9001, .cols = 3, .columns = true});
}

TEST_CASE("random: sorts of rows and columns") {
  const smem::Context context;
  test::run_random("sort_rows", 302, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    const std::string variant = test::some_variant(random, smem::sort_rows_variants());
    const auto payload = static_cast<SortPayload>(random.between(0, 2));
    const std::size_t bytes = payload == SortPayload::none     ? 0
                              : payload == SortPayload::places ? 4 * random.between(1, 2)
                                                               : std::size_t{1} << random.between(0, 4);
    const bool columns = random.chance(3);
    return [=, &context](test::Random& more, std::string& text) {
      test::Outcome outcome;
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        RowsCall call{.variant = variant, .payload = payload, .value_bytes = bytes, .columns = columns};
        const std::size_t length = test::random_length(more) % 30000 + 1,
                          lines = more.between(1, 100000 / (length + 2000) + 1);
        call.rows = columns ? length : lines;
        call.cols = columns ? lines : length;
        call.batch = more.chance(3) ? more.between(1, 3) : 1;
        call.order = test::random_order(more, 8 * sizeof(K));
        call.keys_in_place = payload != SortPayload::places && more.chance(2);
        call.values_in_place = payload == SortPayload::values && more.chance(2);
        call.gap = more.chance(2) ? 0 : more.between(1, 9);
        const Keys kind = test::one_of(more, test::kKeys);
        text = fmt::format("{} x {} x {} {}, {}, kind {}, {} bytes beside each, {}{}{}, gap {}, \"{}\"",
                           call.batch, call.rows, call.cols, smem::name_of(smem::scalar_of<K>),
                           columns ? "columns" : "rows", static_cast<int>(kind), bytes,
                           test::text_of(call.order), call.keys_in_place ? ", keys in place" : "",
                           call.values_in_place ? ", values in place" : "", call.gap, variant);
        const auto keys = test::make_keys<K>(kind, test::spread_size(call), more.next());
        outcome.refused = !test::sorts_rows(context, keys, call);
      });
      return outcome;
    };
  });
}

TEST_CASE("clamped: sorts of rows on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const char* variant : {"radix", "tile", "network", ""}) {
      for (const std::size_t cols : {16, 3001}) {
        const RowsCall call{.variant = variant, .rows = 3, .cols = cols};
        CAPTURE(variant);
        const bool runs =
            test::sorts_rows(context, test::make_keys<std::uint32_t>(Keys::uniform, 3 * cols, 7), call);
        CHECK((runs || variant == std::string_view("tile") || variant == std::string_view("network")));
      }
    }
  }
}

TEST_CASE("sort_rows: the plan is the whole call") {
  const smem::Device hopper = test::target("sm_90");
  SortRowsProblem problem;
  problem.rows = 1000000;
  problem.cols = 32;
  smem::Plan plan = smem::plan_sort_rows(hopper, problem);
  CHECK(plan.variant == "keys_only");
  CHECK(plan.launches().size() == 1);
  CHECK(plan.scratch_bytes == 0);
  CHECK(plan.prediction.bytes() == 2.0 * 4 * 32 * 1000000);  // read once, written once
  problem.begin_bit = 1;
  CHECK(smem::plan_sort_rows(hopper, problem).variant == "network");
  problem.begin_bit = 0;
  problem.rows = 4096;
  problem.cols = 8192;
  plan = smem::plan_sort_rows(hopper, problem);
  CHECK(plan.variant == "keys_only");
  CHECK(plan.items_per_work_item == 32);
  CHECK(plan.launches().size() == 1);
  CHECK(plan.prediction.bytes() == 2.0 * 4 * 8192 * 4096);
  problem.rows = 128;
  problem.cols = std::size_t{1} << 20;
  plan = smem::plan_sort_rows(hopper, problem);
  CHECK(plan.variant == "radix");
  CHECK(plan.rounds == 4);
  CHECK(static_cast<double>(plan.scratch_bytes) <= 1.1 * 4 * 128 * static_cast<double>(problem.cols));
  CHECK(plan.alternatives.size() == 4);
  for (const smem::Alternative& other : plan.alternatives)
    CHECK_FALSE(other.why_not.empty());
}

TEST_CASE("bad input of sort_rows: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), c(context, poison),
      d(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](const auto& call, std::string_view operation = "sort_rows") {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    for (const smem::Array<std::uint32_t>* array : {&a, &b, &c, &d})
      CHECK(array->to_host() == poison);
    return error.argument;
  };
  const auto rows = [&](const smem::ConstMatrix& keys, const smem::Matrix& out,
                        const smem::SortOrder& order = {}, const smem::CallOptions& options = {}) {
    return refused([&] { smem::sort_rows(context, keys, out, order, options); });
  };
  CHECK(rows(a.matrix(5, 20), f.matrix(5, 20)) == "out");
  CHECK(rows(a.matrix(5, 20), b.matrix(20, 5)) == "out");
  CHECK(rows(a.matrix(6, 20), b.matrix(6, 20)) == "keys");
  CHECK(rows(a.matrix(5, 10), smem::Matrix(a.buffer()(), Scalar::uint32, 5, 10, {.offset = 1})) == "out");
  CHECK(rows(a.matrix(4, 10), smem::Matrix(a.buffer()(), Scalar::uint32, 4, 10, {.pitch = 20})) == "out");
  CHECK(rows(smem::Matrix(nullptr, Scalar::uint32, 5, 5), b.matrix(5, 5)) == "keys");
  CHECK(rows(a.matrix(5, 20), b.matrix(5, 20), {.end_bit = 33}) == "end_bit");
  CHECK(rows(a.matrix(5, 20), b.matrix(5, 20), {.begin_bit = 5, .end_bit = 4}) == "begin_bit");
  CHECK(rows(a.matrix(5, 20), b.matrix(5, 20), {}, {.variant = "quick"}) == "variant");
  const smem::PlanOverrides tile{.tile_cols = 64};
  CHECK(rows(a.matrix(5, 20), b.matrix(5, 20), {}, {.overrides = &tile}) == "tile_cols");
  const auto columns = [&](const smem::ConstMatrix& keys, const smem::Matrix& out,
                           const smem::CallOptions& options = {}) {
    return refused([&] { smem::sort_columns(context, keys, out, {}, options); }, "sort_columns");
  };
  CHECK(columns(a.matrix(5, 20), f.matrix(5, 20)) == "out");
  CHECK(columns(a.matrix(5, 10), smem::Matrix(a.buffer()(), Scalar::uint32, 5, 10, {.offset = 1})) == "out");
  CHECK(refused([&] {
          smem::sort_columns(context, a.matrix(5, 20), b.matrix(5, 20), {}, {.variant = "quick"});
        }) == "variant");
  const auto pairs = [&](const smem::ConstMatrix& keys, const smem::ConstMatrix& values,
                         const smem::Matrix& out_keys, const smem::Matrix& out_values) {
    return refused([&] { smem::sort_pairs_rows(context, keys, values, out_keys, out_values); },
                   "sort_pairs_rows");
  };
  CHECK(pairs(a.matrix(5, 20), b.matrix(5, 19), c.matrix(5, 20), d.matrix(5, 20)) == "values");
  CHECK(pairs(a.matrix(5, 20), b.matrix(5, 20), c.matrix(5, 20), f.matrix(5, 20)) == "out_values");
  CHECK(pairs(a.matrix(5, 20), b.matrix(5, 20), b.matrix(5, 20), d.matrix(5, 20)) == "out_keys");
  CHECK(pairs(a.matrix(5, 20), b.matrix(5, 20), c.matrix(5, 20), c.matrix(5, 20)) == "out_values");
  const auto places = [&](const smem::ConstMatrix& keys, const smem::Matrix& out) {
    return refused([&] { smem::argsort_rows(context, keys, out); }, "argsort_rows");
  };
  CHECK(places(a.matrix(5, 20), f.matrix(5, 20)) == "places");
  CHECK(places(a.matrix(5, 20), a.matrix(5, 20)) == "places");
  CHECK(places(a.matrix(5, 20), b.matrix(4, 20)) == "places");
  const smem::ElementType odd = smem::ElementType::of_bytes(12);
  CHECK(refused(
            [&] {
              smem::sort_pairs_columns(context, a.matrix(3, 3), smem::Matrix(b.buffer()(), odd, 3, 3),
                                       c.matrix(3, 3), smem::Matrix(d.buffer()(), odd, 3, 3));
            },
            "sort_pairs_columns") == "values");
}

TEST_CASE("sort_rows: nothing, and events to wait for") {
  const smem::Context context;
  const smem::Matrix none(nullptr, Scalar::half, 0, 5);
  smem::sort_rows(context, none, none).wait();
  smem::sort_columns(context, none, none).wait();
  const smem::Array<std::int32_t> a(context, {3, -1, 2, 5, 4, 9}), b(context, smem::Count{6}),
      c(context, smem::Count{6});
  const cl::Event first = smem::sort_rows(context, a.matrix(2, 3), b.matrix(2, 3), {.descending = true});
  const cl::Event second =
      smem::sort_columns(context, b.matrix(2, 3), c.matrix(2, 3), {}, {.wait_for = {first}});
  second.wait();
  CHECK(b.to_host() == std::vector<std::int32_t>{3, 2, -1, 9, 5, 4});
  CHECK(c.to_host() == std::vector<std::int32_t>{3, 2, -1, 9, 5, 4});
  smem::sort_columns(context, b.matrix(3, 2), c.matrix(3, 2)).wait();
  CHECK(c.to_host() == std::vector<std::int32_t>{-1, 2, 3, 4, 5, 9});
}
