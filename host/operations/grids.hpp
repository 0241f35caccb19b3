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

inline WordRule grid_rule(std::size_t most = 3) {
  const std::string form = most == 3 ? "WIDTHxHEIGHTxDEPTH" : "WIDTHxHEIGHT";
  return {.name = "size",
          .kind = WordKind::sizes,
          .help = "Cells along a row, rows" + std::string(most == 3 ? ", planes: " : ": ") + form,
          .positional = true,
          .form = form,
          .least = 1,
          .most = most};
}
inline WordRule grids_rule() {
  return {.name = "batch", .kind = WordKind::number, .help = "Number of grids", .usual = "1"};
}

/// The cells that the word `size` says.
inline GridSize grid_size(const Words& words) {
  std::vector<std::size_t> cells = words.sizes("size");
  cells.resize(3, 1);
  return {cells[0], cells[1], cells[2]};
}

/// "3 of 512x512x64 float32 x 4": the batch and the channels where they are more than one.
inline std::string text_of(const GridSize& size, Scalar type, std::size_t batch = 1,
                           std::size_t channels = 1) {
  return formatted("{}{}{}{} {}{}", batch == 1 ? "" : formatted("{} of ", batch), size.width,
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

/// All elements, as they are computed with.
inline std::vector<double> numbers_of(const HostArray& array) {
  std::vector<double> numbers(array.size());
  in_parallel(numbers.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      numbers[i] = array.number(i);
  });
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
