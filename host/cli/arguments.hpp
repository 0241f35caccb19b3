/// Shapes, types, operations and problems, as the command line gives them.
#pragma once

#include "cli/parser.hpp"
#include "operations/words.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace smem::cli {

/// -d, --device: which of the OpenCL devices, as contexts have it.
Option add_device_option(Command command, std::string& device);

struct Shape {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// A whole number above 0; else empty.
std::optional<std::size_t> parse_size(const std::string& text);

/// "4097x3001"; empty when it is not of this form, or one of the two is 0.
std::optional<Shape> parse_shape(const std::string& text);
Validator shape_validator();

using operations::parse_scalar;
Validator scalar_validator();

/// The largest power of two, at most `most`, that divides the start of every packed row.
std::size_t packed_alignment(std::size_t row_bytes, std::size_t most = 64);

}  // namespace smem::cli
