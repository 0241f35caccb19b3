/// The numbers of plans for merges and searches, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct MergePolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;  ///< work-items
  std::size_t items = 15;   ///< keys of each, at most; of 8 bytes half as many: an odd number
  /// Where there are more groups for each unit than this, a launch finds what they merge.
  std::size_t groups_that_search = 8;
  std::size_t split_group = 64;    ///< work-items of it: few, so that all units search
  std::size_t bounds_group = 256;  ///< work-items that search
  /// Keys to search for from which "sampled" comes before "bisection"; 0: never. In more keys than samples:
  /// up to so many, and so many searches for each.
  std::size_t sampled_from = 0, sampled_in = std::size_t{1} << 20, searches_each = 8,
              many_searches = std::size_t{1} << 21;
  std::size_t samples = 4096;  ///< in local memory
  std::size_t sampled_group = 512, sampled_groups_a_unit = 2;
  std::size_t groups_a_unit = 32;               ///< of a search
  std::size_t cpu_batch = 64;                   ///< keys that a thread searches for at once
  std::size_t cpu_groups_a_unit = 8;            ///< so that a late thread leaves little
  std::size_t cpu_keys = std::size_t{1} << 16;  ///< of a stretch, at least
};

// groups_that_search: an H200 merged 2^25 uint32 in 0.109 ms with such a launch, 0.116 where each group
// searched by 16 work-items for an end of its part, 0.143 by one. CUB took 0.097 in another run. Groups that
// stay, merge tile after tile and search for the next tile's end meanwhile took 0.129 (4 for each unit) to
// 0.145 (5 and 10), whatever limit registers had, and 2^22 uint32 0.025 instead of 0.020. Of 17, 15, 13 and
// 11 keys a work-item the first takes least: 0.111, 0.114, 0.120 and 0.128. Limits of 40 to 56 registers
// change nothing.
//
// sampled_from: H200, us by bisection and by samples: 10^7 searches in 1000 floats 174 and 56, 10^5 8 and 8;
// 3 * 10^6 in 2000 doubles 78 and 31, in 100000 bytes 69 and 47, in 10^6 floats 187 and 166, in 10^7 287 and
// 291; 16 * 10^6 in 65536 uint32 543 and 440, 10^7 in 10^6 629 and 514, 10^5 13 and 35.
//
// cpu_batch: two Zen 5 cores, PoCL 3.1, 10^6 searches in 2^20 floats, in 2^24 uint32, ms: 16 at once 30 and
// 85, 32 19 and 50, 64 15 and 40, 128 15 and 40; by loops of single work-items 85 and 254.
inline constexpr MergePolicy kMergePolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "merge of 2^25 uint32, 17 of each work-item",
                  .share = "0.109 ms, CUB 0.097 ms"},
     .items = 17,
     .sampled_from = std::size_t{1} << 17},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: what ptxas for sm_75 keeps in registers"},
     .items = 9},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .items = 7},
    {.evidence = kFromFacts},
};

inline const MergePolicy& merge_policy(const Device& device) { return row_for(kMergePolicies, device); }

}  // namespace smem::plan
