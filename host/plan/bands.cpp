// Bands of rows: how groups that go down them share a grid.
#include "plan/filters.hpp"

#include <algorithm>

namespace smem::plan {

std::size_t best_band(std::size_t height, std::size_t again, const Bands& bands) {
  const std::size_t most = std::min(divide_up(height, bands.least_band),
                                    divide_up(bands.most_rounds * bands.resident, at_least_1(bands.strips)));
  std::size_t best = at_least_1(height), best_rows = 0;
  for (std::size_t count = 1; count <= most; ++count) {
    const std::size_t band = round_up(divide_up(height, count), bands.step);
    const std::size_t rounds = divide_up(bands.strips * divide_up(height, band), bands.resident);
    const std::size_t rows = rounds * (band + again);
    if (best_rows != 0 && rows >= best_rows) continue;
    best_rows = rows;
    best = band;
  }
  return best;
}

}  // namespace smem::plan
