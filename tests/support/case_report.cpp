#include "support/case_report.hpp"
#include "support/device_lock.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
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
  std::atomic<int> file{-1};
  std::mutex mutex;
  std::size_t cases = 0;
  std::map<std::size_t, Earlier> earlier;
  std::set<Kind> lost;
  std::map<Kind, int> faults;
  std::map<std::size_t, double> waited;  ///< for the device, when a case began
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
    if (one.outcome && !one.outcome->fault.empty()) ++report.faults[kinds[number]];
  }
}

void open_report(Report& report, const char* path) {
  read_earlier(report, path);
  report.file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/// Never destroyed: a thread may report while the process ends.
Report& the_report() {
  static Report* const report = [] {
    auto* const made = new Report;
    if (const char* path = std::getenv("SMEM_TEST_REPORT"); path != nullptr && *path != '\0')
      open_report(*made, path);
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

Kind kind_of(const Tested& tested) { return {tested.operation, tested.variant, tested.type}; }

/// Why a case of this kind is not run; empty: it is.
std::string why_skipped(const Report& report, const Kind& kind) {
  if (report.lost.contains(kind)) return "a case of this operation, variant and type hung or crashed";
  const auto faults = report.faults.find(kind);
  if (faults == report.faults.end() || faults->second < kEnoughFaults) return {};
  return "enough cases of this operation, variant and type are wrong";
}

}  // namespace

bool is_reporting() { return the_report().file >= 0; }

void report_to(const std::string& path) {
  Report& report = the_report();
  const std::scoped_lock lock(report.mutex);
  if (const int before = report.file.exchange(-1); before >= 0) ::close(before);
  report.cases = 0;
  report.earlier.clear();
  report.lost.clear();
  report.faults.clear();
  report.waited.clear();
  open_report(report, path.c_str());
}

void report_device(const char* state) {
  if (is_reporting()) write_line(the_report(), {{"device", state}});
}

void report_variants(std::string_view operation, const std::vector<std::string_view>& tested,
                     const std::vector<std::string_view>& left_out) {
  if (is_reporting())
    write_line(the_report(), {{"variants", operation}, {"tested", tested}, {"left_out", left_out}});
}

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
  report.waited[number] = waited_for_device();
  const std::string why = why_skipped(report, kind_of(tested));
  if (why.empty()) return {number, std::nullopt};
  write_end(report, number, "skipped", why, 0);
  return {number, Outcome{true, {}, why}};
}

void end_case(const Begun& begun, const Tested& tested, const Outcome& outcome, double seconds) {
  Report& report = the_report();
  const std::scoped_lock lock(report.mutex);
  const char* name = !outcome.fault.empty() ? "failed" : outcome.refused ? "refused" : "passed";
  if (!outcome.fault.empty()) ++report.faults[kind_of(tested)];
  const double waited = waited_for_device() - report.waited[begun.number];
  write_end(report, begun.number, name, outcome.fault.empty() ? outcome.why : outcome.fault,
            seconds - waited);
}

}  // namespace detail

}  // namespace test
