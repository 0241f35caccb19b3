/// Stencils as the command line gives them.
#pragma once

#include "cli/goals.hpp"
#include "cli/measure.hpp"
#include "cli/parser.hpp"

#include <smem/smem.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace smem::cli {

/// "4096", "4096x4096", "256x256x256": numbers along x, y and z; those that are not there are `otherwise`.
/// Empty when it is not of this form.
std::optional<std::array<std::size_t, 3>> parse_extent(const std::string& text, std::size_t otherwise);
/// \p least: of each number.
Validator extent_validator(std::size_t least);

/// "float32" or "float", ..., of those that stencils compute with.
std::optional<Scalar> parse_pixel(const std::string& text);
Validator pixel_validator();

std::size_t elements_of(const StencilCase& c);
std::string label_of(const StencilCase& c);
/// Of packed grids.
StencilProblem problem_of(const StencilCase& c);
/// Weights that are whole numbers, for sums that are exact: of integers a mean that does not saturate.
Stencil weights_of(const StencilCase& c);
cl::Event run_stencil(const Context& context, const StencilCase& c, const measure::BufferPair& pair,
                      const CallOptions& options);

}  // namespace smem::cli
