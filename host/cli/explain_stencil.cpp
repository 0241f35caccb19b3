// smem explain stencil.
#include "cli/explain.hpp"
#include "cli/stencil_case.hpp"

#include <memory>
#include <string>

namespace smem::cli {

namespace {

struct StencilOptions : ExplainOptions {
  std::string size, radius = "1x1", shape = "box";
  std::size_t channels = 1;
};

int explain_stencil(const StencilOptions& options) {
  const StencilCase c{*parse_pixel(options.type),
                      options.shape == "star" ? StencilShape::star : StencilShape::box,
                      *parse_extent(options.size, 1), *parse_extent(options.radius, 0), options.channels};
  StencilProblem problem = problem_of(c);
  problem.batch = options.batch;
  const PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  const auto measure = [&](const Context& context, const Plan& plan) {
    const std::size_t bytes = elements_of(c) * options.batch * size_of(c.type);
    const measure::Buffers buffers = explain_buffers(context, bytes);
    const GridSize size{c.size[0], c.size[1], c.size[2]};
    const GridLayout layout{.channels = c.channels, .batch = options.batch};
    const auto call = [&](const measure::BufferPair& pair) {
      return stencil(context, Grid(pair.in(), c.type, size, layout), Grid(pair.out(), c.type, size, layout),
                     weights_of(c), {.overrides = &plan.overrides});
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
  };
  return show(
      options, label_of(c) + times(options.batch), problem, fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_stencil(device, problem, overrides);
      },
      measure);
}

}  // namespace

void add_explain_stencil(Command explain, int& exit_code) {
  const Command command = explain.add_command("stencil", "The plan of a stencil of packed grids");
  auto options = std::make_shared<StencilOptions>();
  command.add_option("size", options->size, "Cells of the grid: X, XxY or XxYxZ")
      .required()
      .check(extent_validator(1));
  command.add_option("type", options->type, "uint8, uint16, half, float32 or float64")
      .required()
      .check(pixel_validator());
  command.add_option("--radius", options->radius, "Of the window: X, XxY or XxYxZ")
      .show_default()
      .check(extent_validator(0));
  command.add_option("--shape", options->shape, "box or star").show_default().one_of({"box", "star"});
  command.add_option("--channels", options->channels, "Interleaved in each cell")
      .show_default()
      .between(1, 4);
  add_explain_options(command, *options, stencil_variants());
  command.on_run([options, &exit_code] { exit_code = explain_stencil(*options); });
}

}  // namespace smem::cli
