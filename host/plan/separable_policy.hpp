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
  std::size_t group;             ///< work-items
  std::size_t group_of_small;    ///< of elements of fewer than 4 bytes; half as many where each has 8 columns
  std::size_t step;              ///< rows that a work-item reads ahead of time
  std::size_t step_of_small;     ///< the same of elements of fewer than 4 bytes
  std::size_t cols_of_bytes;     ///< columns of a work-item that has elements of one byte: 4, 8
  std::size_t wide_registers;    ///< ... if the sums that it has begun take at most so many registers
  std::size_t registers_a_unit;  ///< of 4 bytes; 0: not known
  std::size_t groups_a_unit;     ///< that are taken to run at once where registers are not known
  std::size_t least_band;        ///< rows
};

// group on the H200, 8192 x 8192, share of copy, Gaussian 5 x 5 and 15 x 15 of float: 64 0.79 and 0.79, 128
// 0.81 and 0.81, 256 0.84 and 0.81; of bytes 128 0.29 and 0.16, 256 0.26 and 0.15. step: 2 0.71 and 0.69, 4
// 0.81 and 0.81, 8 0.79 and 0.79: 4 rows of 4 columns make 64 bytes a work-item that are under way. Of an 8th
// of the registers a group more or less is resident, so that the rows of a band follow from them.
inline constexpr MarchPolicy kMarchPolicies[] = {
    {"nvidia-hopper", "H200, 8192 x 8192 float, of copy: Gaussian 5 x 5 0.84, 15 x 15 0.81; uint8 0.29, 0.16",
     256, 128, 4, 4, 8, 32, 65536, 4, 32},
    // The last one is for every device that smem does not know.
    {"generic", "no measurement: the H200's sizes", 128, 128, 4, 4, 8, 32, 0, 8, 32},
};

inline const MarchPolicy& march_policy(const Device& device) {
  for (const MarchPolicy& policy : kMarchPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kMarchPolicies) - 1);
}

}  // namespace smem::plan
