// Heat diffusion: grids -> problem -> a launch for each pass over memory.
#include "formatted.hpp"
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/heat_variants.hpp"

#include <smem/heat.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace smem {

namespace {

using ops::refuse;

constexpr const char* kHeatName = "heat";

/// \throws Error naming the argument.
void require_number(const char* argument, double value, bool positive) {
  if (std::isfinite(value) && (positive ? value > 0 : value >= 0)) return;
  refuse(kHeatName, argument, positive ? "a finite number above 0" : "a finite number, 0 or more", value);
}

/// dt, times the conductivity where all cells have the same.
double factor_of(const Heat& heat) {
  return heat.dt * (heat.conductivities.buffer != nullptr ? 1 : heat.conductivity);
}

double largest_conductivity(const Heat& heat) {
  if (heat.conductivities.buffer == nullptr) {
    require_number("conductivity", heat.conductivity, false);
    return heat.conductivity;
  }
  require_number("max_conductivity", heat.max_conductivity, true);
  return heat.max_conductivity;
}

/// What a step multiplies the difference of neighbours by: dt * k / spacing^2, whatever the spacing where
/// nothing flows.
double flow(double factor, double spacing) { return factor == 0 ? 0 : factor / (spacing * spacing); }

void check_numbers(const Heat& heat, std::size_t dimensions, Scalar type) {
  require_number("dt", heat.dt, false);
  const double limit = heat_time_step_limit(heat, dimensions);
  // The limit itself, when the caller has computed it in another order.
  if (heat.dt > limit * (1 + 1e-12))
    refuse(kHeatName, "dt", formatted("at most {}, beyond which steps are unstable", limit), heat.dt);
  // As numbers of what is computed with.
  const double most =
      type == Scalar::float64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double factor = factor_of(heat);
  for (const double number : {heat.dt, flow(factor, heat.dx), dimensions > 1 ? flow(factor, heat.dy) : 0.0,
                              dimensions > 2 ? flow(factor, heat.dz) : 0.0}) {
    if (number <= most) continue;
    refuse(kHeatName, "dt", formatted("a step of which dt and dt / spacing^2 are at most {}", most), heat.dt);
  }
  if (!std::isfinite(heat.wall_value)) refuse(kHeatName, "wall_value", "a finite number", heat.wall_value);
}

/// Grids of a call, and where they lie.
struct HeatOperands {
  ConstGrid in;
  Grid out;
  ConstGrid conductivities, source;
};

/// `steps`: of the call; more than one may take several passes, which read `out`.
std::size_t check_grids(const Context& context, const HeatOperands& o, bool in_place, std::size_t steps) {
  const ops::Memory in = ops::check_grid(context, kHeatName, "in", o.in, false);
  const ops::Memory out = ops::check_grid(context, kHeatName, "out", o.out, true);
  if (steps > 1) ops::require_readable(kHeatName, "out", out);
  if (!in_place) ops::check_apart(kHeatName, o.in, in, o.out, out);
  std::size_t alignment = std::min(ops::row_alignment(o.in, in), ops::row_alignment(o.out, out));
  const auto beside = [&](const char* name, const ConstGrid& grid) {
    if (grid.buffer == nullptr) return;
    const ops::Memory memory = ops::check_grid(context, kHeatName, name, grid, false);
    ops::check_apart(kHeatName, grid, memory, o.out, out, name, "out");
    alignment = std::min(alignment, ops::row_alignment(grid, memory));
  };
  beside("conductivities", o.conductivities);
  beside("source", o.source);
  return alignment;
}

/// \throws Error naming the argument unless the grid, if there is one, fits `in`.
void check_beside(const char* name, const ConstGrid& grid, const ConstGrid& in) {
  if (grid.buffer == nullptr) return;
  const auto text = [](const GridSize& size) {
    return formatted("{} x {} x {}", size.width, size.height, size.depth);
  };
  ops::check_type(kHeatName, name, grid.type, in.type);
  if (grid.size != in.size)
    refuse(kHeatName, name, formatted("{} cells, as in has", text(in.size)), text(grid.size));
  if (grid.channels != 1) refuse(kHeatName, name, "one channel", grid.channels);
  if (grid.batch != in.batch && grid.batch != 1)
    refuse(kHeatName, name, formatted("a batch of {} or of 1", in.batch), grid.batch);
}

/// A grid as kernels take it: in two dimensions a row is a plane, and one grid serves a whole batch.
ConstGrid kernel_grid(ConstGrid grid, std::size_t dimensions) {
  if (dimensions == 2) grid.plane = grid.pitch;
  if (grid.batch == 1) grid.batch_stride = 0;
  return grid;
}

/// How many passes come before the launch.
std::size_t passes_before(const ops::Launching& launch) {
  std::size_t passes = launch.repeat();
  for (const Launch* other : launch.plan().launches()) {
    if (other == &launch.launch()) break;
    passes += other->repeats;
  }
  return passes;
}

/// One call with its checked arguments.
struct HeatCall {
  const HeatProblem& problem;
  const Heat& heat;
  const HeatOperands& operands;

  /// From `in` to `out` by way of both: the last pass writes `out`, the ones before take turns.
  void operator()(const ops::Launching& launch) const {
    const Plan& plan = launch.plan();
    std::size_t passes = 0;
    for (const Launch* each : plan.launches())
      passes += each->repeats;
    const std::size_t pass = passes_before(launch);
    const Grid between(launch.scratch(0, operands.out.buffer), problem.type, operands.in.size,
                       {.pitch = plan.number("pitch"), .batch = problem.batch});
    const bool writes_out = (passes - pass) % 2 == 1;
    const ConstGrid& from = pass == 0 ? operands.in : writes_out ? between : operands.out;
    const Grid& to = writes_out ? operands.out : between;
    if (problem.type == Scalar::float64) {
      bind<cl_double>(launch, from, to);
    } else {
      bind<cl_float>(launch, from, to);
    }
  }

  template <class T>
  void bind(const ops::Launching& launch, const ConstGrid& from, const Grid& to) const {
    const Launch& pass = launch.launch();
    const std::size_t steps = pass.number("steps");
    const std::string_view variant = launch.plan().variant;
    if (steps > 0 && (variant == "vector" || variant == "march")) {
      bind_with<T>(launch, from, to);
    } else if (steps > 0 && variant == "cpu") {
      bind_with<T>(launch, from, to, static_cast<cl_uint>(steps), pass.number("block_x"),
                   pass.number("block_y"), pass.number("chunk"));
    } else {
      bind_with<T>(launch, from, to, static_cast<cl_uint>(steps));
    }
  }

  /// `more`: the arguments behind those of all variants.
  template <class T, class... More>
  void bind_with(const ops::Launching& launch, const ConstGrid& from, const Grid& to,
                 const More&... more) const {
    const plan::HeatShape shape = plan::heat_shape(problem);
    const std::size_t dimensions = shape.dimensions;
    // What is not there is not read.
    const ConstGrid& k = problem.variable ? operands.conductivities : from;
    const ConstGrid& q = problem.source ? operands.source : from;
    const double factor = factor_of(heat);
    // A grid of two dimensions is one of height 1, whose planes are its rows; what it has not is not used.
    const double along_y = dimensions == 3 ? flow(factor, heat.dy) : 0;
    const double along_z = dimensions == 1 ? 0 : flow(factor, dimensions == 2 ? heat.dy : heat.dz);
    launch(kernel_grid(from, dimensions), kernel_grid(to, dimensions), kernel_grid(k, dimensions),
           kernel_grid(q, dimensions), shape.width, shape.height, shape.depth, problem.batch,
           static_cast<T>(flow(factor, heat.dx)), static_cast<T>(along_y), static_cast<T>(along_z),
           static_cast<T>(heat.dt), static_cast<T>(heat.wall_value), more...);
  }
};

bool is_same(const ConstGrid& a, const ConstGrid& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.pitch == b.pitch && a.plane == b.plane &&
         a.batch_stride == b.batch_stride;
}

}  // namespace

double heat_time_step_limit(const Heat& heat, std::size_t dimensions) {
  if (dimensions < 1 || dimensions > 3) refuse(kHeatName, "dimensions", "1 to 3", dimensions);
  require_number("dx", heat.dx, true);
  require_number("dy", heat.dy, true);
  require_number("dz", heat.dz, true);
  const double k = largest_conductivity(heat);
  double sum = flow(2 * k, heat.dx);
  if (dimensions > 1) sum += flow(2 * k, heat.dy);
  if (dimensions > 2) sum += flow(2 * k, heat.dz);
  return sum > 0 ? 1 / sum : std::numeric_limits<double>::infinity();
}

cl::Event heat(const Context& context, const ConstGrid& in, const Grid& out, const Heat& heat,
               const CallOptions& options) {
  HeatProblem problem;
  problem.type = ops::number_type(kHeatName, "in", in.type);
  problem.width = in.size.width;
  problem.height = in.size.height;
  problem.depth = in.size.depth;
  problem.dimensions = heat.dimensions;
  problem.batch = in.batch;
  problem.steps = heat.steps;
  problem.steps_per_pass = heat.steps_per_pass;
  problem.walls = heat.walls;
  problem.variable = heat.conductivities.buffer != nullptr;
  problem.mean = heat.mean;
  problem.source = heat.source.buffer != nullptr;
  problem.in_place = is_same(in, out);
  plan::check_heat(context.device(), problem);
  check_numbers(heat, heat_dimensions(problem), problem.type);
  if (in.channels != 1) refuse(kHeatName, "in", "one channel", in.channels);
  ops::check_type(kHeatName, "out", out.type, in.type);
  ops::check_same_grid(kHeatName, in, out);
  check_beside("conductivities", heat.conductivities, in);
  check_beside("source", heat.source, in);

  if (ops::is_empty(in)) return ops::run_empty(context, kHeatName, plan_heat, problem, options);
  const HeatOperands operands{in, out, heat.conductivities, heat.source};
  problem.alignment = check_grids(context, operands, problem.in_place, problem.steps);
  if (problem.in_place && problem.steps == 0)
    return ops::run_empty(context, kHeatName, plan_heat, problem, options);
  return ops::run(context, kHeatName, plan_heat, problem, options, HeatCall{problem, heat, operands});
}

}  // namespace smem
