// smem bench heat: GB/s of a read and a write of each cell for every step, and the share of the device's own
// copy bandwidth.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string size, type = "float32", tile;
  std::size_t steps = 1, steps_per_pass = 0;
  bool conductivities = false;
};

std::size_t cells_of(const HeatCase& c) { return c.size.width * c.size.height * c.size.depth; }

/// The value of cell i, in [0, 1), and its conductivity.
double value_of(std::size_t i) { return static_cast<double>((i * 0x9e3779b97f4a7c15U) >> 40) * 0x1p-24; }
double conductivity_of(std::size_t i) { return i / 7 % 3 == 0 ? 0.25 : 1; }

/// What cells of T are computed with.
template <class T>
using Number = std::conditional_t<std::is_same_v<T, half>, float, T>;

template <class T, class Make>
std::vector<T> grid_of(const HeatCase& c, const Make& make) {
  std::vector<T> grid(cells_of(c));
  for (std::size_t i = 0; i < grid.size(); ++i)
    grid[i] = static_cast<T>(static_cast<Number<T>>(make(i)));
  return grid;
}

template <class T>
std::vector<unsigned char> bytes_of(const std::vector<T>& grid) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(grid.data());
  return {bytes, bytes + grid.size() * sizeof(T)};
}

/// Equal spacings, and nine tenths of the longest stable step.
Heat heat_of(const HeatCase& c) {
  Heat heat{.steps = c.steps, .max_conductivity = 1};
  const std::size_t dimensions = c.size.depth > 1 ? 3 : c.size.height > 1 ? 2 : 1;
  heat.dt = 0.9 * heat_time_step_limit(heat, dimensions);
  return heat;
}

/// The cells after all steps, by a plain loop: what flows through each face is taken from one cell and given
/// to the other. Of half by float, without the roundings of passes.
template <class T>
std::vector<Number<T>> plain_result(const HeatCase& c) {
  const std::vector<T> cells = grid_of<T>(c, value_of);
  std::vector<Number<T>> u(cells.begin(), cells.end()), next = u;
  const std::vector<Number<T>> k =
      c.variable ? grid_of<Number<T>>(c, conductivity_of) : std::vector<Number<T>>{};
  const std::size_t width = c.size.width, height = c.size.height, depth = c.size.depth;
  const std::size_t strides[] = {1, width, width * height};
  const auto dt = static_cast<Number<T>>(heat_of(c).dt);
  for (std::size_t step = 0; step < c.steps; ++step) {
    for (std::size_t z = 0; z < depth; ++z) {
      for (std::size_t y = 0; y < height; ++y) {
        const std::size_t row = (z * height + y) * width;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if ((axis == 1 && y + 1 == height) || (axis == 2 && z + 1 == depth)) continue;
          const std::size_t stride = strides[axis], end = axis == 0 ? width - 1 : width;
          for (std::size_t i = row; i < row + end; ++i) {
            Number<T> flow = dt * (u[i + stride] - u[i]);
            if (c.variable) flow *= 2 * k[i] * k[i + stride] / (k[i] + k[i + stride]);
            next[i] += flow;
            next[i + stride] -= flow;
          }
        }
      }
    }
    u = next;
  }
  return u;
}

template <class T>
std::optional<std::string> check(const Context& context, const HeatCase& c,
                                 const std::vector<Number<T>>& expected, const cl::Buffer& results) {
  std::vector<T> got(expected.size());
  read_buffer(context, results, got.data(), got.size() * sizeof(T));
  using N = Number<T>;
  // Halves below 1 are off by 2^-12 more after each pass, of which there are no more than steps.
  const N each = std::is_same_v<T, half> ? static_cast<N>(0x1p-11) : 16 * std::numeric_limits<N>::epsilon();
  const N tolerance = static_cast<N>(c.steps) * each;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto value = static_cast<N>(got[i]);
    if (!(std::abs(value - expected[i]) <= tolerance))
      return fmt::format("cell {} is {}, not {}", i, value, expected[i]);
  }
  return std::nullopt;
}

std::string label_of(const HeatCase& c) {
  std::string size = fmt::format("{}", c.size.width);
  if (c.size.height > 1 || c.size.depth > 1) size += fmt::format("x{}", c.size.height);
  if (c.size.depth > 1) size += fmt::format("x{}", c.size.depth);
  return fmt::format("{} {}, {} step{}{}", size, name_of(c.type), c.steps, c.steps == 1 ? "" : "s",
                     c.variable ? ", conductivities" : "");
}

template <class T>
void run_case(BenchTable& table, const HeatCase& c, const Options& options) {
  const std::string label = label_of(c);
  const std::size_t bytes = cells_of(c) * sizeof(T);
  const auto buffers = table.buffers(label, bytes, c.variable ? 4 : 3);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, bytes_of(grid_of<T>(c, value_of)));
  Heat heat = heat_of(c);
  const Array<T> conductivities =
      c.variable ? Array<T>(context, grid_of<T>(c, conductivity_of)) : Array<T>(context, 0);
  if (c.variable) heat.conductivities = GridView<T>(conductivities.buffer(), c.size);
  const std::vector<Number<T>> expected = plain_result<T>(c);
  HeatProblem problem{.type = c.type, .width = c.size.width, .height = c.size.height, .depth = c.size.depth};
  problem.steps = c.steps;
  problem.variable = c.variable;
  problem.alignment = packed_alignment(c.size.width * sizeof(T));
  for (const std::string& variant : options.variants_of(heat_variants())) {
    // Variants of one step a pass stay what they are.
    const bool one = variant == "naive" || variant == "tiled" || variant == "vector";
    problem.steps_per_pass = heat.steps_per_pass = one ? 0 : options.steps_per_pass;
    PlanOverrides fixed{.variant = variant};
    if (!options.tile.empty() && (variant == "vector" || variant == "march")) {
      fixed.tile_rows = parse_shape(options.tile)->rows;
      fixed.tile_cols = parse_shape(options.tile)->cols;
    }
    const auto make_plan = [&](const std::string&) { return plan_heat(context.device(), problem, fixed); };
    const auto call = [&](const measure::BufferPair& pair) {
      return smem::heat(context, Grid(pair.in(), c.type, c.size), Grid(pair.out(), c.type, c.size), heat,
                        {.overrides = &fixed});
    };
    table.row({label, variant, c.goal, 2.0 * static_cast<double>(bytes * c.steps)}, *buffers, make_plan, call,
              [&] { return check<T>(context, c, expected, buffers->pairs.front().out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "a read and a write of each cell for every step");
  std::vector<HeatCase> cases;
  if (options.is_list()) {
    cases = heat_goals(table.device().type, options.goals_small);
  } else {
    cases.push_back(
        {*parse_scalar(options.type), *parse_grid(options.size), options.steps, options.conductivities});
  }
  for (const HeatCase& c : cases) {
    if (c.type == Scalar::half) {
      run_case<half>(table, c, options);
    } else if (c.type == Scalar::float32) {
      run_case<float>(table, c, options);
    } else if (table.device().fp64) {
      run_case<double>(table, c, options);
    }
  }
  return table.end();
}

}  // namespace

void ladder_heat(const LadderOptions& options) {
  climb(options, heat_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t edge = options.size(table.device(), 32, 192, 512);
    Options each;
    each.variants = variants;
    run_case<float>(table, {Scalar::float32, {edge, edge, edge}, 6}, each);
  });
}

void add_bench_heat(Command bench, int& exit_code) {
  const Command command =
      bench.add_command("heat", "Speed of heat diffusion, beside the device's own copy for every step");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->size, "Cells along a row, rows, planes")
                          .check(grid_validator());
  command.add_option("--type", options->type, "half, float32 or float64")
      .show_default()
      .one_of({"half", "float32", "float64"});
  command.add_option("--steps", options->steps, "Of a call").show_default().positive();
  command.add_option("--steps-per-pass", options->steps_per_pass,
                     "Over memory, at most; else the plan chooses");
  command.add_option("--tile", options->tile, "Of vector and march: what a work-group makes, ROWSxCOLS cells")
      .check(shape_validator());
  command.add_flag("--conductivities", options->conductivities, "A conductivity for each cell");
  add_bench_options(command, *options, heat_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
