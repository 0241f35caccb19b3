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

/// A Gaussian window. A size or sigma of 0 is computed from the other, as in OpenCV: sigma = 0.3 * ((size -
/// 1) / 2 - 1) + 0.8, or, for a size of at most 9, OpenCV's tables; size = 2 * 3 * sigma + 1 for bytes and 2
/// * 4 * sigma + 1 for other types, rounded to the nearest odd number.
struct Gaussian {
  std::size_t size = 0;  ///< cells, odd, at most 4000
  double sigma = 0;      ///< cells
  // The window along columns; both 0: the same as along rows.
  std::size_t size_down = 0;  ///< cells
  double sigma_down = 0;      ///< cells
};

/// The weights along rows: exp(-x^2 / (2 sigma^2)), scaled so that their sum is 1. For uint8 they are
/// multiples of 1/256: the rounding error of each weight is added to the next one, and the rest to the middle
/// one. \throws Error when both are 0, the size is even or above 4000, or sigma is negative or not finite.
SMEM_API std::vector<double> gaussian_weights(const Gaussian& window, Scalar type);

/// Gaussian blur of `in`: separable() with gaussian_weights() in both directions. For uint8 the sums are
/// exact, and rounded to the nearest, ties up, so results equal those of OpenCV's GaussianBlur bit for bit.
/// `out` has the type of `in`, or float32. All else as separable(). \throws Error also naming `window`.
///
/// D. Marr and E. Hildreth, "Theory of edge detection", Proc. R. Soc. Lond. B 207, 1980. The rules for sizes:
/// OpenCV, getGaussianKernel and GaussianBlur.
SMEM_API cl::Event gaussian_blur(const Context& context, const ConstGrid& in, const Grid& out,
                                 const Gaussian& window, const Edges& edges = {},
                                 const CallOptions& options = {});

/// The mean of all elements at most `radius` away along rows and columns. Beyond the edges the boundary
/// condition applies. Means of integers are exact, and rounded to the nearest number of `out`. For windows
/// larger than 25 x 25 the cost of an element hardly depends on the radius, which is at most 32767. An
/// infinity, a NaN or a sum that overflows affects only results whose boxes contain it; the sums near it are
/// computed anew for each result, which takes longer. Radius 0 is a copy. For integers the value of
/// Boundary::constant must be a number of their type. Each element is read once or twice from memory, and
/// written once. No host wait. Types, grids and errors as in separable(). \throws Error also for the variant
/// "separable" with integers whose sums may exceed 2^24.
///
/// Source of the sums: F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984.
SMEM_API cl::Event box_blur(const Context& context, const ConstGrid& in, const Grid& out,
                            const BoxRadius& radius, const Edges& edges = {},
                            const CallOptions& options = {});

/// The median of a window of `size` x `size` cells, where size is 3 or 5, for each channel by itself. `out`
/// has the type of `in`, or float32. The result of a window with a NaN is one of its elements. Windows are
/// sorted in registers, and neighbouring ones share what they have in common. Types, grids and errors as in
/// separable(). \throws Error also when the size is another one.
SMEM_API cl::Event median_blur(const Context& context, const ConstGrid& in, const Grid& out, std::size_t size,
                               const Edges& edges = {}, const CallOptions& options = {});

/// What sobel() writes.
enum class Gradient {
  across,    ///< the slope along rows: right less left
  down,      ///< the slope along columns: below less above
  magnitude  ///< the root of the sum of both squares
};

/// A gradient with Sobel's weights.
struct Sobel {
  Gradient gradient = Gradient::magnitude;  ///< the magnitude, or one component
  std::size_t size = 3;                     ///< of the window: 3 or 5
};

/// Slopes with Sobel's weights, not scaled: for size 3, (-1 0 1) times (1 2 1); for size 5, (-1 -2 0 2 1)
/// times (1 4 6 4 1). `out` has the type of `in`, float32, or int16 if `in` is uint8; results that do not fit
/// are saturated. Types, grids and errors as in separable(). \throws Error also when the size is another one.
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

/// out = in + amount * (in - blurred) where in and blurred differ by the threshold or more, else out = in.
/// One launch, like gaussian_blur(), but weights are not rounded, and integers are rounded once, ties to
/// even. Types, grids and errors as in gaussian_blur(). \throws Error also when the amount is not finite, the
/// threshold is negative or NaN, or the amount exceeds the range of float and the type is not float64.
SMEM_API cl::Event unsharp_mask(const Context& context, const ConstGrid& in, const Grid& out,
                                const UnsharpMask& mask = {}, const Edges& edges = {},
                                const CallOptions& options = {});

}  // namespace smem
