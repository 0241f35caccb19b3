/// smem: windows that go over a grid: sizes, strides, dilations and paddings. Includes no OpenCL header.
#pragma once

#include <smem/sizes.hpp>

#include <array>
#include <cstddef>

namespace smem {

/// Cells of a window.
struct Window2d {
  std::size_t width = 1;   ///< along a row
  std::size_t height = 1;  ///< rows
  friend bool operator==(const Window2d&, const Window2d&) = default;
  std::array<std::size_t, 2> numbers() const { return {width, height}; }  ///< its members
};

/// Cells from one window to the next.
struct Stride {
  std::size_t x = 1;  ///< along a row
  std::size_t y = 1;  ///< rows
  friend bool operator==(const Stride&, const Stride&) = default;
  std::array<std::size_t, 2> numbers() const { return {x, y}; }  ///< its members
};

/// Cells from one weight of a window to the next.
struct Dilation {
  std::size_t x = 1;  ///< along a row
  std::size_t y = 1;  ///< rows
  friend bool operator==(const Dilation&, const Dilation&) = default;
  std::array<std::size_t, 2> numbers() const { return {x, y}; }  ///< its members
};

/// Cells around a grid.
struct Padding {
  std::size_t left = 0;    ///< before each row
  std::size_t top = 0;     ///< before the first row
  std::size_t right = 0;   ///< after each row
  std::size_t bottom = 0;  ///< after the last row
  friend bool operator==(const Padding&, const Padding&) = default;
  std::array<std::size_t, 4> numbers() const { return {left, top, right, bottom}; }  ///< its members
};

/// Windows along an axis of `size` cells: (size + before + after - (window - 1) * dilation - 1) / stride + 1,
/// or 0 where none fits, or window or stride is 0.
constexpr std::size_t convolved_size(std::size_t size, std::size_t window, std::size_t stride,
                                     std::size_t dilation, std::size_t before, std::size_t after) {
  if (window == 0 || stride == 0) return 0;
  const std::size_t reach = detail::size_sum(detail::size_product(window - 1, dilation), 1);
  const std::size_t padded = detail::size_sum(size, detail::size_sum(before, after));
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

}  // namespace smem
