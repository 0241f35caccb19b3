/// The parts of smem tune: candidates, the child processes that try them, and what is kept of them.
#pragma once

#include "cli/tune_case.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

struct TuneOptions {
  std::vector<std::string> operations;
  std::string device, json, candidates;
  std::string part;  ///< of the labels of the cases that are asked for
  double minutes = 10;
  double limit = 30;  ///< seconds that a candidate may take, with its compilation
  bool small = false, restart = false, only_export = false;
};

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

/// A batch for a child process: one case, and what is to be tried.
struct Batch {
  std::string device, operation, label;
  bool small = false;
  bool thorough = false;  ///< to confirm a winner: more repetitions
  double limit = 30;
  std::vector<PlanOverrides> candidates;
};

/// Tries them, in child processes that outlive none that hangs or crashes. As many outcomes as candidates.
std::vector<Outcome> try_candidates(const Batch& batch);
/// The child's side: the candidates in the file, a line of JSON for each on the output. \returns the exit
/// code.
int run_candidates(const std::string& file);

/// All that was measured on a device, driver and version, in a file beside the tuning file: what is in it is
/// not measured again.
class Journal {
 public:
  /// `restart`: what is there is put aside.
  Journal(const Device& device, bool restart);
  const Outcome* find(const TuneCase& of, const PlanOverrides& overrides, bool thorough) const;
  void add(const TuneCase& of, bool thorough, const Outcome& outcome);
  std::size_t found() const { return found_; }  ///< when it was opened

 private:
  void read(const std::string& header);
  std::filesystem::path path_;
  std::map<std::string, Outcome> outcomes_;
  std::size_t found_ = 0;
};

/// The plans of a case that can be, as far as plan functions tell without the device.
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

/// Gains below this are not worth a change: it is what medians differ by from day to day.
constexpr double kLeastGain = 1.03;

/// Entries for the policy tables of the library, of what the device's tuning file has.
std::string policy_text(const Device& device, const std::vector<TuningEntry>& entries);

}  // namespace smem::cli
