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
  std::size_t width;         ///< columns of the narrowest strip
  std::size_t columns;       ///< of a work-item, at least; 4 of integers, whose bytes come as words
  std::size_t step;          ///< rows between barriers, at most
  std::size_t ahead;         ///< rows that are read ahead of time, at most
  std::size_t ahead_words;   ///< registers for them, of the rows that come
  std::size_t ring_items;    ///< rows stay in local memory where so many work-items find room on a unit
  std::size_t items_a_unit;  ///< resident work-items that a launch is made for: registers leave room for them
  std::size_t band_boxes;    ///< a band has at least so many times the rows of a box, if it can
};

// On the H200, 8192 x 8192 float, share of copy, 101 x 101 and 31 x 31: two columns a work-item, 8 rows a
// step 0.53 and 0.74, 4 rows 0.52 and 0.71, 2 rows 0.29 and 0.60; 16 rows ahead 0.49 and 0.75; one column
// 0.38 and 0.61, four 0.44 and 0.33. The ring: 31 x 31 0.74 with it, 0.41 without; 101 x 101, where it leaves
// room for 256 work-items, 0.38 with it, 0.52 without. A kernel that scanned each step with three barriers, 4
// columns a work-item, made 0.22 and 0.29.
inline constexpr BoxPolicy kBoxPolicies[] = {
    {"nvidia-hopper", "H200, 8192 x 8192 float, of copy: 31 x 31 0.74, 101 x 101 0.53, 401 x 401 0.28", 512,
     2, 8, 8, 16, 512, 512, 1},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: the H200's sizes, with less read ahead", 512, 4, 2, 2, 8, 256, 512, 1},
};

inline const BoxPolicy& box_policy(const Device& device) {
  for (const BoxPolicy& policy : kBoxPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kBoxPolicies) - 1);
}

}  // namespace smem::plan
