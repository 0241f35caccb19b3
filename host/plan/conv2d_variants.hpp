/// The variants of convolutions of many channels, for the file that chooses among them.
#pragma once

#include "plan/variants.hpp"

#include <smem/conv2d_plan.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace smem::plan::conv2d {

/// \throws Error naming the argument unless the device can compute it.
void check(const Device& device, const Conv2dProblem& problem);

inline constexpr const char* kOperation = "conv2d";
/// Bits that kernels which gather tiles have for the columns and rows of a window, and what they count in 32
/// bits, less a tile.
inline constexpr std::size_t kMostColumns = 15, kMostRows = 16;
inline constexpr std::size_t kMost32 = (std::size_t{1} << 31) - 1024;

/// The type of sums, which values in local memory have.
inline Scalar sums_of(Scalar type) {
  return type == Scalar::int8 ? Scalar::int32 : type == Scalar::float64 ? type : Scalar::float32;
}

/// With the defines that all kernels have, but the columns of "gemm". `pack`: elements that are read at once.
Plan base_plan(const Conv2dProblem& p, std::string_view variant, const char* file, const char* entry,
               std::size_t pack = 1);
/// Fills in what every variant reads, writes and computes at least.
void predict(const Conv2dProblem& p, Plan& plan);

Attempt plan_variant(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed,
                     std::string_view variant);

/// Whether "cpu" reads rows of the input where they lie: each channel has a filter of its own.
bool is_by_rows(const Device& device, const Conv2dProblem& p);
Attempt by_rows(const Device& device, const Conv2dProblem& p);

/// Whether each channel has a filter of its own; and windows of them in registers, for GPUs.
bool is_depthwise(const Conv2dProblem& p);
Attempt depthwise(const Device& device, const Conv2dProblem& p);
/// The same of rows without gaps, by planes or bands of them in local memory.
inline constexpr std::size_t kPlaneVector = 16;  // bytes
Attempt depthwise_planes(const Device& device, const Conv2dProblem& p);
/// The same of interleaved channels, to interleaved channels. Of `fixed` tile_rows and tile_cols: rows of a
/// strip, and columns of a work-item.
Attempt depthwise_cells(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
/// By asynchronous copies to local memory.
Attempt depthwise_ring(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
/// By whole windows, of fixed `tile_cols` columns in one fixed row; and whether that is faster than both.
Attempt depthwise_windows(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
bool prefers_windows(const Device& device, const Conv2dProblem& p);

/// Work-groups of "direct"; 0: it does not run.
std::size_t direct_groups(const Device& device, const Conv2dProblem& p);

/// A product whose right factor is gathered from the input tile by tile. And nanoseconds of a call by it and
/// by "gemm" with columns, where policies know them (ImplicitTimes).
Attempt implicit(const Device& device, const Conv2dProblem& p);
double time_of_implicit(const Device& device, const Conv2dProblem& p);
double time_of_columns(const Device& device, const Conv2dProblem& p);
bool prefers_columns(const Device& device, const Conv2dProblem& p);

/// Matrix units of NVIDIA, whose left factor is gathered from interleaved channels: of sm_80 and later, and
/// Hopper's own. Why they cannot; whether they are worth it; and whether Hopper's are faster.
Attempt mma(const Device& device, const Conv2dProblem& p);
Attempt wgmma(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
std::string no_mma(const Device& device, const Conv2dProblem& p);
std::string no_wgmma(const Device& device, const Conv2dProblem& p);
bool prefers_mma(const Device& device, const Conv2dProblem& p);
bool prefers_wgmma(const Device& device, const Conv2dProblem& p);
bool prefers_wgmma_halo(const Device& device, const Conv2dProblem& p);

/// Hopper's matrix units, whose windows are read from a halo in local memory. Why they cannot; and the
/// nanoseconds that they take, kNever if they cannot.
Attempt wgmma_halo(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
std::string no_wgmma_halo(const Device& device, const Conv2dProblem& p);
inline constexpr double kNever = std::numeric_limits<double>::infinity();
double time_of_halo(const Device& device, const Conv2dProblem& p);
/// Whether its tiles, of which filters are the rows, are faster than products by "gemm" of few columns.
bool prefers_halo_to_gemm(const Device& device, const Conv2dProblem& p);

/// The same of few channels, of which strips of the input are laid in local memory without copies before.
Attempt wgmma_few(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed);
std::string no_wgmma_few(const Device& device, const Conv2dProblem& p);
double time_of_few(const Device& device, const Conv2dProblem& p);
bool prefers_wgmma_few(const Device& device, const Conv2dProblem& p);

/// The same of AMD and Intel. Why they cannot; and whether they are worth it.
Attempt matrix_units(const Device& device, const Conv2dProblem& p);
std::string no_matrix_units(const Device& device, const Conv2dProblem& p);
bool prefers_matrix_units(const Device& device, const Conv2dProblem& p);

/// Winograd's minimal filtering, in slices of tiles. Which of the two is worth its transforms, empty:
/// neither; and what they cost.
Attempt winograd(const Device& device, const Conv2dProblem& p, std::string_view variant);
std::string_view winograd_choice(const Device& device, const Conv2dProblem& p);
std::string why_not_winograd(const Conv2dProblem& p, std::string_view variant);
bool is_winograd(std::string_view variant);

/// Whether "gemm" has the input as a factor, as it lies: of a window of 1 x 1 without stride and padding, on
/// planes without gaps, or on interleaved channels of which the output has as well.
bool is_straight(const Conv2dProblem& p);
/// Whether the columns of a window are planned as channels of one cell, where matrix units gather windows:
/// interleaved ones that lie side by side along rows, without padding. They have longer runs then, which need
/// no copies for their alignment, and fewer weights; and units have no windows of 16 columns. Not measured
/// yet.
bool joins_columns(const Device& device, const Conv2dProblem& p);
/// The problem of such windows; any other one as it is.
Conv2dProblem with_joined_columns(const Device& device, const Conv2dProblem& p);
inline bool is_planar(const Conv2dProblem& p) {
  return !p.in_interleaved && !p.weights_interleaved && !p.out_interleaved;
}

}  // namespace smem::plan::conv2d
