/// Runs many cases of one variant, and counts those that really ran.
#pragma once

#include "support/case_sweep.hpp"
#include "support/matrices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

using Shape = std::pair<std::size_t, std::size_t>;

/// Transposes, rotations and flips.
class Sweep : public CaseSweep<Case> {
 public:
  /// `programs`: how many different programs it may build for one variant. Each costs a driver's compiler
  /// half a second, so a case that would need one more is left out.
  explicit Sweep(const smem::Context& context, std::size_t programs = 1000)
      : CaseSweep(context, 1), allowed_(programs) {}

  void run(const Case& c) {
    if (may_build(c)) CaseSweep::run(c);
  }

  /// How many cases ran since the last question.
  std::size_t ran() {
    programs_.clear();
    return CaseSweep::ran();
  }

 private:
  bool may_build(const Case& c) {
    try {
      const smem::Plan plan = plan_of(
          context(), c,
          smem::Matrix(nullptr, smem::ElementType::of_bytes(c.element_bytes), c.rows, c.cols, c.in.extent),
          smem::Matrix(nullptr, smem::ElementType::of_bytes(c.element_bytes), c.out_rows(), c.out_cols(),
                       c.out.extent));
      const std::string program = plan.kernel_file + plan.build_options();
      if (programs_.size() >= allowed_ && !programs_.contains(program)) return false;
      programs_.insert(program);
    } catch (const smem::Error&) {  // test::run() looks into it
    }
    return true;
  }

  std::size_t allowed_;
  std::set<std::string> programs_;
};

/// The tile that a variant uses for large matrices on this device: {0, 0} when it cannot run there.
inline Shape tile_of(const smem::Context& context, Operation operation, std::string_view variant,
                     std::size_t element_bytes) {
  Case c;
  c.operation = operation;
  c.variant = variant;
  c.element_bytes = element_bytes;
  const smem::Matrix large(nullptr, smem::ElementType::of_bytes(element_bytes), 8192, 8192);
  try {
    const smem::Plan plan = plan_of(context, c, large, large);
    return {plan.tile_rows, plan.tile_cols};
  } catch (const smem::Error&) {
    return {0, 0};
  }
}

/// Shapes that a tiled kernel can get wrong: nothing, one, one less and one more than a tile or two, primes,
/// and matrices that are one, two or three elements wide or high.
inline std::vector<Shape> shapes_around(const Shape& tile) {
  const auto [r, c] = tile;
  std::set<Shape> shapes{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 2}, {2, 3}, {7, 13}, {31, 37}, {61, 127}};
  const std::vector<std::size_t> around_rows{r - 1, r, r + 1, 2 * r + 1};
  const std::vector<std::size_t> around_cols{c - 1, c, c + 1, 2 * c + 1};
  for (std::size_t k = 0; k < around_rows.size(); ++k) {
    for (std::size_t l = 0; l < around_cols.size(); ++l)
      shapes.insert({around_rows[k], around_cols[l]});
    // A tile need not be square: what its rows are to one side, its columns are to the other.
    shapes.insert({around_cols[k], around_rows[k]});
  }
  for (const std::size_t long_side : {std::size_t{509}, 4 * std::max(r, c) + 3}) {
    for (const std::size_t short_side : {1, 2, 3}) {
      shapes.insert({long_side, short_side});
      shapes.insert({short_side, long_side});
    }
  }
  std::vector<Shape> in_order{{2 * r + 1, 2 * c + 1}};  // the most usual launch first
  in_order.insert(in_order.end(), shapes.begin(), shapes.end());
  return in_order;
}

/// The same for square matrices.
inline std::vector<Shape> squares_around(const Shape& tile) {
  std::set<Shape> squares;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{13},
                              std::size_t{61}, std::size_t{127}})
    squares.insert({n, n});
  for (const std::size_t t : {tile.first, std::min<std::size_t>(tile.second, 256)}) {
    for (const std::size_t n : {t - 1, t, t + 1, 2 * t + 1, 3 * t, 4 * t - 1})
      squares.insert({n, n});
  }
  std::vector<Shape> in_order{{2 * tile.first + 1, 2 * tile.first + 1}};
  in_order.insert(in_order.end(), squares.begin(), squares.end());
  return in_order;
}

/// Every layout of one shape: packed, strided, aligned rows, in batches, side by side; different on both
/// sides.
inline void run_layouts(Sweep& sweep, Case c) {
  const std::size_t rows = c.rows, cols = c.cols, out_rows = c.out_rows(), out_cols = c.out_cols();
  const bool large = rows * cols * c.element_bytes > (std::size_t{1} << 20);
  const auto with = [&](const Layout& in, const Layout& out) {
    c.in = in;
    c.out = out;
    sweep.run(c);
  };
  with(packed(), packed());
  with(strided(rows, cols, 1), aligned(out_rows, out_cols, 1));
  if (large) return;  // small shapes cover the rest
  with(packed(), strided(out_rows, out_cols, 1));
  with(aligned(rows, cols, 1), aligned(out_rows, out_cols, 1));
  with(packed(3), packed(3));
  with(strided(rows, cols, 2), strided(out_rows, out_cols, 2));
  with(aligned(rows, cols, 3), side_by_side(out_cols, 3));
  with(side_by_side(cols, 3), packed(3));
}

/// Every variant, shape and layout of one operation and element size.
inline void run_everything(const smem::Context& context, Operation operation, std::size_t element_bytes) {
  // Which work-group shapes there are has little to do with the element's size: all of them for one size.
  Sweep sweep(context, element_bytes == 4 && operation != Operation::flip_vertical ? 12 : 3);
  for (const std::string_view variant : variants_of(operation)) {
    CAPTURE(variant);
    const Shape tile = tile_of(context, operation, variant, element_bytes);
    if (tile.first == 0) {
      MESSAGE("variant " << variant << " does not run on " << context.device().name);
      continue;
    }
    Case c;
    c.operation = operation;
    c.variant = variant;
    c.element_bytes = element_bytes;
    for (const auto& [rows, cols] :
         operation == Operation::in_place ? squares_around(tile) : shapes_around(tile)) {
      c.rows = rows;
      c.cols = cols;
      run_layouts(sweep, c);
    }
    // One large.
    c.rows = 1021;
    c.cols = operation == Operation::in_place ? 1021 : 2053;
    c.in = strided(c.rows, c.cols, 1);
    c.out = strided(c.out_rows(), c.out_cols(), 1);
    sweep.run(c);
    CHECK_MESSAGE(sweep.ran() > 0, "no case of variant " << variant << " ran");
  }
}

}  // namespace test
