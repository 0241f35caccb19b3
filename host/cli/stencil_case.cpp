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

std::size_t elements_of(const StencilCase& c) { return c.size[0] * c.size[1] * c.size[2] * c.channels; }

std::string label_of(const StencilCase& c) {
  const auto joined = [](const std::array<std::size_t, 3>& n, bool all) {
    if (n[2] != (all ? 1 : 0)) return fmt::format("{}x{}x{}", n[0], n[1], n[2]);
    if (n[1] != (all ? 1 : 0)) return fmt::format("{}x{}", n[0], n[1]);
    return fmt::format("{}", n[0]);
  };
  return fmt::format("{} {}{}, {} of radius {}", joined(c.size, true), name_of(c.type),
                     c.channels == 1 ? "" : fmt::format(" x {}", c.channels), name_of(c.shape),
                     joined(c.radius, false));
}

StencilProblem problem_of(const StencilCase& c) {
  StencilProblem problem = stencil_problem(c.type, c.size, c.radius, c.channels);
  problem.shape = c.shape;
  problem.boundary = Boundary::clamp;
  return problem;
}

Stencil weights_of(const StencilCase& c) {
  Stencil stencil;
  stencil.shape = c.shape;
  stencil.radius = {c.radius[0], c.radius[1], c.radius[2]};
  stencil.boundary = Boundary::clamp;
  stencil.weights.resize(problem_of(c).weights());
  for (std::size_t i = 0; i < stencil.weights.size(); ++i)
    stencil.weights[i] = static_cast<double>(i % 3) / 64;
  return stencil;
}

cl::Event run_stencil(const Context& context, const StencilCase& c, const measure::BufferPair& pair,
                      const CallOptions& options) {
  const GridSize size{c.size[0], c.size[1], c.size[2]};
  const GridLayout layout{.channels = c.channels};
  return stencil(context, Grid(pair.in(), c.type, size, layout), Grid(pair.out(), c.type, size, layout),
                 weights_of(c), options);
}

}  // namespace smem::cli
