/// What the explanations of all operations share: their options, and how a plan is shown.
#pragma once

#include "cli/commands.hpp"
#include "cli/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

/// What every operation's explanation can be asked.
struct ExplainOptions {
  std::string variant, device, like;
  std::size_t work_items = 0;
  bool run = false, json = false;
};

/// The facts in a file. \throws Error naming --like when it cannot be read.
Device read_facts(const std::string& path);

/// Buffers for an input of so many bytes. \throws Error naming --run when the device has none so large.
measure::Buffers explain_buffers(const Context& context, std::size_t bytes);

/// Adds --variant, --work-items, --device, --like, --run and --json.
void add_explain_options(Command command, ExplainOptions& options,
                         const std::vector<std::string_view>& variants);

/// Fixes what --tile and --layout say; empty: nothing.
void fix_tile(PlanOverrides& fixed, const std::string& tile, const std::string& layout);

/// Prints the plan that `choose(context, device)` makes; `context` is null for a device that is not here.
/// `measure(context, plan)`: seconds of a call, as the benchmark measures them.
template <class Choose, class Measure>
int show_chosen(const ExplainOptions& options, const std::string& text, const Choose& choose,
                const Measure& measure) {
  std::optional<Context> context;
  if (options.like.empty()) context.emplace(ContextOptions{.device = options.device, .profiling = true});
  const Device device = context ? context->device() : read_facts(options.like);
  const Plan plan = choose(context ? &*context : nullptr, device);
  Knowledge knowledge;
  if (options.run) {
    knowledge.rates = measure_rates(*context);
    knowledge.registers = registers_of(*context, plan);
    knowledge.measured_seconds = measure(*context, plan);
  }
  if (options.json) {
    fmt::print("{}", explain_json(plan, device, knowledge));
  } else {
    fmt::print("{} on {}", text, explain(plan, device, knowledge));
  }
  return kGood;
}

}  // namespace smem::cli
