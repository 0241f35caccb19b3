/// smem: variants that failed `smem selftest` on this machine. Plans do not choose them from then on, and a
/// call that fixes one is refused with the reason (Device::broken).
///
/// Each device has its own file, beside its tuning file and under the same rules (tuning.hpp). A context
/// reads it when it opens. It is valid for one driver, platform and version of smem; with another one,
/// everything is tried again.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>

#include <filesystem>
#include <vector>

namespace smem {

/// The file of a device, its driver and this version of smem; it need not exist. Empty without a folder.
SMEM_API std::filesystem::path failures_file(const Device& device);

/// Whether devices that are opened from now on avoid what failed: the environment variable SMEM_FAILURES is
/// not 0 or off.
SMEM_API bool failures_are_avoided();

/// The entries of the device's file, also when SMEM_FAILURES is off; none if there is no file for this
/// device, driver and version. Never throws.
SMEM_API std::vector<BrokenVariant> remembered_failures(const Device& device);

/// Adds variants to the device's file, and replaces its entries of the same variants. Each `reason` says when
/// and with which driver the variant failed. The file is replaced as a whole. \throws Error when it cannot be
/// written, or others could write or replace it.
SMEM_API void remember_failures(const Device& device, const std::vector<BrokenVariant>& failures);

/// Removes the device's file. \returns whether there was one. \throws Error when it cannot be removed.
SMEM_API bool forget_failures(const Device& device);

}  // namespace smem
