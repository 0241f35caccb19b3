// The search of one case: greedy, by one respect at a time.
#include "cli/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace smem::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 8;  // candidates between two checks of the time
constexpr std::size_t kFinalists = 3;
constexpr std::size_t kRounds = 8;  // of neighbours; each must have found something better

CaseReport report_of(const TuneCase& of) {
  return {.operation = std::string(of.operation->name), .label = of.one.text, .problems = of.one.tuning};
}

class Search {
 public:
  Search(const TuneCase& of, const Device& device, const TuneOptions& options, Journal& journal,
         Clock::time_point end, const std::function<void(const CaseReport&, double)>& tell)
      : case_(of),
        options_(options),
        journal_(journal),
        end_(end),
        tell_(tell),
        space_(of, device),
        report_(report_of(of)) {
    report_.shipped = space_.shipped().variant;
  }

  CaseReport run() {
    tell_(report_, best_.gain);
    trial_.emplace(options_, case_, false);
    try_all(space_.variants());
    for (std::size_t round = 0; round < kRounds && report_.is_complete; ++round) {
      const double before = best_.gain;
      try_all(space_.neighbours(best_.overrides));
      if (best_.gain <= before) break;
    }
    confirm();
    suspect_shipped();
    return std::move(report_);
  }

 private:
  /// What was measured before, else what the child measures now.
  Outcome outcome_of(const PlanOverrides& candidate, bool thorough) {
    if (const Outcome* known = journal_.find(case_, candidate, thorough)) {
      report_.from_journal += thorough ? 0 : 1;
      return *known;
    }
    Outcome outcome = trial_->outcome_of(candidate);
    journal_.add(case_, thorough, outcome);
    return outcome;
  }

  void take(const Outcome& outcome) {
    ++report_.tried;
    if (!outcome.dropped.empty()) {
      report_.dropped.push_back(outcome);
    } else {
      report_.shipped_seconds = outcome.shipped_seconds;
      measured_.push_back(outcome);
      if (outcome.gain > best_.gain) best_ = outcome;
    }
  }

  void try_all(const std::vector<PlanOverrides>& candidates) {
    std::size_t measured = 0;
    for (const PlanOverrides& candidate : candidates) {
      if (journal_.find(case_, candidate, false) == nullptr && measured++ % kBatch == 0 &&
          Clock::now() >= end_)
        report_.is_complete = false;
      if (!report_.is_complete) return;
      take(outcome_of(candidate, false));
      tell_(report_, best_.gain);
    }
  }

  /// The winners count when they win again on other data, by more than the turns differ; several, since the
  /// first one may owe its place to chance.
  void confirm() {
    std::erase_if(measured_, [](const Outcome& outcome) { return outcome.gain < kLeastGain; });
    std::sort(measured_.begin(), measured_.end(),
              [](const Outcome& a, const Outcome& b) { return a.gain > b.gain; });
    if (measured_.size() > kFinalists) measured_.resize(kFinalists);
    trial_.emplace(options_, case_, true);
    for (const Outcome& winner : measured_) {
      const Outcome outcome = outcome_of(winner.overrides, true);
      if (!outcome.dropped.empty()) {
        report_.dropped.push_back(outcome);
        continue;
      }
      if (outcome.gain < kLeastGain || outcome.low <= 1) continue;
      if (report_.best && report_.best->gain >= outcome.gain) continue;
      report_.shipped_seconds = outcome.shipped_seconds;
      report_.best = outcome;
    }
  }

  /// Where all others agree that it is wrong, it may be.
  void suspect_shipped() {
    const auto wrong = static_cast<std::size_t>(
        std::count_if(report_.dropped.begin(), report_.dropped.end(),
                      [](const Outcome& outcome) { return outcome.dropped.starts_with("wrong"); }));
    if (report_.tried > 1 && wrong == report_.tried)
      report_.failed = "every other plan's results differ from the shipped plan's, which may be wrong itself";
  }

  const TuneCase& case_;
  const TuneOptions& options_;
  Journal& journal_;
  Clock::time_point end_;
  const std::function<void(const CaseReport&, double)>& tell_;
  TuneSpace space_;
  std::optional<Trial> trial_;
  CaseReport report_;
  std::vector<Outcome> measured_;
  Outcome best_{.gain = 1};  ///< no overrides: the shipped plan
};

}  // namespace

CaseReport search_case(const TuneCase& of, const Device& device, const TuneOptions& options, Journal& journal,
                       Clock::time_point end,
                       const std::function<void(const CaseReport& report, double gain)>& tell) {
  try {
    return Search(of, device, options, journal, end, tell).run();
  } catch (const Error& error) {
    CaseReport report = report_of(of);
    report.failed = error.what();
    return report;
  }
}

}  // namespace smem::cli
