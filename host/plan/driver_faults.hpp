/// The variants that drivers are known to break, by their names and versions.
#pragma once

#include <smem/device.hpp>

#include <compare>
#include <string>
#include <vector>

namespace smem::plan {

/// A version as drivers write it: "6.0+debian", "580.159.04".
struct Version {
  unsigned first = 0, second = 0;
  friend auto operator<=>(const Version&, const Version&) = default;  // NOLINT(modernize-use-nullptr)
};
/// The first number of the text and the one after its point; zeros when there is none.
Version version_in(const std::string& text);

/// Whether it is PoCL, in any version.
bool is_pocl(const Device& device);

/// The variants that the device's driver breaks.
std::vector<BrokenVariant> known_faults(const Device& device);

}  // namespace smem::plan
