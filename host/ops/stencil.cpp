// Stencils: arguments -> plan -> launch.
#include "ops/stencil.hpp"
#include "formatted.hpp"

#include "ops/custom.hpp"
#include "ops/grids.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/sizes.hpp"
#include "plan/stencil_parts.hpp"

#include <smem/error.hpp>
#include <smem/stencil.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

constexpr const char* kOperation = "stencil";

[[noreturn]] void refuse(const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

/// All that the plan depends on. More numbers than a key has, so it holds their hash.
runtime::ProblemKey key_of(const StencilProblem& p, const PlanOverrides& fixed) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::array<std::uint64_t, 20> numbers{p.size[0],
                                              p.size[1],
                                              p.size[2],
                                              p.out_size[0],
                                              p.out_size[1],
                                              p.out_size[2],
                                              p.batch,
                                              p.window[0],
                                              p.window[1],
                                              p.window[2],
                                              number(p.first[0]),
                                              number(p.first[1]),
                                              number(p.first[2]),
                                              p.stride[0],
                                              p.stride[1],
                                              p.stride[2],
                                              p.dilation[0],
                                              p.dilation[1],
                                              p.dilation[2],
                                              p.channels};
  const auto problem =
      ops::text_key(std::string_view(reinterpret_cast<const char*>(numbers.data()), sizeof numbers));
  const auto text = ops::text_key(std::string_view(p.expression));
  return ops::make_key(ops::PlanMaker::stencil,
                       {number(p.type) | number(p.shape) << 8 | number(p.boundary) << 12 |
                            number(p.convolution) << 16 | p.in_alignment << 20 | p.out_alignment << 28 |
                            ops::variant_number(fixed.variant, stencil_variants()) << 40,
                        problem[0], problem[1], text[0], text[1]},
                       fixed);
}

/// A number as an element of the type, as kernels compute with it.
double as_element(Scalar type, double value) {
  switch (type) {
    case Scalar::uint8:
    case Scalar::uint16: {
      const double most = type == Scalar::uint8 ? 255 : 65535;
      return value > 0 ? std::min(std::nearbyint(value), most) : 0;
    }
    case Scalar::half:
      return static_cast<float>(half(static_cast<float>(value)));
    default:
      return value;
  }
}

/// What kernels read: the value beyond the edges, and the weights.
std::vector<std::byte> table_of(const StencilProblem& problem, std::span<const double> weights,
                                double value) {
  std::vector<double> numbers{problem.boundary == Boundary::constant ? as_element(problem.type, value) : 0};
  numbers.insert(numbers.end(), weights.begin(), weights.end());
  if (problem.type == Scalar::float64) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
  }
  const std::vector<float> floats(numbers.begin(), numbers.end());
  const auto bytes = std::as_bytes(std::span(floats));
  return {bytes.begin(), bytes.end()};
}

[[noreturn]] void rethrow(const StencilProblem& problem, const Error& error) {
  ops::rethrow(plan::operation_name(problem), "expression",
               "an expression of AT(dx, dy, dz) within the radius, and C, in OpenCL C", problem.expression,
               error);
}

/// Compiles the caller's own expression where nothing is launched: a wrong one is refused all the same.
void build(const Context& context, const StencilProblem& problem, const PlanOverrides& fixed) {
  try {
    context.runtime().build(key_of(problem, fixed),
                            [&](const Device& device) { return plan_stencil(device, problem, fixed); });
  } catch (const Error& error) {
    rethrow(problem, error);
  }
}

}  // namespace

cl::Event ops::run_stencil(const Context& context, StencilProblem problem, const Grid& in, const Grid& out,
                           std::span<const double> weights, double value, const CallOptions& options) {
  const char* operation = plan::operation_name(problem);
  plan::require_known(operation, "in", in.type);
  plan::require_known(operation, "out", out.type);
  if (in.type != out.type) {
    throw Error({.operation = operation,
                 .argument = "out",
                 .expected = formatted("{}, as in has", name_of(in.type)),
                 .got = std::string(name_of(out.type))});
  }
  plan::check_stencil(context.device(), problem);
  if (is_empty(in) || is_empty(out)) {
    const PlanOverrides fixed = overrides_of(context.runtime(), operation, options);
    plan_stencil(context.device(), problem, fixed);  // a wrong choice is refused
    if (problem.shape == StencilShape::expression) build(context, problem, fixed);
    return context.runtime().marker(options.wait_for);
  }
  const Memory in_memory = check_grid(context, operation, "in", in, false);
  const Memory out_memory = check_grid(context, operation, "out", out, true);
  check_apart(operation, in, in_memory, out, out_memory);
  problem.in_alignment = row_alignment(in, in_memory);
  problem.out_alignment = row_alignment(out, out_memory);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_stencil(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed) { return key_of(problem, fixed); };
  runtime::Runtime& runtime = context.runtime();
  const PlanOverrides asked = checked_choice(runtime, operation, options, key, plan_here);
  const cl::Buffer table = runtime.constants().get(table_of(problem, weights, value));
  const plan::StencilJobs jobs =
      runtime.memo().get(key({}), [&] { return plan::stencil_jobs(context.device(), problem); });
  const auto number = [](auto n) { return static_cast<cl_ulong>(n); };
  const auto place = [](std::ptrdiff_t n) { return static_cast<cl_long>(n); };
  const auto small = [](std::size_t n) { return static_cast<cl_uint>(n); };
  const auto& size = problem.size;
  const auto& out_size = problem.out_size;
  const auto launch = [&](const PlanOverrides& fixed) {
    return runtime.run(
        key(fixed), [&](const Device& device) { return plan_stencil(device, problem, fixed); },
        options.wait_for, in.buffer, number(in.offset), number(in.pitch), number(in.plane),
        number(in.batch_stride), out.buffer, number(out.offset), number(out.pitch), number(out.plane),
        number(out.batch_stride), number(size[0]), number(size[1]), number(size[2]), number(out_size[0]),
        number(out_size[1]), number(out_size[2]), number(problem.batch), place(problem.first[0]),
        place(problem.first[1]), place(problem.first[2]), small(problem.window[0]), small(problem.window[1]),
        small(problem.window[2]), small(problem.stride[0]), small(problem.stride[1]),
        small(problem.dilation[0]), small(problem.dilation[1]), table(),
        static_cast<cl_uint>(problem.boundary), static_cast<cl_uint>(problem.shape == StencilShape::star),
        small(std::max<std::size_t>(jobs.strip, 1)), small(jobs.band), small(jobs.march));
  };
  try {
    return launch_tuned(runtime, "stencil", problem, options, asked, key, plan_here, launch);
  } catch (const Error& error) {
    smem::rethrow(problem, error);
  }
}

StencilProblem ops::problem_of(const Grid& in, const Grid& out) {
  StencilProblem problem;
  problem.type = in.type;
  problem.channels = in.channels;
  problem.size = {in.size.width, in.size.height, in.size.depth};
  problem.out_size = {out.size.width, out.size.height, out.size.depth};
  problem.batch = in.batch;
  return problem;
}

Stencil Stencil::star(double centre, const std::vector<double>& along_x, const std::vector<double>& along_y,
                      const std::vector<double>& along_z, Boundary boundary, double value) {
  Stencil made;
  made.shape = StencilShape::star;
  made.boundary = boundary;
  made.value = value;
  const auto half_of = [](const char* argument, const std::vector<double>& weights) {
    if (weights.size() % 2 != 0)
      refuse(argument, "as many weights before the cell as behind it", formatted("{}", weights.size()));
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

cl::Event stencil(const Context& context, const Grid& in, const Grid& out, const Stencil& what,
                  const CallOptions& options) {
  ops::check_same_grid(kOperation, in, out);
  plan::require_known(kOperation, "shape", what.shape, StencilShape::expression);
  plan::require_known(kOperation, "boundary", what.boundary);
  StencilProblem problem = ops::problem_of(in, out);
  problem.shape = what.shape;
  problem.boundary = what.boundary;
  problem.expression = what.expression;
  const std::array<std::size_t, 3> radius{what.radius.x, what.radius.y, what.radius.z};
  constexpr std::size_t kMost = std::size_t{1} << 29;
  for (std::size_t d = 0; d < 3; ++d) {
    if (radius.at(d) >= kMost)
      refuse("radius", formatted("less than {}", kMost), formatted("{}", radius.at(d)));
    problem.window.at(d) = 2 * radius.at(d) + 1;
    problem.first.at(d) = -static_cast<std::ptrdiff_t>(radius.at(d));
  }
  const bool weighted = what.shape != StencilShape::expression;
  if (what.weights.size() != (weighted ? problem.weights() : 0)) {
    refuse("weights",
           weighted ? formatted("{}: one for each cell of a {} of radius {}, {}, {}", problem.weights(),
                                name_of(what.shape), radius[0], radius[1], radius[2])
                    : std::string("none beside an expression"),
           formatted("{}", what.weights.size()));
  }
  if (!weighted && what.expression.empty()) refuse("expression", "OpenCL C", "nothing");
  if (weighted && !what.expression.empty())
    refuse("expression", "none beside weights", formatted("\"{}\"", what.expression));
  return ops::run_stencil(context, problem, in, out, what.weights, what.value, options);
}

}  // namespace smem
