/// smem: blurs of images, their edges, and what sharpens them.
#pragma once

#include <smem/blur_plan.hpp>
#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>

#include <cstddef>
#include <vector>

namespace smem {

/// A Gaussian window. What is 0 follows from the other, as in OpenCV: sigma = 0.3 * ((size - 1) / 2 - 1) +
/// 0.8 (where both a size of at most 9 and no sigma are given, OpenCV's tables for these sizes); size = 2 * 3
/// * sigma + 1 for bytes, 2 * 4 * sigma + 1 for other types, rounded to the nearest and made odd.
struct Gaussian {
  std::size_t size = 0;  ///< cells, odd, at most 4000
  double sigma = 0;      ///< cells
  // Of another window along columns; both 0: the same one.
  std::size_t size_down = 0;  ///< cells
  double sigma_down = 0;      ///< cells
};

/// The weights along rows, which add up to 1: exp(-x^2 / (2 sigma^2)), scaled. For uint8 they are multiples
/// of 1/256, in which each rounding error goes to the next weight, and the middle one takes what is left.
/// \throws Error when both are 0, the size is even or above 4000, or sigma is negative or not finite.
SMEM_API std::vector<double> gaussian_weights(const Gaussian& window, Scalar type);

/// Gaussian blur of `in`: as separable() with gaussian_weights() both ways. Of uint8 the sums are exact, and
/// rounded to the nearest, half-way cases up: what OpenCV's GaussianBlur gives, bit for bit. Types, grids,
/// complexity and errors as of separable(); `out` has the type of `in`, or float32.
/// \throws Error naming `window`, too.
///
/// D. Marr and E. Hildreth, "Theory of edge detection", Proc. R. Soc. Lond. B 207, 1980. The rules for sizes:
/// OpenCV, getGaussianKernel and GaussianBlur.
SMEM_API cl::Event gaussian_blur(const Context& context, const ConstGrid& in, const Grid& out,
                                 const Gaussian& window, const Edges& edges = {},
                                 const CallOptions& options = {});

/// The mean of all elements at most a radius away, along rows and columns; beyond the edges, the boundary's.
/// Integers' means are exact, rounded to the nearest number of `out`. Beyond a window of 15 x 15 the cost of
/// an element hardly depends on the radius, which is at most 32767. An infinity or NaN reaches the results
/// alone whose boxes hold it, and so does a sum that overflows; near them sums are made anew for each result,
/// which takes longer. Radius 0 is a copy. Types, grids and errors as of separable(); of integers the value
/// of Boundary::constant is one of their numbers. Reads each element once or twice from memory, and writes it
/// once. No host wait. \throws Error also for the variant "separable" of integers whose sums may exceed 2^24.
///
/// Source of the sums: F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984.
SMEM_API cl::Event box_blur(const Context& context, const ConstGrid& in, const Grid& out,
                            const BoxRadius& radius, const Edges& edges = {},
                            const CallOptions& options = {});

/// The median of a window of `size` x `size` cells, 3 or 5; of each channel by itself. `out` has the type of
/// `in`, or float32. Where a window holds a NaN, its result is one of its elements. O(size^4) comparisons an
/// element, in registers. \throws Error when the size is another, and as separable().
SMEM_API cl::Event median_blur(const Context& context, const ConstGrid& in, const Grid& out, std::size_t size,
                               const Edges& edges = {}, const CallOptions& options = {});

/// What sobel() gives.
enum class Gradient {
  across,    ///< the slope along rows: right less left
  down,      ///< the slope along columns: below less above
  magnitude  ///< the root of the sum of both squares
};

/// A gradient by Sobel's weights.
struct Sobel {
  Gradient gradient = Gradient::magnitude;  ///< or one of its components
  std::size_t size = 3;                     ///< of the window: 3 or 5
};

/// Slopes by Sobel's weights of size 3, (-1 0 1) times (1 2 1), or 5, (-1 -2 0 2 1) times (1 4 6 4 1), not
/// scaled. `out` has the type of `in`, float32, or int16 where `in` is uint8; what does not fit is saturated.
/// Types, grids and errors as of separable(). \throws Error when the size is another.
///
/// I. Sobel and G. Feldman, "A 3 x 3 isotropic gradient operator for image processing", 1968.
SMEM_API cl::Event sobel(const Context& context, const ConstGrid& in, const Grid& out,
                         const Sobel& sobel = {}, const Edges& edges = {}, const CallOptions& options = {});

/// How an image is sharpened.
struct UnsharpMask {
  Gaussian window = {.sigma = 1.5};  ///< of the blur
  double amount = 1;                 ///< of the difference that is added
  double threshold = 0;              ///< smaller differences, in units of the elements, are not added
};

/// out = in + amount * (in - blurred), where in and blurred differ by the threshold or more; else in. One
/// launch, as gaussian_blur(), but with weights that are not rounded; integers are rounded once, half-way
/// cases to even. Types, grids and errors as there. \throws Error when the amount is not finite, or the
/// threshold is negative or no number. An amount beyond the range of float is for float64 alone.
SMEM_API cl::Event unsharp_mask(const Context& context, const ConstGrid& in, const Grid& out,
                                const UnsharpMask& mask = {}, const Edges& edges = {},
                                const CallOptions& options = {});

}  // namespace smem
