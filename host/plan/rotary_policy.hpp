/// The numbers of plans for rotary position embeddings, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct RotaryPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;          ///< work-items
  std::size_t pack_bytes = 16;      ///< the widest read of a work-item
  std::size_t most_pack = 8;        ///< elements of it
  std::size_t most_heads = 8;       ///< that a work-item rotates with one set of cosines
  std::size_t items_a_unit = 1024;  ///< work-items for each unit, below which they have fewer heads
  std::size_t naive_group = 64;     ///< work-items of "naive"
  std::size_t groups_a_unit = 32;   ///< of "cpu": that a launch has at most
};

inline constexpr RotaryPolicy kRotaryPolicies[] = {
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: 16 bytes a read, and cosines for 8 heads"}},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .most_pack = 4},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: the cosines of a token in the cache of its thread"}},
    {},
};

inline const RotaryPolicy& rotary_policy(const Device& device) { return row_for(kRotaryPolicies, device); }

}  // namespace smem::plan
