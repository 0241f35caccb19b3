/// The numbers of stencil plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

struct StencilPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t rows;         ///< of results that a work-item of "rows" makes, at most
  std::size_t registers;    ///< of 32 bits that it may fill
  std::size_t rows_across;  ///< work-items along x of its groups
  std::size_t rows_group;   ///< work-items of its groups
  std::size_t tile_group;   ///< work-items of the groups of "tiled" and "march"
};

// The 5 x 5 stencil reached 0.28 on the H200 while its sums lay in memory: NVIDIA's compiler unrolls no loop
// whose bounds another one sets. It was not measured since they are constants.
//
// rows: 8 rows of results read 10 of the input for a window of 3, whose extra ones the cache has. registers:
// so many leave an NVIDIA multiprocessor 400 work-items, with 16 bytes of each of 10 rows under way: 64 KiB.
// Intel's compiler has 64 for a work-item of pvc, and keeps arrays in memory that take more than about 40.
inline constexpr StencilPolicy kStencilPolicies[] = {
    {"nvidia-hopper", "H200, 8192 x 8192, of copy: float 3 x 3 0.96; uint8 x 4 3 x 3 0.34", 8, 160, 32, 128,
     256},
    {"nvidia", "no measurement: groups of 256, with which ptxas spills nothing for sm_75", 8, 160, 32, 256,
     256},
    {"amd-cdna", "no measurement: sizes by arithmetic", 8, 128, 64, 256, 256},
    {"amd-rdna", "no measurement: sizes by arithmetic", 8, 128, 32, 128, 256},
    {"intel", "no measurement: sizes by arithmetic", 4, 40, 32, 128, 256},
    {"cpu", "", 4, 256, 16, 64, 64},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: sizes that need few registers, shrunk to the device's facts", 4, 64, 32, 128,
     128},
};

inline const StencilPolicy& stencil_policy(const Device& device) {
  for (const StencilPolicy& policy : kStencilPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kStencilPolicies) - 1);
}

}  // namespace smem::plan
