/// smem: convolutions and correlations of images.
#pragma once

#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/window.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace smem {

/// Weights of a window of width x height cells, row by row.
struct ConvolutionKernel {
  std::size_t width = 0;             ///< cells along a row
  std::size_t height = 0;            ///< rows
  std::vector<double> weights = {};  ///< width * height numbers
};

/// Whether a kernel of rank 1, a column times a row, is applied as these two (smem::separable).
enum class Separable {
  automatic,  ///< if the kernel has rank 1 and that is less work: see convolve2d()
  never,
  always  ///< a kernel of another rank is an error
};

/// How a kernel is applied.
struct Convolution {
  /// true: convolution, with the kernel rotated by 180 degrees; false: correlation, as in networks
  /// and image filters.
  bool turned = false;
  /// The index of the weight (in the kernel as given) for the cell itself. Default: size / 2, the middle of
  /// an odd kernel.
  std::optional<std::size_t> anchor_x = {};
  std::optional<std::size_t> anchor_y = {};  ///< the same along columns
  Stride stride = {};                        ///< from one window to the next, at least 1
  Dilation dilation = {};                    ///< from one weight to the next, at least 1
  /// If given, windows are those inside the padded grid, and there must be no anchor. Otherwise the padding
  /// is such that each cell of `in`, or with a stride each such cell, comes under the anchor.
  std::optional<Padding> padding = {};
  Edges edges = {};                            ///< what lies in the padding; not "leave"
  Separable separable = Separable::automatic;  ///< whether a kernel of rank 1 is applied in two passes
};

/// out(x, y) = sum over i, j of weight(i, j) * in(x * stride.x + i * dilation.x - left, y * stride.y + j *
/// dilation.y - top), where left and top are the padding, or the anchor. Each channel, plane and grid of the
/// batch is convolved by itself.
///
/// Types, grids, sums, rounding and costs are as in stencil(). `out` has the size that convolved_size() gives
/// in both directions. Kernels may have any odd or even size. Weights lie in constant memory if they fit.
///
/// A kernel has rank 1 if its weights are those of a column times a row, to 2^-22 of the largest weight
/// (float64: 2^-50); the host tests this. separable() applies such a kernel if it has at least twice as many
/// weights as row and column together, there is no stride or dilation, `out` has the size of `in`, and
/// options name no variant or plan. Its sums are rounded along the rows first. With Separable::always it
/// applies every kernel of rank 1, and options name its variants.
///
/// No host wait. \returns the event that completes with the result. \throws Error when a size, stride or
/// dilation is 0, the number of weights or the size of `out` is wrong, the boundary is "leave", a kernel that
/// must be separable is not, or as stencil(). Nothing is enqueued then.
///
/// Sources of the kernels: cl/stencil/.
SMEM_API cl::Event convolve2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const ConvolutionKernel& kernel, const Convolution& convolution = {},
                              const CallOptions& options = {});

}  // namespace smem
