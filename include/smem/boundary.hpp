/// smem: what lies beyond the edges of a grid. Includes no OpenCL header.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace smem {

/// What an operation reads beyond the first and last element of a row, column or plane. The names are those
/// of scipy.ndimage; each comment below shows how a row `abcd` continues. A window may reach any distance
/// beyond a grid, which is then reflected or repeated as often as necessary, as in scipy.ndimage, numpy.pad
/// and OpenCV's borderInterpolate. If a mirrored row has one element, all of its continuation is that
/// element.
enum class Boundary {
  zero,      ///< 000|abcd|000
  constant,  ///< vvv|abcd|vvv, a value v of the call's
  clamp,     ///< aaa|abcd|ddd, the nearest element
  reflect,   ///< cba|abcd|dcb, mirrored at the edge: the edge element appears twice
  mirror,    ///< dcb|abcd|cba, mirrored at the edge element, which appears once
  wrap,      ///< bcd|abcd|abc, the other end
  leave      ///< elements whose neighbours are not all inside are not written: `out` keeps its values there
};

/// What an operation reads beyond the edges of a grid.
struct Edges {
  /// Default: mirror for blurs and slopes, as in OpenCV; zero for all others.
  std::optional<Boundary> boundary = {};
  double value = 0;  ///< of Boundary::constant, as an element of the grid
};

/// "zero" to "leave".
SMEM_API std::string_view name_of(Boundary boundary);

/// The largest distance beyond the edge of a grid of `extent` elements (at least 1) that one reflection or
/// repetition covers. Zero, constant, clamp and leave have no limit.
SMEM_API std::size_t reach_of(Boundary boundary, std::size_t extent);

}  // namespace smem
