/// Ballots of sub-groups (cl_khr_subgroup_ballot), by which kernels rank keys.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smem::plan {

/// Bits of the masks of cl/sort/match_ballots.clh.
inline constexpr std::size_t kMostBallotLanes = 64;

/// The sub-group whose ballots a device should have; 0: none. `extensions` is CL_DEVICE_EXTENSIONS,
/// `sizes` those of sub-groups that a kernel can require (cl_intel_required_subgroup_size); none: it cannot.
std::size_t expected_ballot_width(const Device& device, const std::string& extensions,
                                  const std::vector<std::size_t>& sizes);

/// The sub-group whose ballots kernels use; 0: none.
std::size_t ballot_width(const Device& device);

}  // namespace smem::plan
