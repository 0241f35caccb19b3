/// smem: plans for pooling. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/window.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// The windows of a pooling.
struct Pooling {
  Window2d window = {2, 2};  ///< cells
  Stride stride = {2, 2};    ///< from one window to the next, at least 1
  Padding padding = {};      ///< cells beyond the edges that windows may have: fewer than a window has
  bool count_padding =
      true;  ///< means are of whole windows, in which padding is 0; else of the cells inside the grid

  /// Windows of size x size, `stride` apart (0: side by side), with the same padding on all sides.
  static Pooling square(std::size_t size, std::size_t stride = 0, std::size_t padding = 0) {
    const std::size_t apart = stride == 0 ? size : stride;
    return {{size, size}, {apart, apart}, {padding, padding, padding, padding}};
  }
  /// Windows in a row of `width` cells.
  std::size_t across(std::size_t width) const {
    return convolved_size(width, window.width, stride.x, 1, padding.left, padding.right);
  }
  /// Windows in a column of `height` cells.
  std::size_t down(std::size_t height) const {
    return convolved_size(height, window.height, stride.y, 1, padding.top, padding.bottom);
  }

  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("window", window), choice("stride", stride), choice("padding", padding),
                ignored("count_padding", count_padding));
  }
};

/// What is computed from a window.
enum class PoolOp { max, average };

/// A pooling without its data: all that a plan depends on.
struct PoolProblem {
  PoolOp op = PoolOp::max;       ///< what is computed from a window
  Scalar in = Scalar::float32;   ///< type of the input
  Scalar out = Scalar::float32;  ///< type of the results
  std::size_t width = 0;         ///< cells of a row of the input
  std::size_t height = 0;        ///< rows of the input
  std::size_t planes = 1;        ///< of all grids
  std::size_t channels = 1;      ///< interleaved in each cell
  Pooling pooling;               ///< its windows
  bool indices = false;          ///< the indices of the maxima are written too
  /// The largest power of two, at most 64, that divides the byte address of each row.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;  ///< the same of the results

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "pool"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), extent("width", width),
                extent("height", height), extent("planes", planes), choice("channels", channels),
                choice("pooling", pooling), choice("indices", indices), aligned("in_alignment", in_alignment),
                aligned("out_alignment", out_alignment));
  }
};

/// A pooling of whole planes without its data: all that a plan depends on.
struct GlobalPoolProblem {
  PoolOp op = PoolOp::max;       ///< what is computed from a plane
  Scalar in = Scalar::float32;   ///< type of the input
  Scalar out = Scalar::float32;  ///< type of the results
  std::size_t width = 0;         ///< cells of a row of the input
  std::size_t height = 0;        ///< rows of the input
  std::size_t planes = 1;        ///< of all grids
  std::size_t channels = 1;      ///< interleaved in each cell
  bool packed = true;            ///< a row of the input begins where the one before it ends

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "global_pool"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), extent("width", width),
                extent("height", height), extent("planes", planes), choice("channels", channels),
                ignored("packed", packed));
  }
};

/// The plan that max_pool2d() or avg_pool2d() would use on `device`. Overrides: `variant`, and
/// `work_items`, a power of two, for all variants but "cpu". \throws Error when the problem or the device
/// does not allow it, the variant is unknown or cannot run this problem on this device, the grid has too few
/// results for the work-items, or another field was fixed; it names the field.
SMEM_API Plan plan_pool(const Device& device, const PoolProblem& problem,
                        const PlanOverrides& overrides = {});

/// "windows", "vector" and "cpu".
SMEM_API std::vector<std::string_view> pool_variants();

/// The plan that global_max_pool() or global_avg_pool() would use on `device`. If planes are divided into
/// parts, a launch after the main one combines their results. Overrides: `variant`, which is "parts", and
/// `work_items`. \throws Error as plan_pool().
SMEM_API Plan plan_global_pool(const Device& device, const GlobalPoolProblem& problem,
                               const PlanOverrides& overrides = {});

}  // namespace smem
