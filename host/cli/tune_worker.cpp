// Candidates of smem tune, tried in child processes: a kernel that hangs or crashes takes only its child
// along.
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/process.hpp"
#include "cli/results.hpp"
#include "cli/tune.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

namespace smem::cli {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kHung = 4;               // exit code of a child whose candidate took too long
constexpr double kStartSeconds = 120;  // for a child to open the device and make its data

void say(std::size_t number, const Outcome& outcome) {
  fmt::print("{}\n", Json{{"candidate", number}, {"outcome", to_json(outcome)}}.dump(
                         -1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

/// Ends this process when a candidate takes too long; the host waits inside the driver then, so nothing else
/// can be done.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) { thread_.detach(); }
  /// \p number: of the candidate that begins.
  void start(std::size_t number, const PlanOverrides& overrides, double seconds) {
    const std::scoped_lock lock(mutex_);
    number_ = number;
    overrides_ = overrides;
    seconds_ = seconds;
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    running_ = true;
    changed_.notify_one();
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    running_ = false;
  }

 private:
  [[noreturn]] void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!running_) {
        changed_.wait(lock);
      } else if (Clock::now() >= end_) {
        say(number_, {.overrides = overrides_,
                      .dropped = fmt::format("hung, or far too slow: no end within {} s", seconds_)});
        ::_exit(kHung);
      } else {
        changed_.wait_until(lock, end_);
      }
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t number_ = 0;
  PlanOverrides overrides_;
  double seconds_ = 0;
  Clock::time_point end_;
  bool running_ = false;
  std::thread thread_;
};

/// One case on the device, with the results of the shipped plan.
class Bench {
 public:
  Bench(const Context& context, const TuneCase& of, bool thorough)
      : context_(context), case_(of), meter_(context), buffers_(measure::make_buffers(context, of.bytes())) {
    for (const measure::BufferPair& pair : buffers_.pairs) {
      fill_inputs(context, pair, of, seed_);
      prepare_others(context, pair, of, seed_);
    }
    of.call(context, buffers_.pairs.front(), {});
    context.finish();
    expected_ = read_others(context, buffers_.pairs.front(), of);
    effort_ = thorough ? measure::Effort{.least = 15, .most = 61, .seconds = 4}
                       : measure::Effort{.least = 5, .most = 15, .seconds = 0.6};
  }

  Outcome outcome_of(const PlanOverrides& overrides) {
    Outcome outcome{.overrides = overrides};
    const measure::BufferPair& first = buffers_.pairs.front();
    const auto shipped = [&](const measure::BufferPair& pair) { return case_.call(context_, pair, {}); };
    const auto candidate = [&](const measure::BufferPair& pair) {
      return case_.call(context_, pair, {.overrides = &overrides});
    };
    const auto wrong = [&] {
      prepare_others(context_, first, case_, seed_);
      candidate(first);
      context_.finish();
      return difference(case_, expected_, read_others(context_, first, case_));
    };
    try {
      std::optional<std::string> what = wrong();
      if (!what) {
        const measure::Turns turns = meter_.in_turns(buffers_, shipped, candidate, effort_);
        outcome.gain = turns.ratio.median;
        outcome.low = turns.ratio.low;
        outcome.high = turns.ratio.high;
        outcome.seconds = turns.second.median;
        outcome.shipped_seconds = turns.first.median;
        // What may win runs once more after many calls: what depends on chance had many.
        if (outcome.gain > 1) what = wrong();
      }
      if (what) outcome.dropped = fmt::format("wrong: {}", *what);
    } catch (const std::exception& error) {  // of drivers' libraries too
      outcome.dropped = fmt::format("failed: {}", error.what());
      outcome.dropped.resize(std::min(outcome.dropped.find('\n'), outcome.dropped.size()));
    }
    return outcome;
  }

 private:
  Context context_;
  const TuneCase& case_;
  measure::Meter meter_;
  measure::Buffers buffers_;
  measure::Effort effort_;
  std::uint64_t seed_ = std::random_device()();  ///< fresh numbers for each process
  std::vector<operations::HostArray> expected_;
};

std::string request_of(const Batch& batch, std::size_t from) {
  Json candidates = Json::array();
  for (std::size_t i = from; i < batch.candidates.size(); ++i)
    candidates.push_back(to_json(batch.candidates[i]));
  return Json{{"device", batch.device}, {"operation", batch.operation}, {"case", batch.label},
              {"small", batch.small},   {"thorough", batch.thorough},   {"limit", batch.limit},
              {"from", from},           {"candidates", candidates}}
      .dump();
}

/// Takes over what a child said. \returns the number of the first candidate of which it said nothing.
std::size_t take_over(const std::string& output, std::vector<Outcome>& outcomes, std::size_t from) {
  std::istringstream lines(output);
  std::size_t next = from;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    if (json.contains("failed"))
      throw Error({.operation = "tune", .expected = "a shipped plan that runs", .got = json["failed"]});
    if (!json.contains("candidate")) continue;
    const auto number = json.at("candidate").get<std::size_t>();
    if (number >= outcomes.size()) continue;
    outcomes[number] = outcome_from(json.at("outcome"));
    next = std::max(next, number + 1);
  }
  return next;
}

std::string end_of(const Ended& ended) {
  if (ended.stopped) return "hung: its process did not end";
  if (ended.signal != 0) return fmt::format("crashed: {}", signal_text(ended.signal));
  // What it said last tells why.
  const std::size_t end = ended.output.find_last_not_of('\n');
  const std::string said = end == std::string::npos ? std::string() : ended.output.substr(0, end + 1);
  const std::string last = said.substr(said.rfind('\n') + 1);
  return fmt::format("failed: its process ended with exit code {}{}{}", ended.exit_code,
                     last.empty() ? "" : ": ", last);
}

}  // namespace

std::vector<Outcome> try_candidates(const Batch& batch) {
  std::vector<Outcome> outcomes(batch.candidates.size());
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "candidates.json").string();
  for (std::size_t next = 0; next < batch.candidates.size();) {
    write_text("--candidates", file, request_of(batch, next));
    // The child watches its candidates itself; this is for one that cannot.
    const double most =
        kStartSeconds + (batch.limit + 5) * static_cast<double>(batch.candidates.size() - next);
    const auto start = Clock::now();
    const Ended ended = run_process(
        {.program = "/proc/self/exe",
         .arguments = {"tune", "--candidates", file},
         .environment = {{"SMEM_TUNING", "0"}},
         .errors_too = true,  // compilers talk, and would break the progress bar
         .may_go_on = [&] { return std::chrono::duration<double>(Clock::now() - start).count() < most; }});
    const std::size_t reached = take_over(ended.output, outcomes, next);
    if (!ended.is_good() && ended.exit_code != kHung && reached < batch.candidates.size()) {
      // The one after the last that was told took the child along.
      outcomes[reached] = {.overrides = batch.candidates[reached], .dropped = end_of(ended)};
      next = reached + 1;
    } else if (reached == next) {
      throw Error({.operation = "tune", .expected = "a child process that measures", .got = ended.output});
    } else {
      next = reached;
    }
  }
  return outcomes;
}

int run_candidates(const std::string& file) {
  std::ifstream stream(file);
  const Json json = Json::parse(stream);
  const Context context({.device = json.at("device").get<std::string>()});
  const auto label = json.at("case").get<std::string>();
  const std::vector<TuneCase> cases =
      tune_cases(json.at("operation").get<std::string>(), context.device(), json.at("small").get<bool>());
  const auto of =
      std::find_if(cases.begin(), cases.end(), [&](const TuneCase& c) { return c.label == label; });
  if (of == cases.end()) throw Error({.operation = "tune", .expected = "a case of smem tune", .got = label});
  std::optional<Bench> bench;
  try {
    bench.emplace(context, *of, json.at("thorough").get<bool>());
  } catch (const std::exception& error) {  // as above
    fmt::print("{}\n", Json{{"failed", error.what()}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    return kFailure;
  }
  static auto* const watchdog = new Watchdog;  // never destroyed: its thread has no end
  auto number = json.at("from").get<std::size_t>();
  for (const Json& one : json.at("candidates")) {
    const PlanOverrides overrides = overrides_from(one);
    watchdog->start(number, overrides, json.at("limit").get<double>());
    const Outcome outcome = bench->outcome_of(overrides);
    watchdog->stop();
    say(number++, outcome);
  }
  return kGood;
}

}  // namespace smem::cli
