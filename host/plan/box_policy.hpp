/// The numbers of the variant "march" of box blurs, by family.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <iterator>
#include <string_view>

namespace smem::plan {

struct BoxPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t group;          ///< work-items, where the box leaves a strip that is not mostly halo
  std::size_t step;           ///< rows that are read ahead of time
  std::size_t groups_a_unit;  ///< of the whole launch, and resident at least where rows stay in local memory
  std::size_t band_boxes;     ///< a band has at least so many times the rows of a box
};

// A strip of 512 columns with the ring of 101 rows of floats takes 207 of the 227 KiB of a Hopper
// multiprocessor: with it, four warps were alone there, and waited for each other and for memory (101 x 101
// reached 0.09 of copy, 31 x 31 0.12, with one group a unit). So the ring must leave room for four groups;
// the rows that leave are else read again, most of them from the cache. That was not measured.
inline constexpr BoxPolicy kBoxPolicies[] = {
    {"nvidia-hopper", "no measurement of these sizes", 128, 4, 4, 2},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: the H200's sizes, with less read ahead", 128, 2, 4, 2},
};

inline const BoxPolicy& box_policy(const Device& device) {
  for (const BoxPolicy& policy : kBoxPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kBoxPolicies) - 1);
}

}  // namespace smem::plan
