/// Which variants a device runs.
#pragma once

#include "plan/look_back.hpp"

#include "support/broken.hpp"

#include <smem/device.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace test {

/// Whether the variants for CPUs run there: their loops are long.
inline bool has_cpu_variant(const smem::Device& device) {
  return device.type == smem::DeviceType::cpu && device.long_loops;
}

/// Of the operations whose variants run everywhere, but for those of CPUs and those whose groups publish to
/// each other.
inline bool always_runs(const smem::Device& device, std::string_view variant) {
  if (variant == "one_pass") return smem::plan::can_look_back(device);
  return variant != "cpu" || has_cpu_variant(device);
}

/// Whether local memory holds columns of 2050 elements, so that "tiled" runs at every size of its tests.
inline bool holds_columns(const smem::Device& device, std::string_view variant) {
  return variant != "tiled" || device.local_bytes >= 128 << 10;
}

/// Of softmax and norm; "persistent" has longer rows than most tests (rows_persistent.cpp).
inline bool runs_on_rows(const smem::Device& device, std::string_view variant) {
  if (variant == "persistent") return false;
  if (variant == "cooperative")
    return smem::plan::can_look_back(device) && !is_broken(device, "softmax", variant);
  if (variant == "shuffle") return device.vendor == smem::Vendor::nvidia;
  return always_runs(device, variant);
}

/// Of the operations that move elements together.
inline bool runs_compaction(const smem::Device& device, std::string_view variant) {
  if (variant == "look_back") return device.forward_progress;
  return always_runs(device, variant);
}
inline std::vector<std::string> running_compactions(const smem::Device& device,
                                                    const std::vector<std::string_view>& variants) {
  std::vector<std::string> running;
  for (const std::string_view variant : variants)
    if (runs_compaction(device, variant)) running.emplace_back(variant);
  return running;
}

}  // namespace test
