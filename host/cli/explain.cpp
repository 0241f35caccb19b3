// smem explain: the plan of an operation in words, for a device that is here or for one that is not.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/beside.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/terminal.hpp"
#include "cli/whole_file.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

using operations::Candidate;
using operations::Case;
using operations::Operation;

struct ExplainOptions {
  WordValues words;
  std::string variant, layout, device, like;
  FixedWords words_of_plan;
  bool run = false, json = false;

  PlanOverrides fixed() const {
    PlanOverrides fixed = words_of_plan.with(variant);
    if (!layout.empty()) fixed.layout = parse_layout(layout);
    return fixed;
  }
};

CLI::Validator layout_validator() {
  const auto fault_of = [](const std::string& text) -> std::string {
    try {
      parse_layout(text);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  return {fault_of, "LAYOUT"};
}

/// The facts in a file. \throws Error naming --like when it cannot be read.
Device read_facts(const std::string& path) {
  const std::optional<std::string> text = text_of_file(path);
  if (!text) {
    throw Error({.operation = "explain",
                 .argument = "--like",
                 .expected = "a file of device facts, as smem devices --json writes it",
                 .got = path});
  }
  return device_from_json(*text);
}

/// Of what is fixed, else of what was tuned, else the shipped plan.
Plan plan_of(const Case& c, const Context* context, const Device& device, const PlanOverrides& fixed) {
  if (context == nullptr || fixed != PlanOverrides{}) return c.plan(device, fixed);
  if (const auto entry = find_tuning(*context, c.tuning)) {
    try {
      Plan plan = c.plan(device, entry->overrides);
      plan.evidence = entry->evidence();
      return plan;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): then the shipped plan stands
    }
  }
  return c.plan(device, fixed);
}

/// Of the main launch, which is what a plan's bound is for.
double seconds_of(const Case& c, const Context& context, const Plan& plan) {
  const CaseData data(c);
  if (data.bytes() > context.device().max_allocation) {
    throw Error({.operation = "explain",
                 .argument = "--run",
                 .expected = fmt::format("inputs of at most {} bytes", context.device().max_allocation),
                 .got = fmt::format("{} bytes", data.bytes()),
                 .device = context.device().name});
  }
  measure::Buffers buffers = measure::make_buffers(context, data.bytes());
  if (c.operations > 0) buffers.pairs.resize(1);
  for (const measure::BufferPair& pair : buffers.pairs)
    data.write(context, pair);
  const auto call = [&](const measure::BufferPair& pair) {
    return c.call(context, data.arrays(pair), {.overrides = &plan.overrides});
  };
  const measure::Effort effort = effort_of(context, buffers, call);
  return operations::main_share(c, plan) *
         measure::Meter(context).measure(buffers, c.bytes, call, effort).call.median;
}

/// What the operation's model chooses among, where it has one and nothing but a variant of its own is fixed.
std::vector<Candidate> candidates_of(const Case& c, const Device& device, const ExplainOptions& options) {
  if (!c.candidates || options.fixed() != PlanOverrides{.variant = options.variant}) return {};
  std::vector<Candidate> all = c.candidates(device, options.variant);
  const bool is_other = !options.variant.empty() && !all.empty() && all[0].plan.variant != options.variant;
  if (is_other) all.clear();
  return all;
}

void explain_case(const Operation& operation, const Case& c, const ExplainOptions& options) {
  std::optional<Context> context;
  if (options.like.empty()) context.emplace(ContextOptions{.device = options.device, .profiling = true});
  const Device device = context ? context->device() : read_facts(options.like);
  const Plan plan = plan_of(c, context ? &*context : nullptr, device, options.fixed());
  Knowledge knowledge;
  if (options.run) {
    knowledge.rates = measure_rates(*context);
    knowledge.registers = registers_of(*context, plan);
    knowledge.measured_seconds = seconds_of(c, *context, plan);
  }
  const std::vector<Candidate> candidates = candidates_of(c, device, options);
  if (options.json) {
    fmt::print("{}", operations::with_candidates(explain_json(plan, device, knowledge), candidates));
  } else {
    print_fitted(fmt::format("{}: {} on {}{}", operation.name, c.text, explain(plan, device, knowledge),
                             operations::text_of(candidates)));
  }
}

void add_operation(CLI::App* explain, const Operation& operation) {
  CLI::App* const command =
      explain->add_subcommand(std::string(operation.name), std::string(operation.summary));
  auto options = std::make_shared<ExplainOptions>();
  const std::vector<CLI::Option*> words = add_words(command, operation.words, options->words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const operations::WordRule& rule = operation.words[i];
    if (rule.usual.empty() && rule.kind != operations::WordKind::flag) words[i]->required();
  }
  add_fixed_options(command, options->words_of_plan);
  command
      ->add_option("--layout", options->layout,
                   "Fix the tile's layout: plain, padded[:ITEMS] or swizzled[:MASK]")
      ->check(layout_validator());
  command->add_option("--variant", options->variant, "Explain this variant, not the plan's choice")
      ->check(variant_validator(operation));
  CLI::Option* const device = add_device_option(command, options->device);
  CLI::Option* const like =
      command
          ->add_option("--like", options->like,
                       "Plan for the device of this facts file (smem devices --json), which need not be here")
          ->type_name("FILE");
  CLI::Option* const run_flag = command->add_flag(
      "--run", options->run, "Also run it, and print the measured time beside the bound from measured rates");
  command->add_flag("--json", options->json, "As JSON");
  like->excludes(device)->excludes(run_flag);
  command->callback([&operation, options] {
    for (const Case& c : cases_of(operation, options->words))
      explain_case(operation, c, *options);
  });
}

}  // namespace

void add_explain(CLI::App* root) {
  CLI::App* const command = root->add_subcommand(
      "explain", "Print the plan of an operation: kernel, sizes, layout, what bounds it, and why");
  command->require_subcommand(1, 1);
  for (const Operation& operation : operations::all())
    add_operation(command, operation);
  add_beside(command, "explain",
             "Data exchanged by operations on several ranks, the part that is hidden, and scaling");
}

}  // namespace smem::cli
