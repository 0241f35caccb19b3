// Stencils: grids -> problem -> launch.
#include "ops/stencil.hpp"
#include "formatted.hpp"

#include "ops/custom.hpp"
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/sizes.hpp"
#include "plan/stencil_problem.hpp"

#include <smem/error.hpp>
#include <smem/stencil.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kStencilName = "stencil";

/// What kernels read: the value beyond the edges, and the weights. What follows them is their unit, where
/// that is not 0.
std::vector<std::byte> table_of(const StencilProblem& problem, std::span<const double> weights, double value,
                                float unit) {
  std::vector<double> numbers{problem.boundary == Boundary::constant ? ops::as_element(problem.type, value)
                                                                     : 0};
  numbers.insert(numbers.end(), weights.begin(), weights.end());
  if (problem.type == Scalar::float64) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
  }
  if (unit != 0) numbers.push_back(unit);
  const std::vector<float> floats(numbers.begin(), numbers.end());
  const auto bytes = std::as_bytes(std::span(floats));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

cl::Event ops::run_stencil(const Context& context, StencilProblem problem, const ConstGrid& in,
                           const Grid& out, std::span<const double> weights, double value,
                           const CallOptions& options) try {
  const char* operation = plan::operation_name(problem);
  plan::check_stencil(context.device(), problem);
  if (is_empty(in) || is_empty(out)) return run_empty(context, operation, plan_stencil, problem, options);
  const Memories memories = check_grids(context, operation, in, out);
  problem.in_alignment = row_alignment(in, memories.in);
  problem.out_alignment = row_alignment(out, memories.out);
  const bool weighted = problem.shape != StencilShape::expression;
  const bool bytes = problem.type == Scalar::uint8 && weighted,
             halves = problem.type == Scalar::half && weighted;
  const float unit = bytes ? plan::unit_of_weights(weights) : halves ? plan::unit_of_halves(weights) : 0;
  problem.int8_weights = bytes && unit != 0;
  return run(context, operation, plan_stencil, problem, options, [&](const Launching& launch) {
    const cl::Buffer table = context.runtime().constants().get(table_of(problem, weights, value, unit));
    const auto place = [](std::ptrdiff_t n) { return static_cast<cl_long>(n); };
    const auto small = [](std::size_t n) { return static_cast<cl_uint>(n); };
    const auto& [width, height, depth] = problem.size;
    const auto& [out_width, out_height, out_depth] = problem.out_size;
    const auto& [window_x, window_y, window_z] = problem.window;
    const Launch& plan = launch.launch();
    launch(in, out, width, height, depth, out_width, out_height, out_depth, problem.batch,
           place(problem.first[0]), place(problem.first[1]), place(problem.first[2]), small(window_x),
           small(window_y), small(window_z), small(problem.stride[0]), small(problem.stride[1]),
           small(problem.dilation[0]), small(problem.dilation[1]), table(),
           static_cast<cl_uint>(problem.boundary), static_cast<cl_uint>(problem.shape == StencilShape::star),
           small(plan.number("strip")), small(plan.number("band")), small(plan.number("planes")));
  });
} catch (const Error& error) {
  rethrow(plan::operation_name(problem), "expression",
          "an expression of AT(dx, dy, dz) within the radius, and C, in OpenCL C", problem.expression, error);
}

StencilProblem ops::problem_of(const char* operation, const ConstGrid& in, const Grid& out) {
  StencilProblem problem;
  problem.type = number_type(operation, "in", in.type);
  check_type(operation, "out", out.type, in.type);
  problem.channels = in.channels;
  problem.size = {in.size.width, in.size.height, in.size.depth};
  problem.out_size = {out.size.width, out.size.height, out.size.depth};
  problem.batch = in.batch;
  return problem;
}

Stencil Stencil::star(double centre, const std::vector<double>& along_x, const std::vector<double>& along_y,
                      const std::vector<double>& along_z, const Edges& edges) {
  Stencil made;
  made.shape = StencilShape::star;
  made.edges = edges;
  const auto half_of = [](const char* argument, const std::vector<double>& weights) {
    if (weights.size() % 2 != 0)
      refuse(kStencilName, argument, "as many weights before the cell as behind it", weights.size());
    return weights.size() / 2;
  };
  made.radius = {half_of("along_x", along_x), half_of("along_y", along_y), half_of("along_z", along_z)};
  const auto add = [&](const std::vector<double>& weights, bool behind) {
    const auto middle = weights.begin() + static_cast<std::ptrdiff_t>(weights.size() / 2);
    made.weights.insert(made.weights.end(), behind ? middle : weights.begin(),
                        behind ? weights.end() : middle);
  };
  // As the cells lie in the grid.
  add(along_z, false);
  add(along_y, false);
  add(along_x, false);
  made.weights.push_back(centre);
  add(along_x, true);
  add(along_y, true);
  add(along_z, true);
  return made;
}

cl::Event stencil(const Context& context, const ConstGrid& in, const Grid& out, const Stencil& stencil,
                  const CallOptions& options) {
  ops::check_same_grid(kStencilName, in, out);
  plan::require_known(kStencilName, "shape", stencil.shape, StencilShape::expression);
  StencilProblem problem = ops::problem_of(kStencilName, in, out);
  problem.shape = stencil.shape;
  problem.boundary = stencil.edges.boundary.value_or(Boundary::zero);
  plan::require_known(kStencilName, "boundary", problem.boundary);
  problem.expression = stencil.expression;
  const std::array<std::size_t, 3> radius{stencil.radius.x, stencil.radius.y, stencil.radius.z};
  constexpr std::size_t kMost = std::size_t{1} << 29;
  for (std::size_t d = 0; d < 3; ++d) {
    if (radius.at(d) >= kMost) refuse(kStencilName, "radius", formatted("less than {}", kMost), radius.at(d));
    problem.window.at(d) = 2 * radius.at(d) + 1;
    problem.first.at(d) = -static_cast<std::ptrdiff_t>(radius.at(d));
  }
  const bool weighted = stencil.shape != StencilShape::expression;
  if (stencil.weights.size() != (weighted ? problem.weights() : 0)) {
    refuse(kStencilName, "weights",
           weighted ? formatted("{}: one for each cell of a {} of radius {}, {}, {}", problem.weights(),
                                name_of(stencil.shape), radius[0], radius[1], radius[2])
                    : std::string("none beside an expression"),
           stencil.weights.size());
  }
  if (!weighted && stencil.expression.empty()) refuse(kStencilName, "expression", "OpenCL C", "nothing");
  if (weighted && !stencil.expression.empty())
    refuse(kStencilName, "expression", "none beside weights", formatted("\"{}\"", stencil.expression));
  return ops::run_stencil(context, problem, in, out, stencil.weights, stencil.edges.value, options);
}

}  // namespace smem
