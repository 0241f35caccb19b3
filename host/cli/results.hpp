/// What benchmarks of this process have measured, and files of such results: written, read again, compared.
#pragma once

#include "measure/call_costs.hpp"
#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace smem::cli {

using measure::CallCosts;

/// One row of a benchmark.
struct Result {
  std::string group;      ///< whose table it is in: "pool" of max_pool2d; not in files
  std::string operation;  ///< "scan"
  std::string label;      ///< the case, as the table shows it
  std::string asked;      ///< a variant's name, or "auto": the plan's own choice
  std::string variant;    ///< the one that ran
  measure::Statistics seconds;
  double bytes = 0;       ///< that a call reads and writes
  double operations = 0;  ///< floating-point operations of a call; 0: none worth counting
  double copy_rate = 0;   ///< bytes a second of the device's own copy, measured beside it; 0: it was not
  double fp32_rate = 0;   ///< operations a second that the device reaches; 0: not measured
  double goal = 0;        ///< share of the rate that the row is compared with; 0: for information
  std::string wrong;      ///< what was wrong; empty: nothing was found
  CallCosts costs;
  // What the plan predicted.
  std::size_t store_degree = 1, load_degree = 1;  ///< turns of the banks
  double local_bytes = 0;                         ///< through local memory
  double residency = 0;                           ///< share of a unit's work-items; 0: not known
  std::string reason;

  /// Whether it is judged by operations a second, and not by bytes.
  bool by_operations() const { return fp32_rate > 0; }
  double rate() const {
    return seconds.median > 0 ? (by_operations() ? operations : bytes) / seconds.median : 0;
  }
  double share() const {
    const double whole = by_operations() ? fp32_rate : copy_rate;
    return whole > 0 ? rate() / whole : 0;
  }
  bool stable() const { return seconds.spread() <= measure::kStableSpread; }
};

/// Fills the members that come from a plan.
void set_plan(Result& result, const Device& device, const Plan& plan);

struct Results {
  std::string smem, device, platform, driver;
  std::string command;  ///< the command line; not in files
  std::vector<Result> rows;
};

/// Of this process, in their order. For the thread that records.
Results& recorded();
void record(const Device& device, Result result);
/// The same for any other thread, as it is now.
Results recorded_so_far();

std::string to_json(const Results& results);
/// \throws Error naming `argument` when the file is not one of results.
Results read_results(const char* argument, const std::string& path);
/// Runs `write`, which writes results to files, at an interrupt: what is measured by then is kept. Errors
/// are not reported, because the program ends.
std::function<void()> kept(std::function<void(const Results&)> write);
/// Writes text to a file. \throws Error naming `argument` when it cannot be written.
void write_text(const char* argument, const std::string& path, const std::string& text);

/// A table for each operation, below the device, its driver, today's date and the command.
std::string to_markdown(const Results& results);

/// What two results of one case say of each other.
struct Comparison {
  double speedup = 0;        ///< old time over new time
  double low = 0, high = 0;  ///< the same, of the ends of both spreads
  bool is_noise() const { return low <= 1 && high >= 1; }
};
Comparison compare(const Result& before, const Result& after);

}  // namespace smem::cli
