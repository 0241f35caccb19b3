// smem bench of described operations: the share of the device's own copy bandwidth or fp32 rate, every result
// compared.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/ladder.hpp"
#include "operations/list.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

using operations::Case;
using operations::Operation;

struct Options : BenchOptions {
  WordValues words;
  std::string tile;
};

struct GoalCase {
  Case one;
  double goal = 0;
};

/// A variant, and the tile that was asked for: among all variants, where it has that choice.
PlanOverrides fixed_for(const Case& c, const Device& device, const std::string& variant,
                        const Options& options) {
  PlanOverrides fixed{.variant = variant};
  if (options.tile.empty()) return fixed;
  const Shape tile = *parse_shape(options.tile);
  fixed.tile_rows = tile.rows;
  fixed.tile_cols = tile.cols;
  if (!options.all_variants) return fixed;
  try {
    c.plan(device, fixed);
  } catch (const Error&) {
    return {.variant = variant};
  }
  return fixed;
}

void run_case(BenchTable& table, const GoalCase& c, const std::vector<std::string>& variants,
              const Options& options = {}) {
  const CaseData data(c.one);
  auto buffers = table.buffers(c.one.text, data.bytes(), 2);
  if (!buffers) return;
  if (c.one.operations > 0) buffers->pairs.resize(1);  // as a program that computes with what stays there
  const Context& context = table.context();
  for (const measure::BufferPair& pair : buffers->pairs) {
    data.write_inputs(context, pair);
    data.write_others(context, pair);
  }
  for (const std::string& variant : variants) {
    const PlanOverrides fixed = fixed_for(c.one, context.device(), variant, options);
    const auto make_plan = [&](const std::string&) { return c.one.plan(context.device(), fixed); };
    const auto call = [&](const measure::BufferPair& pair) {
      if (options.tile.empty()) return c.one.call(context, data.arrays(pair), {.variant = variant});
      return c.one.call(context, data.arrays(pair), {.overrides = &fixed});
    };
    const auto check = [&] {
      const measure::BufferPair& first = buffers->pairs.front();
      data.write_others(context, first);
      call(first).wait();
      return data.wrong(context, first);
    };
    table.row({c.one.text, variant, c.goal, c.one.bytes, c.one.operations}, *buffers, make_plan, call, check);
  }
}

std::vector<GoalCase> samples_of(const Operation& operation, const Device& device, bool small) {
  std::vector<GoalCase> cases;
  for (const operations::Sample& sample : operation.at(operations::scale_for(device, small))) {
    cases.push_back({operation.parse(sample.words), sample.goal});
    if (!can_compute(device, cases.back().one)) cases.pop_back();
  }
  return cases;
}

int run(const Operation& operation, const Options& options) {
  const bool counts_operations = operation.parse(operation.samples.front().words).operations > 0;
  BenchTable table(options, std::string(operation.counted), counts_operations);
  std::vector<GoalCase> cases;
  if (options.is_list()) {
    cases = samples_of(operation, table.device(), options.goals_small);
  } else {
    for (Case& one : cases_of(operation, options.words))
      cases.push_back({std::move(one), 0});
  }
  for (const GoalCase& c : cases)
    run_case(table, c, options.variants_of(operation.variants()), options);
  return table.end();
}

}  // namespace

void climb(const Operation& operation, const LadderOptions& options) {
  climb(options, operation.variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    run_case(table, samples_of(operation, table.device(), options.small).front(), variants);
  });
}

void add_bench_operations(Command bench, int& exit_code) {
  for (const Operation& operation : operations::all()) {
    const Command command = bench.add_command(std::string(operation.name), std::string(operation.summary));
    auto options = std::make_shared<Options>();
    const std::vector<Option> words = add_words(command, operation.words, options->words);
    command.add_option("--tile", options->tile, "Fix the tile, in elements: ROWSxCOLS")
        .check(shape_validator());
    add_bench_options(command, *options, operation.variants(), words, {words.front()}, exit_code,
                      [&operation, options] { return run(operation, *options); });
  }
}

}  // namespace smem::cli
