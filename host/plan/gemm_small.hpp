/// The numbers of "mma" by cl/nvidia/gemm/small.cl: many small products, of which a warp computes 16 x 16
/// results.
#pragma once

#include "plan/gemm_wgmma.hpp"

#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// Double, half and bfloat16, sm_80 and later, any alignment. Its number in a choice follows those of the
/// other tiles of "mma".
struct Small {
  std::size_t warps;     ///< of a group
  std::size_t resident;  ///< warps that share a multiprocessor
  Cost cost;             ///< a step is 16 k
  double partial;  ///< what single loads make of it, where tiles or steps are partial or rows begin anywhere

  static constexpr std::size_t kEdge = 16;
  constexpr std::size_t tile_m() const { return kEdge; }
  constexpr std::size_t tile_n() const { return kEdge; }
};

// On an H200, us, 24, 32 and 40 warps a multiprocessor, of 16 bits: 100,000 of 16^3 57, 54, 60; 40,000 of
// 32^3 116, 102, 129; 10,000 of 48^3, A transposed, 84, 70, 65; 100,000 of 13 x 11 x 15 73, 72, 70. Of
// double, whose registers allow 24 to 32: 100,000 of 16^3 158, 158, 153; 30,000 of 24^3, A transposed, 132,
// 169, 148; 100,000 of 13 x 11 x 15 104, 119, 129; 30,000 of 48 x 16 x 16 121, 108, 113.
//
// Costs: fitted to these and more, 20 shapes in all. The model of 16 bits is 1 to 8 % off; that of doubles,
// which memory bounds, 0 to 20 %, but of 24^3, A transposed, 203 us for 132.
inline constexpr Small kSmall{4, 32, {250, 18.75, 186}, 1.45}, kSmallOfDoubles{4, 24, {400, 44, 184}, 1.15};

}  // namespace smem::plan::gemm::nvidia
