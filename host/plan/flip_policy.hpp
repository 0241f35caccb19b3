/// The numbers of mirror images' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct FlipPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;        ///< work-items
  std::size_t vector_bytes = 16;  ///< of a run that a work-item of "vector" reverses; two elements at least
  /// Elements of so many bytes get "vector", smaller ones too: larger ones are vectors by themselves.
  std::size_t most_element_bytes = 8;
  Evidence of_packs = {.what = "no measurement: what compilers keep in registers"};
  /// Elements of so many bytes get "packs", smaller ones too; 0: none.
  std::size_t most_packed_bytes = 2;
  /// Rows of larger elements up to which "packs" comes first, but for whole packs; 0: none.
  std::size_t most_packed_row = 0;
  std::size_t pack_group = 128;  ///< work-items of "packs"
  std::size_t packs = 3;         ///< of 16 bytes that a work-item has under way
  /// Rows of fewer bytes go through local memory; if a multiple of so many bytes, only those of still fewer.
  std::size_t runs_below_bytes = 1600, even_runs_below_bytes = 64, pack_step = 8;
  std::size_t run_group = 256;      ///< work-items that share the rows there
  std::size_t chunk_bytes = 16384;  ///< of their rows: a multiple of 16
  std::size_t ahead = 4;            ///< loads of 16 bytes under way to local memory
};

// group: H200, 16384 x 16384 floats, both ways: groups of 128 0.513 ms, 256 0.522, 512 0.546, 64 0.643.
//
// most_packed_bytes: an H200 flipped bytes by "packs" and "vector" at these shares of copy: rows of 30000
// 0.97 and 0.14, 5000 0.86 and 0.14, 33 0.79 and 0.20, 3 0.79 and 0.27; halves, rows of 7 0.94. Other sizes
// of "packs" were not measured.
//
// most_packed_row: there, us by "vector" and "packs", rows of 8 bytes, of floats 76 and 56, of 16 bytes 54
// and 56, of doubles 68 and 71, of 32 bytes 66 and 56, of doubles 66 and 56, of 64 bytes 54 and 58.
//
// runs_below_bytes: H200, 300 MiB of bytes through local memory and by packs: rows of 100 0.81 and 0.45, 300
// 0.79 and 0.54, 500 0.81 and 0.60, 700 0.76 and 0.58, 1500 0.78 and 0.64, 2001 (64 MB) 0.67 and 0.72.
// pack_step: rows of 1000 0.81 and 0.87.
//
// most_element_bytes: a GPU's first-level cache joins runs of 16 bytes, and more bytes are under way at once.
// A CPU's compiler turns a run of a work-item's own elements into vectors, of any size.
inline constexpr FlipPolicy kFlipPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "16384 x 16384 floats",
                  .share = "0.98 of copy; single elements 0.47"},
     .group = 128,
     .of_packs = {.device = "H200",
                  .driver = "580.159",
                  .what = "2133 x 30000 bytes",
                  .share = "0.97 of copy; vectors 0.14"},
     .most_packed_row = 32},
    {.when = {.family = "nvidia"}, .evidence = {.what = "no measurement: a Hopper's sizes"}, .group = 128},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: packs that its compiler keeps in registers"},
     .packs = 2},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: runs that its compiler turns into vectors"},
     .most_element_bytes = 16,
     .most_packed_bytes = 0},
    {.evidence = {.what = "no measurement for this family: runs of 16 bytes"}},
};

/// Numbers of rows, and of the packs of a matrix, that the kernels of "packs" divide: those of a whole
/// work-group behind them are below 2^31.
inline constexpr std::size_t kMostPacksOrRows = 0x7fff0000;

inline const FlipPolicy& flip_policy(const Device& device) { return row_for(kFlipPolicies, device); }

}  // namespace smem::plan
