// Chooses the grid of ranks of a product by the bytes that ranks exchange and the work that they share.
#include "distributed/process_grid.hpp"

#include <algorithm>
#include <numeric>

namespace smem::distributed::detail {

ProductCost cost_of(const ProductShape& shape, const ProcessGrid& grid) {
  const auto cols = static_cast<double>(shape.cols), depth = static_cast<double>(shape.depth),
             element = static_cast<double>(shape.element_bytes),
             ranks = static_cast<double>(grid.rows * grid.cols), width = static_cast<double>(grid.cols);
  ProductCost most;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const auto begin = shape.rows_of_ranks.begin() + static_cast<std::ptrdiff_t>(row * grid.cols),
               end = begin + static_cast<std::ptrdiff_t>(grid.cols);
    const auto rows = static_cast<double>(std::accumulate(begin, end, std::size_t{0}));
    if (rows == 0) continue;  // its ranks take no part
    const auto fewest = static_cast<double>(*std::min_element(begin, end)),
               greatest = static_cast<double>(*std::max_element(begin, end));
    most.operations = std::max(most.operations, 2 * rows * cols / width * depth);
    most.panel_bytes = std::max(
        most.panel_bytes, ((rows - fewest) * depth + depth * cols / width * (ranks - 1) / ranks) * element);
    // A rank receives the sums of its own rows; those of others, before, where C is read.
    const double own = greatest * cols * (width - 1) / width, others = (rows - fewest) * cols / width;
    most.sum_bytes = std::max(most.sum_bytes, (std::max(own, others) + (shape.reads_c ? others : 0)) *
                                                  static_cast<double>(shape.sum_bytes));
  }
  return most;
}

double product_seconds(const ProductCost& cost, const MachineRates& rates) {
  const double byte = 1 / rates.network + 2 / rates.host_link;
  return std::max(cost.operations / rates.operations, cost.panel_bytes * byte) + cost.sum_bytes * byte;
}

ProcessGrid grid_for(const ProductShape& shape) {
  const std::size_t ranks = shape.rows_of_ranks.size();
  ProcessGrid best{ranks, 1};
  double least = product_seconds(cost_of(shape, best), {});
  for (std::size_t cols = 2; cols <= std::min(ranks, shape.cols); ++cols) {
    if (ranks % cols != 0) continue;
    const ProcessGrid grid{ranks / cols, cols};
    const double seconds = product_seconds(cost_of(shape, grid), {});
    if (seconds >= least) continue;
    least = seconds;
    best = grid;
  }
  return best;
}

std::size_t first_column(std::size_t cols, const ProcessGrid& grid, std::size_t index) {
  const std::size_t unit = cols >= 128 * grid.cols ? 64 : 1, units = (cols + unit - 1) / unit;
  // Without the product of both, which may overflow.
  const std::size_t before = units / grid.cols * index + std::min(index, units % grid.cols);
  return std::min(before * unit, cols);
}

}  // namespace smem::distributed::detail
