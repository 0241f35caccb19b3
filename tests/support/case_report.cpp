#include "support/case_report.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace test {

namespace {

using Json = nlohmann::ordered_json;

/// A case that an earlier process began.
struct Earlier {
  std::string text;
  std::optional<Outcome> outcome;  ///< empty: the process was lost in it
};

using Kind = std::tuple<std::string, std::string, std::string>;

struct Report {
  int file = -1;
  std::mutex mutex;
  std::size_t cases = 0;
  std::map<std::size_t, Earlier> earlier;
  std::set<Kind> lost;
};

Outcome outcome_of(const Json& line) {
  const std::string outcome = line.value("outcome", ""), why = line.value("why", "");
  if (outcome == "passed") return {};
  if (outcome == "failed") return {false, why, {}};
  return {true, {}, why};
}

void read_earlier(Report& report, const char* path) {
  std::map<std::size_t, Kind> kinds;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_discarded() || !line.contains("case")) continue;
    const std::size_t number = line["case"];
    if (line.contains("begin")) {
      report.earlier[number] = {line["begin"], std::nullopt};
      kinds[number] = {line["operation"], line["variant"], line["type"]};
    } else {
      report.earlier[number].outcome = outcome_of(line);
    }
  }
  for (const auto& [number, one] : report.earlier) {
    if (!one.outcome) report.lost.insert(kinds[number]);
  }
}

/// Never destroyed: a thread may report while the process ends.
Report& the_report() {
  static Report* const report = [] {
    auto* const made = new Report;
    if (const char* path = std::getenv("SMEM_TEST_REPORT"); path != nullptr && *path != '\0') {
      read_earlier(*made, path);
      made->file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    return made;
  }();
  return *report;
}

/// In one piece, and without a buffer of this process: it may crash next.
void write_line(const Report& report, const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(report.file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_end(const Report& report, std::size_t number, const char* outcome, const std::string& why,
               double seconds) {
  write_line(report, {{"case", number}, {"outcome", outcome}, {"why", why}, {"seconds", seconds}});
}

}  // namespace

bool is_reporting() { return the_report().file >= 0; }

namespace detail {

Begun begin_case(const Tested& tested, const std::string& text) {
  Report& report = the_report();
  const std::scoped_lock lock(report.mutex);
  const std::size_t number = report.cases++;
  if (const auto before = report.earlier.find(number);
      before != report.earlier.end() && before->second.text == text) {
    if (before->second.outcome) return {number, before->second.outcome};
    return {number, Outcome{false, "the process was lost here", {}}};
  }
  write_line(report, {{"case", number},
                      {"begin", text},
                      {"operation", tested.operation},
                      {"variant", tested.variant},
                      {"type", tested.type}});
  if (!report.lost.contains({tested.operation, tested.variant, tested.type})) return {number, std::nullopt};
  const std::string why = "a case of this operation, variant and type hung or crashed";
  write_end(report, number, "skipped", why, 0);
  return {number, Outcome{true, {}, why}};
}

void end_case(std::size_t number, const Outcome& outcome, double seconds) {
  Report& report = the_report();
  const std::scoped_lock lock(report.mutex);
  const char* name = !outcome.fault.empty() ? "failed" : outcome.refused ? "refused" : "passed";
  write_end(report, number, name, outcome.fault.empty() ? outcome.why : outcome.fault, seconds);
}

}  // namespace detail

}  // namespace test
