/// The numbers of gemm plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace smem::plan::gemm {

/// A tile of C, and what a work-item makes of it.
struct TileShape {
  std::size_t m, n, k;         ///< rows and columns of C; numbers of each sum in local memory at once
  std::size_t each_m, each_n;  ///< rows and columns of a work-item's results
  /// Operations that it does with a byte from local memory, against those of the first one: a device with
  /// many tiles to make does no better than that.
  double speed = 1;

  std::size_t group() const { return m / each_m * (n / each_n); }
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

struct Policy {
  std::string_view family;
  std::string_view evidence;
  std::string_view variant;        ///< the best one that the family has
  std::array<TileShape, 4> tiles;  ///< of the variants with vectors, largest first
  std::size_t unroll;              ///< turns of the innermost loop that are written out; 0: all
};

// Large C: 8 x 8 results a work-item, 16 operations for each number from local memory. Small C: tiles of
// which there are enough for all units. Skinny C: tiles as high or as wide as it.
inline constexpr std::array<TileShape, 4> kGpuTiles{
    {{128, 128, 16, 8, 8, 1.0}, {64, 64, 16, 4, 4, 0.7}, {16, 256, 16, 4, 8, 0.6}, {256, 16, 16, 8, 4, 0.6}}};
// Fewer registers: 4 x 8 results a work-item.
inline constexpr std::array<TileShape, 4> kSmallGpuTiles{
    {{64, 128, 16, 4, 8, 1.0}, {64, 64, 16, 4, 4, 0.9}, {16, 128, 16, 4, 4, 0.7}, {128, 16, 16, 4, 4, 0.7}}};
// PoCL compiles 8 x 8 results for two to ten seconds, 4 x 4 for half of one; and one tile serves all shapes.
inline constexpr TileShape kCpuTile{32, 32, 16, 4, 4, 1.0};
inline constexpr std::array<TileShape, 4> kCpuTiles{kCpuTile, kCpuTile, kCpuTile, kCpuTile};

inline constexpr Policy kPolicies[] = {
    {"nvidia-hopper",
     "H200, 4096, TFLOP/s: double 19.9 by two_level; float 38.0, double_buffered 39.6, vector 31.3",
     "two_level", kGpuTiles, 0},
    {"nvidia", "no measurement: tiles by operations a byte", "two_level", kGpuTiles, 0},
    {"amd-cdna", "no measurement: tiles by operations a byte", "double_buffered", kGpuTiles, 4},
    {"amd-rdna", "no measurement: tiles by operations a byte", "double_buffered", kGpuTiles, 4},
    {"intel", "no measurement: tiles with few registers", "vector", kSmallGpuTiles, 4},
    {"cpu", "two Zen 4 cores, 1024: double_buffered 38 GFLOP/s, vector 24, registers_2d 6, tiled 3",
     "double_buffered", kCpuTiles, 1},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: tiles with few registers", "vector", kSmallGpuTiles, 4},
};

inline const Policy& policy_of(const Device& device) {
  for (const Policy& policy : kPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kPolicies) - 1);
}

}  // namespace smem::plan::gemm
