/// The numbers of histograms' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of histograms by threads of a CPU.
struct HistogramThreads {
  std::size_t tables = 4;             ///< that a thread counts in, in turns
  std::size_t table_entries = 16384;  ///< larger ones leave the second-level cache: then there is one
  std::size_t piece = 65536;          ///< elements of a part, at least
  std::size_t entry_elements = 4;     ///< of a part, for each entry of its tables, at least
  std::size_t groups_a_unit = 32;     ///< that a launch has at most
  std::size_t finish_results = 256;   ///< of a group that adds up tables
  std::size_t finish_groups_a_unit = 4;
};

struct HistogramPolicy {
  When when;
  Evidence words = kFromFacts;  ///< the variant "local" on elements of 4 bytes
  Evidence bytes = kFromFacts;  ///< "replicated" on elements of one byte
  Evidence many = kFromFacts;   ///< "cached"
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  /// Whether lanes that add 1 to one word add once: then no data makes them wait, and one table does.
  bool merges_additions = false;
  std::size_t pack_bytes = 16;              ///< the widest read of a work-item
  std::size_t pack_bytes_of_channels = 16;  ///< the same where channels are interleaved
  std::size_t unroll = 4;                   ///< packs of a work-item under way
  std::size_t group = 512;                  ///< work-items
  std::size_t group_alone = 1024;           ///< the same where a unit has room for one group only
  std::size_t part_bytes = 32768;           ///< of elements, at least: a tile
  std::size_t entry_elements = 4;           ///< of a part, for each entry that it adds to the result
  std::size_t unit_items = 2048;            ///< work-items that a compute unit holds, about
  std::size_t most_copies = 32;             ///< of a table: as many as local memory has banks
  std::size_t copies_bytes = 65536;         ///< of all copies: several groups share a unit
  std::size_t least_words = 8192;           ///< of a table: few programs serve the smaller ones
  /// Of matrices of so few elements, of which a batch has many: words of a table, the least work-items of a
  /// group, and entries that each may clear and add up.
  std::size_t small_elements = 8192, small_words = 512, least_group = 64, entries_each = 4;
  std::size_t slots = 8192;  ///< at most, of the cache of full bins: 64 KiB with their owners
  std::size_t least_slots = 32;
  std::size_t slot_groups = 3;  ///< that share a unit, each with its cache
  std::size_t most_passes = 4;  ///< a pass reads all; atomics in global memory cost about as much
  HistogramThreads threads;     ///< of CPUs
};

// small_elements: H200, 100000 of 256 floats, 20 bins, us: by groups of 512 with tables of 32 KiB 365, by
// groups of 64 with tables of 2 KiB 96, by copies 639; 4000 of 5000 floats 69, 64 and 113. Of bytes, 20000
// of 1000, 256 bins, by copies 236, by small tables 71; 8000 of 1000 cells of three channels 173 and 99;
// 20000 of 1000 halves, 100 bins, 242 and 104.
//
// slots, on the H200: with a quarter of them, Zipf's distribution over 2^20 bins takes 5.8 ms instead of 2.4
// (uniform data 2.6); with twice as many, equal elements 0.40 instead of 0.28.
//
// intel: its compiler, which runs 32 work-items in the registers of one thread, spills with more under way.
// cpu: more packs do not help, and its compiler takes seconds over them.
inline constexpr HistogramPolicy kHistogramPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .words = {.device = "H200",
               .driver = "580.159",
               .what = "2^28 floats, 256 bins, any spread",
               .share = "local 0.255 ms, replicated 0.277 ms, CUB 0.254 to 0.281 ms"},
     .bytes = {.device = "H200",
               .driver = "580.159",
               .what = "2^28 bytes, 256 bins, any spread",
               .share = "replicated 0.077 ms, local 0.073 to 0.125 ms, CUB 0.128 ms"},
     .many = {.device = "H200",
              .driver = "580.159",
              .what = "2^28 floats, 2^20 bins",
              .share = "uniform 2.64 ms, Zipf 2.37 ms, all equal 0.28 ms"},
     .merges_additions = true},
    {.when = {.family = "nvidia"},
     .words = {.what = "no measurement: a Hopper's variants and sizes"},
     .bytes = {.what = "no measurement: a Hopper's variants and sizes"},
     .many = {.what = "no measurement: a Hopper's sizes"},
     .merges_additions = true},
    {.when = {.family = "intel"},
     .words = kFromRegisters,
     .bytes = kFromRegisters,
     .many = kFromRegisters,
     .pack_bytes = 8,
     .pack_bytes_of_channels = 4,
     .unroll = 1},
    {.when = {.family = "cpu"},
     .words = {.what = "no measurement: tables that a core's cache holds"},
     .bytes = {.what = "no measurement: tables that a core's cache holds"},
     .many = {.what = "no measurement: tables that a core's cache holds"},
     .unroll = 2},
    {},
};

inline const HistogramPolicy& histogram_policy(const Device& device) {
  return row_for(kHistogramPolicies, device);
}

/// Of weighted histograms.
struct WeightedPolicy {
  When when;
  Evidence local = kFromFacts;  ///< the variant "local"
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  std::size_t group = 256;       ///< work-items
  std::size_t side_group = 256;  ///< of the launches before and after
  std::size_t groups_a_unit = 8;
  std::size_t threads_a_unit = 4;    ///< parts of CPUs
  std::size_t part_elements = 4096;  ///< of a part, at least
  std::size_t entry_elements = 4;    ///< of a part, for each entry of its table, at least
  std::size_t least_entries = 256;   ///< of a table: few programs serve the smaller ones
  std::size_t scale_elements = 16;   ///< of a work-item that finds the greatest exponent
};

inline constexpr WeightedPolicy kWeightedPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .local = {.device = "H200",
               .driver = "580.159",
               .what = "2^27 floats, 256 bins",
               .share = "1.10 ms in groups of 512, 1.31 ms in groups of 256, 1.32 ms in groups of 128"},
     .group = 512},
    {.when = {.family = "nvidia"}, .local = {.what = "no measurement: a Hopper's sizes"}, .group = 512},
    {.when = {.family = "cpu"},
     .others = {.device = "EPYC",
                .driver = "PoCL 3.1",
                .what = "2^24 floats, 256 bins, on two Zen 5 cores, ms",
                .share = "weights float 8.9, double 11, int32 5.8"}},
    {},
};

inline const WeightedPolicy& weighted_policy(const Device& device) {
  return row_for(kWeightedPolicies, device);
}

}  // namespace smem::plan
