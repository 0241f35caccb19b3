/// What descriptions of operations on packed grids share.
#pragma once

#include "operations/data.hpp"
#include "operations/matrices.hpp"
#include "operations/words.hpp"

#include "formatted.hpp"

#include <smem/grid.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace smem::operations {

inline WordRule grid_rule() {
  return sizes_rule("size", "Cells along a row, rows, planes: WIDTHxHEIGHTxDEPTH", "WIDTHxHEIGHTxDEPTH",
                    {1, 3});
}
inline WordRule grids_rule() { return number_rule("batch", "Number of grids", "1"); }

/// The cells that the word `size` says.
inline GridSize grid_size(const Words& words) {
  std::vector<std::size_t> cells = words.sizes("size");
  cells.resize(3, 1);
  return {cells[0], cells[1], cells[2]};
}

/// "3 of 512x512x64 float32 x 4": the batch and the channels where they are more than one.
inline std::string text_of(const GridSize& size, Scalar type, std::size_t batch = 1,
                           std::size_t channels = 1) {
  return formatted("{}{}{}{} {}{}", batch_text(batch), size.width,
                   size.height > 1 || size.depth > 1 ? formatted("x{}", size.height) : "",
                   size.depth > 1 ? formatted("x{}", size.depth) : "", name_of(type),
                   channels == 1 ? "" : formatted(" x {}", channels));
}

/// As many as fit a number, where there are more.
inline std::size_t elements_of(const GridSize& size, std::size_t batch = 1, std::size_t channels = 1) {
  return detail::size_product(size.width, size.height, size.depth, batch, channels);
}

/// The packed grids of an array.
inline Grid grid_of(const PlacedArray& place, const GridSize& size, std::size_t batch = 1,
                    std::size_t channels = 1) {
  return {place.buffer, place.type, size,
          GridLayout{.channels = channels, .offset = place.first, .batch = batch}};
}

/// Packed grids of one type.
struct PackedGrids {
  GridSize size;
  Scalar type = Scalar::float32;
  std::size_t batch = 1, channels = 1;

  std::string text() const { return text_of(size, type, batch, channels); }
  /// Of their rows.
  std::size_t alignment() const {
    return packed_alignment(size.height * size.depth * batch, size.width * channels * size_of(type));
  }
  ArrayRule array(std::string name, Fill fill = {}) const {
    return {std::move(name), type, elements_of(size, batch, channels), std::move(fill)};
  }
  Grid of(const PlacedArray& place) const { return grid_of(place, size, batch, channels); }
};

/// Those that the words size, type, batch and channels say.
inline PackedGrids packed_grids(const Words& words) {
  return {grid_size(words), words.scalar("type"), words.number("batch"), words.number("channels")};
}

/// All elements, as they are computed with.
inline std::vector<double> numbers_of(const HostArray& array) {
  std::vector<double> numbers(array.size());
  for_each_in_parallel(numbers.size(), [&](std::size_t i) { numbers[i] = array.number(i); });
  return numbers;
}

/// Stores a result: integers get the nearest number that they hold.
inline void store(HostArray& to, std::size_t i, double value) {
  if (!is_float(to.type)) {
    const double most = to.type == Scalar::uint8 ? 255 : to.type == Scalar::uint16 ? 65535 : 32767;
    value = std::clamp(std::nearbyint(value), to.type == Scalar::int16 ? -32768.0 : 0.0, most);
  }
  to.set(i, value);
}

}  // namespace smem::operations
