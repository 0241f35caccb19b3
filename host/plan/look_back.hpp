/// Scans and selections in a single pass: each tile publishes what it makes, and looks back over those before
/// it.
#pragma once

#include "plan/look_back_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>

#include <algorithm>
#include <cstddef>

namespace smem::plan {

/// Whether work-groups of one launch can publish to each other.
inline bool can_look_back(const Device& device) { return device_fence(device) != 0; }
/// Whether that is the faster way: groups that have started go on, so that few fall back on computing what
/// others compute.
inline bool prefers_look_back(const Device& device) {
  return device.forward_progress && can_look_back(device);
}

/// Whether scans fall back on computing what another group has not published.
inline bool falls_back(const Device& device, bool scans_integers) {
  return !(scans_integers && !look_back_policy(device).integers_fall_back && device.forward_progress &&
           device.ordered_start && device.poll_limit >= Device().poll_limit);
}

/// Bytes for the statuses of the parts of each row and of their blocks, and for the dynamic tile index.
inline std::size_t status_bytes(const Device& device, std::size_t rows, std::size_t parts) {
  constexpr std::size_t kBlock = 32;  // tiles of a block (cl/nvidia/look_back.clh)
  const std::size_t entries = parts == 1 ? 0 : rows * (parts + divide_up(parts, kBlock));
  return 8 * look_back_policy(device).status_words * (1 + entries);
}

/// Defines how a kernel publishes and polls (cl/scan/states.clh).
inline void define_publishing(const Device& device, Launch& launch) {
  const LookBackPolicy& policy = look_back_policy(device);
  define(launch, "LINE", policy.status_words);
  define(launch, "DEVICE_FENCE", device_fence(device));
  define(launch, "POLL_LIMIT", std::min(device.poll_limit, policy.polls));
}

}  // namespace smem::plan
