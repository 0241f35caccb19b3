/// The numbers of plans for softmax, with what chose them.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct SoftmaxPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;        ///< work-items, of short rows; of longer ones more
  std::size_t most_group = 1024;  ///< work-items of a row
  std::size_t pack_bytes = 16;    ///< the widest read of a work-item
  std::size_t packs = 4;          ///< that a work-item has under way
  std::size_t kept_bytes = 96;    ///< of its row that a work-item keeps in registers, at most
  std::size_t naive_group = 64;   ///< work-items of "naive"
  /// Of "split": rows for each unit below which groups share them, and packs of a work-item of a part, at
  /// least.
  double rows_a_unit = 0.5;
  std::size_t packs_of_parts = 16;
  std::size_t most_parts = 1024;  ///< of a row
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t tile_bytes = 128 * 1024;
  std::size_t lanes_bytes = 64;    ///< of a vector
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
};

// kept_bytes: of 1024 work-items each has 64 registers on NVIDIA's units, of which ptxas spills some where 32
// hold elements.
//
// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr SoftmaxPolicy kSoftmaxPolicies[] = {
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a row in the registers of its work-items, 16 bytes a read"}},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .packs = 2, .kept_bytes = 32},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: a row in the cache of its thread, vectors of 64 bytes"}},
    {},
};

inline const SoftmaxPolicy& softmax_policy(const Device& device) { return row_for(kSoftmaxPolicies, device); }

}  // namespace smem::plan
