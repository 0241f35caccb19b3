/// Which types a scan takes, how it is called, and which of its rows share a tile.
#pragma once

#include <smem/scan_plan.hpp>

#include <cstddef>

namespace smem::plan {

inline bool is_segmented(const ScanProblem& problem) {
  return problem.shape == ScanShape::segments || problem.shape == ScanShape::keys;
}

/// The reduction whose types and operation a scan shares.
ReduceProblem as_reduction(const ScanProblem& problem);

/// "inclusive_scan", "exclusive_scan_rows", ...: as the called function is named.
const char* operation_name(const ScanProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_scan(const Device& device, const ScanProblem& problem);

/// The largest power of two that divides the byte addresses of tiles of so many elements that follow each
/// other, at most that of the first one.
std::size_t tile_alignment(const ScanProblem& problem, std::size_t elements, Scalar type);

/// Whole rows of a tile of `elements`: a number that keeps the alignment of tiles, where so many fit.
std::size_t rows_of_tile(const ScanProblem& problem, std::size_t elements);

}  // namespace smem::plan
