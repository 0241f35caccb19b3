/// The grid of ranks of a distributed product: chosen from its shape.
#pragma once

#include <smem/distributed/plan.hpp>

#include <cstddef>
#include <vector>

namespace smem::distributed::detail {

/// Ranks as rows x cols: rank r is in row r / cols and column r % cols.
struct ProcessGrid {
  std::size_t rows = 1, cols = 1;
};

/// A product by its sizes.
struct ProductShape {
  std::vector<std::size_t> rows_of_ranks;  ///< of A and C
  std::size_t cols = 0, depth = 0;         ///< n and k
  std::size_t element_bytes = 4, sum_bytes = 4;
  bool reads_c = false;  ///< C = alpha A B + beta C with a beta
};

/// What a rank does on a grid: the one that has most of it.
struct ProductCost {
  double operations = 0;   ///< multiplications and additions
  double panel_bytes = 0;  ///< of A and B that it receives, while it multiplies
  double sum_bytes = 0;    ///< of C that it receives, before or after
};

ProductCost cost_of(const ProductShape& shape, const ProcessGrid& grid);

/// Seconds of a cost: panels come while others are multiplied.
double product_seconds(const ProductCost& cost, const MachineRates& rates);

/// The grid of all ranks that takes least by the assumed rates of MachineRates, so that all ranks choose the
/// same one in every run; of equals the one with fewer columns.
ProcessGrid grid_for(const ProductShape& shape);

/// Where column `index` of the grid begins among the columns of C, of 0 to grid.cols: multiples of 64
/// elements where there are enough.
std::size_t first_column(std::size_t cols, const ProcessGrid& grid, std::size_t index);

}  // namespace smem::distributed::detail
