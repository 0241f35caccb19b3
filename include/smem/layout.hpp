/// smem: how a tile lies in local memory, and what its accesses cost there. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem {

/// What one access of a whole wave (warp, sub-group) costs in local memory.
///
/// Work-items access memory in phases, as many at once as the banks can serve: on 32 banks of 4 bytes, 32
/// with up to 4 bytes each, 16 with 8 bytes, or 8 with 16 bytes. In a phase a bank delivers its distinct
/// words one after the other; a word that several work-items ask for is delivered once, to all of them.
/// Source: CUDA C++ programming guide, shared memory of compute capability 5.x and later; AMD and Intel
/// describe the same rules for their own widths.
struct Conflicts {
  std::size_t degree = 1;  ///< distinct words of the busiest bank in the worst phase: 1 is free of conflicts
  std::size_t phases = 1;  ///< what the access takes without conflicts
  std::size_t cycles = 1;  ///< what it takes: the sum of the phases' degrees, less where phases join
  double slowdown() const {
    return static_cast<double>(cycles) / static_cast<double>(phases);
  }  ///< cycles over phases
  friend bool operator==(const Conflicts&, const Conflicts&) = default;
};

/// The conflicts of one wave: work-item k touches `access_bytes` bytes at `byte_addresses[k]`. A device whose
/// local memory is ordinary cached memory has none. \throws Error when access_bytes is not 1, 2, 4, 8 or 16.
SMEM_API Conflicts find_conflicts(const Device& device, std::span<const std::size_t> byte_addresses,
                                  std::size_t access_bytes);

/// An item of a tile.
struct Item {
  std::size_t row = 0;  ///< of the tile
  std::size_t col = 0;  ///< of the tile
  friend bool operator==(const Item&, const Item&) = default;
};

/// One access of a work-group to its tile: which item each work-item touches, all at the same time.
struct Access {
  std::string name;       ///< for a person: "rows"
  bool store = false;     ///< whether it writes
  std::size_t width = 1;  ///< neighbouring items of a row that a work-item touches at once, as a vector
  std::function<Item(std::size_t work_item)> first;  ///< the item, or the first of the vector

  /// Neighbouring work-items touch neighbouring vectors of a row, then the next row.
  SMEM_API static Access rows(std::size_t cols, bool store, std::size_t width = 1);
  /// Neighbouring work-items touch neighbouring items of a column, then the next column.
  SMEM_API static Access columns(std::size_t rows, bool store);
  /// Neighbouring work-items touch (k, k), and past the end of the tile continue in its first row or column.
  SMEM_API static Access diagonal(std::size_t rows, std::size_t cols, bool store);
};

/// A tile in local memory as a kernel uses it: all that its layout is inferred from.
struct Tile {
  std::size_t rows = 0;          ///< of items
  std::size_t cols = 0;          ///< items in a row
  std::size_t item_bytes = 4;    ///< 1, 2, 4, 8 or 16
  std::size_t work_items = 32;   ///< of a work-group
  std::vector<Access> accesses;  ///< all that a work-group does to the tile
  /// So many items, from each multiple of this number on, stay neighbours in every layout: a power of two
  /// that divides `cols`. For vectors longer than what the banks deliver at once, such as four doubles.
  std::size_t unit = 1;
};

/// What an access of a tile costs in a layout, over all waves of the work-group.
struct AccessCost {
  std::string name;        ///< as in Access
  bool store = false;      ///< whether it writes
  std::size_t bytes = 0;   ///< that a work-item touches at once
  std::size_t degree = 1;  ///< the worst wave's
  double slowdown = 1;     ///< cycles of all waves over those without conflicts
  friend bool operator==(const AccessCost&, const AccessCost&) = default;
};

/// How a tile lies in local memory: item (row, col) is at
/// `row * stride + (col ^ (((row >> swizzle_shift) & swizzle_mask) << swizzle_unit))`.
struct LocalLayout {
  /// What makes a column of the tile spread over the banks; none: there is no tile.
  enum class Kind { none, plain, padded, swizzled };
  Kind kind = Kind::none;            ///< of this layout
  std::size_t rows = 0;              ///< rows of the tile as it lies in local memory
  std::size_t cols = 0;              ///< items in a row
  std::size_t item_bytes = 0;        ///< of one item
  std::size_t stride = 0;            ///< items from one row to the next: cols, and the padding
  std::size_t swizzle_mask = 0;      ///< 0: no swizzle; else a power of two less one
  std::size_t swizzle_shift = 0;     ///< rows that share a swizzle, as a power of two
  std::size_t swizzle_unit = 0;      ///< items that stay together, as a power of two
  std::vector<AccessCost> accesses;  ///< what each access of the tile costs

  std::size_t items() const { return rows * stride; }         ///< with the padding
  std::size_t bytes() const { return items() * item_bytes; }  ///< of local memory
  /// The byte address of an item.
  std::size_t address_of(Item item) const {
    const std::size_t swizzle = ((item.row >> swizzle_shift) & swizzle_mask) << swizzle_unit;
    return (item.row * stride + (item.col ^ swizzle)) * item_bytes;
  }
  /// The worst degree of the accesses that write; 1 when there is none.
  SMEM_API std::size_t store_degree() const;
  /// The worst degree of the accesses that read; 1 when there is none.
  SMEM_API std::size_t load_degree() const;
  friend bool operator==(const LocalLayout&, const LocalLayout&) = default;
};

/// "none", "plain", "padded" or "swizzled".
SMEM_API std::string_view name_of(LocalLayout::Kind kind);

/// A layout fixed by hand, in whole or in part: what is empty is inferred.
struct LayoutChoice {
  std::optional<LocalLayout::Kind> kind;  ///< what is wanted
  std::optional<std::size_t> padding;     ///< items after each row; padded layouts only
  std::optional<std::size_t>
      swizzle_mask;  ///< a power of two less one, less than the tile's width; swizzled only
  friend bool operator==(const LayoutChoice&, const LayoutChoice&) = default;
};

/// "plain", "padded", "padded:2", "swizzled" or "swizzled:31". \throws Error naming the text.
SMEM_API LayoutChoice parse_layout(std::string_view text);

/// The best layout of a tile among plain, XOR-swizzled and padded ones: the one with the least conflict
/// degree; of several, that with the least slowdown, then with the fewest bytes, then with rows that begin at
/// multiples of 16 bytes. A choice limits the search.
/// \throws Error naming the field when the choice contradicts itself or cannot exist for this tile.
SMEM_API LocalLayout infer_layout(const Device& device, const Tile& tile, const LayoutChoice& choice = {});

/// What TILE_AT of cl/common/tile.clh takes of a layout: TILE_STRIDE, and of a swizzle its mask, shift and
/// unit.
SMEM_API std::vector<std::pair<std::string, long>> layout_defines(const LocalLayout& layout);

}  // namespace smem
