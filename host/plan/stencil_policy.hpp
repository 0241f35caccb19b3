/// The numbers of stencil plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// Of "planes": what a work-item makes, and its group.
struct StencilColumns {
  std::size_t across;     ///< work-items along x of a group
  std::size_t group;      ///< work-items of a group
  std::size_t rows;       ///< of results in each plane, at most
  std::size_t deep;       ///< planes of results, at most
  std::size_t registers;  ///< of 32 bits that it may fill
};

struct StencilPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t rows;         ///< of results that a work-item of "rows" makes, at most
  std::size_t registers;    ///< of 32 bits that it may fill
  std::size_t rows_across;  ///< work-items along x of its groups
  std::size_t rows_group;   ///< work-items of its groups
  std::size_t tile_group;   ///< work-items of the groups of "tiled" and "march"
  std::size_t byte_steps;   ///< rows of bytes that a work-item of "rows" reads at once
  std::size_t byte_turns;   ///< how often, in a row; 1: once, as many as it needs for `rows`
  std::size_t byte_group;   ///< work-items along x of groups that do so
  StencilColumns columns;   ///< of volumes
  StencilColumns boxes;     ///< of boxes of float in volumes
};

// On the H200, 8192 x 8192, share of copy. Float 5 x 5: 0.88; with 4 rows 0.79, 16 rows 0.73, groups of 256
// 0.86. Four channels of bytes, 3 x 3: 6 rows at a time, 8 times, by groups of 64 x 1 0.814; 32 x 2 0.810,
// 32 x 4 0.802, 16 x 4 0.65; 6 times 0.80, 5 rows 0.78, 8 rows 0.78; 32 bytes a work-item 0.54; the next
// turn's rows read as soon as those of this one are used 0.76; as many groups as fill the device some times
// over, 0.76; sums that end as denormal numbers, whose bits need no conversion, 0.806. Two thirds of the
// multiplications would be 0.87: it is instructions, 13 a result of which 9 multiply, that bound it. 5 x 5:
// once 0.34, in turns 0.29. Float, half and uint16 gain nothing from turns.
//
// rows: 8 rows of results read 10 of the input for a window of 3, whose extra ones the cache has. registers:
// so many leave an NVIDIA multiprocessor 400 work-items, with 16 bytes of each of 10 rows under way: 64 KiB.
// Intel's compiler has 64 for a work-item of pvc, and keeps arrays in memory that take more than about 40.
//
// Groups of 128 x 1 instead of 32 x 4: double 3 x 3 0.985 instead of 0.938, 5 x 5 0.62 instead of 0.645;
// uint16 0.86 instead of 0.83; half 0.957 instead of 0.949; float and bytes of one channel the same. Not
// taken: ptxas spills a double of 3 x 3 then, to let one more group in.
//
// columns: 512^3 float there, rows x planes of results of a work-item. A star of radius 1: 2 x 4 0.95, 1 x 4
// 0.90, 2 x 2 0.87; of radius 2: 2 x 4 0.84, 2 x 2 0.81, 1 x 6 and 2 x 6 0.755, 1 x 4 0.70; a box of 3 x 3 x
// 3: 1 x 6 0.80, 2 x 4 0.75 to 0.80, 1 x 4 0.71, 2 x 2 and 2 x 6 0.67; 3 and 4 rows no more than 2. Groups of
// 256: 0.955, 0.59, 0.585. Of these three, double 2 x 4 0.92, 0.77, 0.63 and 1 x 4 0.85, 0.65, 0.59; half 1 x
// 4 0.89, 0.75, 0.57 and 2 x 4 0.92, 0.65, 0.55; uint16 0.80, 0.52, 0.51; bytes 0.74, 0.50, 0.35. A star of
// radius 4 0.52, through local memory 0.20; a box of radius 2 0.15 and 0.054.
inline constexpr StencilPolicy kStencilPolicies[] = {
    {"nvidia-hopper",
     "H200, 8192 x 8192, of copy: float 3 x 3 0.97, 5 x 5 0.88; half 3 x 3 0.95; uint8 x 4 3 x 3 0.81; "
     "volumes 512^3 float: star 0.95, box 3 x 3 x 3 0.80, star of radius 2 0.84",
     8,
     160,
     32,
     128,
     256,
     6,
     8,
     64,
     {32, 128, 2, 4, 255},
     {32, 128, 1, 6, 255}},
    {"nvidia",
     "no measurement: groups of 256, with which ptxas spills nothing for sm_75",
     8,
     160,
     32,
     256,
     256,
     8,
     1,
     64,
     {32, 128, 1, 4, 160},
     {32, 128, 1, 4, 160}},
    {"amd-cdna",
     "no measurement: sizes by arithmetic",
     8,
     128,
     64,
     256,
     256,
     8,
     1,
     64,
     {64, 256, 1, 4, 128},
     {64, 256, 1, 4, 128}},
    {"amd-rdna",
     "no measurement: sizes by arithmetic",
     8,
     128,
     32,
     128,
     256,
     8,
     1,
     64,
     {32, 128, 1, 4, 128},
     {32, 128, 1, 4, 128}},
    {"intel",
     "no measurement: sizes by arithmetic",
     4,
     40,
     32,
     128,
     256,
     4,
     1,
     64,
     {32, 128, 1, 4, 40},
     {32, 128, 1, 4, 40}},
    {"cpu", "", 4, 256, 16, 64, 64, 4, 1, 64, {16, 64, 1, 4, 256}, {16, 64, 1, 4, 256}},
    // The last one is for every device that smem does not know.
    {"generic",
     "no measurement: sizes that need few registers, shrunk to the device's facts",
     4,
     64,
     32,
     128,
     128,
     4,
     1,
     64,
     {32, 128, 1, 4, 64},
     {32, 128, 1, 4, 64}},
};

inline const StencilPolicy& stencil_policy(const Device& device) {
  for (const StencilPolicy& policy : kStencilPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kStencilPolicies) - 1);
}

}  // namespace smem::plan
