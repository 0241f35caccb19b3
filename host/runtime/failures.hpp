/// What failed `smem selftest` on a device (smem/failures.hpp), as devices have it when they are opened.
#pragma once

#include <smem/device.hpp>

#include <string_view>
#include <vector>

namespace smem::runtime {

/// The device with what is remembered of it, unless SMEM_FAILURES is off.
Device with_failures(Device device);

/// The variants in a file's text; nothing where it is not of this device, driver and version.
std::vector<BrokenVariant> failures_in(std::string_view text, const Device& device);

}  // namespace smem::runtime
