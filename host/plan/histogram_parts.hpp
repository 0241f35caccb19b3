/// How a histogram is shared out, whatever the size of a work-group.
#pragma once

#include <smem/histogram_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

struct HistogramParts {
  std::size_t parts = 1;          ///< of each matrix
  std::size_t tables = 0;         ///< of each part, in temporary memory; 0: there are none
  std::size_t scratch_bytes = 0;  ///< for the tables
};

HistogramParts histogram_parts(const Device& device, const HistogramProblem& problem,
                               std::string_view variant);

}  // namespace smem::plan
