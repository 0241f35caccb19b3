// Reductions, scans and histograms over all ranks: the same bits as one device gives.
#include "support.hpp"

#include <smem/array.hpp>
#include <smem/distributed/histogram.hpp>
#include <smem/distributed/reduce.hpp>
#include <smem/distributed/scan.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace d = smem::distributed;

TEST_CASE("data: what is written is read, in every layout") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{10007}}) {
    const std::vector<int> all = test::numbers<int>(n, -1000, 1000);
    for (const d::Layout& layout : test::layouts(n)) {
      d::Vector<int> data(test::session(), n, layout);
      data.write(all);
      CHECK(data.to_host() == all);
      const std::vector<int> mine = data.read_local();
      CHECK(mine ==
            std::vector<int>(all.begin() + static_cast<std::ptrdiff_t>(data.first_row()),
                             all.begin() + static_cast<std::ptrdiff_t>(data.first_row() + mine.size())));
      std::size_t rows = 0;
      for (const d::Block& block : data.blocks()) {
        CHECK(block.first == rows);
        CHECK(block.rows > 0);
        rows += block.rows;
      }
      CHECK(rows == n);
    }
  }
}

TEST_CASE("data: refused layouts and reads") {
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  CHECK(test::failure_of([&] {
          d::Vector<int>(test::session(), 10, d::Layout::of(std::vector<std::size_t>(ranks + 1, 0)));
        }).argument == "layout");
  CHECK(test::failure_of([&] {
          d::Vector<int>(test::session(), 10, d::Layout::of(std::vector<std::size_t>(ranks, 11)));
        }).argument == "layout");
  CHECK(test::failure_of([&] { d::Matrix<int>(test::session(), 2, (std::size_t{1} << 26) + 1); }).argument ==
        "row_elements");
  const d::Vector<int> empty(test::session(), 10);
  CHECK(test::failure_of([&] { static_cast<void>(empty.to_host()); }).got == "data without values");
  CHECK(test::failure_of([&] { static_cast<void>(d::sum(empty)); }).argument == "in");
}

TEST_CASE("session: arguments that differ, and tasks that fail, are errors of all ranks") {
  const d::Session& session = test::session();
  if (session.ranks() > 1) {
    const auto rows = static_cast<std::size_t>(session.rank() == 1 ? 11 : 10);
    const smem::ErrorDetails differ = test::failure_of([&] { d::Vector<int>(session, rows); });
    CHECK(differ.argument == "arguments");
    CHECK(test::contains(differ.got, "rank 1"));
  }
  // A task of the last rank alone.
  d::Vector<float> data(session, 100);
  data.write(std::vector<float>(100, 1));
  for (const d::Block& block : data.blocks()) {
    if (block.handle == nullptr || session.rank() != session.ranks() - 1) continue;
    session.submit("faulty", {{block.handle, d::Access::update}},
                   [](const smem::Context& context, std::span<const d::Piece> pieces) {
                     const smem::Vector view = pieces[0].vector(smem::element_of<float>);
                     smem::reduce(context, view, view, smem::ReduceOp::sum);  // in and out overlap
                   });
  }
  const smem::ErrorDetails failed = test::failure_of([&] { session.wait(); });
  CHECK(failed.operation == "reduce");
  CHECK(failed.argument == "out");
  CHECK(failed.expected != "");
  CHECK(failed.got != "");
  if (session.ranks() > 1) {
    CHECK(test::contains(failed.device, "rank " + std::to_string(session.ranks() - 1)));
  }
  // The session goes on.
  CHECK(d::sum(data) == 100);
  CHECK(test::failure_of([&] { session.submit("none", {}, {}); }).argument == "arguments");
}

/// Sums and products wrap.
constexpr std::pair<smem::ReduceOp, int (*)(int, int)> kPlainOps[] = {
    {smem::ReduceOp::sum,
     [](int a, int b) { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }},
    {smem::ReduceOp::product,
     [](int a, int b) { return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b)); }},
    {smem::ReduceOp::min, [](int a, int b) { return std::min(a, b); }},
    {smem::ReduceOp::max, [](int a, int b) { return std::max(a, b); }},
    {smem::ReduceOp::bit_and, [](int a, int b) { return a & b; }},
    {smem::ReduceOp::bit_or, [](int a, int b) { return a | b; }}};

TEST_CASE("reduce: the same as the loop, in every layout") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{6}, std::size_t{10007}}) {
    const std::vector<int> all = test::numbers<int>(n, -1000, 1000);
    const std::vector<float> reals = test::numbers<float>(n, -10, 10);  // sums are exact
    for (const d::Layout& layout : test::layouts(n)) {
      d::Vector<int> data(test::session(), n, layout);
      d::Vector<float> floats(test::session(), n, layout);
      data.write(all);
      floats.write(reals);
      CHECK(d::sum(data) == std::accumulate(all.begin(), all.end(), std::int64_t{0}));
      CHECK(d::sum(floats) == std::accumulate(reals.begin(), reals.end(), 0.0F));
      CHECK(d::mean(data) == static_cast<double>(d::sum(data)) / static_cast<double>(n));
      CHECK(d::max(data) == *std::max_element(all.begin(), all.end()));
      CHECK(d::minmax(data) == std::pair(*std::min_element(all.begin(), all.end()), d::max(data)));
      CHECK(d::argmax(data) ==
            static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin()));
      CHECK(d::argmin(data) ==
            static_cast<std::size_t>(std::min_element(all.begin(), all.end()) - all.begin()));
      CHECK(d::dot(floats, floats) == std::inner_product(reals.begin(), reals.end(), reals.begin(), 0.0F));
      CHECK(d::norm(floats) == doctest::Approx(std::sqrt(d::dot(floats, floats))).epsilon(1e-6));
      CHECK(d::min(floats) == *std::min_element(reals.begin(), reals.end()));
      for (const auto& [op, plain] : kPlainOps) {
        CAPTURE(static_cast<int>(op));
        CHECK(d::reduce(data, op) == std::accumulate(all.begin() + 1, all.end(), all.front(), plain));
      }
      CHECK(d::any(data) == std::any_of(all.begin(), all.end(), [](int x) { return x != 0; }));
      CHECK(d::all(data) == std::all_of(all.begin(), all.end(), [](int x) { return x != 0; }));
      // The last element that is not 0: not commutative.
      const auto last = std::find_if(all.rbegin(), all.rend(), [](int x) { return x != 0; });
      CHECK(d::reduce(data, smem::Reduction::custom("b == 0 ? a : b", "0")) ==
            (last == all.rend() ? 0 : *last));
    }
  }
}

TEST_CASE("reduce: equal elements, NaN, and nothing") {
  const d::Session& session = test::session();
  const std::size_t n = 9001;
  d::Vector<int> equal(session, n), none(session, 0);
  equal.write(std::vector<int>(n, 7));
  none.write(std::vector<int>());
  CHECK(d::argmax(equal) == 0);
  CHECK(d::argmin(equal) == 0);
  CHECK(d::sum(none) == 0);
  CHECK(d::product(none) == 1);
  CHECK(d::all(none));
  CHECK_FALSE(d::any(none));
  CHECK(test::failure_of([&] { static_cast<void>(d::argmin(none)); }).argument == "in");

  std::vector<float> values(n, std::numeric_limits<float>::quiet_NaN());
  d::Vector<float> floats(session, n);
  floats.write(values);
  CHECK(std::isnan(d::min(floats)));
  CHECK(d::argmin(floats) == 0);
  values[n - 2] = 3;
  values[n - 1] = 3;
  floats.write(values);
  CHECK(d::min(floats) == 3);
  CHECK(d::argmax(floats) == n - 2);
}

TEST_CASE("floats: the same bits in every run") {
  const std::size_t n = 30011;
  std::vector<float> all = test::numbers<float>(n, -1000000, 1000000);
  for (float& x : all)
    x /= 7;  // sums depend on their order
  const auto same = [](const auto& a, const auto& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  for (const d::Layout& layout : test::layouts(n)) {
    d::Vector<float> data(test::session(), n, layout), out(test::session(), n, layout);
    data.write(all);
    const float sum = d::sum(data), dot = d::dot(data, data), mean = d::mean(data), norm = d::norm(data);
    d::inclusive_scan(data, out);
    const std::vector<float> sums = out.to_host();
    for (int i = 0; i < 2; ++i) {
      CHECK(same(d::sum(data), sum));
      CHECK(same(d::dot(data, data), dot));
      CHECK(same(d::mean(data), mean));
      CHECK(same(d::norm(data), norm));
      d::inclusive_scan(data, out);
      CHECK(std::memcmp(out.to_host().data(), sums.data(), n * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("inclusive_scan: the same as the loop, in every layout") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{10007}}) {
    const std::vector<int> all = test::numbers<int>(n, -1, 3);
    std::vector<int> sums(n), lasts(n);
    std::vector<std::int64_t> wide(n);
    int last = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] = (i == 0 ? 0 : sums[i - 1]) + all[i];
      wide[i] = sums[i];
      lasts[i] = last = all[i] == 0 ? last : all[i];
    }
    for (const d::Layout& layout : test::layouts(n)) {
      d::Vector<int> in(test::session(), n, layout), out(test::session(), n, layout);
      d::Vector<std::int64_t> longs(test::session(), n, layout);
      in.write(all);
      d::inclusive_scan(in, out);
      CHECK(out.to_host() == sums);
      d::inclusive_scan(in, longs);
      CHECK(longs.to_host() == wide);
      d::inclusive_scan(in, out, smem::Reduction::custom("b == 0 ? a : b", "0"));
      CHECK(out.to_host() == lasts);
    }
  }
}

TEST_CASE("inclusive_scan: halves are rounded once, and refused calls") {
  const d::Session& session = test::session();
  const std::size_t n = 8000;
  d::Vector<smem::half> in(session, n), out(session, n);
  d::Vector<smem::half> other(session, n + 1);
  in.write(std::vector<smem::half>(n, smem::half(1.0F)));
  d::inclusive_scan(in, out);
  const std::vector<smem::half> result = out.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (result[i].bits != smem::half(static_cast<float>(i + 1)).bits) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(test::failure_of([&] { d::inclusive_scan(in, in); }).argument == "out");
  CHECK(test::failure_of([&] { d::inclusive_scan(in, other); }).argument == "out");
  // Refused by every block's task, with smem's text.
  CHECK(test::failure_of([&] { d::inclusive_scan(in, out, smem::ReduceOp::mean); }).expected != "");
  d::inclusive_scan(in, out);
  CHECK(out.to_host()[0].bits == smem::half(1.0F).bits);
}

TEST_CASE("histogram: counts of all ranks") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{10007}}) {
    const std::vector<int> all = test::numbers<int>(n, -5, 104);
    std::vector<std::uint64_t> even(10), between(3);
    const std::vector<int> edges = {0, 1, 50, 90};
    for (const int x : all) {
      if (x >= 0 && x < 100) ++even[static_cast<std::size_t>(x / 10)];
      for (std::size_t i = 0; i < between.size(); ++i) {
        if (x >= edges[i] && x < edges[i + 1]) ++between[i];
      }
    }
    for (const d::Layout& layout : test::layouts(n)) {
      d::Vector<int> data(test::session(), n, layout);
      data.write(all);
      CHECK(d::histogram(data, smem::Bins::even(10, 0, 100)) == even);
      CHECK(d::histogram(data, edges) == between);
    }
  }
  d::Vector<int> data(test::session(), 10);
  data.write(std::vector<int>(10, 1));
  CHECK(test::failure_of([&] {
          static_cast<void>(d::histogram(data, smem::Bins::even(0, 0, 1)));
        }).expected != "");
  CHECK(test::failure_of([&] {
          static_cast<void>(d::histogram(data, std::vector<int>{3, 2}));
        }).argument == "edges");
}
