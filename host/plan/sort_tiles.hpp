/// Tiles of sorts in local memory, and what their kernels know of keys and values.
#pragma once

#include "plan/sort_types.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/sort_plan.hpp>

#include <cstddef>
#include <optional>

namespace smem::plan {

/// Bytes of the kernels' own words in local memory, with their alignment.
inline constexpr std::size_t kSortWords = 64;

/// Of a number of keys in a kernel.
inline std::size_t count_bytes(const SortProblem& problem) { return is_wide(problem) ? 8 : 4; }

/// Bytes of what passes through local memory with a key.
std::size_t carried_bytes(const SortProblem& problem);

/// The passes over all keys, each by a digit.
struct SortPasses {
  std::size_t count = 1, bits = 0;
};
SortPasses passes_of(const SortProblem& problem, std::size_t radix_bits);

/// What all launches know of the problem. `moves`: whether they move keys and values.
void define_keys(Launch& launch, const SortProblem& problem, bool moves);

/// Sizes of a pass's tiles.
struct TileSizes {
  std::size_t group = 0, items = 0, lanes = 0, radix_bits = 0;
  bool warps = false;
  bool ballots = false;  ///< teams are sub-groups, which rank by ballots
  bool ahead = false;    ///< values are copied into local memory while keys are ranked
  std::size_t tile() const { return group * items; }
  std::size_t radix() const { return std::size_t{1} << radix_bits; }
};

/// Of the kernels of such tiles, where `carried` bytes pass through local memory with a key.
std::size_t tile_local_bytes(const SortProblem& problem, const TileSizes& sizes, std::size_t carried);

/// How a group's work-items rank keys: in warps, in sub-groups that take ballots, or in teams of lanes.
void set_teams(const Device& device, TileSizes& sizes);

/// The policy's sizes for values that are copied ahead; nothing where it has none, or the device cannot.
std::optional<TileSizes> sort_tile_ahead(const Device& device, const SortProblem& problem,
                                         const PlanOverrides& fixed);

/// The policy's sizes, or smaller ones that fit the device; nothing where none do. `four_bits`: digits of 4
/// bits, instead of the policy's.
std::optional<TileSizes> sort_tile_of(const Device& device, const SortProblem& problem,
                                      const PlanOverrides& fixed, bool four_bits = false);

/// Makes tiles smaller where they are fewer than the device keeps busy.
void spread_tiles(const Device& device, std::size_t size, TileSizes& sizes);

void define_tile(const Device& device, const SortProblem& problem, const TileSizes& sizes, Launch& launch);

}  // namespace smem::plan
