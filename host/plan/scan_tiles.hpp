/// Tiles of scans: how many work-items, and how many elements each has.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scan_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Bytes of a number as it is combined.
std::size_t number_bytes(const ScanProblem& problem);

/// Whether warps keep whole tiles in their registers (cl/nvidia/scan_tile.clh). Short rows, which share a
/// work-group, and the first of two launches do not all the same.
bool scans_in_registers(const Device& device, const ScanProblem& problem);

/// Whether rows in registers begin anywhere: their tiles begin at lines of memory, the first one before them.
bool begins_anywhere(const Device& device, const ScanProblem& problem);

/// Whether elements in registers stay as they are read: narrow integers of many tiles, in whole packs.
bool keeps_narrow(const Device& device, const ScanProblem& problem);

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t group_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);

/// Elements that a work-item has in registers.
std::size_t items_of(const Device& device, const ScanProblem& problem, bool in_registers);

/// Elements of a tile of work-groups of group_of() work-items; smaller groups need several steps for it.
std::size_t tile_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed);

}  // namespace smem::plan
