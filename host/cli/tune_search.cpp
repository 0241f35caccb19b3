// The search of one case: greedy, by one respect at a time.
#include "cli/tune_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace smem::cli {

namespace {

using Clock = std::chrono::steady_clock;

// A child measures so many between two looks at the clock: its start, with the data, takes as long as a few
// candidates.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kFinalists = 3;
constexpr std::size_t kRounds = 8;  // of neighbours; each must have found something better

class Search {
 public:
  Search(const TuneCase& of, const Device& device, const TuneOptions& options, Journal& journal,
         Clock::time_point end, const std::function<void(const CaseReport&, double)>& tell)
      : case_(of), options_(options), journal_(journal), end_(end), tell_(tell), space_(of, device) {
    report_.operation = of.operation;
    report_.label = of.label;
    report_.problems = of.problems;
    report_.shipped = space_.shipped().variant;
  }

  CaseReport run() {
    tell_(report_, best_.gain);
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
  Batch batch_of(std::vector<PlanOverrides> candidates, bool thorough) const {
    return {options_.device, case_.operation, case_.label,          options_.small,
            thorough,        options_.limit,  std::move(candidates)};
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
    std::vector<PlanOverrides> open;
    for (const PlanOverrides& candidate : candidates) {
      if (const Outcome* known = journal_.find(case_, candidate, false)) {
        ++report_.from_journal;
        take(*known);
      } else {
        open.push_back(candidate);
      }
    }
    for (std::size_t begin = 0; begin < open.size(); begin += kBatch) {
      if (Clock::now() >= end_) {
        report_.is_complete = false;
        return;
      }
      const auto from = open.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto to = from + static_cast<std::ptrdiff_t>(std::min(kBatch, open.size() - begin));
      for (const Outcome& outcome : try_candidates(batch_of({from, to}, false))) {
        journal_.add(case_, false, outcome);
        take(outcome);
      }
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
    std::vector<PlanOverrides> open;
    std::vector<Outcome> again;
    for (const Outcome& outcome : measured_) {
      if (const Outcome* known = journal_.find(case_, outcome.overrides, true)) {
        again.push_back(*known);
      } else {
        open.push_back(outcome.overrides);
      }
    }
    if (!open.empty()) {
      for (const Outcome& outcome : try_candidates(batch_of(open, true))) {
        journal_.add(case_, true, outcome);
        again.push_back(outcome);
      }
    }
    for (const Outcome& outcome : again) {
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
    CaseReport report;
    report.operation = of.operation;
    report.label = of.label;
    report.problems = of.problems;
    report.failed = error.what();
    return report;
  }
}

}  // namespace smem::cli
