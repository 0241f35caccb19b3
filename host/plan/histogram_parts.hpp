/// How a histogram is shared out, whatever the size of a work-group.
#pragma once

#include <smem/histogram_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

struct HistogramParts {
  std::size_t parts = 1;          ///< of each matrix
  std::size_t tables = 0;         ///< of each part, in temporary memory; 0: there are none
  std::size_t scratch_bytes = 0;  ///< for the tables
};

/// \throws Error naming the argument unless the device can compute it.
void check_histogram(const Device& device, const HistogramProblem& problem);

HistogramParts histogram_parts(const Device& device, const HistogramProblem& problem,
                               std::string_view variant);

/// Tells kernels how the bin of an element is found (cl/histogram/bin.clh).
void define_bins(Plan& plan, const HistogramProblem& problem);

/// 	hrows Error naming the argument of `operation`, unless the device can compute with the elements and
/// there are neither too few nor too many bins and channels.
void check_bins(const char* operation, const Device& device, const HistogramProblem& problem);

/// How a weighted histogram is shared out.
struct WeightedParts {
  std::size_t parts = 1;          ///< of each matrix
  std::size_t tables = 1;         ///< of sums, for each matrix
  std::size_t marks_at = 16;      ///< bytes from the scratch's begin, where the greatest exponent is
  std::size_t sums_at = 0;        ///< bytes from the scratch's begin
  std::size_t scratch_bytes = 0;  ///< all zero before the launches
};

/// \throws Error naming the argument unless the device can compute it.
void check_weighted(const Device& device, const WeightedHistogramProblem& problem);

WeightedParts weighted_parts(const Device& device, const WeightedHistogramProblem& problem,
                             std::string_view variant);

}  // namespace smem::plan
