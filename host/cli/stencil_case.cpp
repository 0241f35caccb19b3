#include "cli/stencil_case.hpp"

#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <sstream>
#include <vector>

namespace smem::cli {

std::optional<std::array<std::size_t, 3>> parse_extent(const std::string& text, std::size_t otherwise) {
  std::array<std::size_t, 3> extent{otherwise, otherwise, otherwise};
  std::stringstream stream(text);
  std::string part;
  std::size_t d = 0;
  while (std::getline(stream, part, 'x')) {
    if (d == 3) return std::nullopt;
    const std::optional<std::size_t> size = part == "0" ? 0 : parse_size(part);
    if (!size) return std::nullopt;
    extent.at(d++) = *size;
  }
  if (d == 0 || text.ends_with('x')) return std::nullopt;
  return extent;
}

Validator extent_validator(std::size_t least) {
  return {[least](const std::string& text) {
            const auto extent = parse_extent(text, least);
            return extent && (*extent)[0] >= least && (*extent)[1] >= least && (*extent)[2] >= least;
          },
          "XxYxZ", "not of the form X, XxY or XxYxZ"};
}

std::optional<Scalar> parse_pixel(const std::string& text) {
  for (const Scalar type : {Scalar::uint8, Scalar::uint16, Scalar::half, Scalar::float32, Scalar::float64}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
}

Validator pixel_validator() {
  return {[](const std::string& text) { return parse_pixel(text).has_value(); }, "TYPE",
          "not uint8, uint16, half, float32 or float64"};
}

}  // namespace smem::cli
