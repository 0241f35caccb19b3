/// Variants that the device's driver breaks: of all types, or of one.
#pragma once

#include <smem/device.hpp>

#include <algorithm>
#include <string_view>

namespace test {

inline bool is_broken(const smem::Device& device, std::string_view operation, std::string_view variant,
                      std::string_view type = "") {
  return std::any_of(device.broken.begin(), device.broken.end(), [&](const smem::BrokenVariant& broken) {
    return broken.operation == operation && broken.variant == variant && broken.type == type;
  });
}

}  // namespace test
