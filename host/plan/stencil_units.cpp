// Stencils of bytes by matrix units: products with bands of weights, which int8 holds.
#include "formatted.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/stencil_problem.hpp"
#include "plan/stencil_variants.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace smem {

namespace plan {

namespace {

// Of cl/stencil/units.cl.
constexpr std::size_t kUnitLanes = 32, kUnitBytes = 256, kUnitLoad = 16, kUnitStore = 4;
constexpr std::size_t kStageRows = 8;
constexpr std::size_t kUnitReach = 8;     // bytes beside a block
constexpr std::size_t kWeightPlaces = 3;  // for each element of a block: of a row of weights in local memory
constexpr std::size_t kMostUnitRows = 9;  // of a window: registers hold its sums for each
constexpr std::size_t kMostUnitSide = std::size_t{1} << 30;
constexpr std::size_t kScratchWords = 6;  // of a work-item, where units are emulated

/// Why it cannot compute a problem; empty: it can.
std::string units_refused(const Device& device, const StencilProblem& p) {
  constexpr unsigned kSm80 = 80;
  const bool units = is_nvidia_gpu(device) && compute_capability(device) >= kSm80;
  if (!units && device.type != DeviceType::cpu)  // where they are emulated, for tests
    return "needs the matrix units of NVIDIA's sm_80 and later";
  const bool has_units = p.type == Scalar::half || (p.type == Scalar::uint8 && p.int8_weights);
  if (p.shape == StencilShape::expression || !has_units) {
    return "for halves, and bytes with weights that are whole multiples, from -128 to 127, of one power of "
           "two";
  }
  if (!stencil::is_plain(p)) return "needs strides and dilations of 1";
  if (p.window[2] > 1 || p.first[2] != 0)
    return "a volume's planes would each be read as often as the window is deep";
  const auto reach = static_cast<std::ptrdiff_t>(kUnitReach / size_of(p.type) / p.channels);
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(p.window[0]) - 1 + p.first[0];
  if (-p.first[0] > reach || last > reach || p.window[1] > kMostUnitRows) {
    return formatted("a window reaches farther than {} bytes along a row, or has more than {} rows",
                     kUnitReach, kMostUnitRows);
  }
  if (p.in_alignment < kUnitLoad || p.out_alignment < kUnitStore) {
    return formatted("rows do not begin at multiples of {} bytes, and those of results of {}", kUnitLoad,
                     kUnitStore);
  }
  if (std::max({p.size[0], p.out_size[0]}) > kMostUnitSide / p.channels ||
      std::max(p.size[1], p.out_size[1]) > kMostUnitSide)
    return formatted("more than {} columns or rows", kMostUnitSide);
  return {};
}

}  // namespace

float unit_of_weights(std::span<const double> weights) {
  constexpr int kDigits = std::numeric_limits<float>::digits, kMostExponent = 60;
  constexpr double kMostSum = 0x1p22 / 255;
  int least = kMostExponent + 1;
  for (const double weight : weights) {
    const auto rounded = static_cast<float>(weight);
    if (!std::isfinite(rounded)) return 0;
    if (rounded == 0) continue;
    int exponent = 0;
    const float fraction = std::abs(std::frexp(rounded, &exponent));
    const auto whole = static_cast<std::uint32_t>(std::ldexp(fraction, kDigits));
    least = std::min(least, exponent - kDigits + std::countr_zero(whole));
  }
  if (least > kMostExponent)
    return std::ranges::all_of(weights, [](double w) { return w == 0; }) ? 1.0F : 0.0F;
  if (least < -kMostExponent) return 0;
  const float unit = std::ldexp(1.0F, least);
  double sum = 0;
  for (const double weight : weights) {
    const double multiple = static_cast<double>(static_cast<float>(weight)) / static_cast<double>(unit);
    sum += std::abs(multiple);
    if (multiple < -128 || multiple > 127 || sum >= kMostSum) return 0;
  }
  return unit;
}

float unit_of_halves(std::span<const double> weights) {
  constexpr int kMostExponent = 100, kDigits = 14;
  float most = 0;
  for (const double weight : weights)
    most = std::max(most, std::abs(static_cast<float>(weight)));
  int exponent = 0;
  if (most > 0 && std::isfinite(most)) std::frexp(most, &exponent);
  return std::ldexp(1.0F, std::clamp(exponent, -kMostExponent, kMostExponent) - kDigits);
}

Attempt stencil::units(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed) {
  if (std::string why = units_refused(device, problem); !why.empty()) return why;
  const StencilUnits& policy = stencil_policy(device).units;
  const bool emulated = !is_nvidia_gpu(device);
  const std::size_t element = size_of(problem.type), strip = kUnitBytes / element;
  if (fixed.tile_cols != 0 && fixed.tile_cols != strip)
    return formatted("a warp has {} bytes of a row", kUnitBytes);
  const std::size_t group = fixed.work_items != 0 ? fixed.work_items : emulated ? kUnitLanes : policy.group;
  if (group % kUnitLanes != 0 || (emulated && group != kUnitLanes) || group > device.max_work_group)
    return formatted("groups have {}warps of {} work-items", emulated ? "single " : "whole ", kUnitLanes);
  const std::size_t stages = emulated ? 2 : policy.stages;
  const std::size_t weight = problem.type == Scalar::half ? sizeof(std::uint32_t) : 1;
  const std::size_t local =
      group / kUnitLanes * stages * kStageRows * (kUnitBytes + 2 * kUnitLoad) +
      round_up(problem.window[1] * kWeightPlaces * kUnitLoad / element * weight, kUnitLoad) +
      (emulated ? group * kScratchWords * sizeof(std::uint32_t) : 0);
  if (local > local_room(device)) return no_tile_fits(device);
  const std::size_t registers =
      round_up(policy.own_registers +
                   problem.window[1] * (element == 1 ? policy.row_registers : policy.row_registers_of_halves),
               8);
  const std::size_t strips =
      divide_up(problem.out_size[0] * problem.channels, strip) * problem.out_size[2] * problem.batch;
  const std::size_t height = at_least_1(problem.out_size[1]);
  std::size_t band = policy.band;
  while (band > policy.least_band &&
         size_product(strips, divide_up(height, band)) < policy.warps_a_unit * device.compute_units)
    band /= 2;
  if (fixed.tile_rows != 0) band = fixed.tile_rows;
  if (band > kMostUnitSide) return formatted("a band of more than {} rows", kMostUnitSide);
  Plan plan = base_plan(device, problem, "units");
  const std::size_t groups = divide_up(size_product(strips, divide_up(height, band), kUnitLanes), group);
  set_groups(plan, group, groups, groups);
  set_group_tile(plan, {.rows = band,
                        .cols = strip,
                        .vector_width = kUnitLoad,
                        .items = band * strip / kUnitLanes,
                        .local_bytes = local});
  define_window(plan, device, problem);
  for (const auto& [name, d] : {std::pair{"BEFORE_X", 0}, {"BEFORE_Y", 1}})
    plan.defines.emplace_back(name, static_cast<long>(-problem.first.at(static_cast<std::size_t>(d))));
  define(plan, {{"GROUP", group}, {"STAGES", stages}, {"EMULATED", emulated ? 1 : 0}});
  if (element != 1) define(plan, "ELEMENT_BYTES", element);
  if (!emulated) {
    plan.most_registers = registers;
    define(plan, "LIMITS_REGISTERS", 1);
  }
  plan.numbers = {{"band", band}};
  plan.reason =
      "matrix units multiply each row that is read by bands of the weights of all rows of the window";
  return plan;
}

}  // namespace plan

bool are_int8_weights(std::span<const double> weights) { return plan::unit_of_weights(weights) != 0; }

}  // namespace smem
