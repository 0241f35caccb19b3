/// How long a work-group of a single-pass scan or selection waits for another one, with its evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct LookBackPolicy {
  When when;
  Evidence evidence;  ///< of integers_fall_back
  /// Polls of a status before the waiting group computes the missing aggregate itself (decoupled fallback).
  /// A group that waits as long as computing would take spends at most twice the time of the better choice,
  /// whatever the load. No measurement has chosen among limits.
  std::size_t polls = 1024;
  std::size_t status_words =
      16;  ///< of 8 bytes: the status of a tile has a line of the cache (cl/scan/states.clh)
  /// Whether scans of integers fall back as others do where groups go on once they have started. The code for
  /// it takes registers from all work-items; scans of floats are as fast with it, and
  /// selections whose elements do not stay in local memory.
  bool integers_fall_back = true;
  /// Tiles of a launch up to which its statuses have epochs (cl/scan/states.clh). Beyond,
  /// the launch that zeroes them is short beside the call, and the registers for epochs cost more: on an H100
  /// a scan of 2^27 floats took 0.464 ms with epochs, 0.391 without; of int32, and copy_if, the same.
  std::size_t epoch_tiles = 1024;
};

// polls: on CPUs a poll of a cached line takes some nanoseconds, a piece of 128 KiB some 15 microseconds. A
// GPU's poll takes half a microsecond and its groups go on together, so that one waits some ten polls: a
// thousand mean that something keeps the other group from going on.
inline constexpr LookBackPolicy kLookBackPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what = "scans of 2^28 int32 and 2^27 uint64",
                  .share = "0.755 and 0.791 ms without the fallback, 0.910 and 0.870 ms with it"},
     .integers_fall_back = false},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a Hopper's choice"},
     .integers_fall_back = false},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: as many polls as take the time of a piece"},
     .polls = 4096,
     .status_words = 8},
    {.evidence = {.what = "no measurement: a hundred times the polls that a group waits for another"}},
};

inline const LookBackPolicy& look_back_policy(const Device& device) {
  return row_for(kLookBackPolicies, device);
}

}  // namespace smem::plan
