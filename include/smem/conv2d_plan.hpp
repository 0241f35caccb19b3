/// smem: plans for convolutions of many channels. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/window.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// Winograd's minimal filtering that a caller allows: the largest tiles of results that are computed at once.
enum class Winograd {
  none,  ///< no such tiles: results are plain sums of products
  f2x2,  ///< F(2 x 2, 3 x 3): 4 products for each result, instead of 9
  f4x4   ///< F(4 x 4, 3 x 3) too: 2.25 products for each result
};

/// "none", "2x2" or "4x4".
SMEM_API std::string_view name_of(Winograd winograd);

/// A convolution of many channels without its data: all that a plan depends on.
struct Conv2dProblem {
  Scalar type = Scalar::float32;             ///< of input and weights
  Scalar out = Scalar::float32;              ///< of bias and output
  std::size_t images = 1;                    ///< of the batch: N
  std::size_t in_channels = 1;               ///< of an image, in all groups: C
  std::size_t width = 0;                     ///< cells of a row of the input: W
  std::size_t height = 0;                    ///< rows of the input: H
  std::size_t out_channels = 1;              ///< filters, in all groups: K
  Window2d window = {};                      ///< of a filter: S x R
  std::size_t out_width = 0;                 ///< of the output: Q
  std::size_t out_height = 0;                ///< of the output: P
  Stride stride = {};                        ///< from a window to the next
  Dilation dilation = {};                    ///< from a weight to the next
  Padding padding = {};                      ///< zeros; those on the right and below follow from the output
  std::size_t groups = 1;                    ///< of channels
  bool bias = false;                         ///< a number for each filter is added
  Activation activation = Activation::none;  ///< of the sum with its bias
  Winograd winograd = Winograd::none;        ///< that is allowed
  /// If there are several channels, those of a cell are neighbours ("channels last"); else planes follow each
  /// other.
  bool in_interleaved = false;
  bool weights_interleaved = false;  ///< the same of the filters
  bool out_interleaved = false;      ///< the same of the output
  /// Rows of a plane of the input follow each other without gaps; where it is interleaved, images as well.
  bool in_packed = true;
  bool out_packed = true;  ///< the same of the output
  /// The largest power of two, at most 64, that divides the byte address of each plane, or of each cell if
  /// channels are interleaved.
  std::size_t in_alignment = 64;
  /// The same that divides the byte address of each row of the input, whatever it has: for windows whose
  /// columns are joined (see plan_conv2d()).
  std::size_t row_alignment = 64;
  std::size_t out_alignment = 64;     ///< as in_alignment, of the output
  std::size_t weight_alignment = 64;  ///< that divides the byte address of each filter

  std::size_t taps() const {
    return detail::size_product(window.width, window.height);
  }                                                                    ///< weights of a plane
  std::size_t group_channels() const { return in_channels / groups; }  ///< that a filter sees
  std::size_t group_filters() const { return out_channels / groups; }  ///< filters of a group
  std::size_t depth() const {
    return detail::size_product(group_channels(), taps());
  }  ///< weights of a filter
  std::size_t plane_results() const {
    return detail::size_product(out_width, out_height);
  }  ///< of a plane of the output

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "conv2d"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("type", type), choice("out", out), extent("images", images),
                extent("in_channels", in_channels), extent("width", width), extent("height", height),
                extent("out_channels", out_channels), choice("window", window),
                ignored("out_width", out_width), ignored("out_height", out_height), choice("stride", stride),
                choice("dilation", dilation), ignored("padding", padding), extent("groups", groups),
                ignored("bias", bias), ignored("activation", activation), choice("winograd", winograd),
                choice("in_interleaved", in_interleaved), choice("weights_interleaved", weights_interleaved),
                choice("out_interleaved", out_interleaved), choice("in_packed", in_packed),
                choice("out_packed", out_packed), aligned("in_alignment", in_alignment),
                ignored("row_alignment", row_alignment), aligned("out_alignment", out_alignment),
                aligned("weight_alignment", weight_alignment));
  }
};

/// The plan that conv2d() would use on `device`. If it is "gemm", it has the launches of one slice of the
/// images and one group of channels: they write columns to temporary memory and multiply them. Windows of 1 x
/// 1 without stride and padding, on planes without gaps, need no columns. Each slice is a round. If a variant
/// needs another layout than a grid has, launches before and after it ("pack") copy the grid to and from
/// temporary memory. On matrix units, interleaved windows that lie side by side along rows, without padding,
/// are planned as windows of one column, whose cells have the channels of all. Overrides: `variant`;
/// `tile_rows` and `tile_cols`: for "wgmma" results and filters, for "depthwise" with interleaved channels
/// the rows of a strip and the columns of a work-item. \throws Error when the problem or the device does not
/// allow it, the variant is unknown or cannot run this problem on this device, or another field was fixed; it
/// names the field.
SMEM_API Plan plan_conv2d(const Device& device, const Conv2dProblem& problem,
                          const PlanOverrides& overrides = {});

/// "naive", "direct", "implicit", "depthwise", "cpu", "gemm", "winograd_2x2", "winograd_4x4", "mma",
/// "wgmma", "wgmma_halo", "wgmma_few" and "matrix_units".
SMEM_API std::vector<std::string_view> conv2d_variants();

}  // namespace smem
