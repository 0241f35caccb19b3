/// smem: plans for pooling. Includes no OpenCL header.
#pragma once

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

/// Windows of a pooling, in cells.
struct Pooling {
  std::size_t width = 2;          ///< along a row
  std::size_t height = 2;         ///< rows
  std::size_t stride_across = 2;  ///< from a window to the next in its row, at least 1
  std::size_t stride_down = 2;    ///< from a row of windows to the next, at least 1
  // Cells beyond the edges that windows may have: fewer than a window has.
  std::size_t pad_left = 0;    ///< before a row
  std::size_t pad_right = 0;   ///< after a row
  std::size_t pad_top = 0;     ///< before the first row
  std::size_t pad_bottom = 0;  ///< after the last row

  /// Windows of size x size, `stride` apart (0: side by side), with the same padding on all sides.
  static Pooling square(std::size_t size, std::size_t stride = 0, std::size_t padding = 0) {
    const std::size_t apart = stride == 0 ? size : stride;
    return {size, size, apart, apart, padding, padding, padding, padding};
  }
  /// Windows in a row of `extent` cells: floor((extent + padding - window) / stride) + 1.
  std::size_t across(std::size_t extent) const {
    return count(extent, pad_left, pad_right, width, stride_across);
  }
  /// Windows in a column of `extent` cells.
  std::size_t down(std::size_t extent) const {
    return count(extent, pad_top, pad_bottom, height, stride_down);
  }

  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return std::tuple(choice("window_width", width), choice("window_height", height),
                      choice("stride_across", stride_across), choice("stride_down", stride_down),
                      choice("pad_left", pad_left), choice("pad_right", pad_right),
                      choice("pad_top", pad_top), choice("pad_bottom", pad_bottom));
  }

 private:
  static std::size_t count(std::size_t extent, std::size_t before, std::size_t after, std::size_t window,
                           std::size_t stride) {
    const std::size_t padded = detail::size_sum(extent, detail::size_sum(before, after));
    return stride == 0 || window == 0 || padded < window ? 0 : (padded - window) / stride + 1;
  }
};

/// What is made of a window.
enum class PoolOp { max, average };

/// A pooling without its data: all that a plan depends on.
struct PoolProblem {
  PoolOp op = PoolOp::max;       ///< what is made of a window
  Scalar in = Scalar::float32;   ///< type of the input
  Scalar out = Scalar::float32;  ///< type of the results
  std::size_t width = 0;         ///< cells of a row of the input
  std::size_t height = 0;        ///< rows of the input
  std::size_t planes = 1;        ///< of all grids
  std::size_t channels = 1;      ///< interleaved in each cell
  Pooling windows;               ///< their sizes, strides and paddings
  bool indices = false;          ///< the places of the greatest are written too
  bool count_padding = false;    ///< means count what lies in the padding
  /// The largest power of two, at most 64, that divides the byte address of each row.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;  ///< the same of the results

  /// The operation, as `smem tune` calls it.
  std::string_view name() const { return "pool"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return std::tuple(choice("op", op), choice("in", in), choice("out", out), extent("width", width),
                      extent("height", height), extent("planes", planes), choice("channels", channels),
                      choice("windows", windows), choice("indices", indices),
                      ignored("count_padding", count_padding), aligned("in_alignment", in_alignment),
                      aligned("out_alignment", out_alignment));
  }
};

/// A pooling of whole planes without its data: all that a plan depends on.
struct GlobalPoolProblem {
  PoolOp op = PoolOp::max;       ///< what is made of a plane
  Scalar in = Scalar::float32;   ///< type of the input
  Scalar out = Scalar::float32;  ///< type of the results
  std::size_t width = 0;         ///< cells of a row of the input
  std::size_t height = 0;        ///< rows of the input
  std::size_t planes = 1;        ///< of all grids
  std::size_t channels = 1;      ///< interleaved in each cell
  bool packed = true;            ///< a row of the input begins where the one before it ends

  /// The operation, as `smem tune` calls it.
  std::string_view name() const { return "global_pool"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return std::tuple(choice("op", op), choice("in", in), choice("out", out), extent("width", width),
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

/// The plan that global_max_pool() or global_avg_pool() would use on `device`. Where planes are cut into
/// parts, a launch after the main one joins them. Overrides: `variant`, which is "parts", and `work_items`.
/// \throws Error as plan_pool().
SMEM_API Plan plan_global_pool(const Device& device, const GlobalPoolProblem& problem,
                               const PlanOverrides& overrides = {});

}  // namespace smem
