/// Whether a device's sub-groups rank keys by ballots as kernels expect.
#pragma once

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <cstddef>

namespace smem::runtime {

/// Whether the code of cl/sort/match_ballots.clh compiles for sub-groups of `lanes` neighbouring work-items,
/// runs, and ranks right.
bool ranks_by_ballots(cl_device_id id, const Device& device, std::size_t lanes);

/// Device::ballot_width: `expected`, if it ranks right. Tried once, and kept with the cached programs until
/// the driver is another one.
std::size_t usable_ballot_width(cl_device_id id, const Device& device, std::size_t expected);

}  // namespace smem::runtime
