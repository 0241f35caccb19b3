/// Files of tuning entries.
#pragma once

#include <smem/device.hpp>
#include <smem/tuning_plan.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace smem::runtime {

/// All that a file of tuning entries belongs to, as lines of text: the device, its driver, and smem.
std::string tuning_key(const Device& device);

/// The entries in a file's text; nothing where it is not of this device, driver and version.
std::vector<TuningEntry> tuning_entries_in(std::string_view text, const Device& device);

}  // namespace smem::runtime
