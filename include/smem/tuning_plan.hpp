/// smem: results of tuning, as values: classes of problems, and the best choice for each on one device.
/// Includes no OpenCL header.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string>
#include <string_view>
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
  SMEM_API std::string to_string() const;  ///< "transpose: element_bytes 4, rows 4096, cols 4096, batch 1"
  friend bool operator==(const TuningClass&, const TuningClass&) = default;
};

/// How far two classes are apart: the sum of the absolute binary logarithms of the ratios of their sizes.
/// Negative if a choice for one does not apply to the other: they differ in operation or kind, or in a size
/// by more than a factor of two.
SMEM_API double distance(const TuningClass& a, const TuningClass& b);

/// A choice that was faster than the shipped plan.
struct TuningEntry {
  TuningClass problems;     ///< to which it applies
  PlanOverrides overrides;  ///< the fixed fields
  double gain = 0;          ///< the shipped plan's time over that of the choice, measured in turns
  double seconds = 0;       ///< of a call
  std::string shipped;      ///< the variant of the shipped plan
  std::string date;         ///< of the measurement: "2026-11-22"
  SMEM_API std::string evidence() const;  ///< "tuned on this device: 1.12 times the shipped plan (...), ..."
  friend bool operator==(const TuningEntry&, const TuningEntry&) = default;
};

namespace detail {
SMEM_API TuningClass tuning_class(std::string_view operation, const std::vector<FieldValue>& values);
}

/// The class of a problem, made from its members by their roles (FieldRole).
template <detail::HasFields Problem>
TuningClass tuning_class(const Problem& problem) {
  return detail::tuning_class(problem.name(), values_of(problem));
}

}  // namespace smem
