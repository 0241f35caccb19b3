#include "ops/bins.hpp"
#include "formatted.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"

namespace smem::ops {

BinArguments bin_arguments(const char* operation, const Bins& bins, HistogramProblem& problem) {
  plan::require_known(operation, "bins.outside", bins.outside, Outside::clamp);
  problem.bins = bins.count;
  BinArguments arguments;
  arguments.count = static_cast<cl_uint>(bins.count);
  if (bins.outside == Outside::clamp) {
    arguments.below = 0;
    arguments.above = static_cast<cl_uint>(bins.count - 1);
  }
  if (bins.edges.buffer == nullptr && bins.edges.size == 0) {
    arguments.even = even_bins(problem.in, bins.count, bins.low, bins.high);
    problem.rule = arguments.even.rule;
    return arguments;
  }
  problem.rule = BinRule::edges;
  arguments.edges = bins.edges;
  check_type(operation, "bins.edges", bins.edges.type, problem.in);
  if (bins.edges.size != bins.count + 1)
    refuse(operation, "bins.edges", formatted("{} for {} bins", bins.count + 1, bins.count), bins.edges.size);
  return arguments;
}

}  // namespace smem::ops
