/// Files of tuning entries.
#pragma once

#include <smem/device.hpp>

#include <string>

namespace smem::runtime {

/// All that a file of tuning entries belongs to, as lines of text: the device, its driver, and smem.
std::string tuning_key(const Device& device);

}  // namespace smem::runtime
