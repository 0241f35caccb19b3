/// smem: convolutions of many channels, as networks have them.
#pragma once

#include <smem/context.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>
#include <smem/window.hpp>

#include <cstddef>

namespace smem {

/// How filters are applied. Strides and dilations are at least 1.
struct Conv2d {
  Stride stride = {};                        ///< from one window to the next
  Dilation dilation = {};                    ///< from one weight to the next
  Padding padding = {};                      ///< zeros around each plane
  std::size_t groups = 1;                    ///< groups of channels; as many as channels: depthwise
  ConstVector bias = {};                     ///< a number for each filter, of out's type. Empty: none
  Activation activation = Activation::none;  ///< applied to the sum and its bias

  /// Windows `stride` apart, with the same padding on all sides.
  static Conv2d square(std::size_t stride, std::size_t padding = 0) {
    return {.stride = {stride, stride}, .padding = {padding, padding, padding, padding}};
  }
};

/// out(n, k, y, x) = activation(bias(k) + sum over c, r, s of weights(k, c, r, s) * in(n, g * C / groups + c,
/// y * stride.y + r * dilation.y - top, x * stride.x + s * dilation.x - left)), where g = k / (K / groups) is
/// the group of k, and padding is 0: the cross-correlation that networks call convolution.
///
/// Grids are "NCHW" or "NHWC". NCHW: `in` has N grids of W x H x C cells, which is GridSize{W, H, C} with a
/// batch of N; `weights` has K grids of S x R x C / groups cells; `out` has N grids of Q x P x K cells, where
/// convolved_size() gives Q and P. NHWC (channels last): GridSize{W, H} with GridLayout::channels = C, side
/// by side in each cell. Each of the three grids may have either layout. All have one type: float32, half or
/// float64. Half is multiplied and summed in float32, and rounded once. `in` and `out` may have any pitch,
/// plane, batch stride and offset; the weights of a filter are contiguous. Windows, strides, dilations and
/// paddings are at most 65535.
///
/// O(N K P Q C / groups R S). The plan chooses among four methods: tiles of the input in local memory; a
/// matrix product whose right factor is gathered from the input tile by tile; the same with matrix units
/// (half on NVIDIA's sm_80 and later; channels last are fastest there, planes are copied first); and gemm()
/// with a right factor in temporary memory, made one slice of bounded size at a time. For 1 x 1 windows
/// without stride and padding this factor is `in` itself. A plan gives the same bits in every run. No host
/// wait. \returns the event that completes with the results. \throws Error when a stride, a dilation, a
/// window or the number of groups is 0, the groups do not divide the channels, a shape or type does not fit,
/// a grid exceeds its buffer, overlaps the output or belongs to another context, the type is float64 and the
/// device has no fp64, or the variant cannot run. The error names the argument, and nothing is enqueued.
///
/// V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning", 2016. Sources of the
/// kernels: cl/conv2d/.
SMEM_API cl::Event conv2d(const Context& context, const ConstGrid& in, const ConstGrid& weights,
                          const Grid& out, const Conv2d& convolution = {}, const CallOptions& options = {});

}  // namespace smem
