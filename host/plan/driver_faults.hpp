/// The variants that drivers are known to break, by their names and versions.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>

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

/// The variants that the device's driver breaks, whatever their launches.
std::vector<BrokenVariant> known_faults(const Device& device);

/// A variant that a driver breaks in some of its launches only.
struct LaunchFault {
  BrokenVariant broken;
  bool (*is_in)(const Launch&);  ///< whether the driver breaks the variant by this launch
};
/// Those of the device's driver: which of them concern a plan, its launches say.
std::vector<LaunchFault> known_launch_faults(const Device& device);

}  // namespace smem::plan
