/// Extents and pixels as the command line gives them.
#pragma once

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

}  // namespace smem::cli
