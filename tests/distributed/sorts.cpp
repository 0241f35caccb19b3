// Sorts and selections over all ranks: the same bits as one device gives.
#include "support.hpp"

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/distributed/plan.hpp>
#include <smem/distributed/sort.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace d = smem::distributed;

namespace {

template <class T>
void check_sort(const std::vector<T>& keys, const std::vector<T>& wanted, const smem::SortOrder& order = {}) {
  const std::vector<d::Layout> layouts = test::layouts(keys.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    d::Vector<T> in(test::session(), keys.size(), layouts[i]);
    d::Vector<T> out(test::session(), keys.size(), layouts[(i * 3 + 1) % layouts.size()]);
    in.write(keys);
    d::sort(in, out, order);
    const std::vector<T> result = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t place = 0; place < keys.size(); ++place) {
      if (std::memcmp(&result[place], &wanted[place], sizeof(T)) != 0) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

/// Floats by value, zeros of both signs equal, NaN last.
bool before(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

}  // namespace

TEST_CASE("sort: random, equal and few keys in every layout") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{20011}}) {
    std::vector<std::uint32_t> keys = test::numbers<std::uint32_t>(n, 0, 1 << 20), wanted = keys;
    std::sort(wanted.begin(), wanted.end());
    check_sort(keys, wanted);
    check_sort(wanted, wanted);
    std::reverse(wanted.begin(), wanted.end());
    check_sort(keys, wanted, {.descending = true});
    keys.assign(n, 7);
    check_sort(keys, keys);
  }
}

TEST_CASE("sort: equal keys stay where they are") {
  // Splitters divide equal keys by their places, so that they are cut as ascending keys are. Otherwise one
  // rank would receive all of them.
  const d::Session& session = test::session();
  const std::size_t n = 20011;
  std::vector<std::uint32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = static_cast<std::uint32_t>(i);
  d::Vector<std::uint32_t> in(session, n), out(session, n);
  const auto sent = [&] {
    in.write(keys);
    const std::uint64_t before = d::sent_bytes(session);
    d::sort(in, out);
    return d::sent_bytes(session) - before;
  };
  const std::uint64_t ascending = sent();
  std::reverse(keys.begin(), keys.end());
  const std::uint64_t descending = sent();
  // All of the first rank's keys belong to the last one.
  if (session.ranks() > 1 && session.rank() == 0) CHECK(descending > ascending);
  keys.assign(n, 7);
  CHECK(sent() == ascending);
}

TEST_CASE("sort: all keys go to the other device, in pieces") {
  // Of two blocks, each with 32 MiB: only where a rank has several devices and blocks are whole.
  const d::Session& session = test::session();
  constexpr std::size_t kCount = (std::size_t{16} << 20) + 1001;
  d::Vector<std::uint32_t> in(session, kCount), out(session, kCount);
  if (session.ranks() != 1 || in.blocks().size() != 2) return;
  std::vector<std::uint32_t> keys(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    keys[i] = static_cast<std::uint32_t>(kCount - i);
  in.write(keys);
  d::sort(in, out);
  std::reverse(keys.begin(), keys.end());
  CHECK(out.to_host() == keys);
}

TEST_CASE("sort: stable, by bits of the keys, floats with NaN and zeros of both signs") {
  const std::size_t n = 15000;
  // Few different bits 8 to 15 of many different keys: the other bits show whether equal keys keep
  // their order.
  std::vector<std::uint32_t> keys = test::numbers<std::uint32_t>(n, 0, 1 << 20), wanted = keys;
  const auto selected = [](std::uint32_t key) { return key >> 8 & 0xffu; };
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return selected(a) < selected(b); });
  check_sort(keys, wanted, {.begin_bit = 8, .end_bit = 16});

  std::vector<float> floats = test::numbers<float>(n, -3, 3), sorted;
  for (std::size_t i = 0; i < n; i += 7)
    floats[i] = i % 2 == 0 ? -0.0F : std::numeric_limits<float>::quiet_NaN();
  sorted = floats;
  std::stable_sort(sorted.begin(), sorted.end(), before);
  check_sort(floats, sorted);
  std::stable_partition(sorted.begin(), sorted.end(), [](float x) { return std::isnan(x); });
  check_sort(floats, sorted, {.nan_least = true});
}

TEST_CASE("sort: refused outputs") {
  d::Vector<int> keys(test::session(), 10), longer(test::session(), 11), out(test::session(), 10);
  d::Vector<float> floats(test::session(), 10);
  CHECK(test::failure_of([&] { d::sort(keys, out); }).argument == "keys");  // without values
  keys.write(std::vector<int>(10, 1));
  CHECK(test::failure_of([&] { d::sort(keys, keys); }).argument == "out");
  CHECK(test::failure_of([&] { d::sort(keys, longer); }).argument == "out");
  CHECK(test::failure_of([&] { d::sort(keys, floats); }).argument == "out");
  // Refused by the tasks.
  CHECK(test::failure_of([&] { d::sort(keys, out, {.begin_bit = 3, .end_bit = 99}); }).operation == "sort");
  d::sort(keys, out);
  CHECK(out.to_host() == std::vector<int>(10, 1));
}

TEST_CASE("top_k: the first of equal elements, in every layout") {
  for (const std::size_t n : {std::size_t{4}, std::size_t{10007}}) {
    for (const bool equal : {false, true}) {
      const std::vector<int> all = equal ? std::vector<int>(n, 3) : test::numbers<int>(n, -50, 50);
      for (const std::size_t k : {std::size_t{0}, n > 4000 ? 4000 : n}) {
        for (const bool least : {false, true}) {
          std::vector<std::uint64_t> places(n);
          for (std::size_t i = 0; i < n; ++i)
            places[i] = i;
          std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
            return least ? all[a] < all[b] : all[a] > all[b];
          });
          places.resize(k);
          std::vector<std::uint64_t> ascending = places;
          std::sort(ascending.begin(), ascending.end());
          for (const d::Layout& layout : test::layouts(n)) {
            d::Vector<int> in(test::session(), n, layout);
            in.write(all);
            const d::TopKResult<int> sorted = d::top_k(in, k, {.least = least});
            CHECK(sorted.places == places);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < k; ++i) {
              if (sorted.values[i] != all[places[i]]) ++wrong;
            }
            CHECK(wrong == 0);
            CHECK(d::top_k(in, k, {.least = least, .sorted = false}).places == ascending);
          }
        }
      }
    }
  }
  d::Vector<int> in(test::session(), 10);
  in.write(std::vector<int>(10, 1));
  CHECK(test::failure_of([&] { static_cast<void>(d::top_k(in, 11)); }).argument == "k");
}
