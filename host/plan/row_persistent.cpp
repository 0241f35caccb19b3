// Plans for rows in local memory of groups that stay, and go from row to row.
#include "formatted.hpp"
#include "plan/row_plans.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kLanes = 32, kLineBytes = 128, kPieces = 4;

/// How a group cuts rows into sections of 32 work-items, and what it has in local memory.
struct RowSections {
  std::size_t each = 1, section = 0, words = 0, full = 0;  ///< each: elements of a word
  std::size_t registers = 0;                               ///< words of a work-item whose weights they hold
  std::size_t local_bytes = 0;
};
RowSections row_sections(const Device& device, const RowWork& w, std::size_t group) {
  const std::size_t bytes = value_bytes(w), vectors = w.weights_bytes / size_of(w.in);
  RowSections row{.each = sizeof(std::uint32_t) / size_of(w.in)};
  const std::size_t sections = group / kLanes;
  row.section = round_up(divide_up(w.cols, sections), row.each);
  row.words = divide_up(row.section, kLanes * row.each);
  row.full = (w.cols - std::min(w.cols, (sections - 1) * row.section)) / (kLanes * row.each);
  constexpr std::size_t kUsual = 65536, kMost = 255, kLot = 8;  // registers of NVIDIA's units
  const std::size_t all = device.unit.registers == 0 ? kUsual : device.unit.registers;
  const std::size_t registers = std::min(kMost, all / group / kLot * kLot);
  const std::size_t left = registers - std::min(registers, w.policy.persistent_other_registers);
  row.registers = vectors == 0 ? row.words : std::min(row.words, left / vectors);
  constexpr std::size_t kAlignment = 64;  // bytes, to which compilers align arrays at most
  const std::size_t memory = ((row.words - row.registers) * vectors * group + 1) * sizeof(std::uint32_t);
  const std::size_t scratch =
      is_nvidia_gpu(device) ? std::max(kLanes, group / kLanes * 2 * w.part_values) : group + 1;
  const std::size_t lines = divide_up(row.section * size_of(w.in), kLineBytes) + 1;
  row.local_bytes = 2 * sections * lines * kLineBytes + round_up(scratch * bytes, kAlignment) +
                    round_up(memory, kAlignment) + round_up(sections * 32, kAlignment) + kAlignment;
  return row;
}

}  // namespace

plan::Attempt plan::persistent_rows(const Device& device, const RowWork& w, std::size_t wanted) {
  const RowPolicy& policy = w.policy;
  if (w.has_second_input) return "its local memory holds one input";
  if (w.out != w.in || size_of(w.in) > sizeof(std::uint32_t))
    return "its words hold elements of at most 4 bytes, whose results have their type";
  if (w.element_written == 0) return "it writes a result for each element";
  if (results_of(w) > std::numeric_limits<std::uint32_t>::max()) return "its counter has 32 bits";
  if (w.weights_bytes != 0 && !w.weights_are_elements)
    return "its registers hold weights of the elements' type";
  std::size_t group =
      group_for(device, group_wanted({.work_items = wanted}, policy.persistent_items), 2 * value_bytes(w));
  if (group == 0 || group % kLanes != 0) return no_tile_fits(device);
  // Fewer work-items have more registers, which hold more of the weights.
  RowSections row = row_sections(device, w, group);
  while (wanted == 0 && row.local_bytes > local_room(device) && group > policy.persistent_least_items) {
    group /= 2;
    row = row_sections(device, w, group);
  }
  if (row.local_bytes > local_room(device))
    return formatted("local memory does not hold two rows of {} elements", w.cols);
  if (row.full < 2 * divide_up(row.words, kPieces))
    return formatted("a row of {} elements leaves work-items without words", w.cols);
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t room = (device.local_bytes + kReserved) / (row.local_bytes + kReserved);
  const std::size_t a_unit = std::min(at_least_1(policy.ahead_items / group), at_least_1(room));
  Plan plan = base_plan(w, "persistent", "persistent", 1);
  set_groups(plan, group, std::min(results_of(w), a_unit * device.compute_units));
  set_group_tile(plan, {.rows = 1,
                        .cols = group / kLanes * row.section,
                        .vector_width = row.each,
                        .items = row.words * row.each,
                        .local_bytes = row.local_bytes});
  plan.counters = true;
  define(plan, {{"GROUP", group},
                {"PACK", row.each},
                {"SECTION", row.section},
                {"WORDS", row.words},
                {"FULL", row.full}});
  if (w.weights_bytes != 0) define(plan, "REGISTER_WORDS", row.registers);
  if (w.batch == 1) define(plan, "ONE_MATRIX", 1);
  if (is_nvidia_gpu(device)) {
    define(plan, "SHUFFLES", 1);
    if (compute_capability(device) >= 90) define(plan, "BULK_COPIES", 1);
  }
  plan.reason = formatted("{} a unit stay, and load their next rows as results leave",
                          a_unit == 1 ? "a group" : formatted("{} groups", a_unit));
  if (w.weights_bytes != 0) plan.reason += "; work-items keep the weights of their columns";
  return plan;
}

}  // namespace smem
