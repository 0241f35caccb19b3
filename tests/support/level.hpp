/// How much is tested.
#pragma once

#include <smem/device.hpp>

#include <string_view>
#include <vector>

namespace test {

/// Whether this is `smem selftest --quick`, which has half a minute where nothing is compiled yet and each
/// program takes PoCL a second: the variants that plans choose on the device, each with one type.
inline bool& is_quick() {
  static bool quick = false;
  return quick;
}

/// Whether PoCL optimises kernels in this test case: not where it has its turn without (main.cpp).
inline bool& has_optimiser() {
  static bool has = true;
  return has;
}

/// The variants of an operation, by the name of its description (host/operations), that a small test case is
/// for: `all`; in the quick selftest those of them that plans choose on this device, for all sizes, shapes
/// and types which the description has as samples, and the rest is reported as left out. All where plans
/// choose none of these.
std::vector<std::string_view> tested_variants(const smem::Device& device, std::string_view operation,
                                              const std::vector<std::string_view>& all);

}  // namespace test
