/// The machine's OpenCL devices, their facts, and the choice among them.
#pragma once

#include "plan/driver_faults.hpp"

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace smem::runtime {

struct FoundDevice {
  cl_platform_id platform;
  cl_device_id id;
};

/// Every device of every platform, in the loader's order. A platform without devices is passed over.
std::vector<FoundDevice> find_devices();

/// Queries a device, adds what is known of its architecture, and applies SMEM_CLAMP.
Device facts_of(cl_device_id device);

/// What a device says of its compiler.
struct LanguageFacts {
  std::vector<plan::Version> versions;  ///< CL_DEVICE_OPENCL_C_ALL_VERSIONS; empty before OpenCL 3.0
  std::string features;                 ///< names of CL_DEVICE_OPENCL_C_FEATURES
  std::string extensions;               ///< CL_DEVICE_EXTENSIONS
};
/// Sets what follows of a device's languages.
void set_languages(const LanguageFacts& facts, Device& device);

/// The device that `wanted` names (see ContextOptions::device); empty: SMEM_DEVICE, else the best.
/// \throws Error listing the devices that exist, when none fits.
FoundDevice choose_device(std::string wanted);

}  // namespace smem::runtime
