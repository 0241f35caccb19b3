/// What the benchmarks of operations share: their options, a row for each case and variant, and the exit
/// code.
#pragma once

#include "cli/cli11.hpp"
#include "cli/results.hpp"
#include "cli/table.hpp"
#include "cli/whole_file.hpp"
#include "measure/call_costs.hpp"
#include "measure/measure.hpp"
#include "operations/operation.hpp"

#include <smem/smem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::cli {

/// Seconds of a quick measurement.
constexpr double kQuickSeconds = 0.2;

/// Which of an operation's lists of cases are asked for: at most one.
struct Lists {
  bool goals = false, small = false, weak = false;
  bool quick = false;  ///< kQuickSeconds each, and results are not compared

  bool any() const { return goals || small || weak; }
  operations::Scale scale(const Device& device) const {
    return weak ? operations::weak_scale_for(device) : operations::scale_for(device, small);
  }
};

struct BenchOptions {
  std::string device, csv;
  bool all_variants = false;
  Lists lists;
  std::size_t repetitions = 0;  ///< of each measurement; 0: as many as its time allows
  double seconds = 0;           ///< of each measurement; 0: the usual ones, and results are compared
  bool queue = false;           ///< calls in a queue without profiling, however long they are
  bool quiet = false;           ///< no table: what is measured is recorded (results.hpp)
  std::string group;            ///< Result::group

  /// A list of cases, which goes on without what a device cannot do.
  bool is_list() const { return lists.any(); }
};

/// Adds --goals, --goals-small and --weak, and returns them; and --quick.
std::array<CLI::Option*, 3> add_list_flags(CLI::App* command, Lists& lists);
/// Runs the lists of all operations. `device`: empty: the usual one. \returns the worst exit code.
int run_all_lists(const std::string& device, const Lists& lists);
/// Measures the variants of an operation on its first sample for the device, but those that would take
/// minutes there. \returns the rows, which are recorded too.
std::vector<Result> measure_variants(const operations::Operation& operation, const std::string& device,
                                     bool small);
/// Measures the plan's own choice for the first sample of each asked operation (empty: of all), a short time
/// each; results are not compared. `each`: gets each row, which is recorded too.
void measure_choices(const std::vector<std::string>& asked, const std::string& device, bool small,
                     const std::function<void(const Result&)>& each);

/// What is measured of problems that are drawn at random, or of all that a model chooses among.
struct ShapeOptions {
  std::string device;
  std::optional<std::uint64_t> seed;  ///< none: the given problems
  std::size_t shapes = 60;            ///< of each kind
  double most = 0;                    ///< operations of a problem; 0: as the device is
  std::vector<std::string> kinds;     ///< empty: all
  std::string variant;                ///< empty: the plan's own choice
  bool model = false;                 ///< measures all candidates, not the choice alone
  bool only_list = false;             ///< prints the problems, and measures none
};
/// \returns the exit code.
int bench_shapes(const operations::Operation& operation, const ShapeOptions& options,
                 std::vector<operations::Case> given);

/// Fewer repetitions of what takes long.
template <class Call>
measure::Effort effort_of(const Context& context, const measure::Buffers& buffers, const Call& call) {
  call(buffers.pairs.front());
  context.finish();
  const auto start = measure::Clock::now();
  call(buffers.pairs.front());
  context.finish();
  if (measure::seconds_since(start) < 0.1) return {};
  return {.least = 3, .most = 15, .seconds = 1};
}

/// What a row is made of.
struct BenchRow {
  std::string label;
  std::string variant;  ///< empty: the plan's own choice
  double goal = 0;   ///< least share of the copy bandwidth or the fp32 rate, of the plan's own choice; 0: for
                     ///< information
  double bytes = 0;  ///< read and written; 0: as the plan predicts
  /// Floating-point operations, which count instead where there are any: beside the device's fp32 rate.
  double operations = 0;
};

class BenchTable {
 public:
  /// `traffic`: what rates count, as "bytes read and written". `operations`: whether these are operations,
  /// not bytes. \throws Error naming --csv when it cannot be written.
  BenchTable(const BenchOptions& options, std::string traffic, bool operations = false);

  /// Inputs and outputs of `bytes` bytes; nothing, and a row that says so, where `times` as much does not fit
  /// the device's memory. Rows of few bytes are timed by calls in a queue without profiling, as
  /// BenchOptions::queue has all: see context().
  std::optional<measure::Buffers> buffers(const std::string& label, std::size_t bytes, double times);

  /// A row. `make_plan(variant)`; `call(pair)` returns the event of the operation on a pair of buffers;
  /// `check()`: what is wrong after a call on the first pair.
  template <class MakePlan, class Call, class Check>
  void row(const BenchRow& row, const measure::Buffers& buffers, const MakePlan& make_plan, const Call& call,
           const Check& check) {
    Plan plan;
    try {
      plan = make_plan(row.variant);
    } catch (const Error& error) {
      if (row.variant.empty() || error.details().argument != "variant") throw;
      skip(row.label, row.variant, "does not run this on this device");
      return;
    }
    const CallCosts costs = costs_of(context(), buffers.pairs.front(), call);
    const std::optional<std::string> wrong = check();
    print(row, plan,
          meters_.at(in_queue_ ? 1 : 0)
              ->measure(buffers, row.bytes > 0 ? row.bytes : plan.prediction.bytes(), call,
                        effort(row, buffers, call)),
          costs, wrong);
  }

  /// Whose rows follow: Result::group.
  void begin(std::string_view group) { options_.group = group; }
  const Device& device() const { return contexts_.front().device(); }
  /// The context of the buffers that were made last.
  const Context& context() const { return contexts_.at(in_queue_ ? 1 : 0); }
  /// Prints the legend. \returns the exit code.
  int end();

 private:
  template <class Call>
  measure::Effort effort(const BenchRow& row, const measure::Buffers& buffers, const Call& call) const {
    const std::size_t asked = options_.repetitions;
    if (asked != 0) return {.least = asked, .most = asked};
    if (options_.seconds != 0) return {.least = 3, .most = 15, .seconds = options_.seconds};
    return row.operations > 0 ? effort_of(context(), buffers, call) : measure::Effort{};
  }
  void skip(const std::string& label, const std::string& variant, const std::string& why);
  void print(const BenchRow& row, const Plan& plan, const measure::Measurement& m, const CallCosts& costs,
             const std::optional<std::string>& wrong);
  void print_row(const Result& result, const measure::Measurement& m, const std::string& verdict);

  std::array<Context, 2> contexts_;  ///< with profiling, and for short calls without
  std::array<std::unique_ptr<measure::Meter>, 2> meters_;
  bool in_queue_ = false;
  BenchOptions options_;
  std::string traffic_, copy_name_ = "none";
  bool of_operations_ = false;  ///< its rows
  Table table_;
  std::optional<Rates> rates_;  ///< measured for the first such row
  WholeFile csv_;
  std::size_t rows_ = 0, skipped_ = 0, missed_ = 0, wrong_ = 0;
};

}  // namespace smem::cli
