#include "plan/ballots.hpp"

#include "plan/driver_faults.hpp"
#include "plan/sizes.hpp"

#include <bit>

namespace smem::plan {

namespace {

/// Of which masks can be made.
bool is_ballot_width(std::size_t lanes) {
  return lanes > 1 && lanes <= kMostBallotLanes && std::has_single_bit(lanes);
}

}  // namespace

std::size_t expected_ballot_width(const Device& device, const std::string& extensions,
                                  const std::vector<std::size_t>& sizes) {
  const bool has_ballots = (" " + extensions + " ").find(" cl_khr_subgroup_ballot ") != std::string::npos;
  // NVIDIA's warps have their own instructions. PoCL runs a sub-group's work-items in a loop.
  if (!has_ballots || !device.sub_groups || is_nvidia_gpu(device) || is_pocl(device)) return 0;
  // All of Intel's GPUs have 16, with which more of a kernel's variables stay in registers than with 32.
  constexpr std::size_t kUsual = 16;
  std::size_t best = 0;
  for (const std::size_t lanes : sizes) {
    if (!is_ballot_width(lanes)) continue;
    const bool is_better = best < kUsual ? lanes > best : lanes >= kUsual && lanes < best;
    if (is_better) best = lanes;
  }
  // AMD's compiler has one size, that of a wave.
  if (sizes.empty() && device.vendor == Vendor::amd && is_ballot_width(device.sub_group_width))
    best = device.sub_group_width;
  return best;
}

std::size_t ballot_width(const Device& device) {
  return device.sub_groups && is_ballot_width(device.ballot_width) ? device.ballot_width : 0;
}

}  // namespace smem::plan
