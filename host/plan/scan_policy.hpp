/// How long a work-group of a single-pass scan or selection waits for another one.
#pragma once

#include <smem/device.hpp>

#include <algorithm>
#include <cstddef>

namespace smem::plan {

/// Polls of a status before the waiting group computes the missing aggregate itself (decoupled fallback).
/// Waiting as long as computing would take costs at most twice what the better of both does, whatever the
/// load: on CPUs a poll of a cached line takes some nanoseconds, a piece of 128 KiB some 15 microseconds. A
/// GPU's poll takes half a microsecond and its groups go on together, so that one waits some ten polls:
/// a thousand mean that something keeps the other group from going on.
constexpr std::size_t kCpuPolls = 4096;
constexpr std::size_t kGpuPolls = 1024;

inline std::size_t poll_limit(const Device& device) {
  return std::min(device.poll_limit, device.type == DeviceType::cpu ? kCpuPolls : kGpuPolls);
}

}  // namespace smem::plan
