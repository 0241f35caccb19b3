/// Blocks of a grid with the halos that their steps need, and what they exchange.
#pragma once

#include "distributed/halos.hpp"
#include "distributed/handles.hpp"

#include <smem/distributed/data.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smem::distributed::detail {

/// Rows of a block that are computed by a task of their own, and the rows that they are kept with: first to
/// end, of the whole grid or, where it wraps, of its repetition.
struct Part {
  std::size_t block;            ///< of the grid
  std::ptrdiff_t own, own_end;  ///< rows that it computes
  std::ptrdiff_t first, end;    ///< with halos
  Temporary now, next;
  Temporary between = {};  ///< of kernels' steps, where they need it
  bool is_last = false;    ///< of its block
  std::size_t rows() const { return static_cast<std::size_t>(end - first); }
};

/// Rows of a part's halo, which another part computes.
struct Exchange {
  std::size_t from, to;          ///< parts
  std::size_t from_row, to_row;  ///< among the rows that they are kept with
  std::size_t rows;
  Temporary leaving = {}, arrived = {};  ///< the rows, on their way
};

/// Parts of blocks, in the order in which they are computed. With `edges_first` the rows beside neighbours
/// are parts of their own, which come first: their halos travel while the rest is computed.
std::vector<Part> halo_parts_of(const Rows& rows, std::ptrdiff_t halo, bool wraps, bool edges_first);

/// Where rows are copied from: consecutive ones of a handle.
struct Source {
  std::ptrdiff_t first, end;  ///< rows that it has
  std::size_t index;          ///< of its block or part
};

/// Calls use(source, row within it, row of the part, rows) for rows that the part is kept with: all, or its
/// halo alone. The sources stand in the order of their rows and have all rows of the grid.
template <class Use>
void for_rows(const std::vector<Source>& sources, std::size_t count, const Part& part, bool halo_alone,
              const Use& use) {
  const auto all = static_cast<std::ptrdiff_t>(count);
  for (std::ptrdiff_t row = part.first; row < part.end;) {
    if (halo_alone && row == part.own) row = part.own_end;
    if (row >= part.end) break;
    const std::ptrdiff_t inside = ((row % all) + all) % all;
    const Source& source =
        *(std::upper_bound(sources.begin(), sources.end(), inside,
                           [](std::ptrdiff_t x, const Source& one) { return x < one.first; }) -
          1);
    std::ptrdiff_t length = std::min(source.end - inside, part.end - row);
    if (halo_alone && row < part.own) length = std::min(length, part.own - row);
    use(source, static_cast<std::size_t>(inside - source.first), static_cast<std::size_t>(row - part.first),
        static_cast<std::size_t>(length));
    row += length;
  }
}

/// What parts exchange after each pass.
std::vector<Exchange> exchanges_of(const std::vector<Part>& parts, std::size_t count);

}  // namespace smem::distributed::detail
