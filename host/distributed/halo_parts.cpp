// Divides blocks of a grid into parts with halos.
#include "distributed/halo_parts.hpp"

#include <iterator>
#include <utility>

namespace smem::distributed::detail {

std::vector<Part> halo_parts_of(const Rows& rows, std::ptrdiff_t halo, bool wraps, bool edges_first) {
  const auto& blocks = rows.blocks();
  const auto count = static_cast<std::ptrdiff_t>(rows.rows());
  std::vector<Part> edges, rest;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto own = static_cast<std::ptrdiff_t>(blocks[i].first),
               end = own + static_cast<std::ptrdiff_t>(blocks[i].rows);
    const bool above = i > 0 || wraps, below = i + 1 < blocks.size() || wraps;
    const std::ptrdiff_t edge = 2 * halo;
    std::ptrdiff_t inner = own, inner_end = end;
    if (edges_first && halo != 0 && end - own >= 4 * edge) {
      if (above) edges.push_back({i, own, inner = own + edge, 0, 0, {}, {}});
      if (below) edges.push_back({i, inner_end = end - edge, end, 0, 0, {}, {}});
    }
    rest.push_back({i, inner, inner_end, 0, 0, {}, {}, {}, true});
  }
  std::vector<Part> all = std::move(edges);
  std::move(rest.begin(), rest.end(), std::back_inserter(all));
  for (Part& part : all) {
    part.first = part.own - halo;
    part.end = part.own_end + halo;
    if (!wraps) {
      part.first = std::max<std::ptrdiff_t>(part.first, 0);
      part.end = std::min(part.end, count);
    }
  }
  return all;
}

std::vector<Exchange> exchanges_of(const std::vector<Part>& parts, std::size_t count) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < parts.size(); ++i)
    sources.push_back({parts[i].own, parts[i].own_end, i});
  std::sort(sources.begin(), sources.end(),
            [](const Source& x, const Source& y) { return x.first < y.first; });
  std::vector<Exchange> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for_rows(sources, count, parts[i], true,
             [&](const Source& source, std::size_t from_row, std::size_t to_row, std::size_t length) {
               const Part& from = parts[source.index];
               const auto before = static_cast<std::size_t>(from.own - from.first);
               all.push_back({source.index, i, from_row + before, to_row, length});
             });
  }
  return all;
}

}  // namespace smem::distributed::detail
