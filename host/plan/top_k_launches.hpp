/// What plans for selections share: their launches' arguments, delegates, and radix selects.
#pragma once

#include "plan/sort_types.hpp"
#include "plan/top_k_checks.hpp"
#include "plan/top_k_policy.hpp"
#include "plan/variants.hpp"

#include <smem/top_k_plan.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace smem::plan::selection {

inline constexpr std::size_t kMostTile = 32768;  // elements of a tile: their numbers are halves of words
inline constexpr std::size_t kTileDigits = 256;  // bins of a digit in a tile
inline constexpr std::size_t kWords =
    64;  // bytes of the kernels' own words in local memory, with their alignment

inline const char* operation_name(const TopKProblem& p) { return name_of(p.op).data(); }

inline std::size_t all_rows(const TopKProblem& p) { return size_product(p.rows, p.batch); }
/// Of an image of an element (cl/top_k/rows.clh).
inline std::size_t image_bytes(const TopKProblem& p) { return size_of(p.type) == 8 ? 8 : 4; }
/// A row of images begins at a multiple of 64 bytes.
inline std::size_t padded(std::size_t size) { return round_up(size, 16); }
inline bool orders(const TopKProblem& p) { return p.sorted && p.op == TopKOp::top_k; }
inline std::size_t results_bytes(const TopKProblem& p) {
  return p.op == TopKOp::top_k ? p.k * (size_of(p.type) + size_of(p.places)) : size_of(p.type);
}

inline void define_launch(const TopKProblem& p, Launch& launch, const char* variant, const char* file,
                          const char* entry) {
  launch.operation = operation_name(p);
  launch.variant = variant;
  launch.kernel_file = file;
  launch.entry_point = entry;
  define_order(launch, p.type, {!p.least, p.total_order, p.nan_least});
  launch.text_defines.emplace_back("PLACE", word_of(size_of(p.places)));
  if (!p.sorted) define(launch, "SORTED", 0);
  if (p.op == TopKOp::nth_element) define(launch, "NTH", 1);
}

/// A group for each of `parts` parts of each row, that read `size` elements of it.
inline void set_rows(const TopKProblem& p, Launch& launch, std::size_t group, std::size_t parts,
                     std::size_t size) {
  set_groups(launch, group, size_product(all_rows(p), parts));
  launch.numbers.insert(launch.numbers.begin(), {{"size", size}, {"parts", parts}});
}

/// Whether a launch of so many groups for each row can be.
inline bool has_groups(const TopKProblem& p, std::size_t parts) {
  return size_product(all_rows(p), parts) <= kMaxTiles;
}

inline void define_collectives(const Device& device, Launch& launch, std::size_t group) {
  define(launch, "GROUP", group);
  if (uses_shuffles(device, group)) define(launch, "SHUFFLE", 1);
}

/// Work-items of a tile, and the elements of each.
struct TopKTile {
  std::size_t group = 0, items = 0, chosen = 0, local_bytes = 0;
};

inline void predict_results(const TopKProblem& p, Launch& launch) {
  launch.prediction.bytes_written = real(all_rows(p)) * real(results_bytes(p));
}

/// The levels of delegates: how many elements each has, the row first, and how large spans are.
struct Levels {
  std::size_t span_bits = 0;
  std::vector<std::size_t> sizes;
  TopKTile tile;
};

/// The launch that makes the delegates of a level's elements.
std::optional<Launch> delegates_of(const Device& device, const TopKProblem& p, const Levels& levels,
                                   std::size_t level, std::size_t wanted);

/// Radix select of all elements.
Attempt radix_select(const Device& device, const TopKProblem& p, std::size_t wanted);

/// Delegates where so many spans are read again that groups share them: a radix select of the delegates, then
/// one of the elements of their spans.
Attempt many_delegates(const Device& device, const TopKProblem& p, std::size_t wanted);

}  // namespace smem::plan::selection
