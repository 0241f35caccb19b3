// Candidates of smem tune, tried in a child process: a kernel that hangs or crashes takes only its child
// along. The child reads a case, then candidates, a line of JSON each, and answers each with a line.
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/process.hpp"
#include "cli/tune.hpp"
#include "measure/measure.hpp"
#include "operations/list.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

namespace smem::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kStartSeconds = 120;  // for a child to open the device and make its data

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The answer to a line; empty when it does not come in time, or the child has ended.
std::optional<Json> answer_to(Worker& process, const Json& question, double seconds) {
  process.ask(line_of(question));
  const auto start = measure::Clock::now();
  while (measure::seconds_since(start) < seconds) {
    const bool has_ended = process.has_ended();  // asked first: the answer may have come before its end
    if (const auto answer = process.answer()) return Json::parse(*answer);
    if (has_ended) break;
  }
  return std::nullopt;
}

/// How a child ended that gave no answer in so many seconds.
std::string end_of(const Ended& ended, double seconds) {
  if (ended.stopped) return fmt::format("hung, or far too slow: no end within {} s", seconds);
  if (ended.signal != 0) return fmt::format("crashed: {}", signal_text(ended.signal));
  // The last line of its output is the reason.
  const std::size_t end = ended.output.find_last_not_of('\n');
  const std::string said = end == std::string::npos ? std::string() : ended.output.substr(0, end + 1);
  const std::string last = said.substr(said.rfind('\n') + 1);
  return fmt::format("failed: its process ended with exit code {}{}{}", ended.exit_code,
                     last.empty() ? "" : ": ", last);
}

/// One case on the device, with the results of the shipped plan.
class Bench {
 public:
  Bench(const Context& context, const operations::Case& of, bool thorough)
      : context_(context),
        case_(of),
        data_(case_, std::random_device()()),  // fresh numbers for each process
        meter_(context),
        buffers_(measure::make_buffers(context, data_.bytes())) {
    for (const measure::BufferPair& pair : buffers_.pairs)
      data_.write(context, pair);
    call(buffers_.pairs.front(), {});
    context.finish();
    data_.expect(context, buffers_.pairs.front());
    effort_ = thorough ? measure::Effort{.least = 15, .most = 61, .seconds = 4}
                       : measure::Effort{.least = 5, .most = 15, .seconds = 0.6};
  }

  Outcome outcome_of(const PlanOverrides& overrides) {
    Outcome outcome{.overrides = overrides};
    const measure::BufferPair& first = buffers_.pairs.front();
    const auto shipped = [&](const measure::BufferPair& pair) { return call(pair, {}); };
    const auto candidate = [&](const measure::BufferPair& pair) {
      return call(pair, {.overrides = &overrides});
    };
    const auto wrong = [&] {
      data_.write_others(context_, first);
      candidate(first);
      context_.finish();
      return data_.wrong(context_, first);
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
  cl::Event call(const measure::BufferPair& pair, const CallOptions& options) const {
    return case_.call(context_, data_.arrays(pair), options);
  }

  Context context_;
  operations::Case case_;
  CaseData data_;
  measure::Meter meter_;
  measure::Buffers buffers_;
  measure::Effort effort_;
};

/// The case that a line names, with its data on the device.
std::unique_ptr<Bench> bench_of(const Json& asked) {
  const Context context({.device = asked.at("device").get<std::string>()});
  const auto label = asked.at("case").get<std::string>();
  const operations::Operation* operation = operations::find(asked.at("operation").get<std::string>());
  if (operation != nullptr) {
    for (const TuneCase& of : tune_cases(*operation, context.device(), asked.at("small").get<bool>()))
      if (of.one.text == label)
        return std::make_unique<Bench>(context, of.one, asked.at("thorough").get<bool>());
  }
  throw Error({.operation = "tune", .expected = "a case of smem tune", .got = label});
}

/// Writes a line to the socket that is the standard input too.
bool answer(const Json& json) {
  const std::string text = line_of(json) + "\n";
  return ::write(STDIN_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

Trial::Trial(const TuneOptions& options, const TuneCase& of, bool thorough)
    : options_(options), case_(of), thorough_(thorough) {}
Trial::~Trial() = default;

void Trial::start() {
  process_ = std::make_unique<Worker>(ProcessCommand{.program = "/proc/self/exe",
                                                     .arguments = {"tune", "--worker"},
                                                     .environment = {{"SMEM_TUNING", "0"}},
                                                     .errors_too = true});  // compilers talk
  const Json asked{{"device", options_.device},
                   {"operation", case_.operation->name},
                   {"case", case_.one.text},
                   {"small", options_.small},
                   {"thorough", thorough_}};
  const std::optional<Json> ready = answer_to(*process_, asked, kStartSeconds);
  if (ready && !ready->contains("failed")) return;
  const std::string got =
      ready ? ready->at("failed").get<std::string>() : end_of(process_->stop(), kStartSeconds);
  process_.reset();
  throw Error({.operation = "tune", .expected = "a shipped plan that runs", .got = got});
}

Outcome Trial::outcome_of(const PlanOverrides& overrides) {
  if (!process_) start();
  if (const std::optional<Json> found = answer_to(*process_, to_json(overrides), options_.limit))
    return outcome_from(*found);
  Outcome outcome{.overrides = overrides, .dropped = end_of(process_->stop(), options_.limit)};
  process_.reset();
  return outcome;
}

int answer_trials() {
  std::string line;
  if (!std::getline(std::cin, line)) return kGood;
  std::unique_ptr<Bench> bench;
  try {
    bench = bench_of(Json::parse(line));
  } catch (const std::exception& error) {  // as above
    answer({{"failed", error.what()}});
    return kFailure;
  }
  if (!answer({{"ready", true}})) return kFailure;
  while (std::getline(std::cin, line))
    if (!answer(to_json(bench->outcome_of(overrides_from(Json::parse(line)))))) return kFailure;
  return kGood;
}

}  // namespace smem::cli
