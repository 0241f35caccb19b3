/// The optimisation steps of operations: every variant on one large case, measured and recorded
/// (results.hpp).
#pragma once

#include "cli/bench_table.hpp"
#include "operations/operation.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

struct LadderOptions {
  std::string device;
  bool small = false;  ///< sizes for a quick look

  /// The size for this device.
  std::size_t size(const Device& on, std::size_t quick, std::size_t cpu, std::size_t gpu) const {
    return small ? quick : on.type == DeviceType::cpu ? cpu : gpu;
  }
};

/// Every one of `variants` through a table that prints nothing: `run_case(table, variants)` adds its rows.
void climb(const LadderOptions& options, const std::vector<std::string_view>& variants,
           const std::function<void(BenchTable&, const std::vector<std::string>&)>& run_case);

/// Every variant of a described operation, on its first sample for the device.
void climb(const operations::Operation& operation, const LadderOptions& options);

/// An operation that has a ladder.
struct Ladder {
  std::string_view operation;
  std::vector<std::string_view> variants;
  std::function<void(const LadderOptions& options)> measure;
};

/// All of them, in the order of their names' first use.
const std::vector<Ladder>& ladders();
std::vector<std::string> ladder_names();

/// What the variant does that the one before it does not, in one clause; empty where nobody says.
std::string_view step_of(std::string_view operation, std::string_view variant);

}  // namespace smem::cli
