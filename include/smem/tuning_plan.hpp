/// smem: what was found by tuning, as values: classes of problems, and what is best for them on one device.
/// Includes no OpenCL header.
#pragma once

#include <smem/blur_plan.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/export.hpp>
#include <smem/flip_plan.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/heat_plan.hpp>
#include <smem/histogram_plan.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/plan.hpp>
#include <smem/pool_plan.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/scan_plan.hpp>
#include <smem/select_plan.hpp>
#include <smem/separable_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/transpose_plan.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smem {

/// A size of a problem.
struct TuningExtent {
  std::string name;       ///< "rows"
  std::size_t value = 0;  ///< of the problem that was measured
  friend bool operator==(const TuningExtent&, const TuningExtent&) = default;
};

/// Problems that one choice serves: those of one operation and kind whose sizes are within a factor of two.
struct TuningClass {
  std::string operation;                   ///< "transpose"; empty: such problems are not tuned
  std::string kind;                        ///< what must be equal: types, shapes, whether rows are aligned
  std::vector<TuningExtent> extents;       ///< what may differ by a factor of two
  SMEM_API std::string to_string() const;  ///< "transpose: 4 B, aligned, rows 4096, cols 4096, batch 1"
  friend bool operator==(const TuningClass&, const TuningClass&) = default;
};

/// How far two classes are apart: the sum of the absolute binary logarithms of the ratios of their sizes.
/// Negative when a choice for one says nothing of the other: they differ in operation or kind, or in a size
/// by more than a factor of two.
SMEM_API double distance(const TuningClass& a, const TuningClass& b);

/// A choice that was faster than the shipped plan.
struct TuningEntry {
  TuningClass problems;                   ///< that it is for
  PlanOverrides overrides;                ///< what is fixed for them
  double gain = 0;                        ///< the shipped plan's time over its own, measured in turns
  double seconds = 0;                     ///< of a call
  std::string shipped;                    ///< the variant that the shipped plan has
  std::string date;                       ///< of the measurement: "2026-11-22"
  SMEM_API std::string evidence() const;  ///< "tuned on this device: 1.12 times the shipped plan (...), ..."
  friend bool operator==(const TuningEntry&, const TuningEntry&) = default;
};

/// The class of a transpose.
SMEM_API TuningClass tuning_class(const TransposeProblem& problem);
/// The class of a flip.
SMEM_API TuningClass tuning_class(const FlipProblem& problem);
/// The class of a reduction. Those with an expression of the caller's own are not tuned.
SMEM_API TuningClass tuning_class(const ReduceProblem& problem);
/// The class of a scan. Those with an expression of the caller's own are not tuned.
SMEM_API TuningClass tuning_class(const ScanProblem& problem);
/// The class of a histogram.
SMEM_API TuningClass tuning_class(const HistogramProblem& problem);
/// The class of a weighted histogram.
SMEM_API TuningClass tuning_class(const WeightedHistogramProblem& problem);
/// The class of a selection, whatever its predicate: that costs little beside the elements' way.
SMEM_API TuningClass tuning_class(const SelectProblem& problem);
/// The class of a matrix product. Those with an expression of the caller's own are not tuned.
SMEM_API TuningClass tuning_class(const GemmProblem& problem);
/// The class of a stencil or a convolution. Those with an expression of the caller's own are not tuned.
SMEM_API TuningClass tuning_class(const StencilProblem& problem);
/// The class of a separable filter.
SMEM_API TuningClass tuning_class(const SeparableProblem& problem);
/// The class of a box blur.
SMEM_API TuningClass tuning_class(const BoxProblem& problem);
/// The class of a median or the magnitude of a gradient.
SMEM_API TuningClass tuning_class(const WindowProblem& problem);
/// The class of a pooling by windows.
SMEM_API TuningClass tuning_class(const PoolProblem& problem);
/// The class of a pooling of whole planes.
SMEM_API TuningClass tuning_class(const GlobalPoolProblem& problem);
/// The class of a convolution of many channels, with any bias and activation.
SMEM_API TuningClass tuning_class(const Conv2dProblem& problem);
/// The class of a moving mean.
SMEM_API TuningClass tuning_class(const MovingMeanProblem& problem);
/// The class of heat diffusion. Calls in place are not tuned.
SMEM_API TuningClass tuning_class(const HeatProblem& problem);

}  // namespace smem
