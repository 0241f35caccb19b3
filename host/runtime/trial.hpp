/// Small kernels by which a device shows what it can.
#pragma once

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace smem::runtime {

/// The launch of one work-group.
struct Trial {
  std::string file;  ///< relative to cl/
  std::string entry_point;
  std::string options;  ///< of the compiler
  std::size_t work_items = 0;
};

/// Runs it on buffers of these contents, the kernel's arguments, which become what it leaves there. Whether
/// the driver did all of that.
bool run_trial(cl_device_id id, const Trial& trial, std::vector<std::vector<unsigned char>>& contents);

/// What `trial` says of a device's `fact`. Asked once, and kept with the cached programs until the driver is
/// another one.
bool kept_answer(const Device& device, const std::string& fact, const std::function<bool()>& trial);

}  // namespace smem::runtime
