/// What histograms and weighted histograms share: checks, and how kernels find bins.
#pragma once

#include <smem/histogram_plan.hpp>

namespace smem::plan {

inline constexpr const char* kWeightedHistogramName = "histogram_weighted";

/// \throws Error naming the argument unless the device can compute it.
void check_histogram(const Device& device, const HistogramProblem& problem);

/// \throws Error naming the argument unless the device can compute it.
void check_weighted(const Device& device, const WeightedHistogramProblem& problem);

/// \throws Error naming the argument of `operation`, unless the device can compute with the elements and
/// there are neither too few nor too many bins and channels.
void check_bins(const char* operation, const Device& device, const HistogramProblem& problem);

/// Tells kernels how the bin of an element is found (cl/histogram/bin.clh).
void define_bins(Launch& launch, const HistogramProblem& problem);

}  // namespace smem::plan
