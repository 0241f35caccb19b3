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
  Activation activation = Activation::none;  ///< applied to the sum and its bias; gelu not of int8
  /// For float32, windows of 3 x 3, strides and dilations of 1: allows tiles of Winograd's minimal filtering,
  /// whose rounding errors differ. See conv2d().
  Winograd winograd = Winograd::none;

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
/// by side in each cell. Each of the three grids may have either layout. `in` and `weights` have one type:
/// float32, float64, half, bfloat16 or int8. `out` has the type of the sums: float32, float64 or, for int8,
/// int32; for half and bfloat16 it may also have their type. Products of half and bfloat16 are exact, summed
/// in float32 and rounded once, after bias and activation. Sums of int8 wrap at 32 bits. `in` and `out` may
/// have any pitch, plane, batch stride and offset; the weights of a filter are contiguous. Windows, strides,
/// dilations and paddings are at most 65535, rows and columns at most 2^30 cells, channels and filters at
/// most 2^28 - 1.
///
/// O(N K P Q C / groups R S). The plan chooses among four methods: tiles of the input in local memory; a
/// matrix product whose right factor is gathered from the input tile by tile; the same with matrix units
/// (half, bfloat16 and int8 on NVIDIA's sm_80 and later and on AMD's and Intel's GPUs with such units;
/// channels last are fastest there, planes are copied first); and gemm() with a right factor in temporary
/// memory, made one slice of bounded size at a time. For 1 x 1 windows without stride and padding this factor
/// is `in` itself. Depthwise convolutions keep windows in registers on GPUs. On Hopper several groups of few
/// channels are multiplied as one, with zeros for each other's channels; results that infinities or NaNs of
/// another group would reach are computed again, alone.
///
/// Padding adds nothing where each channel has a filter of its own: a weight over padding is left out, also
/// an infinite one or a NaN. In other layers, and by products of matrices ("implicit", "gemm" and matrix
/// units, which no plan chooses for such channels), padding is zeros that are multiplied, which makes NaNs of
/// such weights, but by "naive".
///
/// Where `winograd` allows it, a fifth: tiles of the input and the filters are transformed, multiplied as a
/// batch of matrices by gemm() in temporary memory of bounded size, and transformed back (A. Lavin and S.
/// Gray, "Fast algorithms for convolutional neural networks", CVPR 2016). F(2 x 2, 3 x 3) multiplies 4 times
/// for a result, F(4 x 4, 3 x 3) 2.25 times, the other methods 9 times. The transforms add and subtract
/// numbers that cancel. The largest error as a share of the largest result, for 64 and 256 channels and
/// numbers drawn evenly from -1 to 1, was 0.9e-6 and 1.8e-6 with products summed one after the other, 0.3e-6
/// and 0.5e-6 with F(2 x 2, 3 x 3), and 1.3e-6 and 2.0e-6 with F(4 x 4, 3 x 3). Its points of interpolation
/// are 0, +-5/8, +-3/2 and infinity; with the points 1 and 2 of Lavin and Gray the error is 6e-6 and 15e-6.
/// (The tiles' errors were measured on a CPU, the first and the last pair in a float32 model with other
/// numbers.) Small whole numbers stay exact with F(2 x 2, 3 x 3), whose factors are powers of two. An
/// infinity or NaN of the input may make all results of the tiles that read it NaN. The plan still chooses
/// another method where it expects no gain.
///
/// A plan gives the same bits in every run. No host wait. \returns the event that completes with the results.
/// \throws Error when a stride, a dilation, a window or the number of groups is 0, the groups do not divide
/// the channels, a shape or type does not fit, a grid exceeds its buffer, overlaps the output or belongs to
/// another context, the type is float64 and the device has no fp64, an enumeration has no such value, or the
/// variant cannot run. The error names the argument, and nothing is enqueued.
///
/// V. Dumoulin and F. Visin, "A guide to convolution arithmetic for deep learning", 2016. Sources of the
/// kernels: cl/conv2d/.
SMEM_API cl::Event conv2d(const Context& context, const ConstGrid& in, const ConstGrid& weights,
                          const Grid& out, const Conv2d& convolution = {}, const CallOptions& options = {});

}  // namespace smem
