/// smem: plans for stencils and convolutions. Includes no OpenCL header.
#pragma once

#include <smem/boundary.hpp>
#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smem {

/// Which neighbours a stencil has.
enum class StencilShape {
  box,        ///< every cell of the window has a weight
  star,       ///< the cells on the axes through the cell itself have a weight
  expression  ///< the caller's own, in OpenCL C
};

/// "box", "star" or "expression".
SMEM_API std::string_view name_of(StencilShape shape);

/// A stencil or a convolution without its data: all that a plan depends on. The weights are data. Result x of
/// a row reads the cells x * stride + first + i * dilation for each i of the window; so do rows and
/// planes. Arrays are along x, y and z.
struct StencilProblem {
  Scalar type = Scalar::float32;                 ///< uint8, uint16, half, float32 or float64; of both grids
  StencilShape shape = StencilShape::box;        ///< which neighbours there are
  Boundary boundary = Boundary::zero;            ///< beyond the edges
  std::size_t channels = 1;                      ///< interleaved in each cell
  std::array<std::size_t, 3> size{0, 1, 1};      ///< cells of `in`
  std::array<std::size_t, 3> out_size{0, 1, 1};  ///< cells of `out`
  std::size_t batch = 1;                         ///< grids
  std::array<std::size_t, 3> window{1, 1, 1};    ///< cells
  std::array<std::ptrdiff_t, 3> first{0, 0, 0};  ///< where the window begins, relative to the result
  std::array<std::size_t, 3> stride{1, 1, 1};    ///< along z always 1
  std::array<std::size_t, 3> dilation{1, 1, 1};  ///< along z always 1
  std::string expression = {};                   ///< the caller's own, in OpenCL C
  /// Whether all weights are whole multiples, from -128 to 127, of one power of two, and sums of bytes are
  /// less than 2^22 of it.
  bool int8_weights = false;
  bool convolution = false;  ///< whether convolve2d() launches it; errors and the plan then name that
  /// The largest power of two, at most 64, that divides the byte address of each row's first element.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;  ///< the same of `out`

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "stencil"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("type", type), choice("shape", shape), choice("boundary", boundary),
                choice("channels", channels), extent("size", size), ignored("out_size", out_size),
                extent("batch", batch), choice("window", window), ignored("first", first),
                choice("stride", stride), choice("dilation", dilation), untuned("expression", expression),
                choice("int8_weights", int8_weights), choice("convolution", convolution),
                aligned("in_alignment", in_alignment), aligned("out_alignment", out_alignment));
  }
  /// Cells of the window that have a weight; for an expression, those that it may read.
  std::size_t weights() const {
    return shape == StencilShape::star ? window[0] + window[1] + window[2] - 2
                                       : detail::size_product(window[0], window[1], window[2]);
  }
  /// Elements of `out`.
  std::size_t results() const {
    return detail::size_product(out_size[0], out_size[1], out_size[2], channels, batch);
  }
};

/// The problem of a stencil of this radius along each axis, of packed grids of one size.
SMEM_API StencilProblem stencil_problem(Scalar type, const std::array<std::size_t, 3>& size,
                                        const std::array<std::size_t, 3>& radius, std::size_t channels = 1);

/// Whether StencilProblem::int8_weights holds of these weights, as floats, of a stencil of bytes.
SMEM_API bool are_int8_weights(std::span<const double> weights);

/// The plan that stencil() and convolve2d() would use on `device`. Overrides: `variant`, and `work_items`, a
/// power of two, for "tiled", "blocks", "rows", "units", "march" and "planes"; for "planes" also `tile_cols`,
/// elements along x of a group, and `tile_rows`, rows of all its planes; for "units" `tile_rows`, of a band.
/// Fixed fields are never shrunk. \throws Error when the problem or the device does not allow it, the variant
/// is unknown or cannot run this problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_stencil(const Device& device, const StencilProblem& problem,
                           const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> stencil_variants();

}  // namespace smem
