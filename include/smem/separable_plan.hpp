/// smem: plans for separable filters. Includes no OpenCL header.
#pragma once

#include <smem/boundary.hpp>
#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A separable filter without its data: all that a plan depends on. The weights are data.
struct SeparableProblem {
  Scalar in = Scalar::float32;         ///< type of the input
  Scalar out = Scalar::float32;        ///< type of the results
  Boundary boundary = Boundary::zero;  ///< beyond the edges
  std::size_t width = 0;               ///< cells of a row
  std::size_t height = 1;              ///< rows
  std::size_t planes = 1;              ///< of all grids
  std::size_t channels = 1;            ///< interleaved in each cell
  std::size_t row_taps = 1;            ///< weights along a row
  std::size_t column_taps = 1;         ///< weights along a column
  /// The index of the weight for the element itself, along a row; an index beyond the weights: the middle
  /// one.
  std::size_t row_origin = static_cast<std::size_t>(-1);
  bool unsharp = false;  ///< the results are those of an unsharp mask
  bool half_up = false;  ///< integers: half-way cases are rounded up, not to even
  /// All weights are whole 256ths of 0 to 255, which add up to 1 along rows and along columns; the value
  /// beyond the edges is a number of uint8.
  bool fixed_point = false;
  bool mean = false;  ///< of integers: all weights are 1, and the results are exact means of the window
  /// The largest power of two, at most 64, that divides the byte address of each row.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;  ///< the same of the results

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "separable"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("in", in), choice("out", out), choice("boundary", boundary), extent("width", width),
                extent("height", height), extent("planes", planes), choice("channels", channels),
                extent("row_taps", row_taps), extent("column_taps", column_taps),
                ignored("row_origin", row_origin), choice("unsharp", unsharp), ignored("half_up", half_up),
                choice("fixed_point", fixed_point), ignored("mean", mean),
                aligned("in_alignment", in_alignment), aligned("out_alignment", out_alignment));
  }
  /// Elements of a row.
  std::size_t row_elements() const { return detail::size_product(width, channels); }
  /// Elements of all grids.
  std::size_t elements() const { return detail::size_product(row_elements(), height, planes); }
  /// The weight along a row that belongs to the element itself.
  std::size_t origin() const { return row_origin < row_taps ? row_origin : row_taps / 2; }
  std::size_t halo() const {
    return (row_taps - 1) * channels;
  }  ///< how many more elements than results a row needs
};

/// The plan that separable() would use on `device`. "two_pass" sums along rows first, into temporary memory.
/// Overrides: `variant`; `work_items`, a power of two, for "tiled", "march", "packed" and "units"; for
/// "packed" `tile_rows`, the rows of a step, and `tile_cols`, the columns of a work-item; for "units"
/// `tile_rows`, the rows of a band, and `tile_cols`, the columns of a warp. \throws Error when the problem or
/// the device does not allow it, the variant is unknown or cannot run this problem on this device, or another
/// field was fixed; it names the field.
SMEM_API Plan plan_separable(const Device& device, const SeparableProblem& problem,
                             const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> separable_variants();

}  // namespace smem
