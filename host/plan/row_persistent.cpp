// Plans for rows in registers of groups that stay, and go from row to row.
#include "formatted.hpp"
#include "plan/row_plans.hpp"

#include <algorithm>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kLanes = 32, kChunkBytes = 16, kPieces = 4;

/// How a group cuts rows into sections of 32 work-items.
struct RowSections {
  std::size_t each = 1, section = 0, words = 0, full = 0;  ///< each: elements of a word
};
RowSections row_sections(const RowWork& w, std::size_t group) {
  const std::size_t each = sizeof(std::uint32_t) / size_of(w.in), sections = group / kLanes;
  const std::size_t section = round_up(divide_up(w.cols, sections), each);
  const std::size_t last = w.cols - std::min(w.cols, (sections - 1) * section);
  return {each, section, divide_up(section, kLanes * each), last / (kLanes * each)};
}

/// Registers that a work-item of the only group of a unit has, of 32 bits.
std::size_t registers_of_item(const Device& device, std::size_t group) {
  constexpr std::size_t kUsual = 65536, kMost = 255, kLot = 8;  // of NVIDIA's units
  const std::size_t all = device.unit.registers == 0 ? kUsual : device.unit.registers;
  return std::min(kMost, all / group / kLot * kLot);
}

}  // namespace

plan::Attempt plan::persistent_rows(const Device& device, const RowWork& w, std::size_t wanted) {
  const RowPolicy& policy = w.policy;
  if (w.has_second_input) return "its registers hold one input";
  if (w.out != w.in || size_of(w.in) > sizeof(std::uint32_t))
    return "its words hold elements of at most 4 bytes, whose results have their type";
  if (w.alignment < sizeof(std::uint32_t)) return "buffers begin in the middle of words";
  if (w.element_written == 0) return "it writes a result for each element";
  if (w.weights_bytes != 0 && !w.weights_are_elements)
    return "its registers hold weights of the elements' type";
  const bool shuffle = is_nvidia_gpu(device), bulk = shuffle && compute_capability(device) >= 90;
  const std::size_t bytes = value_bytes(w), vectors = w.weights_bytes / size_of(w.in);
  const std::size_t asked = group_wanted({.work_items = wanted}, policy.persistent_items);
  const std::size_t group = bulk ? asked : group_for(device, asked, 2 * bytes);
  if (group == 0 || group % kLanes != 0) return no_tile_fits(device);
  const RowSections row = row_sections(w, group);
  if (row.full < 2 * divide_up(row.words, kPieces))
    return formatted("a row of {} elements leaves work-items without words", w.cols);
  const std::size_t registers = registers_of_item(device, group),
                    others_of_item = std::min(registers, policy.persistent_other_registers);
  const std::size_t kept_words =
      vectors == 0 ? row.words : std::min(row.words, (registers - others_of_item) / vectors);
  const std::size_t others = (row.words - kept_words) * vectors * sizeof(std::uint32_t) * group;
  constexpr std::size_t kAlignment = 64;  // bytes, to which compilers align arrays at most
  const std::size_t scratch =
      round_up((shuffle ? group / 32 * 2 * w.part_values : group + 1) * bytes, kAlignment) +
      round_up(others + 4, kAlignment) + (bulk ? round_up(group / kLanes * 32, kAlignment) : 0);
  const std::size_t chunks = divide_up(row.section * size_of(w.in), kChunkBytes) + 1;
  const std::size_t kept = 2 * group / kLanes * chunks * kChunkBytes;
  if (scratch + kept > local_room(device))
    return formatted("local memory does not hold two rows of {} elements", w.cols);
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t room = (device.local_bytes + kReserved) / (scratch + kept + kReserved);
  const std::size_t a_unit = std::min(at_least_1(policy.ahead_items / group), at_least_1(room));
  Plan plan = base_plan(w, "persistent", "persistent", 1);
  set_groups(plan, group, std::min(results_of(w), a_unit * device.compute_units));
  set_group_tile(plan, {.rows = 1,
                        .cols = group / kLanes * row.section,
                        .vector_width = row.each,
                        .items = row.words * row.each,
                        .local_bytes = scratch + kept});
  plan.prediction.local_bytes = real(w.rows, w.batch, w.cols) * real(w.weights_bytes);
  define(plan, {{"GROUP", group},
                {"PACK", row.each},
                {"SECTION", row.section},
                {"WORDS", row.words},
                {"FULL", row.full},
                {"REGISTER_WORDS", kept_words}});
  if (bulk) define(plan, "BULK_COPIES", 1);
  if (w.batch == 1) define(plan, "ONE_MATRIX", 1);
  if (shuffle) define(plan, "SHUFFLES", 1);
  plan.reason = formatted("{} a unit stay, and load words of their next rows as they store those of the last",
                          a_unit == 1 ? "a group" : formatted("{} groups", a_unit));
  if (w.weights_bytes != 0) plan.reason += "; local memory holds the weights for all of them";
  return plan;
}

}  // namespace smem
