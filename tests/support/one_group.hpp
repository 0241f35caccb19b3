/// Launches with fewer work-groups than the plan's, so that each has several jobs.
#pragma once

#include <smem/opencl.hpp>

#include <array>
#include <cstddef>

namespace test {

/// While it lives, kernels whose work-groups share their jobs by a grid-stride loop are launched with one
/// work-group: at small sizes they have one for each job, and the loop would end after its first turn.
class OneGroup {
 public:
  OneGroup() { ++alive(); }
  ~OneGroup() { --alive(); }
  OneGroup(const OneGroup&) = delete;
  OneGroup& operator=(const OneGroup&) = delete;

  static int& alive() {
    static int count = 0;
    return count;
  }
};

/// The work-items of a launch: those of one work-group in each dimension along which the kernel has such a
/// loop.
std::array<std::size_t, 3> global_of_one_group(cl_kernel kernel, cl_uint dimensions,
                                               const std::size_t* global, const std::size_t* local);

}  // namespace test
