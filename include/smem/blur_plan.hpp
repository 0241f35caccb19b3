/// smem: plans for box blurs and for small windows. Includes no OpenCL header.
#pragma once

#include <smem/boundary.hpp>
#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/separable_plan.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// How far a box reaches to each side of its middle, in cells. A single number sets both.
struct BoxRadius {
  std::size_t across = 0;  ///< along rows
  std::size_t down = 0;    ///< along columns
  /// Of a square.
  BoxRadius(std::size_t both) : across(both), down(both) {}  // NOLINT: meant to convert
  /// Of any box.
  BoxRadius(std::size_t along_rows, std::size_t along_columns) : across(along_rows), down(along_columns) {}
};

/// The largest radius of a box whose area fits 32 bits.
inline constexpr std::size_t kMaxBoxRadius = 32767;

/// A box blur without its data: all that a plan depends on. Windows, origins and weights follow from the
/// radius; there is no unsharp mask.
struct BoxProblem {
  SeparableProblem grids;  ///< with 2 * radius + 1 taps
  /// Of a radius.
  SMEM_API static BoxProblem of(SeparableProblem grids, BoxRadius radius);

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "box_blur"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const { return smem::fields::list(smem::fields::choice("grids", grids)); }
};

/// The plan that box_blur() would use on `device`: for small boxes that of separable() with equal weights,
/// which is the variant "separable". "two_pass" slides along rows first, into temporary memory. Overrides:
/// `variant`, and `work_items` for "march", "shuffle" and "units", for which `tile_rows` and `tile_cols` are
/// those of plan_separable(). \throws Error as plan_separable().
SMEM_API Plan plan_box(const Device& device, const BoxProblem& problem, const PlanOverrides& overrides = {});
/// The names of all variants.
SMEM_API std::vector<std::string_view> box_variants();

/// What is computed from a small square window.
enum class WindowOp {
  median,   ///< the middle one of the window's elements
  gradient  ///< the magnitude of the gradient, by Sobel's weights
};

/// A small window without its data: all that a plan depends on.
struct WindowProblem {
  SeparableProblem grids;          ///< with taps in both directions as the window: 3 or 5
  WindowOp op = WindowOp::median;  ///< what is made of a window

  /// The operation's name in `smem tune`.
  std::string_view name() const { return op == WindowOp::median ? "median_blur" : "sobel"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("grids", grids), choice("op", op));
  }
};

/// The plan that median_blur() or sobel() would use on `device`. Overrides: `variant`; for "tiles" also
/// `tile_cols` (4 or 8 results of a row of a work-item) and `work_items`, a power of two. \throws Error as
/// plan_separable().
SMEM_API Plan plan_window(const Device& device, const WindowProblem& problem,
                          const PlanOverrides& overrides = {});
/// "registers"; for medians of 5 x 5 "columns" and "tiles"; and "cpu".
SMEM_API std::vector<std::string_view> window_variants();

}  // namespace smem
