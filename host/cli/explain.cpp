// smem explain: the plan of an operation in words, for a device that is here or for one that is not.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options {
  std::string shape, type, variant, device, like, layout, tile;
  std::size_t batch = 1, work_items = 0;
  bool in_place = false, run = false, json = false;
};

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

/// Seconds of the transpose on the device, from the same measurement as `smem bench transpose`.
double measure_run(const Context& context, const TransposeProblem& problem, const Plan& plan) {
  const std::size_t bytes = problem.element_bytes * problem.rows * problem.cols * problem.batch;
  if (bytes > context.device().max_allocation) {
    throw Error({.operation = "explain",
                 .argument = "--run",
                 .expected = fmt::format("matrices of at most {} bytes", context.device().max_allocation),
                 .got = fmt::format("{} bytes", bytes),
                 .device = context.device().name});
  }
  const measure::Buffers buffers = measure::make_buffers(context, bytes);
  const Extent packed{.batch = problem.batch};
  measure::Meter meter(context);
  const auto call = [&](const measure::BufferPair& pair) {
    const Matrix in(pair.in(), problem.element_bytes, problem.rows, problem.cols, packed);
    if (problem.in_place) return transpose_in_place(context, in, {.overrides = &plan.overrides});
    return transpose(context, in,
                     Matrix(pair.out(), problem.element_bytes, problem.cols, problem.rows, packed),
                     {.overrides = &plan.overrides});
  };
  return meter.measure(buffers, plan.prediction.bytes(), call).call.median;
}

int run(const Options& options) {
  TransposeProblem problem =
      packed_problem(*parse_element(options.type), *parse_shape(options.shape), options.batch);
  problem.in_place = options.in_place;
  PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  if (!options.layout.empty()) fixed.layout = parse_layout(options.layout);
  if (!options.tile.empty()) {
    fixed.tile_rows = parse_shape(options.tile)->rows;
    fixed.tile_cols = parse_shape(options.tile)->cols;
  }

  std::optional<Context> context;
  if (options.like.empty()) context.emplace(ContextOptions{.device = options.device, .profiling = true});
  const Device device = context ? context->device() : read_facts(options.like);
  const Plan plan = plan_transpose(device, problem, fixed);
  Knowledge knowledge;
  if (options.run) {
    knowledge.rates = measure_rates(*context);
    knowledge.registers = registers_of(*context, plan);
    knowledge.measured_seconds = measure_run(*context, problem, plan);
  }
  if (options.json) {
    fmt::print("{}", explain_json(plan, device, knowledge));
  } else {
    fmt::print("{} x {} {}{} on {}", problem.rows, problem.cols, options.type,
               problem.batch == 1 ? "" : fmt::format(", {} of them,", problem.batch),
               explain(plan, device, knowledge));
  }
  return kGood;
}

CLI::Validator shape_validator() {
  return CLI::Validator(
      [](const std::string& text) { return parse_shape(text) ? "" : "not of the form ROWSxCOLS: " + text; },
      "ROWSxCOLS", "shape");
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "explain", "Print the plan of an operation: kernel, sizes, layout, what bounds it, and why");
  command->require_subcommand(1);
  CLI::App* transpose = command->add_subcommand("transpose", "The plan of a transpose of packed matrices");
  auto options = std::make_shared<Options>();
  transpose->add_option("shape", options->shape, "Of the input: ROWSxCOLS")
      ->required()
      ->check(shape_validator());
  transpose
      ->add_option("type", options->type, "Element type, as float or uchar4, or its bytes: 1, 2, 4, 8 or 16")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_element(text) ? "" : "not a type of 1, 2, 4, 8 or 16 bytes: " + text;
          },
          "TYPE", "type"));
  transpose->add_option("--batch", options->batch, "Number of matrices")->check(CLI::PositiveNumber);
  transpose->add_flag("--in-place", options->in_place, "Input and output are the same square matrix");
  const auto names = transpose_variants();
  transpose->add_option("--variant", options->variant, "Instead of the one that the plan would choose")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  transpose->add_option("--tile", options->tile, "Fix the tile, in elements: ROWSxCOLS")
      ->check(shape_validator());
  transpose->add_option("--work-items", options->work_items, "Fix the size of a work-group")
      ->check(CLI::PositiveNumber);
  transpose->add_option("--layout", options->layout,
                        "Fix the tile's layout: plain, padded[:ITEMS] or swizzled[:MASK]");
  CLI::Option* device =
      transpose->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* like = transpose->add_option(
      "--like", options->like, "A facts file (smem devices --json): the plan for a device that is not here");
  CLI::Option* run_flag = transpose->add_flag(
      "--run", options->run, "Run it too: the measured time beside the bound by the device's measured rates");
  transpose->add_flag("--json", options->json, "As JSON");
  like->excludes(device)->excludes(run_flag);
  transpose->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace smem::cli
