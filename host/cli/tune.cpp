// smem tune: searches the plans of operations on this device, and keeps what is faster than the shipped ones.
#include "cli/tune.hpp"
#include "cli/table.hpp"

#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "operations/list.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace smem::cli {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::string today() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

TuningEntry entry_of(const CaseReport& report) {
  const Outcome& best = *report.best;
  return {report.problems, best.overrides, best.gain, best.seconds, report.shipped, today()};
}

/// Plans beside the shipped one that have a time.
std::size_t measured_others(const CaseReport& report) { return report.tried - report.dropped.size(); }

/// What the case gained, in one clause.
std::string verdict_of(const CaseReport& report) {
  if (!report.failed.empty()) return fmt::format("nothing: {}", report.failed);
  if (report.best) return fmt::format("x {:.3f}", report.best->gain);
  const char* const over = report.is_complete ? "" : "; the time was over";
  if (report.tried == 0) return fmt::format("nothing: no other plan was tried{}", over);
  if (measured_others(report) == 0)
    return fmt::format("nothing: none of {} other plans could be measured{}", report.tried, over);
  return fmt::format("nothing: the shipped plan is the best of {}{}", measured_others(report) + 1, over);
}

Table make_table() {
  using Kind = Column::Kind;
  return Table({{"operation", 19, Kind::title},
                {"case", 50, Kind::title},
                {"shipped", 18, Kind::text},
                {"ms", 14},
                {"best ms", 14}},
               60);
}

void print_row(Table& table, const CaseReport& report) {
  const auto milliseconds = [](double seconds) {
    return seconds > 0 ? fmt::format("{:.4f}", seconds * 1e3) : "not measured";
  };
  const double best_seconds = report.best                   ? report.best->seconds
                              : measured_others(report) > 0 ? report.shipped_seconds
                                                            : 0;
  const std::string best = report.best ? text_of(report.best->overrides) + ": " : "";
  table.print_row({report.operation, report.label, report.shipped, milliseconds(report.shipped_seconds),
                   milliseconds(best_seconds)},
                  best + verdict_of(report));
  for (const Outcome& outcome : report.dropped)
    print_fitted(fmt::format("  dropped: {}: {}\n", text_of(outcome.overrides), outcome.dropped));
  std::fflush(stdout);
}

Json to_json(const CaseReport& report) {
  Json dropped = Json::array();
  for (const Outcome& outcome : report.dropped)
    dropped.push_back(to_json(outcome));
  return {{"operation", report.operation},
          {"case", report.label},
          {"class", report.problems.to_string()},
          {"shipped", report.shipped},
          {"shipped_s", report.shipped_seconds},
          {"best", report.best ? to_json(*report.best) : Json()},
          {"tried", report.tried},
          {"from_journal", report.from_journal},
          {"complete", report.is_complete},
          {"failed", report.failed},
          {"dropped", dropped}};
}

void write_json(const std::string& path, const Device& device, const std::vector<CaseReport>& reports) {
  Json cases = Json::array();
  for (const CaseReport& report : reports)
    cases.push_back(to_json(report));
  const Json all{{"smem_tune", 1},          {"smem", SMEM_VERSION},
                 {"device", device.name},   {"platform", device.platform},
                 {"driver", device.driver}, {"cases", cases}};
  write_text("--json", path, all.dump(2) + "\n");
}

std::vector<TuneCase> asked_cases(const TuneOptions& options, const Device& device) {
  std::vector<TuneCase> all;
  for (const operations::Operation& operation : operations::all()) {
    if (!is_asked(operation.name, options.operations)) continue;
    for (TuneCase& of : tune_cases(operation, device, options.small))
      if (of.one.text.find(options.part) != std::string::npos) all.push_back(std::move(of));
  }
  if (all.empty()) {
    throw Error({.operation = "tune",
                 .argument = "--case",
                 .expected = "a part of a case's name",
                 .got = options.part});
  }
  return all;
}

/// What stands in the file after the case: its entry, or none where the shipped plan was the best of all.
void keep(const Device& device, const CaseReport& report) {
  if (report.best) {
    store_tuning(device, {entry_of(report)});
  } else if (report.is_complete && report.failed.empty()) {
    store_tuning(device, {}, {report.problems});
  }
}

void print_end(const Device& device, const std::vector<CaseReport>& reports) {
  std::size_t better = 0, tried = 0, known = 0;
  for (const CaseReport& report : reports) {
    better += report.best ? 1 : 0;
    tried += report.tried;
    known += report.from_journal;
  }
  print_fitted(fmt::format(
      "{} plans tried, {} of them in an earlier run; times of the best ones by turns with the shipped.\n",
      tried, known));
  if (better == 0) {
    fmt::print("Nothing was gained over the shipped plans.\n");
  } else {
    print_fitted(
        fmt::format("{} of {} faster than shipped, by more than {:.0f} % and than the spread: kept in {}\n",
                    better, reports.size(), 100 * (kLeastGain - 1), tuning_file(device).string()));
  }
}

int tune(const TuneOptions& options) {
  // Measured beside what smem ships, whatever was found before.
  ::setenv("SMEM_TUNING", "0", 1);
  // This process opens no device itself, for the sake of those that try the candidates.
  const Device device = device_from_json(device_facts(options.device, "tune"));
  const std::vector<TuneCase> cases = asked_cases(options, device);
  Journal journal(device, options.restart);
  print_fitted(device_text(device) + "\n");
  Table table = make_table();
  table.print_head();
  const Clock::time_point start = Clock::now();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options.minutes * 60));
  Progress progress(cases.size());
  std::vector<CaseReport> reports;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // What one case does not need, the later ones have.
    const Clock::time_point now = Clock::now();
    const auto share = (end - now) / static_cast<std::ptrdiff_t>(cases.size() - i);
    const auto tell = [&](const CaseReport& report, double gain) {
      progress.show(i, fmt::format("{} {}: {} tried, best x {:.2f}", report.operation, report.label,
                                   report.tried, gain));
    };
    reports.push_back(search_case(cases[i], device, options, journal, now + share, tell));
    keep(device, reports.back());
    progress.clear();
    print_row(table, reports.back());
  }
  print_end(device, reports);
  if (!options.json.empty()) write_json(options.json, device, reports);
  const bool failed = std::any_of(reports.begin(), reports.end(),
                                  [](const CaseReport& report) { return !report.failed.empty(); });
  return failed ? kFailure : kGood;
}

/// Whether an entry is for one of the operations: the kind of those that share a plan begins with its name.
bool is_of(const TuningEntry& entry, const std::vector<std::string>& operations) {
  return std::any_of(operations.begin(), operations.end(), [&](const std::string& operation) {
    return entry.problems.operation == operation || entry.problems.kind.starts_with(operation + ",");
  });
}

std::string problems_of(const TuningEntry& entry) {
  std::string text = entry.problems.kind;
  for (const TuningExtent& extent : entry.problems.extents)
    text += fmt::format(", {} {}", extent.name, extent.value);
  return text;
}

std::string policy_of(const Device& device, const TuningEntry& entry) {
  const PlanOverrides& o = entry.overrides;
  const std::string layout = layout_text(o.layout);
  return fmt::format(
      "// {}, family \"{}\", instead of {}, {}\n"
      ".evidence = {{.device = \"{}\",\n"
      "             .driver = \"{}\",\n"
      "             .what = \"{}\",\n"
      "             .share = \"{:.2f} times the plan before\"}},\n"
      "PlanOverrides{{.variant = \"{}\", .tile_rows = {}, .tile_cols = {}, .work_items = {}{}}}\n\n",
      entry.problems.operation, family_of(device), entry.shipped, entry.date, device.name, device.driver,
      problems_of(entry), entry.gain, o.variant, o.tile_rows, o.tile_cols, o.work_items,
      layout.empty() ? "" : fmt::format(", .layout = parse_layout(\"{}\")", layout));
}

/// Prints what is kept as entries for the policy tables of the library.
int print_policies(const TuneOptions& options) {
  const Device device = Context({.device = options.device}).device();
  std::vector<TuningEntry> entries = tuning_entries(device);
  if (!options.operations.empty()) {
    std::erase_if(entries, [&](const TuningEntry& entry) { return !is_of(entry, options.operations); });
  }
  if (entries.empty()) {
    fmt::print(stderr, "smem: nothing to export: no tuned entry in {}\n", tuning_file(device).string());
    return kFailure;
  }
  for (const TuningEntry& entry : entries)
    fmt::print("{}", policy_of(device, entry));
  return kGood;
}

}  // namespace

std::vector<TuneCase> tune_cases(const operations::Operation& operation, const Device& device, bool small) {
  std::vector<TuneCase> cases;
  for (SampleCase& sample : samples_of(operation, device, operations::scale_for(device, small)))
    cases.push_back({&operation, std::move(sample.one)});
  return cases;
}

void add_tune(CLI::App* root, int& exit_code) {
  CLI::App* const command = root->add_subcommand(
      "tune", "Search for plans that are faster here than the shipped ones; operations then use them");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("operations", options->operations, "Only these operations")
      ->check(CLI::IsMember(operation_names()));
  add_device_option(command, options->device);
  command
      ->add_option("--minutes", options->minutes,
                   "Time for all cases; the next run continues where this one ends")
      ->capture_default_str()
      ->check(positive_validator());
  command->add_option("--limit", options->limit, "Seconds after which a plan counts as hung")
      ->capture_default_str()
      ->check(positive_validator());
  command->add_option("--case", options->part, "Only cases whose name contains this");
  command->add_flag("--small", options->small, "Small sizes, for a quick look");
  command->add_flag("--restart", options->restart, "Measure again what earlier runs measured");
  add_output_option(command, "--json", options->json, "Write the plans that were found to this file");
  CLI::Option* const only_export =
      command->add_flag("--export", options->only_export,
                        "Measure nothing; print the tuned plans as entries for policy tables");
  command->add_flag("--worker", options->worker, "")->group("")->excludes(only_export);
  command->callback([options, &exit_code] {
    exit_code = options->worker        ? answer_trials()
                : options->only_export ? print_policies(*options)
                                       : tune(*options);
  });
}

}  // namespace smem::cli
