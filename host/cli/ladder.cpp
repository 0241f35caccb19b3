// smem ladder: every variant of an operation on this device, what changed and what it brought. smem roofline:
// all operations under the device's measured roof.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/interrupt.hpp"
#include "cli/results.hpp"
#include "cli/svg.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

namespace {

struct LadderOptions {
  std::string device, operation, plot, json;
  std::vector<std::string> operations;
  bool small = false, all_variants = false;
};

constexpr const char* kShareOfCopy = "share of the device's measured copy bandwidth";

std::string predicted(const Result& r) {
  std::string text;
  if (r.store_degree > 1 || r.load_degree > 1)
    text += fmt::format("bank conflicts {}/{} (stores/loads); ", r.store_degree, r.load_degree);
  if (r.local_bytes > 0 && r.bytes > 0) {
    text += fmt::format("{:.1f} bytes through local memory for each byte of the result's traffic; ",
                        r.local_bytes / r.bytes);
  }
  if (r.residency > 0) text += fmt::format("{:.0f} % resident; ", 100 * r.residency);
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

std::string_view step_of(const operations::Operation& operation, std::string_view variant) {
  for (const operations::Step& step : operation.steps)
    if (step.variant == variant) return step.what;
  return {};
}

/// What changed with a step, and what its plan predicts.
std::string note_of(const Result& r, std::string_view step) {
  std::string text = fmt::format("{}{}{}", step, r.stable() ? "" : " (unstable)",
                                 r.wrong.empty() ? "" : fmt::format(" WRONG: {}", r.wrong));
  if (const std::string why = predicted(r); !why.empty()) text += fmt::format("; predicted: {}", why);
  return text;
}

/// Without an operation: which there are, and their steps.
int list_steps() {
  for (const operations::Operation& operation : operations::all()) {
    fmt::print("{}\n", operation.name);
    for (const operations::Step& step : operation.steps)
      print_fitted(fmt::format("  {:<18}{}\n", step.variant, step.what));
  }
  return kGood;
}

/// A variant's row, as the ladder and its picture name it.
std::string name_of(const Result& r) { return r.asked == "auto" ? r.variant : r.asked; }

double fastest_of(const std::vector<Result>& rows) {
  double fastest = 0;
  for (const Result& r : rows)
    if (fastest == 0 || r.seconds.median < fastest) fastest = r.seconds.median;
  return fastest;
}

void write_ladder(const LadderOptions& options, const Results& all) {
  const operations::Operation& operation = *operations::find(options.operation);
  const double fastest = fastest_of(all.rows);
  const Result& first = all.rows.front();
  const bool operations = first.by_operations();
  std::vector<Bar> bars;
  for (const Result& r : all.rows) {
    bars.push_back({name_of(r),
                    fmt::format("{} {}", number_text(r.rate() * 1e-9), operations ? "GFLOP/s" : "GB/s"),
                    std::string(step_of(operation, name_of(r))), r.share(), r.seconds.median == fastest});
  }
  if (!options.plot.empty()) {
    write_text(
        "--plot", options.plot,
        draw_bars(fmt::format("The ladder of {}", options.operation),
                  fmt::format("{} on {}, driver {}; smem {}", first.label, all.device, all.driver, all.smem),
                  operations ? "share of the device's measured fp32 rate" : kShareOfCopy, bars));
  }
  if (!options.json.empty()) write_text("--json", options.json, to_json(all));
}

int ladder(const LadderOptions& options) {
  if (options.operation.empty()) return list_steps();
  const OnInterrupt at_interrupt(
      kept([&options](const Results& results) { write_ladder(options, results); }));
  const operations::Operation& operation = *operations::find(options.operation);
  const std::vector<Result> rows = measure_variants(operation, options.device, options.small);
  if (rows.empty()) {
    fmt::print(stderr, "smem: no variant of {} runs on this device\n", options.operation);
    return kFailure;
  }
  const Results& all = recorded();
  const double fastest = fastest_of(rows);
  const bool operations = rows.front().by_operations();
  print_fitted(
      fmt::format("{} on {} ({}, driver {})\n", rows.front().label, all.device, all.platform, all.driver));
  Table table({{"variant", 18, Column::Kind::text},
               {"ms", 10},
               {operations ? "GFLOP/s" : "GB/s", 11},
               {operations ? "of fp32" : "of copy", 10},
               {"of best", 9},
               {"before", 9}});
  table.print_head();
  bool wrong = false;
  double before = 0;
  for (const Result& r : rows) {
    wrong = wrong || !r.wrong.empty();
    const double seconds = r.seconds.median;
    table.print_row({name_of(r), fmt::format("{:.4f}", seconds * 1e3), number_text(r.rate() * 1e-9),
                     fmt::format("{:.3f}", r.share()), fmt::format("{:.3f}", fastest / seconds),
                     before > 0 ? fmt::format("x {:.2f}", before / seconds) : ""},
                    note_of(r, step_of(operation, name_of(r))));
    before = seconds;
  }
  print_fitted(fmt::format(
      "of {0}: of the device's own {0}, measured in the same run; before: times faster than the step "
      "before.\n",
      operations ? "fp32 rate" : "copy"));
  write_ladder(options, all);
  return wrong ? kFailure : kGood;
}

/// Why a point can lie above the roof.
constexpr const char* kAbove =
    "Above the roof: matrix units, several steps in one pass over memory (temporal blocking), or data that "
    "stays in a cache.";

/// The fastest of some rows; `end` when there are none.
template <class Row>
Row fastest_in(Row begin, Row end) {
  return std::min_element(
      begin, end, [](const Result& a, const Result& b) { return a.seconds.median < b.seconds.median; });
}

/// The roof over each operation, and bars of those that do no arithmetic.
void write_roofline(const LadderOptions& options, const Rates& rates, const Results& all) {
  std::vector<RoofPoint> points;
  std::vector<Bar> bars;
  for (auto row = all.rows.begin(); row != all.rows.end();) {
    const auto end =
        std::find_if(row, all.rows.end(), [&](const Result& r) { return r.group != row->group; });
    const Result& best = *fastest_in(row, end);
    row = end;
    if (best.operations > 0) {
      points.push_back({fmt::format("{} {}", best.operation, best.variant), best.operations / best.bytes,
                        best.operations / best.seconds.median});
    } else {
      const double rate = best.bytes / best.seconds.median;
      bars.push_back({best.operation, fmt::format("{} GB/s", number_text(rate * 1e-9)),
                      fmt::format("{}, {}", best.variant, best.label), rate / rates.copy, false});
    }
  }
  if (!options.plot.empty()) {
    write_text("--plot", options.plot,
               draw_roofline(
                   {.title = options.all_variants ? "Operations under the roof: the fastest variant of each"
                                                  : "Operations under the roof, as planned",
                    .subtitle = fmt::format("{}, driver {}; smem {}", all.device, all.driver, all.smem),
                    .bandwidth = rates.copy,
                    .fp32 = rates.fp32,
                    .points = points,
                    .above = kAbove,
                    .bars = bars,
                    .axis = kShareOfCopy}));
  }
  if (!options.json.empty()) write_text("--json", options.json, to_json(all));
}

int roofline_plot(const LadderOptions& options) {
  const Rates rates = measure_rates(Context({.device = options.device}));
  const OnInterrupt at_interrupt(
      kept([&](const Results& results) { write_roofline(options, rates, results); }));
  fmt::print("copy {} GB/s, fp32 {} GFLOP/s: they meet at {:.2f} operations a byte\n",
             number_text(rates.copy * 1e-9), number_text(rates.fp32 * 1e-9), rates.fp32 / rates.copy);
  Table table({{"operation", 16, Column::Kind::title},
               {"case", 42, Column::Kind::title},
               {"variant", 18, Column::Kind::text},
               {"ops a byte", 12},
               {"GFLOP/s", 12},
               {"GB/s", 12},
               {"of the roof", 13}});
  table.print_head();
  bool any_above = false;
  const auto print = [&](const Result& r) {
    const bool moves = r.operations == 0;
    const double intensity = r.operations / r.bytes, seconds = r.seconds.median;
    const double share = moves ? r.bytes / seconds / rates.copy
                               : r.operations / seconds / std::min(rates.fp32, intensity * rates.copy);
    any_above = any_above || share > kAboveRoof;
    table.print_row({r.operation, r.label, r.variant, moves ? "none" : fmt::format("{:.3f}", intensity),
                     moves ? "" : number_text(r.operations / seconds * 1e-9),
                     number_text(r.bytes / seconds * 1e-9), fmt::format("{:.3f}", share)});
  };
  if (options.all_variants) {
    for (const operations::Operation& operation : operations::all()) {
      if (!is_asked(operation.name, options.operations)) continue;
      const std::vector<Result> rows = measure_variants(operation, options.device, options.small);
      if (!rows.empty()) print(*fastest_in(rows.begin(), rows.end()));
    }
  } else {
    measure_choices(options.operations, options.device, options.small, print);
  }
  print_fitted(
      "of the roof: of the lesser of fp32 and of intensity times copy; without arithmetic, of copy.\n");
  if (!options.all_variants)
    print_fitted("Results are not compared here; smem bench and smem selftest compare them.\n");
  if (any_above) print_fitted(std::string(kAbove) + "\n");
  write_roofline(options, rates, recorded());
  return kGood;
}

std::array<CLI::Option*, 4> add_options(CLI::App* command, LadderOptions& options) {
  return {add_device_option(command, options.device),
          command->add_flag("--small", options.small, "Small sizes, for a quick look"),
          add_output_option(command, "--plot", options.plot, "Write an SVG picture to this file"),
          add_output_option(command, "--json", options.json, "Write the results to this file")};
}

}  // namespace

void add_ladder(CLI::App* root, int& exit_code) {
  CLI::App* const command = root->add_subcommand(
      "ladder", "The optimisation steps of an operation: every variant, what changed and what it gained");
  auto options = std::make_shared<LadderOptions>();
  CLI::Option* const operation =
      command
          ->add_option("operation", options->operation,
                       "The operation; without one, list the steps of all operations")
          ->check(CLI::IsMember(operation_names()));
  for (CLI::Option* const option : add_options(command, *options))
    option->needs(operation);
  command->callback([options, &exit_code] { exit_code = ladder(*options); });
}

void add_roofline(CLI::App* root, int& exit_code) {
  CLI::App* const command =
      root->add_subcommand("roofline", "All operations, as planned for the device, under its measured roof");
  auto options = std::make_shared<LadderOptions>();
  command->add_option("operations", options->operations, "Only these operations")
      ->check(CLI::IsMember(operation_names()));
  add_options(command, *options);
  command->add_flag("--all-variants", options->all_variants,
                    "Measure every variant, which takes minutes, and show the fastest of each operation");
  command->callback([options, &exit_code] { exit_code = roofline_plot(*options); });
}

}  // namespace smem::cli
