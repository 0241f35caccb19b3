/// What plans of separable filters, box blurs and small windows share with the calls that launch them.
#pragma once

#include "plan/variants.hpp"

#include <smem/blur_plan.hpp>
#include <smem/separable_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Numbers that a kernel is given by value: the least that OpenCL allows for all arguments is 1024 bytes.
inline constexpr std::size_t kFewWeightsBytes = 384;

/// Where the bytes of a window along a row lie in the words that "packed" reads.
struct PackedWindow {
  std::size_t left = 0;   ///< words before that of the result
  std::size_t shift = 0;  ///< bytes from the first of them to the window of a word's first result
  std::size_t words = 0;  ///< that the windows of a word's results cover
};
PackedWindow packed_window(std::size_t taps, std::size_t origin, std::size_t channels);

/// \throws Error naming the argument of `operation` unless it can filter such grids on the device.
void check_grids(const char* operation, const Device& device, const SeparableProblem& grids);
/// The plan of a filter whose window reaches so many cells from its result, with the defines of all kernels
/// of filters.
Plan filter_plan(const char* operation, std::string_view variant, const char* file, const char* entry,
                 const SeparableProblem& grids, std::size_t across, std::size_t down);

inline constexpr const char* kSeparableName = "separable";
/// Weights of a row or a column: of two times as many doubles, the constant memory of every device has room.
inline constexpr std::size_t kMostWeights = 4000;
/// The same of a separable filter, in the name of `operation`.
Plan separable_plan(const char* operation, const SeparableProblem& problem, std::string_view variant,
                    const char* file, const char* entry);

/// How groups that go down bands of rows share a grid.
struct Bands {
  std::size_t strips = 1;       ///< groups side by side, of all planes
  std::size_t resident = 1;     ///< groups that run at once
  std::size_t step = 1;         ///< rows of which a band has a multiple
  std::size_t least_band = 32;  ///< rows
  std::size_t most_rounds = 8;  ///< of resident groups
};
/// Rows of a band: those with which all groups are done first. A round of the groups that are resident takes
/// as long as a band has rows, with the `again` that its neighbours read too.
std::size_t best_band(std::size_t height, std::size_t again, const Bands& bands);

/// The kernel of separable()'s matrix units, whose weights are elements: it takes no few_weights.
inline constexpr const char* kUnitsFile = "separable/units.cl";

/// The plans in two passes, and by matrix units.
Attempt separable_passes(const Device& device, const SeparableProblem& problem);
Attempt separable_units(const Device& device, const SeparableProblem& problem, const PlanOverrides& fixed);

/// \throws Error naming the argument unless the device can compute it.
void check_separable(const char* operation, const Device& device, const SeparableProblem& problem);
void check_box(const Device& device, const BoxProblem& problem);
void check_window(const Device& device, const WindowProblem& problem);

/// What separable() is asked for by the variant of that name. With `mean` its weights are 1, else those of
/// the columns are the inverse of the area.
SeparableProblem box_as_separable(SeparableProblem grids);
/// What was measured of one of separable()'s kernels.
const Evidence& separable_evidence(const Device& device, const Launch& launch);

}  // namespace smem::plan
