// smem explain of described operations.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/described.hpp"
#include "cli/explain.hpp"
#include "operations/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

namespace smem::cli {

namespace {

using operations::Case;
using operations::Operation;

struct Options : ExplainOptions {
  WordValues words;
  std::string tile, layout;
};

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

/// Of the main launch, which is what a plan's bound is for: its share of the call's, by bytes; of the call
/// where operations count.
double seconds_of(const Case& c, const Context& context, const Plan& plan) {
  const CaseData data(c);
  measure::Buffers buffers = explain_buffers(context, data.bytes());
  if (c.operations > 0) buffers.pairs.resize(1);
  for (const measure::BufferPair& pair : buffers.pairs) {
    data.write_inputs(context, pair);
    data.write_others(context, pair);
  }
  const auto call = [&](const measure::BufferPair& pair) {
    return c.call(context, data.arrays(pair), {.overrides = &plan.overrides});
  };
  double bytes = 0;
  for (const Launch* launch : plan.launches())
    bytes += launch->prediction.bytes() * static_cast<double>(launch->repeats);
  const double share = bytes > 0 && c.operations == 0 ? plan.prediction.bytes() / bytes : 1;
  const measure::Effort effort = effort_of(context, buffers, call);
  return share * measure::Meter(context).measure(buffers, bytes, call, effort).call.median;
}

int explain_operation(const Operation& operation, const Options& options) {
  PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  fix_tile(fixed, options.tile, options.layout);
  int worst = kGood;
  for (const Case& c : cases_of(operation, options.words)) {
    worst = std::max(
        worst,
        show_chosen(
            options, fmt::format("{} of {}", operation.name, c.text),
            [&](const Context* context, const Device& device) { return plan_of(c, context, device, fixed); },
            [&](const Context& context, const Plan& plan) { return seconds_of(c, context, plan); }));
  }
  return worst;
}

}  // namespace

void add_explain_operations(Command explain, int& exit_code) {
  for (const Operation& operation : operations::all()) {
    const Command command = explain.add_command(std::string(operation.name), std::string(operation.summary));
    auto options = std::make_shared<Options>();
    const std::vector<Option> words = add_words(command, operation.words, options->words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const operations::WordRule& rule = operation.words[i];
      if (rule.usual.empty() && rule.kind != operations::WordKind::flag) words[i].required();
    }
    command.add_option("--tile", options->tile, "Fix the tile, in elements: ROWSxCOLS")
        .check(shape_validator());
    command.add_option("--layout", options->layout,
                       "Fix the tile's layout: plain, padded[:ITEMS] or swizzled[:MASK]");
    add_explain_options(command, *options, operation.variants());
    command.on_run([&operation, options, &exit_code] { exit_code = explain_operation(operation, *options); });
  }
}

}  // namespace smem::cli
