/// Tiles of whole rows that follow each other without gaps: see cl/common/row_tile.clh.
#pragma once

#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace smem::plan {

inline constexpr std::size_t kTilePackBytes = 16;
inline constexpr std::size_t kTileWarp = 32;  // work-items that NVIDIA's shuffles combine

/// What a row of a tile takes, in steps of an element.
struct RowSteps {
  std::size_t row = 0;   ///< besides its elements
  std::size_t tree = 0;  ///< a level of the tree over its work-items
};

/// Rows of a tile, and the work-items of each.
struct RowTile {
  std::size_t team = 1, rows = 0;
};

/// Neighbours that a work-item takes at once, at most `most`: rows begin at multiples of so many elements.
/// `alignment`: of all rows, in bytes.
inline std::size_t row_step(std::size_t cols, std::size_t element, std::size_t alignment, std::size_t most) {
  const std::size_t aligned = at_least_1(std::min(alignment / element, most));
  return std::min(aligned, std::size_t{1} << std::countr_zero(cols));
}

/// Of teams up to `most`, that with which rows of `cols` elements, of which `fit` have room, take the fewest
/// steps. A work-item has at most `kept` elements of a row, if a team of `most` allows it.
inline RowTile row_tile(const RowSteps& steps, std::size_t group, std::size_t most, std::size_t fit,
                        std::size_t cols, std::size_t step,
                        std::size_t kept = std::numeric_limits<std::size_t>::max()) {
  RowTile best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t team = 1; team <= most; team *= 2) {
    if (divide_up(cols, team * step) * step > kept && team < most) continue;
    const std::size_t teams = group / team;
    const std::size_t rows = fit >= teams ? fit / teams * teams : fit;
    const std::size_t each = divide_up(cols, team * step) * step + steps.row +
                             static_cast<std::size_t>(std::countr_zero(team)) * steps.tree;
    const double all = real(divide_up(rows, teams), each) / real(rows);
    if (all < least) least = all, best = {team, rows};
  }
  return best;
}

}  // namespace smem::plan
