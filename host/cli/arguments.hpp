/// Shapes, element types and transpose problems, as the command line gives them.
#pragma once

#include <smem/smem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace smem::cli {

struct Shape {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// "4097x3001"; empty when it is not of this form, or one of the two is 0.
std::optional<Shape> parse_shape(const std::string& text);

/// Bytes of an OpenCL type's name, as "float" or "uchar4", or of a number of bytes; empty when unknown.
std::optional<std::size_t> parse_element(const std::string& text);

/// Packed matrices at the start of their buffers, with the alignment which that gives.
TransposeProblem packed_problem(std::size_t element_bytes, Shape shape, std::size_t batch = 1);

}  // namespace smem::cli
