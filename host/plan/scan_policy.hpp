/// How long a work-group of a single-pass scan or selection waits for another one.
#pragma once

#include "plan/sizes.hpp"

#include <smem/device.hpp>

#include <algorithm>
#include <cstddef>

namespace smem::plan {

/// Polls of a status before the waiting group computes the missing aggregate itself (decoupled fallback).
/// Waiting as long as computing would take costs at most twice what the better of both does, whatever the
/// load: on CPUs a poll of a cached line takes some nanoseconds, a piece of 128 KiB some 15 microseconds. A
/// GPU's poll takes half a microsecond and its groups go on together, so that one waits some ten polls:
/// a thousand mean that something keeps the other group from going on. These are estimates; no measurement
/// has chosen among limits.
constexpr std::size_t kCpuPolls = 4096;
constexpr std::size_t kGpuPolls = 1024;

/// Whether scans of integers on NVIDIA GPUs, whose groups go on once they have started, fall back as others
/// do. The code for it takes registers from all work-items: H100, driver 580.159, 2^28 int32 0.755 ms without
/// it and 0.910 with it, 2^27 uint64 0.791 and 0.870; scans of floats and selections are as fast with it.
inline bool falls_back(const Device& device, bool scans_integers) {
  return !(scans_integers && is_nvidia_gpu(device) && device.forward_progress && device.ordered_start &&
           device.poll_limit >= Device().poll_limit);
}

inline std::size_t poll_limit(const Device& device) {
  return std::min(device.poll_limit, device.type == DeviceType::cpu ? kCpuPolls : kGpuPolls);
}

}  // namespace smem::plan
