// What came of a selftest: as JSON, for people, and as the table that both see.
#include "cli/process.hpp"
#include "cli/selftest.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "measure/system.hpp"

#include <smem/smem.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>

namespace smem::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr Verdict kAll[] = {Verdict::passed,  Verdict::failed,  Verdict::hung,
                            Verdict::crashed, Verdict::refused, Verdict::skipped};

std::string date_text(const Selftest& selftest) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(selftest.start)));
}

Json count_json(const Count& count) {
  Json json;
  for (const Verdict verdict : kAll)
    json[name_of(verdict)] = count[verdict];
  json["seconds"] = count.seconds;
  return json;
}

Json kind_json(const Kind& kind) {
  const auto& [operation, variant, type] = kind;
  return {{"operation", operation}, {"variant", variant}, {"type", type}};
}

Json counts_json(const std::map<Kind, Count>& counts) {
  Json json = Json::array();
  for (const auto& [kind, count] : counts) {
    Json row = kind_json(kind);
    row.update(count_json(count));
    json.push_back(row);
  }
  return json;
}

Json test_json(const TestResult& result) {
  Json json{{"name", result.test.name},
            {"operation", result.test.operation},
            {"outcome", name_of(result.verdict)},
            {"why", result.why},
            {"seconds", result.seconds},
            {"processes", result.processes},
            {"counts", counts_json(result.counts)},
            {"failures", Json::array()},
            {"refusals", Json::array()},
            {"output", result.output}};
  for (const Failure& failure : result.failures) {
    Json one = kind_json(failure.kind);
    one.update({{"outcome", name_of(failure.verdict)}, {"case", failure.what}, {"why", failure.why}});
    json["failures"].push_back(one);
  }
  for (const auto& [what, cases] : result.refusals) {
    Json one = kind_json(what.first);
    one.update({{"cases", cases}, {"why", what.second}});
    json["refusals"].push_back(one);
  }
  return json;
}

std::string number_text(std::size_t number) { return number == 0 ? "-" : std::to_string(number); }

/// The lines of a text, each after `margin`.
std::string indented(std::string_view text, const std::string& margin) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    result += fmt::format("{}{}\n", margin, line);
  }
  return result;
}

std::string failure_text(const Selftest& selftest, const TestResult& result) {
  std::string text = fmt::format("{} {}: {}\n", name_of(result.verdict), result.test.name, result.why);
  if (result.why.empty()) text = fmt::format("{} {}\n", name_of(result.verdict), result.test.name);
  for (const Failure& failure : result.failures) {
    text += fmt::format("  {} {}\n", name_of(failure.verdict), kind_text(failure.kind));
    text += indented(failure.what, "    ") + indented(failure.why, "    ");
  }
  // What it printed says the same once more where it came to its end.
  if (result.failures.empty() || result.verdict != Verdict::failed)
    text += "  what it printed\n" + indented(result.output, "    ");
  text += fmt::format(
      "  once more: {}SMEM_SEED={} {} --selftest={} --test-case='{}'\n\n",
      selftest.options.device.empty() ? "" : fmt::format("SMEM_DEVICE='{}' ", selftest.options.device),
      selftest.seed, selftest.program.string(), selftest.options.level, result.test.name);
  return text;
}

/// Each variant that the device refused, with the reasons.
std::string refusals_text(const Selftest& selftest) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> reasons;
  for (const TestResult& result : selftest.results) {
    for (const auto& [what, cases] : result.refusals) {
      const auto& [operation, variant, type] = what.first;
      reasons[{operation, variant}].insert(what.second);
    }
  }
  std::string text;
  for (const auto& [what, all] : reasons) {
    text += fmt::format("{} / {}\n", what.first, what.second.empty() ? "(the plan's choice)" : what.second);
    for (const std::string& reason : all)
      text += indented(reason, "  ");
  }
  return text;
}

std::string device_text(const Selftest& selftest) {
  const Json facts = Json::parse(selftest.facts, nullptr, false);
  const auto fact = [&](const char* name) {
    return facts.is_object() ? facts.value(name, std::string()) : std::string();
  };
  return fmt::format("device      {}\nplatform    {}, {}\ndriver      {}; {}\n", fact("name"),
                     fact("platform"), fact("platform_version"), fact("driver"), fact("opencl_c"));
}

}  // namespace

std::string report_json(const Selftest& selftest) {
  const SelftestOptions& options = selftest.options;
  Json json{{"smem", SMEM_VERSION},
            {"date", date_text(selftest)},
            {"system", measure::system_text()},
            {"device", Json::parse(selftest.facts, nullptr, false)},
            {"environment", measure::variables()},
            {"options",
             {{"operations", options.operations},
              {"device", options.device},
              {"level", options.level},
              {"time_limit_s", options.time_limit},
              {"processes", selftest.processes},
              {"seed", selftest.seed}}},
            {"complete", selftest.is_complete},
            {"running", selftest.running},
            {"stopped", selftest.stopped},
            {"good", selftest.is_good()},
            {"summary", summary(selftest)},
            {"seconds", selftest.seconds},
            {"tests_selected", selftest.tests},
            {"counts", counts_json(selftest.counts())},
            {"variants", Json::object()},
            {"tests", Json::array()}};
  for (const auto& [operation, tried] : selftest.tried())
    json["variants"][operation] = {{"tested", tried.tested}, {"left_out", tried.left_out}};
  for (const TestResult& result : selftest.results)
    json["tests"].push_back(test_json(result));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_text(const Selftest& selftest) {
  std::string text = fmt::format("smem {} selftest, {}{}\n\n", SMEM_VERSION, date_text(selftest),
                                 selftest.is_complete ? "" : ", INCOMPLETE");
  text += device_text(selftest);
  text += fmt::format("system      {}\noptions     {}{}\n", measure::system_text(), selftest.options.level,
                      selftest.options.operations.empty()
                          ? ""
                          : fmt::format(", only {}", fmt::join(selftest.options.operations, ", ")));
  for (const auto& [name, value] : measure::variables())
    text += fmt::format("variable    {}={}\n", name, value);
  text += fmt::format("result      {}\n", summary(selftest));
  if (const std::string variants = variants_text(selftest); !variants.empty())
    text += fmt::format("variants    {}\n", variants);
  for (const std::string& name : selftest.running)
    text += fmt::format("running     {}\n", name);
  if (!selftest.stopped.empty()) text += fmt::format("stopped     {}\n", selftest.stopped);
  text += "\n";
  for (const TestResult& result : selftest.results) {
    if (is_bad(result.verdict)) text += failure_text(selftest, result);
  }
  text += counts_table(selftest, false);
  if (const std::string refusals = refusals_text(selftest); !refusals.empty())
    text += "\nRefused on this device\n\n" + refusals;
  text += fmt::format("\n{:<8}{:>9}  test case\n", "outcome", "time");
  for (const TestResult& result : selftest.results) {
    text += fmt::format("{:<8}{:>7.1f} s  {}{}{}\n", name_of(result.verdict), result.seconds,
                        result.test.name, result.why.empty() ? "" : ": ", result.why);
  }
  return text;
}

std::string counts_table(const Selftest& selftest, bool colours) {
  std::map<std::pair<std::string, std::string>, std::pair<Count, std::set<std::string>>> rows;
  for (const auto& [kind, count] : selftest.counts()) {
    auto& [sum, types] = rows[{std::get<0>(kind), std::get<1>(kind)}];
    sum.add(count);
    types.insert(std::get<2>(kind));
  }
  constexpr std::size_t kReport = 160;  // columns of a report's lines
  Table table({{"operation", 20, Column::Kind::title},
               {"variant", 16, Column::Kind::text},
               {"passed", 7},
               {"failed", 7},
               {"hung", 5},
               {"crashed", 8},
               {"refused", 8},
               {"skipped", 8},
               {"time", 10}},
              30, colours ? columns_of(stdout) : kReport);
  std::string text = colours ? painted(stdout, Paint::bold, table.head()) : table.head();
  for (const auto& [what, row] : rows) {
    const auto& [count, types] = row;
    std::vector<std::string> cells{what.first, what.second.empty() ? "(plan's choice)" : what.second};
    bool is_row_bad = false;
    for (const Verdict verdict : kAll) {
      cells.push_back(number_text(count[verdict]));
      is_row_bad |= is_bad(verdict) && count[verdict] > 0;
    }
    cells.push_back(fmt::format("{:.2f} s", count.seconds));
    const std::string line = table.row(cells, types.size() > 3 ? count_text(types.size(), "type")
                                                               : fmt::format("{}", fmt::join(types, ", ")));
    text += colours && is_row_bad ? painted(stdout, Paint::red, line) : line;
  }
  return rows.empty() ? std::string() : text;
}

std::string variants_text(const Selftest& selftest) {
  std::size_t tested = 0, left_out = 0;
  for (const auto& [operation, tried] : selftest.tried()) {
    tested += tried.tested.size();
    left_out += tried.left_out.size();
  }
  if (left_out == 0) return {};
  return fmt::format(
      "{} of {}, those that plans choose on this device; smem selftest without --quick has all", tested,
      tested + left_out);
}

std::string summary(const Selftest& selftest) {
  std::string text = count_text(selftest.tests, "test case");
  const char* separator = ": ";
  for (const Verdict verdict : kAll) {
    if (const std::size_t tests = selftest.tests_that(verdict); tests > 0) {
      text += fmt::format("{}{} {}", separator, tests, name_of(verdict));
      separator = ", ";
    }
  }
  if (selftest.results.size() < selftest.tests)
    text += fmt::format("{}{} not run", separator, selftest.tests - selftest.results.size());
  Count sum;
  for (const auto& [kind, count] : selftest.counts())
    sum.add(count);
  std::size_t cases = 0;
  for (const std::size_t count : sum.of)
    cases += count;
  if (cases > 0) {
    text += fmt::format("; {} cases", cases);
    separator = ": ";
    for (const Verdict verdict : kAll) {
      if (sum[verdict] == 0) continue;
      text += fmt::format("{}{} {}", separator, sum[verdict], name_of(verdict));
      separator = ", ";
    }
  }
  return text + fmt::format("; {:.0f} s", selftest.seconds);
}

}  // namespace smem::cli
