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

/// Whether `items` elements of a work-item, and their results, are a pack or two: neighbours of it then read
/// and write neighbours without a tile in local memory.
bool has_own_runs(const Device& device, const ScanProblem& problem, std::size_t items, std::size_t pack,
                  std::size_t out_pack);

/// Rows of a tile of `elements` whose work-items read their own runs although it begins anywhere, behind at
/// most a pack's other elements; 0: they cannot, or it need not be.
std::size_t rows_with_lead(const Device& device, const ScanProblem& problem, std::size_t elements,
                           std::size_t items);

}  // namespace smem::plan
