/// The numbers of the variant "matrix_units" of gemm, by matrix unit, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <array>
#include <cstddef>

namespace smem::plan::gemm::units {

/// A tile of C: sub-groups, and what each makes of it.
struct Tile {
  std::size_t subs_m, subs_n;  ///< sub-groups down and across
  std::size_t sub_m, sub_n;    ///< rows and columns of a sub-group
  std::size_t unit_m;          ///< rows of a fragment, where the unit has a choice
  double speed;                ///< of many such tiles, against the first one's

  constexpr std::size_t m() const { return subs_m * sub_m; }
  constexpr std::size_t n() const { return subs_n * sub_n; }
};

struct Policy {
  When when;
  Evidence evidence;
  std::array<Tile, 4> tiles;   ///< large, small, and of few rows or columns
  std::size_t row_bytes = 64;  ///< of k of a tile
};

// speed: by the numbers that a sub-group reads from local memory for its products.
inline constexpr std::array<Tile, 4> kOfWaves64{
    {{2, 2, 64, 64, 32, 1.0}, {2, 2, 32, 32, 32, 0.6}, {1, 4, 16, 32, 16, 0.4}, {4, 1, 32, 16, 16, 0.4}}};
inline constexpr std::array<Tile, 4> kOfWaves32{
    {{4, 2, 32, 64, 0, 1.0}, {2, 2, 32, 32, 0, 0.8}, {1, 4, 16, 32, 0, 0.5}, {4, 1, 32, 16, 0, 0.5}}};
inline constexpr std::array<Tile, 4> kOfSixteen{
    {{4, 4, 32, 16, 0, 1.0}, {4, 4, 16, 16, 0, 0.75}, {1, 8, 8, 16, 0, 0.5}, {8, 1, 16, 16, 0, 0.75}}};
inline constexpr std::array<Tile, 4> kOfEight{
    {{4, 4, 16, 16, 0, 1.0}, {4, 4, 16, 8, 0, 0.8}, {1, 16, 8, 8, 0, 0.5}, {16, 1, 8, 8, 0, 0.5}}};
inline constexpr Evidence kWithoutSpilling{.what =
                                               "no measurement: tiles that the compiler keeps in registers; "
                                               "the unit does several times the operations of "
                                               "vectors"};
inline constexpr Policy kPolicies[] = {
    {.when = {.matrix_unit = MatrixUnit::mfma}, .evidence = kWithoutSpilling, .tiles = kOfWaves64},
    {.when = {.matrix_unit = MatrixUnit::mfma_cdna3}, .evidence = kWithoutSpilling, .tiles = kOfWaves64},
    {.when = {.matrix_unit = MatrixUnit::wmma}, .evidence = kWithoutSpilling, .tiles = kOfWaves32},
    {.when = {.matrix_unit = MatrixUnit::wmma_rdna4}, .evidence = kWithoutSpilling, .tiles = kOfWaves32},
    {.when = {.matrix_unit = MatrixUnit::dpas8}, .evidence = kWithoutSpilling, .tiles = kOfEight},
    {.evidence = kWithoutSpilling, .tiles = kOfSixteen},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::gemm::units
