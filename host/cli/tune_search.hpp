/// The search of one case.
#pragma once

#include "cli/tune.hpp"

#include <chrono>
#include <functional>

namespace smem::cli {

/// Tries variants, then from the best one on what differs from it in one respect, until nothing is better or
/// the time is over; at last the winner once more, at length. `tell(report, gain)` is called between.
CaseReport search_case(const TuneCase& of, const Device& device, const TuneOptions& options, Journal& journal,
                       std::chrono::steady_clock::time_point end,
                       const std::function<void(const CaseReport& report, double gain)>& tell);

}  // namespace smem::cli
