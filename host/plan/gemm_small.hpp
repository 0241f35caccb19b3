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

  static constexpr std::size_t kEdge = 16;
  constexpr std::size_t tile_m() const { return kEdge; }
  constexpr std::size_t tile_n() const { return kEdge; }
};

inline constexpr Small kSmall{4, 40, {250, 20, 100}}, kSmallOfDoubles{4, 24, {250, 20, 100}};

}  // namespace smem::plan::gemm::nvidia
