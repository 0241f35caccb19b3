/// The strips of columns that threads of a CPU scan.
#pragma once

#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/scan_plan.hpp>

#include <algorithm>
#include <cstddef>

namespace smem::plan {

/// Columns that a thread scans at once: the most that leave strips for all threads, so that columns need no
/// parts, which are read twice.
inline std::size_t strip_of(const Device& device, const ScanProblem& problem) {
  const ScanThreads& threads = scan_policy(device).threads;
  const std::size_t element = std::max(size_of(problem.in), size_of(problem.out));
  const std::size_t wanted = threads.strips_a_unit * device.compute_units;
  for (std::size_t bytes = threads.strip_bytes; bytes >= threads.least_strip_bytes; bytes /= 2)
    if (divide_up(problem.cols, bytes / element) * problem.batch >= wanted) return bytes / element;
  return threads.strip_bytes / element;
}

}  // namespace smem::plan
