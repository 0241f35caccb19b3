// Separable filters of bytes by matrix units: products with bands of weights, in both directions.
#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/separable_policy.hpp"
#include "plan/variants.hpp"

#include <smem/separable_plan.hpp>

#include <algorithm>

namespace smem::plan {

namespace {

// Of cl/separable/units.cl.
constexpr std::size_t kWarp = 32, kBlock = 16, kRows = 16, kReach = 8;
constexpr std::size_t kMostTaps = 2 * kRows - kBlock + 1;  // of a column: 32 rows for 16 results
constexpr std::size_t kMost = std::size_t{1} << 30;

/// Why it cannot compute a problem; empty: it can.
std::string refused(const Device& device, const SeparableProblem& problem) {
  constexpr int kSm80 = 80;
  const bool units = is_nvidia_gpu(device) && compute_capability(device) >= kSm80;
  if (!units && device.type != DeviceType::cpu)  // where they are emulated, for tests
    return "needs the matrix units of NVIDIA's sm_80 and later";
  const bool mean = problem.mean && problem.out == Scalar::uint8;
  if (problem.in != Scalar::uint8 || !(problem.fixed_point || mean))
    return "for weights of whole 256ths, as Gaussian blurs of bytes have them, and means of bytes";
  const std::size_t left = problem.origin() * problem.channels, right = problem.halo() - left;
  if (std::max(left, right) > kReach || problem.column_taps > kMostTaps)
    return formatted("a window reaches farther than {} bytes along a row, or has more than {} rows", kReach,
                     kMostTaps);
  if (problem.in_alignment < kReach) return formatted("rows do not begin at multiples of {} bytes", kReach);
  if (problem.row_elements() > kMost || problem.height > kMost)
    return formatted("more than {} columns or rows", kMost);
  return {};
}

}  // namespace

std::size_t best_band(std::size_t height, std::size_t again, const Bands& bands) {
  const std::size_t most = std::min(divide_up(height, bands.least_band),
                                    divide_up(bands.most_rounds * bands.resident, at_least_1(bands.strips)));
  std::size_t best = at_least_1(height), best_rows = 0;
  for (std::size_t count = 1; count <= most; ++count) {
    const std::size_t band = round_up(divide_up(height, count), bands.step);
    const std::size_t rounds = divide_up(bands.strips * divide_up(height, band), bands.resident);
    const std::size_t rows = rounds * (band + again);
    if (best_rows != 0 && rows >= best_rows) continue;
    best_rows = rows;
    best = band;
  }
  return best;
}

Attempt separable_units(const Device& device, const SeparableProblem& problem, std::size_t wanted) {
  if (std::string why = refused(device, problem); !why.empty()) return why;
  const SeparableUnits& policy = separable_policy(device).units;
  const bool emulated = !is_nvidia_gpu(device);
  const std::size_t group = wanted != 0 ? wanted : emulated ? kWarp : policy.group;
  if (group % kWarp != 0 || (emulated && group != kWarp) || group > device.max_work_group)
    return formatted("groups have {}warps of {} work-items", emulated ? "single " : "whole ", kWarp);
  const std::size_t strip = kBlock * policy.blocks;
  const std::size_t strips = divide_up(problem.row_elements(), strip) * problem.planes;
  const std::size_t band = best_band(problem.height, kRows,
                                     {strips, at_least_1(policy.warps_a_unit * device.compute_units), kRows,
                                      policy.least_band, policy.most_rounds});
  Plan plan = separable_plan(kSeparableName, problem, "units", "separable/units.cl", "separable_units");
  set_groups(plan, group, divide_up(strips * divide_up(problem.height, band) * kWarp, group),
             std::size_t{1} << 20);
  // Places of 8 bytes at both ends of a row, weights, and what an emulated unit multiplies.
  const std::size_t local = group * 2 * kReach * sizeof(int) + 2 * 48 + (emulated ? group * 6 * 4 : 0);
  set_group_tile(plan, {.rows = kRows,
                        .cols = strip,
                        .vector_width = 4,
                        .items = kRows * strip / kWarp,
                        .local_bytes = local});
  define(plan, {{"GROUP", group},
                {"BLOCKS", policy.blocks},
                {"ROW_TAPS", problem.row_taps},
                {"ROW_ORIGIN", problem.origin()},
                {"COLUMN_TAPS", problem.column_taps},
                {"VECTOR_OUT", problem.out_alignment >= 4 * size_of(problem.out) ? 1 : 0},
                {"EMULATED", emulated ? 1 : 0}});
  plan.numbers = {{"band", band}};
  plan.reason = "matrix units multiply bytes by bands of weights, and both bytes of the sums again";
  return plan;
}

}  // namespace smem::plan
