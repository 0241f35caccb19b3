// Occupancy and roofline.
#include <smem/explain.hpp>

#include "plan/sizes.hpp"

#include <algorithm>

namespace smem {

using namespace plan;

Occupancy occupancy(const Device& device, const Plan& plan, std::size_t registers) {
  const std::size_t items = plan.work_items();
  if (device.type == DeviceType::cpu) return {1, items, 0, "groups"};  // a core runs one after the other
  const UnitLimits& unit = device.unit;
  if (registers == 0) registers = plan.most_registers;
  Occupancy found;
  const auto limit = [&](std::size_t groups, std::string_view by) {
    if (!found.limit.empty() && groups >= found.groups) return;
    found.groups = groups;
    found.limit = by;
  };
  const std::size_t width = at_least_1(device.sub_group_width);
  const std::size_t waves = divide_up(items, width);
  if (unit.groups > 0) limit(unit.groups, "groups");
  if (unit.work_items > 0) limit(unit.work_items / (waves * width), "work-items");
  if (unit.local_bytes > 0 && plan.local_bytes > 0)
    limit(unit.local_bytes / (plan.local_bytes + unit.local_reserved), "local memory");
  if (unit.registers > 0 && registers > 0) {
    const std::size_t of_a_wave = round_up(registers * width, at_least_1(unit.register_lot));
    limit(unit.registers / (of_a_wave * waves), "registers");
  }
  found.work_items = found.groups * items;
  if (unit.work_items > 0) found.share = real(found.groups * waves * width) / real(unit.work_items);
  return found;
}

Bound roofline(const Plan& plan, const Rates& rates) {
  Bound bound;
  const double memory = rates.copy > 0 ? plan.prediction.bytes() / rates.copy : 0;
  const double arithmetic = rates.fp32 > 0 ? plan.prediction.operations / rates.fp32 : 0;
  if (rates.copy > 0 && rates.fp32 > 0) bound.balance = rates.fp32 / rates.copy;
  if (memory == 0 && arithmetic == 0) return bound;
  bound.seconds = std::max(memory, arithmetic);
  bound.by = memory >= arithmetic ? "memory" : "arithmetic";
  return bound;
}

}  // namespace smem
