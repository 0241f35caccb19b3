/// How much local memory a device really has for a kernel's static arrays.
#pragma once

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <cstddef>
#include <vector>

namespace smem::runtime {

/// The sizes to try on a device that reports less than it has, largest first: of NVIDIA's GPUs from compute
/// capability 8.0 on, whose driver reports 48 KiB. None for others, and where the size is known.
std::vector<std::size_t> local_sizes_to_try(const Device& device);

/// Whether a kernel with a static array of `bytes` in local memory compiles, runs, and holds what was
/// written.
bool runs_with_local(cl_device_id id, std::size_t bytes);

/// Device::local_bytes: of a device with sizes to try, the largest that runs. Tried once, and kept with the
/// cached programs until the driver is another one.
std::size_t usable_local_bytes(cl_device_id id, const Device& device);

}  // namespace smem::runtime
