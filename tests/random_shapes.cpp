// Random shapes, layouts and variants. A case that fails is made smaller until it no longer does, and the
// smallest one that fails is reported.
#include "support/random_cases.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using test::Operation;

namespace {

/// Up to 300, with a liking for multiples of 16 and their neighbours.
std::size_t random_size(test::Random& random) {
  if (random.chance(3)) return random.between(0, 9);
  if (random.chance(2)) return 16 * random.between(1, 12) + random.between(0, 2) - 1;
  return random.between(1, 300);
}

test::Case random_case(test::Random& random) {
  test::Case c;
  c.operation = test::kOperations[random.between(0, std::size(test::kOperations) - 1)];
  const auto variants = test::variants_of(c.operation);
  c.variant = variants[random.between(0, variants.size() - 1)];
  c.element_bytes = std::size_t{1} << random.between(0, 4);
  c.rows = random_size(random);
  c.cols = c.operation == Operation::in_place ? c.rows : random_size(random);
  const std::size_t batch = random.chance(2) ? 1 : random.between(0, 5);
  c.in = test::random_layout(random, c.rows, c.cols, batch);
  c.out = test::random_layout(random, c.out_rows(), c.out_cols(), batch);
  return c;
}

/// Smaller neighbours of a case. Layouts are kept simple when the shape changes.
std::vector<test::Case> smaller(const test::Case& c) {
  std::vector<test::Case> cases;
  const auto with = [&](std::size_t rows, std::size_t cols, std::size_t batch) {
    if (rows == c.rows && cols == c.cols && batch == c.in.extent.batch) return;
    test::Case s = c;
    s.rows = rows;
    s.cols = s.operation == Operation::in_place ? rows : cols;
    s.in = test::packed(batch);
    s.out = test::packed(batch);
    cases.push_back(s);
  };
  const std::size_t batch = c.in.extent.batch;
  if (batch > 1) with(c.rows, c.cols, 1);
  with(c.rows / 2, c.cols, batch);
  with(c.rows, c.cols / 2, batch);
  if (c.rows > 0) with(c.rows - 1, c.cols, batch);
  if (c.cols > 0) with(c.rows, c.cols - 1, batch);
  for (const bool in : {true, false}) {
    const test::Layout& layout = in ? c.in : c.out;
    if (layout.extent.offset == 0 && layout.extent.pitch == 0 && layout.tail == 0) continue;
    test::Case s = c;
    (in ? s.in : s.out) = test::packed(batch);
    cases.push_back(s);
  }
  return cases;
}

}  // namespace

TEST_CASE("random: transposes of any shape and layout, by every variant") {
  const smem::Context context;
  test::Random random(42);
  const auto cases = static_cast<int>(test::random_cases(60));
  int ran = 0;
  for (int i = 0; i < cases; ++i) {
    test::Case c = random_case(random);
    test::Random data(static_cast<std::uint64_t>(i));
    test::Outcome outcome = test::reported(c, [&] { return test::run(context, c, data); });
    ran += !outcome.refused;
    if (outcome.fault.empty()) continue;
    for (bool smaller_fails = true; smaller_fails;) {
      smaller_fails = false;
      for (const test::Case& s : smaller(c)) {
        const test::Outcome of_smaller = test::run(context, s, data);
        if (of_smaller.fault.empty()) continue;
        c = s;
        outcome = of_smaller;
        smaller_fails = true;
        break;
      }
    }
    FAIL("case " << i << ", made smaller: " << c.text() << "\n  " << outcome.fault);
  }
  CHECK(ran > cases / 2);
}
