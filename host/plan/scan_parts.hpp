/// How a scan is cut into pieces: the same whatever the size of a work-group turns out to be.
#pragma once

#include <smem/scan_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t scan_group(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);
/// Whether warps keep whole tiles in their registers (cl/nvidia/scan_tile.clh). Short rows, which share a
/// work-group, and the first of two launches do not all the same.
bool scans_in_registers(const Device& device, const ScanProblem& problem);
/// Elements that a work-item has in registers.
std::size_t scan_items(const Device& device, const ScanProblem& problem, bool in_registers);
/// Elements of a tile of work-groups of scan_group() work-items; smaller groups need several steps for it.
std::size_t scan_tile(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);

constexpr std::size_t kScanBlock = 32;  ///< tiles of a block (cl/nvidia/look_back.clh)
/// Words of 8 bytes for the status of a tile: a line of the cache (cl/scan/states.clh).
inline std::size_t scan_line(const Device& device) { return device.type == DeviceType::cpu ? 8 : 16; }

struct ScanParts {
  std::size_t parts = 1;          ///< of a row; of a column
  std::size_t piece = 1;          ///< elements of a part; the last one may be shorter
  std::size_t scratch_bytes = 0;  ///< temporary memory
  std::size_t zeroed_bytes = 0;   ///< at its begin, zero before the launch
  bool two_launches = false;
};

/// Of the variant that `fixed` names.
ScanParts scan_parts_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);

/// The variant that the plan chooses where none is fixed.
std::string_view choose_scan(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);

/// Whether work-groups of one launch can publish to each other.
bool can_look_back(const Device& device);
/// Whether that is the faster way: groups that have started go on, so that few fall back on computing what
/// others compute.
bool prefers_look_back(const Device& device);
/// Defines how a kernel publishes and polls (cl/scan/states.clh).
void define_publishing(const Device& device, Plan& plan);

/// Bytes of what a part makes, as kernels lay it out: a number, and for segments whether one begins in it.
std::size_t scan_state_bytes(const ScanProblem& problem);

/// Whether elements must be combined in their order.
bool is_ordered(const ScanProblem& problem);
inline bool is_segmented(const ScanProblem& problem) {
  return problem.shape == ScanShape::segments || problem.shape == ScanShape::keys;
}

constexpr std::size_t kScanStrip = 256;  ///< columns that a CPU's thread scans at once

/// The reduction whose types and operation a scan shares.
ReduceProblem as_reduction(const ScanProblem& problem);

/// "inclusive_scan", "exclusive_scan_rows", ...: as the called function is named.
const char* operation_name(const ScanProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_scan(const Device& device, const ScanProblem& problem);

}  // namespace smem::plan
