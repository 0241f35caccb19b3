/// Scans and selections in a single pass: each tile publishes what it makes, and looks back over those before
/// it.
#pragma once

#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Whether work-groups of one launch can publish to each other.
inline bool can_look_back(const Device& device) { return device_fence(device) != 0; }
/// Whether that is the faster way: groups that have started go on, so that few fall back on computing what
/// others compute.
inline bool prefers_look_back(const Device& device) {
  return device.forward_progress && can_look_back(device);
}

/// Words of 8 bytes for the status of a tile: a line of the cache (cl/scan/states.clh).
inline std::size_t status_words(const Device& device) { return device.type == DeviceType::cpu ? 8 : 16; }

/// Bytes for the statuses of the parts of each row and of their blocks, and for the dynamic tile index.
inline std::size_t status_bytes(const Device& device, std::size_t rows, std::size_t parts) {
  constexpr std::size_t kBlock = 32;  // tiles of a block (cl/nvidia/look_back.clh)
  const std::size_t entries = parts == 1 ? 0 : rows * (parts + divide_up(parts, kBlock));
  return 8 * status_words(device) * (1 + entries);
}

/// Defines how a kernel publishes and polls (cl/scan/states.clh).
inline void define_publishing(const Device& device, Launch& launch) {
  define(launch, "LINE", status_words(device));
  define(launch, "DEVICE_FENCE", device_fence(device));
  define(launch, "POLL_LIMIT", poll_limit(device));
}

}  // namespace smem::plan
