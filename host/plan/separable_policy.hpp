/// The numbers of the variant "march" of separable filters, by family.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <iterator>
#include <string_view>

namespace smem::plan {

struct MarchPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t group;          ///< work-items
  std::size_t step;           ///< rows that a work-item reads ahead of time, of elements of 4 bytes and more
  std::size_t step_of_small;  ///< of smaller ones, of which more must be under way
  std::size_t groups_a_unit;  ///< wanted, of the whole launch: two rounds of those that are resident
  std::size_t band_halos;     ///< a band has at least so many times the rows that it reads twice
  std::size_t least_band;     ///< rows
};

// group: strips of 512 columns; of 8192, 17 strips of a window of 15 are full but for the last. Four groups
// of 128 work-items with 128 registers each are resident on an NVIDIA multiprocessor, and have 512 * step *
// 16 bytes under way.
inline constexpr MarchPolicy kMarchPolicies[] = {
    {"nvidia-hopper", "H200, 8192 x 8192 float, of copy: Gaussian 5 x 5 0.71, 15 x 15 0.52; uint8 0.12, 0.07",
     128, 4, 8, 8, 8, 32},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: the H200's sizes", 128, 4, 4, 8, 8, 32},
};

inline const MarchPolicy& march_policy(const Device& device) {
  for (const MarchPolicy& policy : kMarchPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kMarchPolicies) - 1);
}

inline std::size_t march_step(const MarchPolicy& policy, std::size_t element_bytes) {
  return element_bytes < 4 ? policy.step_of_small : policy.step;
}

}  // namespace smem::plan
