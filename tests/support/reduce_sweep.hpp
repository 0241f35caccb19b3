/// Runs many reductions, and counts those that really ran.
#pragma once

#include "support/case_sweep.hpp"
#include "support/reduce_turn.hpp"
#include "support/reductions.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

namespace test {

using ReduceSweep = CaseSweep<ReduceCase>;

/// Whether the operation can have elements of this type on this device, with its usual result.
inline bool fits(const smem::Device& device, smem::ReduceOp op, smem::Scalar in) {
  if ((op == smem::ReduceOp::bit_and || op == smem::ReduceOp::bit_or) && smem::is_float(in)) return false;
  return device.fp64 || (in != smem::Scalar::float64 && usual_result(op, in) != smem::Scalar::float64);
}

inline bool is_place(smem::ReduceOp op) {
  return op == smem::ReduceOp::argmin || op == smem::ReduceOp::argmax;
}

/// A vector of every size that a kernel can get wrong, at different places in its buffer.
inline void run_vectors(ReduceSweep& sweep, ReduceCase c) {
  c.cols = std::size_t{1} << 24;
  std::size_t tile = 0;
  try {
    tile = smem::plan_reduce(sweep.context().device(), problem_of(c), {.variant = std::string(c.variant)})
               .tile_cols;
  } catch (const smem::Error&) {
    return;  // the sweep of another size looks into it
  }
  const bool of_nothing = !is_place(c.reduction.op);
  std::size_t turn = 0;
  for (const std::size_t size : std::set<std::size_t>{0, 1, 2, 3, 7, 31, 127, tile - 1, tile, tile + 1,
                                                      2 * tile + 1, 509, 65537, 99991}) {
    if (size == 0 && !of_nothing) continue;
    c.cols = size;
    c.layout.extent.offset = turn % 5;  // packs begin at every place
    c.layout.tail = turn % 3;
    c.out_offset = turn % 4;
    c.nans = turn % 4 == 3 ? 3 : 0;
    if (c.reduction.op == smem::ReduceOp::sum || c.reduction.op == smem::ReduceOp::mean)
      c.nans = 0;  // nothing would be left to compare
    sweep.run(c);
    ++turn;
  }
}

/// Matrices and segments of every shape that a kernel can get wrong: rows shorter and longer than a team, few
/// and many of them; offsets, pitches, batches.
inline void run_matrices(ReduceSweep& sweep, ReduceCase c) {
  const auto with = [&](std::size_t rows, std::size_t cols, const Layout& layout) {
    if ((rows == 0 || cols == 0) && is_place(c.reduction.op)) return;
    c.rows = rows;
    c.cols = cols;
    c.layout = layout;
    c.out_offset = (rows + cols) % 4;
    sweep.run(c);
  };
  if (c.shape == smem::ReduceShape::segments) {
    Random random(c.variant.size());
    for (const std::size_t segments : {0, 1, 2, 100, 3000}) {
      for (const std::size_t size : {0, 1, 500, 40000}) {
        c.rows = 1;
        c.cols = size;
        c.layout = {{.offset = segments % 5}, 3};
        c.bound = segments % 4 == 0 ? smem::Scalar::uint64 : smem::Scalar::uint32;
        c.bounds.assign(1, random.between(0, size / 10));
        // Many are empty or short, a few take most of the rest.
        while (c.bounds.size() < segments + 1) {
          const std::size_t left = size - c.bounds.back();
          c.bounds.push_back(c.bounds.back() + (random.chance(3) ? 0
                                                : random.chance(40)
                                                    ? random.between(0, left)
                                                    : random.between(0, std::min<std::size_t>(left, 9))));
        }
        sweep.run(c);
      }
    }
    return;
  }
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                   {0, 5},
                                   {5, 0},
                                   {3, 7},
                                   {7, 3},
                                   {33, 129},
                                   {257, 65},
                                   {2, 20011},
                                   {14, 2051},  // a CPU reads strips of 1024 columns, four rows at once

                                   {20011, 2},
                                   {4099, 31}}) {
    with(rows, cols, packed());
    with(rows, cols, strided(rows, cols, 1));
    if (rows * cols > 20000) continue;  // small shapes cover the rest
    with(rows, cols, aligned(rows, cols, 2));
    with(rows, cols, strided(rows, cols, 3));
    with(rows, cols, side_by_side(cols, 3));
  }
}

}  // namespace test
