// What all plans for moving means have, and those of short rows, of which a group has several.
#include "plan/moving_mean_rows.hpp"

#include "formatted.hpp"
#include "plan/moving_mean_checks.hpp"
#include "plan/moving_mean_policy.hpp"
#include "plan/pixels.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace smem::plan {

Scalar mean_sum_type(const MovingMeanProblem& p) {
  if (is_float(p.in)) return pixel_value(p.in, p.out);
  const std::size_t most = p.in == Scalar::uint8 ? 255 : 65535;
  return p.window <= 0xffffffff / most ? Scalar::uint32 : Scalar::uint64;
}

Plan mean_base_plan(const MovingMeanProblem& p, std::string_view variant, const char* file,
                    const char* entry) {
  Plan plan = named_plan(kMovingMeanName, variant, file, entry);
  const Scalar sum = mean_sum_type(p);
  // VALUE: what single elements are read and written as.
  define_types(
      plan,
      {{"ELEMENT", p.in}, {"RESULT", p.out}, {"VALUE", is_float(p.in) ? sum : Scalar::uint32}, {"SUM", sum}});
  define(plan, "PACK", 1);
  if (p.in == Scalar::half) define(plan, "ELEMENT_HALF", 1);
  if (p.out == Scalar::half) define(plan, "RESULT_HALF", 1);
  if (sum == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (!is_float(p.in)) define(plan, "INTEGER", 1);
  if (!is_float(p.out)) define(plan, "RESULT_INTEGER", 1);
  const bool to_float = !is_float(p.in) && is_float(p.out);
  if (to_float && p.window <= (std::size_t{1} << 24) / (p.in == Scalar::uint8 ? 255 : 65535))
    define(plan, "SMALL_SUMS", 1);
  const double elements = real(p.width, p.rows);
  predict(plan, elements, p.in, p.out);
  plan.prediction.operations = 4 * elements;  // two sums, one of both, and the division
  return plan;
}

Attempt mean_short_rows(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  constexpr std::size_t kOut = 8, kMostLanes = 32, kLot = 1024;  // windows of a work-item
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const std::size_t sum = size_of(mean_sum_type(p)), vector = 16 / sum, width = at_least_1(p.width);
  if (kOut * sum > policy.item_bytes) return "its sums would not stay in registers";
  if (p.window < kOut) return formatted("windows are shorter than the {} that a work-item makes", kOut);
  const std::size_t group =
      std::bit_floor(std::min(wanted != 0 ? wanted : policy.group, at_least_1(device.max_work_group)));
  const std::size_t pieces = divide_up(width, kOut);
  if (pieces > group || p.window > device.local_bytes) return "rows are longer than a group's tile";
  const std::size_t many = group / pieces, apart = pieces * kOut + round_up(p.window, kOut);
  const std::size_t tile = round_up(many * apart * (kOut + vector) / kOut, kLot);
  if (tile * sum > device.local_bytes) return "its rows do not fit local memory";
  Plan plan = mean_base_plan(p, "short_rows", "moving_mean/short_rows.cl", "moving_mean_short_rows");
  set_groups(plan, group, divide_up(at_least_1(p.rows), many),
             at_least_1(policy.groups_a_unit * device.compute_units));
  plan.local_bytes = tile * sum;
  plan.tile_rows = many;
  plan.tile_cols = width;
  plan.items_per_work_item = kOut;
  const std::size_t lanes =
      std::min(std::max(std::min(kMostLanes, std::bit_ceil(width)), std::bit_floor(group / many)), group);
  define(plan, {{"GROUP", group}, {"LANES", lanes}, {"TILE", tile}});
  const auto accesses = 4 + real(p.window + kOut) / real(kOut);
  plan.prediction.local_bytes = accesses * real(p.width * p.rows * sum);
  plan.prediction.operations *= accesses / 4;
  plan.reason = formatted("{} rows in local memory; a work-item adds up what {} windows have in common once",
                          many, kOut);
  return plan;
}

}  // namespace smem::plan
