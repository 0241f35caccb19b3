/// The numbers of selections' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// Of selections by threads of a CPU.
struct SelectThreads {
  std::size_t piece_bytes = 128 * 1024;  ///< half of a small second-level cache
  std::size_t whole_pieces = 2;          ///< vectors of so many are not cut
  std::size_t pieces_a_unit = 16;        ///< so that a late thread leaves little
  std::size_t multiple = 64;             ///< elements that divide a piece of two launches
  std::size_t groups_a_unit = 32;        ///< that a launch has at most
};

struct SelectPolicy {
  When when;
  Evidence copies = kFromFacts;  ///< copies of selected elements
  Evidence partitions = kFromFacts;
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};  ///< all else
  std::size_t group = 256;        ///< work-items of copy_if and unique
  std::size_t short_group = 256;  ///< the same of at most so many elements:
  std::size_t short_vector = std::size_t{1} << 23;
  std::size_t group_of_flagged = 256;  ///< of copy_flagged, where local memory has flagged_local_bytes
  std::size_t group_of_partitions = 256;
  std::size_t group_of_runs = 256;  ///< of run_length_encode
  // The same where elements stay in local memory, and the registers of each; 0: they never do. Of 8 bytes:
  std::size_t group_of_kept = 0, kept_registers = 0;
  std::size_t group_of_kept_wide = 0, kept_wide_registers = 0;
  std::size_t group_of_packed = 256;  ///< of bytes that are kept four to a word
  std::size_t flagged_local_bytes = 0;
  std::size_t item_bytes = 64;        ///< elements of a work-item
  std::size_t large_item_bytes = 64;  ///< the same where local memory has large_local_bytes
  std::size_t large_run_bytes = 64;   ///< the same of run_length_encode of at most 4 bytes, with places
  std::size_t large_local_bytes = 0;
  std::size_t most_items = 32;          ///< bits of a word
  std::size_t most_single_items = 32;   ///< of warps that read elements one by one
  std::size_t packed_items = 64;        ///< bytes of a work-item that are kept four to a word
  std::size_t count_bytes = 64;         ///< elements of a work-item that only counts
  std::size_t group_of_total = 256;     ///< of the launch that counts all that is selected
  std::size_t total_groups_a_unit = 6;  ///< of that launch: they run at the same time
  std::size_t pack_bytes = 16;          ///< the widest read of a work-item
  /// Elements of a partition in order from which tiles look back, after a launch that counts all. Never: of
  /// 2^28 floats on an H100 it takes 1.149 ms, count_then_place 1.160.
  std::size_t look_back_partitions = ~std::size_t{0};
  std::size_t groups_a_unit = 8;   ///< that are wanted of two launches
  std::size_t tiles_of_parts = 2;  ///< of a part, at least
  std::size_t most_parts = 2048;   ///< all of which every part after them reads
  SelectThreads threads;           ///< of CPUs
};

// nvidia: larger tiles make the chain from tile to tile shorter; multiprocessors hold 2048 work-items. On the
// H200, 2^28 floats, ms: copy_if 512 0.469, 256 0.478, 1024 0.488; copy_flagged 1024 0.534, 256 0.564, 512
// 0.663; partition, which has no chain, 64 0.991, 512 1.083, before it read the next tile while it wrote;
// since then of 2^27 floats 64 0.424, 128 0.426; look_back, which counts first, 0.428. copy_if of 2^28 bytes,
// before they were compacted first, 256 0.162, 512 0.179, 128 0.181. A tile
// is in local memory as well, of which older multiprocessors have 64 KiB for two groups, newer ones 227 KiB.
// partition_reversed of 2^27 floats: 256 0.304, 512 0.309; of halves 256 0.217, 512 0.212. Tiles that others
// prefetch to the second-level cache as they begin: 0.405.
// Elements that are read one by one take more registers: 32 of them would spill.
//
// large_run_bytes: H100, run_length_encode of 2^28 floats in runs of 20, ms: 32 elements a work-item 0.584
// (16: 0.666, CUB 0.753); by groups of 128 0.625, of 512 0.559, for which ptxas spills. Of 8 bytes it spills
// more than 8 elements. 32 elements of 4 bytes with their places take 256 bytes: stored together they take
// 0.120 ms of 2^26 floats on an H200, 0.59 of copy, and apart 0.278 ms of 2^27, 0.50 of copy. More groups at
// once do not help: of 2^28 floats, 5 % selected, 0.442; with half of a tile's records in local memory, so
// that four groups of 64 registers run and not three, 0.432, but 0.61 instead of 0.51 of 2^27 that are all
// selected, half of which are read again; of 56 and 48 registers, five groups, 0.51 and 0.69; compacted
// before the look-back 0.459.
//
// kept: an H200, ms, tiles that stay in local memory (512 work-items of 40 registers) and those in registers,
// in one run. 2^28 floats, 5 % selected, 0.388 and 0.434 (groups of 256 0.404, of at most 48 registers
// 0.429); 2^27: 1 % 0.186 and 0.216, 25 % 0.311 and 0.280, 50 % 0.382 and 0.353, all 0.526 and 0.509. 2^27
// bytes 0.123 and 0.202, halves 0.137 and 0.250, of 50 % 0.343 and 0.407, int64 0.405 and 0.531. Of 1 million
// floats 6.5 and 6.2 us, 8 million 23.0 and 23.6, 34 million 67 and 71: so of more than short_vector.
//
// A partition in order reads all twice and writes once: 0.67 of copy at most. It has 0.61.
//
// short_vector: H100, copy_if of 1 million floats: groups of 512 18.6 us, 256 17.1, 128 16.5, 64 15.3; of 5
// million 20.3, 19.2, 19.8.
//
// intel: its compiler runs 32 work-items in the registers of one thread. cpu: compilers make loops of
// work-items, and long code of many registers.
inline constexpr SelectPolicy kNvidiaSelect{
    .when = {.family = "nvidia"},
    .copies = {.what = "no measurement: a Hopper's sizes, of tiles that local memory has room for"},
    .partitions = {.what = "no measurement: a Hopper's sizes"},
    .group = 512,
    .group_of_flagged = 1024,
    .group_of_partitions = 64,
    .group_of_kept = 512,
    .kept_registers = 40,
    .group_of_kept_wide = 256,
    .kept_wide_registers = 48,
    .flagged_local_bytes = 160 * 1024,
    .large_item_bytes = 128,
    .large_run_bytes = 256,
    .large_local_bytes = 96 * 1024,
    .most_single_items = 16};

/// A row's numbers for the family on which they were measured.
constexpr SelectPolicy measured_on(std::string_view family, SelectPolicy row, Evidence copies,
                                   Evidence partitions, Evidence others) {
  row.when.family = family;
  row.copies = copies;
  row.partitions = partitions;
  row.others = others;
  return row;
}

inline constexpr SelectPolicy kSelectPolicies[] = {
    measured_on("nvidia-hopper", kNvidiaSelect,
                {.device = "H200",
                 .driver = "580.159",
                 .what = "copy_if, half of 2^28 floats",
                 .share = "look_back 0.465 ms, count_then_place 0.708 ms, CUB 0.602 ms"},
                {.device = "H200",
                 .driver = "580.159",
                 .what = "partition of 2^28 floats",
                 .share = "0.83 ms in groups of 64"},
                {.device = "H200",
                 .driver = "580",
                 .what = "partition_reversed of 2^27 floats; copy_if, half of 2^28 bytes",
                 .share = "0.308 ms, appended by branches 0.342 ms; 0.154 ms, packed by atomics 0.205 ms"}),
    kNvidiaSelect,
    {.when = {.family = "intel"},
     .copies = kFromRegisters,
     .partitions = kFromRegisters,
     .item_bytes = 32,
     .large_item_bytes = 32,
     .large_run_bytes = 32},
    {.when = {.family = "cpu"},
     .copies = {.what = "no measurement: pieces that a core's cache holds"},
     .partitions = {.what = "no measurement: pieces that a core's cache holds"},
     .item_bytes = 16,
     .large_item_bytes = 16,
     .large_run_bytes = 16},
    {},
};

inline const SelectPolicy& select_policy(const Device& device) { return row_for(kSelectPolicies, device); }

}  // namespace smem::plan
