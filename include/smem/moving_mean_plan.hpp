/// smem: plans for moving means. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A moving mean without its data: all that a plan depends on.
struct MovingMeanProblem {
  Scalar in = Scalar::float32;   ///< type of the input
  Scalar out = Scalar::float32;  ///< type of the means
  std::size_t width = 0;         ///< elements of a row
  std::size_t rows = 1;          ///< of all planes and grids
  std::size_t window = 1;        ///< elements

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "moving_mean"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("in", in), choice("out", out), extent("width", width), extent("rows", rows),
                extent("window", window));
  }
};

/// The plan that moving_mean() would use on `device`. If it is "blocks" or "chunks", a launch before the main
/// one writes the sums of blocks to temporary memory, and each slice of the rows is a round of both launches.
/// Overrides: `variant`; for "tiled", "blocks", "chunks", "one_pass" and "ring" also `work_items`. \throws
/// Error when the problem or the device does not allow it, the variant is unknown or cannot run this problem
/// on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_moving_mean(const Device& device, const MovingMeanProblem& problem,
                               const PlanOverrides& overrides = {});

/// "naive", "tiled", "blocks", "chunks", "one_pass", "ring" and "cpu".
SMEM_API std::vector<std::string_view> moving_mean_variants();

}  // namespace smem
