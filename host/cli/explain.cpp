// smem explain: the plan of an operation in words, for a device that is here or for one that is not.
#include "cli/explain.hpp"

#include "cli/arguments.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

Device read_facts(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw Error({.operation = "explain",
                 .argument = "--like",
                 .expected = "a file of device facts, as smem devices --json writes it",
                 .got = path});
  }
  return device_from_json(text);
}

measure::Buffers explain_buffers(const Context& context, std::size_t bytes) {
  if (bytes > context.device().max_allocation) {
    throw Error({.operation = "explain",
                 .argument = "--run",
                 .expected = fmt::format("inputs of at most {} bytes", context.device().max_allocation),
                 .got = fmt::format("{} bytes", bytes),
                 .device = context.device().name});
  }
  return measure::make_buffers(context, bytes);
}

void fix_tile(PlanOverrides& fixed, const std::string& tile, const std::string& layout) {
  if (!layout.empty()) fixed.layout = parse_layout(layout);
  if (tile.empty()) return;
  const auto shape = parse_shape(tile).value();
  fixed.tile_rows = shape.rows;
  fixed.tile_cols = shape.cols;
}

void add_explain_options(Command command, ExplainOptions& options,
                         const std::vector<std::string_view>& variants, bool with_batch) {
  command.add_option("--variant", options.variant, "Instead of the one that the plan would choose")
      .one_of({variants.begin(), variants.end()});
  if (with_batch) command.add_option("--batch", options.batch, "Number of matrices").positive();
  command.add_option("--work-items", options.work_items, "Fix the size of a work-group").positive();
  const Option device = add_device_option(command, options.device);
  const Option like =
      command
          .add_option("--like", options.like,
                      "A facts file (smem devices --json): the plan for a device that is not here")
          .type_name("FILE");
  const Option run_flag = command.add_flag(
      "--run", options.run, "Run it too: the measured time beside the bound by the device's measured rates");
  command.add_flag("--json", options.json, "As JSON");
  like.excludes(device).excludes(run_flag);
}

namespace {

struct HeatOptions : ExplainOptions {
  std::string size, tile;
  std::size_t steps = 1, steps_per_pass = 0;
  bool conductivities = false;
};

int explain_heat(const HeatOptions& options) {
  const GridSize size = *parse_grid(options.size);
  HeatProblem problem;
  problem.type = *parse_scalar(options.type);
  problem.width = size.width;
  problem.height = size.height;
  problem.depth = size.depth;
  problem.batch = options.batch;
  problem.steps = options.steps;
  problem.steps_per_pass = options.steps_per_pass;
  problem.variable = options.conductivities;
  problem.alignment = packed_alignment(size.width * size_of(problem.type));
  PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  if (!options.tile.empty()) {
    fixed.tile_rows = parse_shape(options.tile)->rows;
    fixed.tile_cols = parse_shape(options.tile)->cols;
  }
  const auto measure = [&](const Context& context, const Plan& plan) {
    const std::size_t bytes = size.width * size.height * size.depth * options.batch * size_of(problem.type);
    const measure::Buffers buffers = explain_buffers(context, bytes);
    const cl::Buffer conductivities = make_buffer(context, options.conductivities ? bytes : 1);
    // What one launch does, which is what the plan describes.
    Heat heat{.steps = plan.number("steps")};
    heat.steps_per_pass = heat.steps;
    heat.max_conductivity = 1;
    const GridLayout layout{.batch = options.batch};
    if (options.conductivities) heat.conductivities = Grid(conductivities(), problem.type, size, layout);
    const auto call = [&](const measure::BufferPair& pair) {
      return smem::heat(context, Grid(pair.in(), problem.type, size, layout),
                        Grid(pair.out(), problem.type, size, layout), heat, {.overrides = &plan.overrides});
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
  };
  return show(
      options,
      fmt::format("{} step(s) of heat diffusion in {} {}{}", options.steps, options.size, options.type,
                  times(options.batch)),
      problem, fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_heat(device, problem, overrides);
      },
      measure);
}

void add_type(Command command, ExplainOptions& options) {
  command.add_option("type", options.type, "Element type, as float32 or uchar")
      .required()
      .check(scalar_validator());
}

void add_heat(Command explain, int& exit_code) {
  const Command command = explain.add_command("heat", "The plan of heat diffusion");
  auto options = std::make_shared<HeatOptions>();
  command.add_option("size", options->size, "Cells along a row, rows, planes: one to three numbers")
      .required()
      .check(grid_validator());
  add_type(command, *options);
  command.add_option("--steps", options->steps, "Of a call").show_default();
  command.add_option("--steps-per-pass", options->steps_per_pass,
                     "Over memory, at most; else the plan chooses");
  command.add_option("--tile", options->tile, "Fix what a work-group makes, in cells: ROWSxCOLS")
      .check(shape_validator());
  command.add_flag("--conductivities", options->conductivities, "A conductivity for each cell");
  add_explain_options(command, *options, heat_variants());
  command.on_run([options, &exit_code] { exit_code = explain_heat(*options); });
}

}  // namespace

void add_explain(Command root, int& exit_code) {
  const Command command = root.add_command(
      "explain", "Print the plan of an operation: kernel, sizes, layout, what bounds it, and why");
  command.require_commands(1, 1);
  add_explain_operations(command, exit_code);
  add_explain_gemm(command, exit_code);
  add_heat(command, exit_code);
  add_explain_stencil(command, exit_code);
  add_explain_filters(command, exit_code);
}

}  // namespace smem::cli
