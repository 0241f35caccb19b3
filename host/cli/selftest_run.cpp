// The test cases of the selftest, in processes of the test program that may hang and crash.
//
// A process runs several test cases, one after the other: to start a driver and its compiler takes half a
// second each time. It is replaced after a test case that is not right, and a test case that fails or crashes
// in a process that had run others before is run again in one of its own, whose cases count. So what
// one test case breaks is not counted as another's.
//
// Processes run side by side, as many as there are cores: nearly all their time is the driver's compiler's,
// and the references'. On a GPU kernels run one process at a time, under a lock
// (tests/support/device_lock.cpp), so that one that never gives the device back is known by name. A CPU needs
// no lock: there each process has threads of its own.
//
// A case is hung when for the time limit it was at the device, or busy on the host. What it waits for others
// is not counted: for the lock, for memory, for a core on a busy machine.
#include "cli/child.hpp"
#include "cli/process.hpp"
#include "cli/selftest.hpp"
#include "measure/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace smem::cli {

namespace {

using measure::Clock;
using measure::seconds_since;

/// After so many processes of one test case that were lost, the rest is not run: each may have taken the
/// whole time limit.
constexpr std::size_t kMostProcesses = 10;
/// A process that does nothing at all for so many time limits is hung too.
constexpr double kIdleLimits = 10;
/// What is kept of a process's output: a build log with its beginning and its end.
constexpr std::size_t kMostOutput = std::size_t{64} << 10;

}  // namespace

/// The lines that a test process writes (tests/support/case_report.hpp), read while it writes them.
class CaseLog {
 public:
  CaseLog(const std::filesystem::path& path, TestResult& result) : path_(path), result_(result) {}

  /// Reads what is new. \returns whether a case began or ended.
  bool read() {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    bool is_new = false;
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read_ += line.size() + 1;
      is_new |= take(line);
    }
    return is_new;
  }
  /// What begins and does not end, was lost.
  bool lose(Verdict verdict, const std::string& why) {
    for (const auto& [number, one] : open_)
      end(one, verdict, why, seconds_since(one.since));
    const bool any = !open_.empty();
    open_.clear();
    device_ = "idle";
    return any;
  }
  /// "waits" for the lock on the device, "runs", or "idle".
  const std::string& device() const { return device_; }
  const Kind& kind() const { return kind_; }
  std::size_t ended() const { return ended_; }

 private:
  struct Open {
    Kind kind;
    std::string what;
    Clock::time_point since;
  };

  /// \returns whether a case began or ended.
  bool take(const std::string& text) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) return false;
    if (line.contains("device")) {
      device_ = line.value("device", "");
      return false;
    }
    if (line.contains("variants")) {
      Tried& tried = result_.tried[line.value("variants", "")];
      for (const auto& [name, variants] : {std::pair{"tested", &tried.tested}, {"left_out", &tried.left_out}})
        for (const nlohmann::json& variant : line.value(name, nlohmann::json::array()))
          variants->insert(variant.get<std::string>());
      return false;
    }
    const std::size_t number = line.value("case", std::size_t{0});
    if (line.contains("begin")) {
      kind_ = {line.value("operation", ""), line.value("variant", ""), line.value("type", "")};
      const std::string what = line.value("begin", "");  // the seed is one for all
      open_[number] = {kind_, what.substr(0, what.find("; SMEM_SEED=")), Clock::now()};
      return true;
    }
    const auto one = open_.find(number);
    if (one == open_.end()) return false;
    const std::string outcome = line.value("outcome", "");
    const Verdict verdict = outcome == "passed"    ? Verdict::passed
                            : outcome == "refused" ? Verdict::refused
                            : outcome == "skipped" ? Verdict::skipped
                                                   : Verdict::failed;
    end(one->second, verdict, line.value("why", ""), line.value("seconds", 0.0));
    open_.erase(one);
    return true;
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
  std::string device_ = "idle";
};

namespace {

/// How long a process has worked on one case.
class Patience {
 public:
  Patience(const Worker& process, double limit) : process_(process), limit_(limit) { restart(); }

  void restart() {
    worked_ = all_ = 0;
    last_ = Clock::now();
    processor_ = process_.processor_seconds();
  }
  /// To be asked some times a second. \returns whether the time limit is over.
  bool is_over(const std::string& device) {
    constexpr double kMost = 1;  // of a machine that slept meanwhile
    const double passed = std::min(seconds_since(std::exchange(last_, Clock::now())), kMost);
    const double now = process_.processor_seconds();
    const double busy = now - std::exchange(processor_, now);
    all_ += passed;
    if (device != "waits") worked_ += device == "runs" ? passed : std::min(passed, busy);
    return worked_ > limit_ || all_ > kIdleLimits * limit_;
  }

 private:
  const Worker& process_;
  double limit_;
  double worked_ = 0, all_ = 0, processor_ = 0;
  Clock::time_point last_;
};

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

}  // namespace

/// How a test case ended in a process.
struct TestRunner::End {
  Verdict verdict = Verdict::passed;
  std::string why;
  std::string output;
  bool is_left = false;  ///< a process that does not end in spite of SIGKILL
};

TestRunner::TestRunner(const Selftest& selftest) : selftest_(selftest) {}
TestRunner::~TestRunner() = default;

void TestRunner::start() {
  ProcessCommand command{.program = selftest_.program.string(),
                         .arguments = {fmt::format("--selftest={}", selftest_.options.level), "--worker",
                                       "--no-colors=true", "--no-intro=true"},
                         .environment = {{"SMEM_TEST_REPORT", std::nullopt},
                                         {"SMEM_TEST_DEVICE_LOCK", selftest_.device_lock.string()},
                                         {"SMEM_CACHE", "0"},
                                         {"SMEM_SEED", selftest_.seed}},
                         .errors_too = true,
                         .most_output = kMostOutput};
  if (!selftest_.options.device.empty()) command.environment["SMEM_DEVICE"] = selftest_.options.device;
  process_ = std::make_unique<Worker>(command);
  tests_.clear();
}

std::optional<TestRunner::End> TestRunner::run_once(const Test& test, const std::filesystem::path& lines,
                                                    CaseLog& log, const Told& tell) {
  if (!process_) start();
  const double limit = selftest_.options.time_limit;
  Patience patience(*process_, limit);
  process_->ask(fmt::format("{}\t{}", lines.string(), test.name));
  tests_.push_back(test.name);
  const auto ended = [&](Verdict verdict, std::string why) {
    End end{verdict, std::move(why), process_->output()};
    if (is_bad(verdict)) process_.reset();
    return end;
  };
  for (;;) {
    const bool has_ended = process_->has_ended();  // asked first: the answer may have come before its end
    const std::optional<std::string> answer = process_->answer();
    if (log.read()) patience.restart();
    if (answer == "0") return ended(Verdict::passed, {});
    if (answer) return ended(Verdict::failed, fmt::format("exit code {}", *answer));
    if (has_ended) {
      const Ended how = process_->stop();
      return ended(Verdict::crashed, how.signal != 0
                                         ? signal_text(how.signal)
                                         : fmt::format("it ended the process, exit code {}", how.exit_code));
    }
    if (!tell(log.kind(), log.ended())) {
      process_.reset();
      return std::nullopt;
    }
    if (!patience.is_over(log.device())) continue;
    const bool is_left = process_->stop().left;
    End end = ended(Verdict::hung, fmt::format("nothing began or ended for {:g} s", limit));
    end.is_left = is_left;
    return end;
  }
}

/// Runs a test case to its end. After a process that hung or crashed, another one runs the cases that are
/// left.
std::optional<TestResult> TestRunner::attempt(const Test& test, const Told& tell, bool goes_on) {
  TestResult result{.test = test};
  const TemporaryFolder folder;
  const std::filesystem::path lines = folder.path() / "cases.jsonl";
  const auto start = Clock::now();
  CaseLog log(lines, result);
  do {
    const std::optional<End> end = run_once(test, lines, log, tell);
    if (!end) return std::nullopt;
    ++result.processes;
    result.is_left |= end->is_left;
    const bool in_a_case =
        log.lose(end->verdict == Verdict::passed ? Verdict::failed : end->verdict, end->why);
    goes_on =
        goes_on && in_a_case && is_lost(end->verdict) && !result.is_left && result.processes < kMostProcesses;
    // The worst verdict counts: a test case that is continued after a crash fails, which says less.
    if (is_lost(end->verdict) || result.verdict == Verdict::passed) {
      result.verdict = end->verdict;
      if (is_lost(end->verdict)) result.why = end->why;
      if (end->verdict != Verdict::passed) result.output = end->output;
    }
    if (result.verdict != Verdict::passed || result.has_passed_cases()) continue;
    result.why = why_nothing(end->output);
    if (!result.why.empty()) result.verdict = Verdict::skipped;
  } while (goes_on);
  result.seconds = seconds_since(start);
  return result;
}

std::optional<TestResult> TestRunner::run(const Test& test, const Told& tell) {
  const std::vector<std::string> before = process_ ? tests_ : std::vector<std::string>();
  std::optional<TestResult> result = attempt(test, tell, before.empty());
  if (!result || before.empty() || !is_bad(result->verdict) || result->is_left) return result;
  std::optional<TestResult> alone = attempt(test, tell, true);
  if (!alone || is_bad(alone->verdict)) return alone;
  alone->verdict = result->verdict;
  alone->why = fmt::format("{}right when run alone, not in a process that had run {}",
                           result->why.empty() ? "" : result->why + ": ", fmt::join(before, "; "));
  alone->output = result->output;
  return alone;
}

std::string TestRunner::finish() {
  if (!process_) return {};
  const Ended ended = process_->finish();
  process_.reset();
  if (ended.stopped) return "the process did not end";
  return ended.signal == 0 ? std::string()
                           : fmt::format("{} as the process ended", signal_text(ended.signal));
}

}  // namespace smem::cli
