/// The numbers of the variant "matrix_units" of attention, by matrix unit, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <array>
#include <cstddef>

namespace smem::plan::attention::units {

/// A tile of rows and keys: sub-groups, and what each makes of it.
struct Tile {
  std::size_t most_size;       ///< elements of a query or a value, the larger ones
  std::size_t subs_m, subs_n;  ///< sub-groups down and across
  std::size_t sub_m;           ///< rows of a sub-group
  std::size_t keys;            ///< of the tile
  std::size_t unit_m;          ///< rows of a fragment, where the unit has a choice
  bool ahead;  ///< keys and values have places of their own, and are on their way during products

  constexpr std::size_t rows() const { return subs_m * sub_m; }
};

/// The first tile that serves the sizes and fits is taken.
struct Policy {
  When when;
  Evidence evidence;
  std::array<Tile, 5> tiles;
};

// Local memory: queries, keys, values and logits together in 64 KiB, so that heads of 128 have 64 rows, and
// those of 256 have 32. Intel: its compiler spills with more sums of a work-item than 32 in registers, and
// with two fragments of rows for heads of 128 unless keys and values take turns.
inline constexpr std::array<Tile, 5> kOfWaves64{{{64, 4, 1, 32, 32, 32, true},
                                                 {128, 2, 2, 32, 32, 16, true},
                                                 {256, 2, 2, 16, 32, 16, true},
                                                 {256, 1, 2, 16, 32, 16, true},
                                                 {256, 1, 1, 16, 32, 16, false}}};
inline constexpr std::array<Tile, 5> kOfWaves32{{{64, 4, 2, 32, 32, 0, true},
                                                 {128, 2, 2, 32, 32, 0, true},
                                                 {256, 2, 2, 16, 32, 0, false},
                                                 {256, 1, 2, 16, 32, 0, true},
                                                 {256, 1, 1, 16, 16, 0, false}}};
inline constexpr std::array<Tile, 5> kOfSixteen{{{64, 4, 2, 16, 32, 0, true},
                                                 {128, 4, 4, 16, 64, 0, false},
                                                 {256, 8, 4, 8, 64, 0, true},
                                                 {256, 4, 4, 8, 64, 0, false},
                                                 {256, 2, 2, 8, 32, 0, false}}};
inline constexpr std::array<Tile, 5> kOfEight{{{64, 8, 2, 8, 32, 0, true},
                                               {128, 8, 4, 8, 32, 0, true},
                                               {256, 4, 8, 8, 64, 0, false},
                                               {256, 2, 4, 8, 32, 0, false},
                                               {256, 1, 2, 8, 16, 0, false}}};
inline constexpr Evidence kWithoutSpilling{
    .what =
        "no measurement: tiles that fit local memory, and sums that the "
        "compiler keeps in registers; the unit does several times "
        "the operations of vectors"};
inline constexpr Policy kPolicies[] = {
    {.when = {.matrix_unit = MatrixUnit::mfma}, .evidence = kWithoutSpilling, .tiles = kOfWaves64},
    {.when = {.matrix_unit = MatrixUnit::mfma_cdna3}, .evidence = kWithoutSpilling, .tiles = kOfWaves64},
    {.when = {.matrix_unit = MatrixUnit::wmma}, .evidence = kWithoutSpilling, .tiles = kOfWaves32},
    {.when = {.matrix_unit = MatrixUnit::wmma_rdna4}, .evidence = kWithoutSpilling, .tiles = kOfWaves32},
    {.when = {.matrix_unit = MatrixUnit::dpas8}, .evidence = kWithoutSpilling, .tiles = kOfEight},
    {.evidence = kWithoutSpilling, .tiles = kOfSixteen},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::attention::units
