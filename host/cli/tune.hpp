/// The parts of smem tune: candidates, the child processes that try them, and what is kept of them.
#pragma once

#include "operations/operation.hpp"

#include <smem/smem.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smem::cli {

struct TuneOptions {
  std::vector<std::string> operations;
  std::string device, json;
  std::string part;  ///< of the labels of the cases that are asked for
  double minutes = 10;
  double limit = 30;  ///< seconds that a candidate may take, with its compilation
  bool small = false, restart = false, only_export = false, worker = false;
};

/// A problem of an operation, at a size that a device is used for.
struct TuneCase {
  const operations::Operation* operation;
  operations::Case one;
};
/// The cases of an operation. `small`: sizes for a quick look.
std::vector<TuneCase> tune_cases(const operations::Operation& operation, const Device& device, bool small);

/// What became of a candidate.
struct Outcome {
  PlanOverrides overrides;
  double gain = 0;             ///< the shipped plan's time over its own: the median of turns
  double low = 0, high = 0;    ///< of four fifths of the turns
  double seconds = 0;          ///< of a call
  double shipped_seconds = 0;  ///< of the shipped plan beside it
  std::string dropped;         ///< why it does not count; empty: it was measured
};

/// "vector, tile 64 x 64, 128 work-items, padded:1"; for what is not fixed nothing.
std::string text_of(const PlanOverrides& overrides);
std::string layout_text(const LayoutChoice& layout);
nlohmann::ordered_json to_json(const PlanOverrides& overrides);
PlanOverrides overrides_from(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const Outcome& outcome);
Outcome outcome_from(const nlohmann::ordered_json& json);

class Worker;

/// Tries candidates of a case in a child process; another one takes its place when it hangs or crashes.
class Trial {
 public:
  /// `thorough`: to confirm a winner, with more repetitions.
  Trial(const TuneOptions& options, const TuneCase& of, bool thorough);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// \throws Error when the shipped plan does not run.
  Outcome outcome_of(const PlanOverrides& overrides);

 private:
  void start();

  const TuneOptions& options_;
  const TuneCase& case_;
  bool thorough_;
  std::unique_ptr<Worker> process_;
};
/// The child's side. \returns the exit code.
int answer_trials();

/// All that was measured on a device, driver and version, in a file beside the tuning file: what is in it is
/// not measured again.
class Journal {
 public:
  /// `restart`: what is there is put aside.
  Journal(const Device& device, bool restart);
  const Outcome* find(const TuneCase& of, const PlanOverrides& overrides, bool thorough) const;
  void add(const TuneCase& of, bool thorough, const Outcome& outcome);

 private:
  void read(const std::string& header);
  std::filesystem::path path_;
  std::map<std::string, Outcome> outcomes_;
};

/// The plans of a case that can be, by the plan functions alone, without the device.
class TuneSpace {
 public:
  TuneSpace(const TuneCase& of, const Device& device);
  const Plan& shipped() const { return shipped_; }
  /// Each variant, but not those that are the shipped plan; the most promising first.
  std::vector<PlanOverrides> variants();
  /// What differs from the choice in one respect, and was not given out before.
  std::vector<PlanOverrides> neighbours(const PlanOverrides& choice);

 private:
  /// Keeps the candidate if there is such a plan, and it is a new one.
  void offer(const PlanOverrides& candidate, std::vector<std::pair<double, PlanOverrides>>& into);
  std::vector<PlanOverrides> sorted(std::vector<std::pair<double, PlanOverrides>> found) const;

  const TuneCase& case_;
  const Device& device_;
  Plan shipped_;
  std::vector<Plan> known_;
};

/// What the search of a case has found.
struct CaseReport {
  std::string operation, label;
  TuningClass problems;
  std::string shipped;
  double shipped_seconds = 0;
  std::optional<Outcome> best;  ///< that is better than the shipped plan, confirmed
  std::size_t tried = 0, from_journal = 0;
  bool is_complete = true;  ///< the time sufficed
  std::string failed;       ///< why nothing could be measured
  std::vector<Outcome> dropped;
};

/// Tries variants, then from the best one on what differs from it in one respect, until nothing is better or
/// the time is over; at last the winner once more, at length. Calls `tell(report, gain)` between.
CaseReport search_case(const TuneCase& of, const Device& device, const TuneOptions& options, Journal& journal,
                       std::chrono::steady_clock::time_point end,
                       const std::function<void(const CaseReport& report, double gain)>& tell);

/// Gains below this are not worth a change: it is what medians differ by from day to day.
constexpr double kLeastGain = 1.03;

}  // namespace smem::cli
