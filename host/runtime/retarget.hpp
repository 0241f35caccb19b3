/// Instructions that NVIDIA's OpenCL compiler refuses, such as wgmma: they belong to targets like "sm_90a",
/// and it compiles for "sm_90". In the source they stand behind a marker that is a comment of PTX, each on
/// one line of inline assembly. What the driver gives as a program's binary is PTX text; without the markers,
/// and for the other target, the driver takes it back as a binary, and its assembler knows the instructions.
///
/// None of this is documented by NVIDIA. So whatever a driver refuses on the way is an outcome, not an error
/// (Programs::find), and there is always a plan without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smem::runtime {

inline constexpr std::string_view kRetargetMarker = "//@";

/// A program's binary, for `target` ("sm_90a"), without the markers. Empty optional: it is not PTX text, or
/// for a target that `target` does not extend, or has no marker at all.
std::optional<std::string> retarget(std::string_view binary, std::string_view target);

}  // namespace smem::runtime
