/// smem: variants that failed `smem selftest` on this machine. No plan has one from then on, and a call that
/// fixes one is refused with the reason (Device::broken).
///
/// Each device has a file of its own, beside its tuning file and under the same rules (tuning.hpp). A context
/// reads it when it opens. It counts for the device's driver, platform and this version of smem: with another
/// one, everything is tried again.
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

/// What the device's file says, also when SMEM_FAILURES is off; nothing where the file is not there, or not
/// for this device, driver and version. Never an error.
SMEM_API std::vector<BrokenVariant> remembered_failures(const Device& device);

/// Adds variants to the device's file, in place of what it says of the same ones. `reason`s say when and with
/// which driver they failed. The file is replaced as a whole.
/// \throws Error when it cannot be written, or others could write or replace it.
SMEM_API void remember_failures(const Device& device, const std::vector<BrokenVariant>& failures);

/// Removes the device's file. \returns whether there was one. \throws Error when it stays.
SMEM_API bool forget_failures(const Device& device);

}  // namespace smem
