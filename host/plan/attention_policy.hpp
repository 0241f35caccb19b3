/// The numbers of plans for attention, with what chose them.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <cstddef>

namespace smem::plan {

/// A tile of logits, and what a work-item makes of it.
struct AttentionTile {
  std::size_t m, n;    ///< rows and keys
  std::size_t each_m;  ///< rows of a work-item
};

struct AttentionPolicy {
  When when;
  Evidence evidence;
  /// Of "tiled", largest first: the first one that fits is taken.
  std::array<AttentionTile, 3> tiles{{{64, 64, 4}, {32, 32, 4}, {16, 16, 4}}};
  std::size_t unroll = 4;         ///< turns of its innermost loops that are written out
  std::size_t wide_values = 128;  ///< the most elements of a value for which its work-items have 8 rows
  std::size_t naive_group = 64;   ///< work-items of "naive"
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t cache_bytes = 768 * 1024;
  std::size_t cpu_rows = 192;     ///< of a thread, at most
  std::size_t cpu_keys = 128;     ///< of a tile, at most
  std::size_t groups_a_unit = 4;  ///< that are wanted
};

// nvidia: 8 x 4 logits a work-item, 4096 multiplications for 640 reads of local memory.
//
// cpu: PoCL compiles 8 x 4 logits for seconds.
inline constexpr AttentionPolicy kAttentionPolicies[] = {
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: tiles by operations for each read of local memory"},
     .tiles = {{{64, 64, 8}, {32, 32, 4}, {16, 16, 4}}}},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: tiles that fit the cache of a thread"},
     .tiles = {{{32, 32, 4}, {32, 32, 4}, {16, 16, 4}}},
     .unroll = 1},
    {},
};

inline const AttentionPolicy& attention_policy(const Device& device) {
  return row_for(kAttentionPolicies, device);
}

}  // namespace smem::plan
