// smem explain: the plan of an operation, without running it.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options {
  std::string shape, type, variant, device;
  std::size_t batch = 1;
  bool in_place = false;
};

int run(const Options& options) {
  const Context context({.device = options.device});
  TransposeProblem problem =
      packed_problem(*parse_element(options.type), *parse_shape(options.shape), options.batch);
  problem.in_place = options.in_place;
  const Plan plan = plan_transpose(context.device(), problem, options.variant);
  fmt::print("{} x {} {}, on {} ({})\n{}  build       {}\n", problem.rows, problem.cols, options.type,
             context.device().name, context.device().platform, plan.to_string(), plan.build_options());
  return kGood;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("explain", "Print the plan of an operation: kernel, sizes, layout, and why");
  command->require_subcommand(1);
  CLI::App* transpose = command->add_subcommand("transpose", "The plan of a transpose of packed matrices");
  auto options = std::make_shared<Options>();
  transpose->add_option("shape", options->shape, "Of the input: ROWSxCOLS")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_shape(text) ? "" : "not of the form ROWSxCOLS: " + text;
          },
          "ROWSxCOLS", "shape"));
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
  transpose->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  transpose->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace smem::cli
