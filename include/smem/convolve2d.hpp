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
  std::vector<double> weights = {};  ///< width * height of them
};

/// Whether a kernel of rank 1, which is a column times a row, is applied as the two (smem::separable).
enum class Separable {
  automatic,  ///< where it is one, and that is less work: see convolve2d()
  never,
  always  ///< a kernel of another rank is an error
};

/// How a kernel is applied.
struct Convolution {
  /// true: convolution, with the kernel rotated by 180 degrees; false: correlation, as networks and
  /// image filters have it.
  bool turned = false;
  /// The weight of the kernel as it is given that belongs to the cell itself; not given: number size / 2, the
  /// middle one of an odd kernel.
  std::optional<std::size_t> anchor_x = {};
  std::optional<std::size_t> anchor_y = {};  ///< the same along columns
  Stride stride = {};                        ///< from one window to the next, at least 1
  Dilation dilation = {};                    ///< from one weight to the next, at least 1
  /// Given: the windows are those that lie inside the padded grid, and there is no anchor. Not given: as much
  /// as brings each cell of `in`, or with a stride each such cell, under the anchor.
  std::optional<Padding> padding = {};
  Edges edges = {};                            ///< what lies in the padding; not "leave"
  Separable separable = Separable::automatic;  ///< whether a kernel of rank 1 is two passes
};

/// out(x, y) = sum over i, j of weight(i, j) * in(x * stride.x + i * dilation.x - left, y * stride.y + j *
/// dilation.y - top), where left and top are the padding, or the anchor's place. Of each channel, each plane
/// and each grid of the batch by itself.
///
/// `in` and `out`: as in stencil(), and so are types, sums, rounding and costs; `out` has the size that
/// convolved_size() gives in both directions. Kernels of any odd or even size, in constant memory where they
/// fit it.
///
/// A kernel has rank 1 when its weights are those of a column times a row, to 2^-22 of the largest (float64:
/// 2^-50); the host finds out. Where such a kernel has at least twice as many weights as the two,
/// without stride and dilation, on `out` of in's size, and no variant or plan is asked for, it is applied by
/// separable(), whose sums are rounded along the rows first. With Separable::always so is every one, and
/// options name the variants of that function.
///
/// No host wait. \returns the event after which the result is there. \throws Error when a size, stride or
/// dilation is 0, the number of weights or the size of `out` is wrong, the boundary is "leave", a kernel that
/// must be separable is not, or as stencil(); nothing is enqueued then.
///
/// Sources of the kernels: cl/stencil/.
SMEM_API cl::Event convolve2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const ConvolutionKernel& kernel, const Convolution& convolution = {},
                              const CallOptions& options = {});

}  // namespace smem
