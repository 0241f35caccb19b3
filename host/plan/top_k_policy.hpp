/// The numbers of plans for top_k, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct TopKPolicy {
  When when;
  Evidence evidence;
  Evidence of_radix = kFromFacts;    ///< of radix select where delegates could be
  std::size_t group = 1024;          ///< work-items that select from a tile, at most
  std::size_t tile_items = 16;       ///< elements of each of them, where there are fewer work-items
  std::size_t delegate_group = 256;  ///< work-items that make delegates
  std::size_t kept_bytes = 64;       ///< of elements that each of them reads at once
  std::size_t least_team = 8;  ///< work-items that read a span, where it has a pack for each: a whole line
  std::size_t least_gain =
      4;  ///< the k spans have at most such a part of the row, or radix select reads it all
  std::size_t register_k = 128;     ///< results of a row in registers, at most
  std::size_t register_items = 16;  ///< elements of 4 bytes of each work-item, at most
  /// Of "network": elements of a row at most, of those for which it is first, and where "row_delegates" is
  /// not possible; 0: never. Work-items of a group.
  std::size_t network_row = 256, network_first = 0, network_chosen = 0;
  std::size_t network_group = 128;
  bool by_row_delegates = false;  ///< measured: before "registers" and "tile"
  std::size_t few_rows = 16384;   ///< elements of a row; of longer ones a group for each must fill the device
  /// Of "row_delegates": work-items of a row, packs that each reads, delegates of 4 bytes of each, work-items
  /// of a span, and spans for each result.
  std::size_t least_row_group = 32, row_group = 128, row_packs = 16, row_items = 8, row_team = 8,
              spans_a_result = 16;
  std::size_t span_bits = 9;      ///< of a delegate's span, at most: 512 elements
  std::size_t radix_group = 256;  ///< work-items of a group that shares a row
  std::size_t groups_a_unit = 8;  ///< of those, in all
  std::size_t radix_items = 16;   ///< elements of each of their work-items at once
  /// Of a row of fewer elements, and of longer ones, whose readings cost more than the tables of bins.
  std::size_t digit_bits = 8, digit_bits_of_long = 11;
  std::size_t long_row = std::size_t{1} << 18;
  /// Results from which on "tile" is before "registers", of rows of so many elements at most.
  std::size_t counted_k = 64, counted_row = 1024;
  std::size_t radix_elements_of_many = std::size_t{1} << 23;  ///< of rows of more than order_tile results
  /// Radix select goes before delegates where a group would read more elements in tiles than this, and one
  /// more for each so many elements of all rows. 0: not measured.
  std::size_t radix_from = 0, radix_elements = 120;
  std::size_t order_group = 256;                        ///< work-items that sort a tile of results
  std::size_t order_tile = 2048;                        ///< results of such a tile
  std::size_t cpu_groups_a_unit = 8;                    ///< so that a late thread leaves little
  std::size_t cpu_elements = std::size_t{1} << 16;      ///< of a stretch, at least
  std::size_t cpu_nth_elements = std::size_t{1} << 14;  ///< of a part of a vector, at least
  /// Of a delegate's span on a CPU: no vectors are made of less than 16 neighbours; the most is not measured.
  std::size_t cpu_least_bits = 4, cpu_most_bits = 10;
};

// nvidia-hopper: 64 of each row of 4096 x 8192 by groups of 128, teams of 2 and 8 delegates a work-item 0.070
// ms; 128, 4 and 4 0.074; 256, 4 and 2 0.076; 128, 8 and 2 0.085; 64, 4 and 8 0.086. 8 of each row of 65536 x
// 512 by 32, 1 and 4 0.071; 32, 2 and 2 0.069; 32, 4 and 1 0.076; 64, 1 and 2 0.152. Of equal elements 0.139.
//
// network_first, network_chosen: H200, us by network and by what was chosen before: 1 of each row of 100000 x
// 16 floats 10 and 78, 8 of 100000 x 64 53 and 152, 8 of 200000 x 128 244 and 191 (row_delegates), 8 of 50000
// x 256 188 and 54; 2 of 50000 x 64 halves 19 and 59, 6 of 30000 x 160 81 and 61; 100 of 10000 x 100 floats
// 17 and 101, doubles 34 and 133.
//
// counted_k: H200, us by registers and by tile: 100 of each row of 10000 x 100 floats 102 and 69, doubles 134
// and 91, 50 of them 57 and 67; 128 of 5000 x 1000 floats 114 and 67.
//
// radix_elements_of_many: H200, us by delegates and by radix_select: 10000 of 2 * 10^6 157 and 98, 100000 of
// 5 * 10^6 178 and 149, of 20 * 10^6 213 and 310.
//
// radix_from: H200, us by radix_select and by delegates: 1000 of 10^6 floats 60.1 and 80.2, halves 54.2
// and 64.8; 1000 of 4 * 10^6 101.6 and 106.1, of 16 * 10^6 212 and 124; 300 of 10^6 62.0 and 59.3; 300 of
// each row of 8 x 10^6 123 and 69. A group takes 1.23 ns for an element of its tiles (46213 of 300, 63250 of
// 1000 of 10^6, 79625 of 1000 of 16 * 10^6), radix select 47 us and 10.5 ps for each element.
inline constexpr TopKPolicy kTopKPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what = "64 of each row of 4096 x 8192 floats, 8 of 65536 x 512, in ms; by registers",
                  .share = "0.070 and 0.071; 0.154 and 0.128"},
     .of_radix = {.device = "H200",
                  .driver = "580.159",
                  .what = "1000 of 10^6 floats and of 10^6 halves, us; by delegates",
                  .share = "60 and 54; 80 and 65"},
     .network_first = 64,
     .network_chosen = 128,
     .by_row_delegates = true,
     .radix_from = 38000},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .group = 256,
     .kept_bytes = 32,
     .register_items = 8,
     .row_items = 4},
    {.when = {.family = "cpu"},
     .evidence =
         {.device = "EPYC",
          .driver = "PoCL 3.1",
          .what =
              "the median of 2^24 by digits that all threads count, two Zen 5 cores, ms, and by one thread",
          .share = "float 5.7 and 199, double 8.4 and 387, uint8 3.7 and 72"}},
    {.evidence = kFromFacts},
};

inline const TopKPolicy& top_k_policy(const Device& device) { return row_for(kTopKPolicies, device); }

}  // namespace smem::plan
