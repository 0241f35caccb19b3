/// smem: convolutions and correlations of images.
#pragma once

#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/sizes.hpp>
#include <smem/stencil_plan.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

namespace smem {

/// Weights of a window of width x height cells, row by row.
struct ConvolutionKernel {
  std::size_t width = 0;             ///< cells along a row
  std::size_t height = 0;            ///< rows
  std::vector<double> weights = {};  ///< width * height of them
};

/// Cells that are put around a grid.
struct Padding {
  std::size_t left = 0;    ///< before each row
  std::size_t top = 0;     ///< before the first row
  std::size_t right = 0;   ///< after each row
  std::size_t bottom = 0;  ///< after the last row
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// Whether a kernel of rank 1, which is a column times a row, is applied as the two (smem::separable).
enum class Separable {
  automatic,  ///< where it is one, and that is less work: see convolve2d()
  never,
  always  ///< a kernel of another rank is an error
};

/// How a kernel is applied.
struct Convolution {
  /// true: convolution, for which the kernel is turned by 180 degrees; false: correlation, as networks and
  /// image filters have it.
  bool turned = false;
  /// The weight of the kernel as it is given that belongs to the cell itself; not given: number size / 2, the
  /// middle one of an odd kernel.
  std::optional<std::size_t> anchor_x = {};
  std::optional<std::size_t> anchor_y = {};  ///< the same along columns
  std::size_t stride_x = 1;                  ///< cells from one window to the next
  std::size_t stride_y = 1;                  ///< rows from one window to the next
  std::size_t dilation_x = 1;                ///< cells from one weight to the next
  std::size_t dilation_y = 1;                ///< rows from one weight to the next
  /// Given: the windows are those that lie inside the padded grid, and there is no anchor. Not given: as much
  /// as brings each cell of `in`, or with a stride each such cell, under the anchor.
  std::optional<Padding> padding = {};
  Boundary boundary = Boundary::zero;          ///< what lies in the padding; not "leave"
  double value = 0;                            ///< with Boundary::constant: as an element of the grid
  Separable separable = Separable::automatic;  ///< whether a kernel of rank 1 is two passes
};

/// Cells of the result along an axis of `size` cells: (size + before + after - (kernel - 1) * dilation - 1) /
/// stride + 1, or 0 where no window fits, or kernel or stride is 0.
constexpr std::size_t convolved_size(std::size_t size, std::size_t kernel, std::size_t stride,
                                     std::size_t dilation, std::size_t before, std::size_t after) {
  if (kernel == 0 || stride == 0) return 0;
  const std::size_t reach = detail::size_sum(detail::size_product(kernel - 1, dilation), 1);
  const std::size_t padded = detail::size_sum(size, detail::size_sum(before, after));
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

/// out(x, y) = sum over i, j of weight(i, j) * in(x * stride_x + i * dilation_x - left, y * stride_y + j *
/// dilation_y - top), where left and top are the padding, or the anchor's place. Of each channel, each plane
/// and each grid of the batch by itself.
///
/// `in` and `out`: as in stencil(), and so are types, sums, rounding and costs; `out` has the size that
/// convolved_size() gives in both directions. Kernels of any odd or even size, in constant memory where they
/// fit it.
///
/// A kernel has rank 1 when its weights are those of a column times a row, to 2^-22 of the largest (float64:
/// 2^-50); that is found out on the host. Where such a kernel has at least twice as many weights as the two,
/// without stride and dilation, on `out` of in's size, and no variant or plan is asked for, it is applied by
/// separable(), whose sums are rounded along the rows first. With Separable::always so is every one, and
/// options name the variants of that function.
///
/// No host wait. \returns the event after which the result is there. \throws Error when a size, stride or
/// dilation is 0, the number of weights or the size of `out` is wrong, the boundary is "leave", a kernel that
/// must be separable is not, or as stencil(); nothing is enqueued then.
///
/// Sources of the kernels: cl/stencil/.
SMEM_API cl::Event convolve2d(const Context& context, const Grid& in, const Grid& out,
                              const ConvolutionKernel& kernel, const Convolution& how = {},
                              const CallOptions& options = {});

/// The same of typed views.
template <class In, class Out>
cl::Event convolve2d(const Context& context, const GridView<In>& in, const GridView<Out>& out,
                     const ConvolutionKernel& kernel, const Convolution& how = {},
                     const CallOptions& options = {}) {
  static_assert(std::is_same_v<std::remove_const_t<In>, Out>, "in and out must have the same element type");
  return convolve2d(context, static_cast<const Grid&>(in), static_cast<const Grid&>(out), kernel, how,
                    options);
}

}  // namespace smem
