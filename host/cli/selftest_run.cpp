// One test case of the selftest, in child processes that may hang and crash.
#include "cli/child.hpp"
#include "cli/process.hpp"
#include "cli/selftest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

namespace smem::cli {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

/// After so many processes of one test case that were lost, the rest is not run: each may have taken the
/// whole time limit.
constexpr std::size_t kMostProcesses = 10;
/// What is kept of a process's output: a build log with its beginning and its end.
constexpr std::size_t kMostOutput = std::size_t{64} << 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The lines that a test process writes (tests/support/case_report.hpp), read while it writes them.
class CaseLog {
 public:
  CaseLog(const std::filesystem::path& path, TestResult& result) : path_(path), result_(result) {}

  /// Reads what is new. \returns whether anything is.
  bool read() {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    bool is_new = false;
    for (std::string line; std::getline(file, line) && !file.eof(); is_new = true) {
      read_ += line.size() + 1;
      take(line);
    }
    return is_new;
  }
  /// What begins and does not end, was lost.
  bool lose(Verdict verdict, const std::string& why) {
    for (const auto& [number, one] : open_)
      end(one, verdict, why, seconds_since(one.since));
    const bool any = !open_.empty();
    open_.clear();
    return any;
  }
  const Kind& kind() const { return kind_; }
  std::size_t ended() const { return ended_; }

 private:
  struct Open {
    Kind kind;
    std::string what;
    Clock::time_point since;
  };

  void take(const std::string& text) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) return;
    const std::size_t number = line.value("case", std::size_t{0});
    if (line.contains("begin")) {
      kind_ = {line.value("operation", ""), line.value("variant", ""), line.value("type", "")};
      const std::string what = line.value("begin", "");  // the seed is one for all
      open_[number] = {kind_, what.substr(0, what.find("; SMEM_SEED=")), Clock::now()};
      return;
    }
    const auto one = open_.find(number);
    if (one == open_.end()) return;
    const std::string outcome = line.value("outcome", "");
    const Verdict verdict = outcome == "passed"    ? Verdict::passed
                            : outcome == "refused" ? Verdict::refused
                            : outcome == "skipped" ? Verdict::skipped
                                                   : Verdict::failed;
    end(one->second, verdict, line.value("why", ""), line.value("seconds", 0.0));
    open_.erase(one);
  }
  void end(const Open& one, Verdict verdict, const std::string& why, double seconds) {
    ++ended_;
    result_.counts[one.kind].add(verdict, seconds);
    if (is_bad(verdict)) result_.failures.push_back({verdict, one.kind, one.what, why});
    if (verdict == Verdict::refused) ++result_.refusals[{one.kind, why}];
  }

  std::filesystem::path path_;
  TestResult& result_;
  std::size_t read_ = 0, ended_ = 0;
  std::map<std::size_t, Open> open_;
  Kind kind_;
};

/// A name as a filter that matches it alone.
std::string filter_of(const std::string& name) {
  std::string filter;
  for (const char c : name) {
    if (c == ',' || c == '\\') filter += '\\';
    filter += c;
  }
  return filter;
}

Ended run_once(const Selftest& selftest, const Test& test, const std::filesystem::path& lines, CaseLog& log,
               const Told& tell) {
  Clock::time_point last = Clock::now();
  ProcessCommand command{.program = selftest.program.string(),
                         .arguments = {fmt::format("--test-case={}", filter_of(test.name)),
                                       "--no-colors=true", "--no-intro=true"},
                         .environment = {{"SMEM_TEST_REPORT", lines.string()},
                                         {"SMEM_CACHE", "0"},
                                         {"SMEM_SEED", selftest.seed}},
                         .errors_too = true,
                         .most_output = kMostOutput};
  if (!selftest.options.device.empty()) command.environment["SMEM_DEVICE"] = selftest.options.device;
  command.may_go_on = [&] {
    if (log.read()) last = Clock::now();
    tell(log.kind(), log.ended());
    return seconds_since(last) < selftest.options.time_limit;
  };
  Ended ended = run_process(command);
  log.read();
  return ended;
}

/// What a process's end says of its test case.
Verdict verdict_of(const Ended& ended) {
  if (ended.stopped) return Verdict::hung;
  if (ended.signal != 0) return Verdict::crashed;
  return ended.exit_code == 0 ? Verdict::passed : Verdict::failed;
}

std::string reason_of(const Ended& ended, double time_limit) {
  if (ended.stopped) return fmt::format("nothing began or ended for {:g} s", time_limit);
  return ended.signal != 0 ? signal_text(ended.signal) : fmt::format("exit code {}", ended.exit_code);
}

/// Where a test case passed because it has nothing to do on this device, why.
std::string why_nothing(const std::string& output) {
  constexpr std::string_view kAssertions = "[doctest] assertions:", kMessage = "MESSAGE: ";
  const std::size_t at = output.find(kAssertions);
  if (at == std::string::npos) return {};
  const std::size_t digit = output.find_first_not_of(' ', at + kAssertions.size());
  if (digit == std::string::npos || output[digit] != '0') return {};
  const std::size_t message = output.find(kMessage);
  if (message == std::string::npos) return "nothing of it runs on this device";
  const std::size_t begin = message + kMessage.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

bool has_passed(const TestResult& result) {
  return std::any_of(result.counts.begin(), result.counts.end(),
                     [](const auto& count) { return count.second[Verdict::passed] > 0; });
}

}  // namespace

TestResult run_test(const Selftest& selftest, const Test& test, const Told& tell) {
  TestResult result{.test = test};
  const TemporaryFolder folder;
  const std::filesystem::path lines = folder.path() / "cases.jsonl";
  const auto start = Clock::now();
  CaseLog log(lines, result);
  for (bool goes_on = true; goes_on;) {
    const Ended ended = run_once(selftest, test, lines, log, tell);
    ++result.processes;
    const Verdict verdict = verdict_of(ended);
    const std::string why = reason_of(ended, selftest.options.time_limit);
    const bool is_lost = verdict == Verdict::hung || verdict == Verdict::crashed;
    goes_on = log.lose(verdict == Verdict::passed ? Verdict::failed : verdict, why) && is_lost &&
              result.processes < kMostProcesses;
    // The worst of all: a test that goes on after a crash fails, which says less.
    if (is_lost || result.verdict == Verdict::passed) {
      result.verdict = verdict;
      if (is_lost) result.why = why;
      if (verdict != Verdict::passed) result.output = ended.output;
    }
    if (result.verdict != Verdict::passed || has_passed(result)) continue;
    result.why = why_nothing(ended.output);
    if (!result.why.empty()) result.verdict = Verdict::skipped;
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace smem::cli
