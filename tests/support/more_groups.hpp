/// Launches with more work-groups than the plan's, as of a device with more units.
#pragma once

#include <cstddef>

namespace test {

/// While it lives, launches have so many times as many work-groups along the first dimension: for kernels
/// that share jobs among as many as there are.
class MoreGroups {
 public:
  explicit MoreGroups(std::size_t times) { factor() = times; }
  ~MoreGroups() { factor() = 1; }
  MoreGroups(const MoreGroups&) = delete;
  MoreGroups& operator=(const MoreGroups&) = delete;

  static std::size_t& factor() {
    static std::size_t times = 1;
    return times;
  }
};

}  // namespace test
