/// Ranges of device facts.
#pragma once

#include <smem/device.hpp>

namespace smem::plan {

/// The device with each number in the range that device_from_json() takes, as plans expect it: what a driver
/// says may be anything.
Device within_ranges(Device device);

}  // namespace smem::plan
