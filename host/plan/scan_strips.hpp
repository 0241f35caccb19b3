/// What threads of a CPU scan at once: strips of columns, and short rows.
#pragma once

#include "plan/look_back.hpp"
#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/scan_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

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

/// Whether OpenCL has the operation for vectors.
inline bool is_of_vectors(ReduceOp op) {
  constexpr ReduceOp kOfVectors[] = {ReduceOp::sum, ReduceOp::product, ReduceOp::min,
                                     ReduceOp::max, ReduceOp::bit_and, ReduceOp::bit_or};
  return std::find(std::begin(kOfVectors), std::end(kOfVectors), op) != std::end(kOfVectors);
}

/// Whether a thread may scan rows whose elements lie one after the other in the same vectors.
inline bool has_short_rows(const ScanThreads& threads, const ScanProblem& problem, const Parts& parts) {
  const std::size_t most = problem.out == Scalar::half ? threads.short_row_of_halves : threads.short_row;
  return problem.shape == ScanShape::rows && problem.cols <= most && parts.parts == 1 &&
         is_of_vectors(problem.operation.op);
}

}  // namespace smem::plan
