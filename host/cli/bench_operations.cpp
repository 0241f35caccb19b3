// smem bench of described operations: the share of the device's own copy bandwidth or fp32 rate, every result
// compared.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "operations/list.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

using operations::Case;
using operations::Operation;

struct OperationOptions : BenchOptions {
  ShapeOptions shapes;
  std::uint64_t seed = 0;
  WordValues words;
  FixedWords fixed;
  std::vector<std::string> variants;
};

/// A variant, and the tile and work-items that were asked for: among all variants, where it has that choice.
PlanOverrides fixed_for(const Case& c, const Device& device, const std::string& variant,
                        const OperationOptions& options) {
  PlanOverrides fixed = options.fixed.with(variant);
  if (!options.all_variants || fixed == PlanOverrides{.variant = variant}) return fixed;
  try {
    c.plan(device, fixed);
  } catch (const Error&) {
    return {.variant = variant};
  }
  return fixed;
}

void run_case(BenchTable& table, const SampleCase& c, const std::vector<std::string>& variants,
              const OperationOptions& options = {}) {
  const CaseData data(c.one);
  auto buffers = table.buffers(c.one.text, data.bytes(), 2);
  if (!buffers) return;
  if (c.one.operations > 0) buffers->pairs.resize(1);  // as a program that computes with what stays there
  const Context& context = table.context();
  const bool compares = options.seconds == 0;  // else a plain loop would take longer than the measurement
  for (const measure::BufferPair& pair : buffers->pairs)
    compares ? data.write(context, pair) : data.write_pieces(context, pair);
  for (const std::string& variant : variants) {
    const PlanOverrides fixed = fixed_for(c.one, context.device(), variant, options);
    const auto make_plan = [&](const std::string&) { return c.one.plan(context.device(), fixed); };
    const bool has_events = measure::timed_by_events(context);
    const auto call = [&](const measure::BufferPair& pair) {
      if (fixed == PlanOverrides{.variant = variant})
        return c.one.call(context, data.arrays(pair), {.variant = variant, .event = has_events});
      return c.one.call(context, data.arrays(pair), {.overrides = &fixed, .event = has_events});
    };
    const auto check = [&]() -> std::optional<std::string> {
      if (!compares) return std::nullopt;
      const measure::BufferPair& first = buffers->pairs.front();
      data.write_others(context, first);
      call(first);
      context.finish();
      return data.wrong(context, first);
    };
    table.row({c.one.text, variant, c.goal, c.one.bytes, c.one.operations}, *buffers, make_plan, call, check);
  }
}

int run(const Operation& operation, OperationOptions options) {
  options.group = operation.name;
  if (options.lists.quick) options.seconds = kQuickSeconds;
  if (options.lists.weak && operation.samples.weak.empty() && operation.samples.weak_usual.empty())
    return kGood;
  const bool counts_operations = operation.parse(operation.samples.edges.front().words).operations > 0;
  BenchTable table(options, std::string(operation.counted), counts_operations);
  std::vector<SampleCase> cases;
  if (options.is_list()) {
    cases = samples_of(operation, table.device(), options.lists.scale(table.device()));
  } else {
    for (Case& one : cases_of(operation, options.words))
      cases.push_back({std::move(one), 0});
  }
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();  // the plan's own choice has no name
  const std::vector<std::string_view> names = operation.variants();
  if (options.all_variants) variants.insert(variants.end(), names.begin(), names.end());
  for (const SampleCase& c : cases)
    run_case(table, c, variants, options);
  return table.end();
}

/// Plans what was asked for, since plans refuse what is no problem; a variant that does not run on the device
/// has a row that says so. \throws Error naming an argument.
void check_cases(const Operation& operation, const OperationOptions& options) {
  if (options.is_list()) return;
  const Device device = Context({.device = options.device}).device();
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  for (const Case& c : cases_of(operation, options.words)) {
    for (const std::string& variant : variants) {
      try {
        c.plan(device, fixed_for(c, device, variant, options));
      } catch (const Error& error) {
        if (variant.empty() || error.details().argument != "variant") throw;
      }
    }
  }
}

/// --random and what belongs to it, of operations that draw problems; and --model.
CLI::Option* add_shape_options(CLI::App* command, const Operation& operation, OperationOptions& options) {
  CLI::Option* const random =
      command->add_option("--random", options.seed, "Measure random problems, the same for each seed");
  const auto add = [&](const char* name, auto& to, const char* help) {
    return command->add_option(name, to, help)->needs(random);
  };
  add("--shapes", options.shapes.shapes, "Problems of each kind; default: 60")->check(CLI::Range(1, 100000));
  add("--kind", options.shapes.kinds, "Kind of problems; may be repeated; default: all")
      ->check(CLI::IsMember(operation.draw.kinds));
  add("--most", options.shapes.most, "Operations of a problem; default: 2e12, on CPUs 1e9")
      ->check(CLI::Range(1e4, 1e15));
  command->add_flag("--print", options.shapes.only_list, "Print the problems, and measure nothing")
      ->needs(random);
  command->add_flag("--model", options.shapes.model,
                    "Measure all plans that the model chooses among, beside its predictions");
  return random;
}

bool is_given(const CLI::App* command, const char* flag) {
  const CLI::Option* option = command->get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

/// Whether a list was asked for by a command beside this one, or by the one above.
bool is_asked_elsewhere(const CLI::App* command, const char* flag) {
  const CLI::App* above = command->get_parent();
  const std::vector<CLI::App*> beside = above->get_subcommands();
  return is_given(above, flag) ||
         std::any_of(beside.begin(), beside.end(), [&](const CLI::App* one) { return is_given(one, flag); });
}

void add_operation(CLI::App* bench, const Operation& operation, Measurements& measurements) {
  CLI::App* const command =
      bench->add_subcommand(std::string(operation.name), std::string(operation.summary));
  auto options = std::make_shared<OperationOptions>();
  const std::vector<CLI::Option*> words = add_words(command, operation.words, options->words);
  add_fixed_options(command, options->fixed);
  add_device_option(command, options->device);
  for (CLI::Option* const list : add_list_flags(command, options->lists))
    for (CLI::Option* const word : words)
      word->excludes(list);
  command
      ->add_option("--variant", options->variants,
                   "Measure this variant, not the plan's choice; may be repeated")
      ->check(variant_validator(operation));
  command->add_flag("--all-variants", options->all_variants, "Measure the plan's choice, then every variant");
  command
      ->add_option("--repetitions", options->repetitions,
                   "Repetitions of each measurement; default: up to 41, in about a second")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--queue", options->queue,
                    "On GPUs, time calls in a queue without events, however long they are");
  add_output_option(command, "--csv", options->csv, "Also write the rows to this file");
  CLI::Option* random = nullptr;
  if (!operation.draw.kinds.empty()) {
    random = add_shape_options(command, operation, *options);
    for (CLI::Option* const word : words)
      random->excludes(word);
    for (const char* const other : {"--tile", "--work-items", "--all-variants", "--goals", "--goals-small"}) {
      random->excludes(command->get_option(other));
      command->get_option("--model")->excludes(command->get_option(other));
    }
  }
  command->callback([&operation, &measurements, command, words, options, random] {
    const bool is_random = random != nullptr && random->count() > 0;
    if (is_random) options->shapes.seed = options->seed;
    if (is_random || (options->shapes.model && words.front()->count() > 0)) {
      options->shapes.device = options->device;
      if (options->variants.size() > 1) throw CLI::ValidationError("--variant", "one at most");
      if (!options->variants.empty()) options->shapes.variant = options->variants.front();
      if (!is_random) check_cases(operation, *options);
      measurements.emplace_back([&operation, options, is_random] {
        return bench_shapes(operation, options->shapes,
                            is_random ? std::vector<Case>() : cases_of(operation, options->words));
      });
      return;
    }
    options->lists.quick = options->lists.quick || is_asked_elsewhere(command, "--quick");
    const bool named =
        std::any_of(words.begin(), words.end(), [](const CLI::Option* word) { return word->count() > 0; });
    if (!named && !options->is_list()) {
      Lists& lists = options->lists;
      lists.goals = is_asked_elsewhere(command, "--goals");
      lists.small = !lists.goals && is_asked_elsewhere(command, "--goals-small");
      lists.weak = !lists.goals && !lists.small && is_asked_elsewhere(command, "--weak");
    }
    if (words.front()->count() == 0 && !options->is_list())
      throw CLI::RequiredError(words.front()->get_name() + ", --goals, --goals-small, or --weak");
    check_cases(operation, *options);
    measurements.emplace_back([&operation, options] { return run(operation, *options); });
  });
}

}  // namespace

std::vector<Result> measure_variants(const Operation& operation, const std::string& device, bool small) {
  const std::size_t before = recorded().rows.size();
  OperationOptions options;
  options.device = device;
  options.quiet = true;
  options.group = operation.name;
  BenchTable table(options, "");
  const SampleCase first =
      samples_of(operation, table.device(), operations::scale_for(table.device(), small)).front();
  std::vector<std::string> variants;
  for (const std::string_view name : operation.variants())
    if (std::find(first.one.slow.begin(), first.one.slow.end(), name) == first.one.slow.end())
      variants.emplace_back(name);
  run_case(table, first, variants);
  table.end();
  return {recorded().rows.begin() + static_cast<std::ptrdiff_t>(before), recorded().rows.end()};
}

void measure_choices(const std::vector<std::string>& asked, const std::string& device, bool small,
                     const std::function<void(const Result&)>& each) {
  OperationOptions options;
  options.device = device;
  options.quiet = true;
  options.seconds = kQuickSeconds;
  BenchTable table(options, "");
  for (const Operation& operation : operations::all()) {
    if (!is_asked(operation.name, asked)) continue;
    const std::size_t before = recorded().rows.size();
    table.begin(operation.name);
    run_case(table,
             samples_of(operation, table.device(), operations::scale_for(table.device(), small)).front(),
             {""}, options);
    if (recorded().rows.size() > before) each(recorded().rows.back());
  }
}

int run_all_lists(const std::string& device, const Lists& lists) {
  int worst = kGood;
  for (const Operation& operation : operations::all()) {
    OperationOptions options;
    options.device = device;
    options.lists = lists;
    worst = std::max(worst, run(operation, options));
  }
  return worst;
}

void add_bench_operations(CLI::App* bench, Measurements& measurements) {
  for (const Operation& operation : operations::all())
    add_operation(bench, operation, measurements);
}

}  // namespace smem::cli
