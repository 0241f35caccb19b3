// Plans for separable filters of bytes by matrix units, and the bands of rows that marches share.
#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/separable_policy.hpp"
#include "plan/sizes.hpp"
#include "plan/variants.hpp"

#include <algorithm>

namespace smem::plan {

std::size_t best_band(const SeparableProblem& problem, std::size_t strips, std::size_t resident,
                      std::size_t step, std::size_t least_band, std::size_t most_rounds) {
  const std::size_t most =
      std::min(divide_up(problem.height, least_band), divide_up(most_rounds * resident, at_least_1(strips)));
  std::size_t best = at_least_1(problem.height), best_rows = 0;
  for (std::size_t bands = 1; bands <= most; ++bands) {
    const std::size_t band = round_up(divide_up(problem.height, bands), step);
    const std::size_t rounds = divide_up(strips * divide_up(problem.height, band), resident);
    const std::size_t rows = rounds * (band + problem.column_taps - 1);
    if (best_rows != 0 && rows >= best_rows) continue;
    best_rows = rows;
    best = band;
  }
  return best;
}

Attempt separable_mma(const Device& device, const SeparableProblem& problem, const PlanOverrides& fixed) {
  constexpr std::size_t kMostExtent = std::size_t{1} << 30;  // elements of a row, and rows
  constexpr std::size_t kReach = 8, kCols = 64, kStep = 16, kWarp = 32, kLoaded = 12, kWeights = 40;
  constexpr std::size_t kRegisters = 65536;  // of a compute unit
  const SeparableMma& policy = separable_policy(device).mma;
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80)
    return "for NVIDIA's matrix units, of sm_80 and later";
  if (!(problem.fixed_point || problem.mean) || problem.in != Scalar::uint8 || problem.out != Scalar::uint8)
    return "for bytes, and weights of whole 256ths or of 1, as Gaussian and box blurs of bytes have them";
  if (problem.in_alignment < kReach || problem.row_elements() < kReach)
    return "rows do not begin at multiples of 8 bytes";
  const std::size_t before = problem.origin() * problem.channels,
                    after = (problem.row_taps - 1 - problem.origin()) * problem.channels;
  if (before > kReach || after > kReach || problem.column_taps > kStep + 1)
    return formatted("a window reaches at most {} bytes to each side, and has at most {} rows", kReach,
                     kStep + 1);
  if (problem.row_elements() > kMostExtent || problem.height > kMostExtent)
    return formatted("more than {} columns or rows", kMostExtent);
  if (fixed.tile_cols != 0 && fixed.tile_cols != kCols) return formatted("a strip has {} columns", kCols);
  if (fixed.tile_rows % kStep != 0) return formatted("a band has whole steps of {} rows", kStep);
  const std::size_t group = group_for(device, fixed.work_items == 0 ? policy.group : fixed.work_items,
                                      kLoaded * sizeof(int), kWeights * sizeof(int) + kOwnBytes);
  if (group < kWarp) return no_tile_fits(device);
  const std::size_t across = divide_up(problem.row_elements(), kCols), warps = group / kWarp;
  const std::size_t resident = at_least_1(kRegisters / (policy.registers * group) * device.compute_units);
  const std::size_t chosen = best_band(problem, divide_up(across * problem.planes, warps), resident, kStep,
                                       policy.least_band, policy.most_rounds);
  const std::size_t band = fixed.tile_rows != 0 ? fixed.tile_rows : round_up(chosen, kStep);
  Plan plan = filter_plan("separable", "mma", "nvidia/separable/mma.cl", "separable_mma", problem,
                          std::max(problem.origin(), problem.row_taps - 1 - problem.origin()),
                          problem.column_taps - 1);
  if (problem.half_up) define(plan, "HALF_UP", 1);
  if (problem.mean) define(plan, "MEAN", 1);
  plan.prediction.operations = 2 * real(problem.elements(), problem.row_taps + problem.column_taps);
  const std::size_t strips = across * divide_up(problem.height, band) * problem.planes;
  set_groups(plan, group, divide_up(strips, warps), std::size_t{1} << 20);
  plan.tile_rows = band;
  plan.tile_cols = kCols;
  plan.vector_width = sizeof(int);
  plan.items_per_work_item = kStep * kCols / kWarp;
  plan.local_bytes = kLoaded * sizeof(int) * group + kWeights * sizeof(int);
  define(plan, {{"GROUP", group},
                {"ROW_TAPS", problem.row_taps},
                {"ROW_ORIGIN", problem.origin()},
                {"COLUMN_TAPS", problem.column_taps},
                {"VECTOR_OUT", problem.out_alignment >= sizeof(int) ? 1 : 0}});
  plan.numbers = {{"band", band}};
  plan.reason = "matrix units multiply rows by weights, and the bytes of their sums down columns";
  return plan;
}

}  // namespace smem::plan
