// Plans for rows in local memory of groups that stay, and go from row to row.
#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/row_plans.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kLanes = 32, kLineBytes = 128, kPieces = 4;

/// How a team of `parts` groups, or one group, cuts rows into sections of 32 work-items, and what a group has
/// in local memory.
struct RowSections {
  std::size_t group = 0, parts = 1, stages = 2;            ///< stages: rows, or parts of them
  std::size_t each = 1, section = 0, words = 0, full = 0;  ///< each: elements of a word
  std::size_t registers = 0;                               ///< words of a work-item whose weights they hold
  std::size_t local_bytes = 0;

  std::size_t teams(const Device& device) const { return at_least_1(device.compute_units / parts); }
};
RowSections row_sections(const Device& device, const RowWork& w, std::size_t group, std::size_t parts,
                         std::size_t stages) {
  const std::size_t bytes = value_bytes(w), vectors = w.weights_bytes / size_of(w.in);
  RowSections row{
      .group = group, .parts = parts, .stages = stages, .each = sizeof(std::uint32_t) / size_of(w.in)};
  const std::size_t sections = group / kLanes, of_row = parts * sections;
  row.section = round_up(divide_up(w.cols, of_row), row.each);
  row.words = divide_up(row.section, kLanes * row.each);
  row.full = (w.cols - std::min(w.cols, (of_row - 1) * row.section)) / (kLanes * row.each);
  constexpr std::size_t kUsual = 65536, kMost = 255, kLot = 8;  // registers of NVIDIA's units
  const std::size_t all = device.unit.registers == 0 ? kUsual : device.unit.registers;
  const std::size_t registers = std::min(kMost, all / group / kLot * kLot);
  const std::size_t others =
      parts == 1 ? w.policy.persistent_other_registers : w.policy.persistent_parts_other_registers;
  const std::size_t left = registers - std::min(registers, others);
  row.registers = vectors == 0 ? row.words : std::min(row.words, left / vectors);
  constexpr std::size_t kAlignment = 64;  // bytes, to which compilers align arrays at most
  const std::size_t memory = ((row.words - row.registers) * vectors * group + 1) * sizeof(std::uint32_t);
  const std::size_t scratch =
      is_nvidia_gpu(device) ? std::max(kLanes, group / kLanes * 2 * w.part_values) : group + 1;
  const std::size_t lines = divide_up(row.section * size_of(w.in), kLineBytes) + 1;
  const std::size_t published = parts == 1 ? 0 : round_up(parts * w.published_values * bytes, kAlignment);
  row.local_bytes = stages * sections * lines * kLineBytes + round_up(scratch * bytes, kAlignment) +
                    round_up(memory, kAlignment) + round_up(sections * stages * 16, kAlignment) + published +
                    kAlignment;
  return row;
}

bool fits(const Device& device, const RowSections& row) {
  return row.local_bytes <= local_room(device) && row.full >= 2 * divide_up(row.words, kPieces);
}

/// Rows of one group, of which local memory holds two.
std::optional<RowSections> whole_rows(const Device& device, const RowWork& w, std::size_t group,
                                      bool is_wanted) {
  RowSections row = row_sections(device, w, group, 1, 2);
  // Fewer work-items have more registers, which hold more of the weights.
  while (!is_wanted && row.local_bytes > local_room(device) && row.group > w.policy.persistent_least_items)
    row = row_sections(device, w, row.group / 2, 1, 2);
  if (!fits(device, row)) return std::nullopt;
  return row;
}

/// Parts of rows that teams of groups share: those for which the last team ends first.
std::optional<RowSections> shared_rows(const Device& device, const RowWork& w, std::size_t group,
                                       const PlanOverrides& fixed) {
  std::optional<RowSections> best;
  double least = 0;
  const std::size_t stages = fixed.tile_rows != 0 ? fixed.tile_rows : w.policy.persistent_stages;
  if (stages < 3 || stages > device.local_bytes / kLineBytes) return best;
  const std::size_t wanted = fixed.tile_cols == 0 ? 0 : divide_up(w.cols, fixed.tile_cols);
  // By name also where it was not measured.
  const bool is_chosen = fixed.variant.empty();
  if (is_chosen && w.weights_bytes == 0) return best;
  const std::size_t chosen = is_chosen ? w.policy.persistent_most_parts : kLanes;
  const std::size_t most = wanted != 0 ? kLanes : std::min(chosen, device.compute_units);
  for (std::size_t parts = wanted != 0 ? wanted : 2; parts <= most; ++parts) {
    RowSections row = row_sections(device, w, group, parts, stages);
    if (fixed.work_items == 0 && !fits(device, row) && group > w.policy.persistent_least_items)
      row = row_sections(device, w, w.policy.persistent_least_items, parts, stages);
    if (fits(device, row)) {
      const double time =
          real(divide_up(results_of(w), row.teams(device))) *
          (real(row.section * row.group / kLanes * size_of(w.in)) + w.policy.persistent_turn_bytes);
      if (!best || time < least) best = row, least = time;
    }
    if (wanted != 0) break;
  }
  return best;
}

/// Words of statuses with epochs: see cl/common/part_statuses.clh.
void add_statuses(const RowWork& w, std::size_t parts, Plan& plan) {
  const std::size_t status_bytes = 2 * w.published_values * value_bytes(w);
  constexpr std::size_t kOthers = 16;  // bytes: see cl/common/row_teams.clh
  const std::size_t bytes = size_product(results_of(w), round_up(parts * status_bytes + kOthers, kLineBytes));
  add_scratch(plan, bytes, bytes);
  plan.scratch.back().statuses = kRowStatuses;
  const double published = real(results_of(w), parts, status_bytes);
  plan.prediction.bytes_read += published;
  plan.prediction.bytes_written += published;
  plan.counters = true;
}

/// Groups that stay on a unit.
std::size_t groups_a_unit(const Device& device, const RowWork& w, std::size_t group,
                          std::size_t local_bytes) {
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t room = (device.local_bytes + kReserved) / (local_bytes + kReserved);
  return std::min(at_least_1(w.policy.ahead_items / group), at_least_1(room));
}
std::string groups_text(std::size_t number) {
  return number == 1 ? "a group" : formatted("{} groups", number);
}

/// Groups that stay: how many, and what they have in common.
Plan persistent_plan(const Device& device, const RowWork& w, const RowSections& row) {
  const bool shares = row.parts > 1;
  const std::size_t a_unit = shares ? 1 : groups_a_unit(device, w, row.group, row.local_bytes);
  Plan plan = base_plan(w, "persistent", shares ? "persistent_parts" : "persistent", 1);
  set_groups(plan, row.group,
             shares ? std::min(results_of(w), row.teams(device)) * row.parts
                    : std::min(results_of(w), a_unit * device.compute_units));
  set_group_tile(plan, {.rows = shares ? row.stages : 1,
                        .cols = row.group / kLanes * row.section,
                        .vector_width = row.each,
                        .items = row.words * row.each,
                        .local_bytes = row.local_bytes});
  define(plan, {{"GROUP", row.group},
                {"PACK", row.each},
                {"SECTION", row.section},
                {"WORDS", row.words},
                {"FULL", row.full}});
  if (shares) {
    plan.numbers = {{"parts", row.parts}};
    define(plan, {{"PARTS", row.parts},
                  {"STAGES", row.stages},
                  {"DEVICE_FENCE", device_fence(device)},
                  {"POLL_LIMIT", std::min(device.poll_limit, look_back_policy(device).polls)}});
    add_statuses(w, row.parts, plan);
    plan.reason = formatted(
        "teams of {} groups stay and share rows: each has its part of {} rows in local "
        "memory, and waits for {} of the others",
        row.parts, row.stages, w.statistics);
  } else {
    plan.counters = true;
    plan.reason = formatted("{} a unit stay, and load their next rows as results leave", groups_text(a_unit));
  }
  return plan;
}

/// Rows of which local memory holds two, or parts of rows that teams share.
plan::Attempt rows_in_sections(const Device& device, const RowWork& w, std::size_t group,
                               const PlanOverrides& fixed) {
  std::optional<RowSections> row;
  if (fixed.tile_rows <= 1 && (fixed.tile_cols == 0 || fixed.tile_cols >= w.cols))
    row = whole_rows(device, w, group, fixed.work_items != 0);
  // Groups wait for the one of their team that began first.
  if (!row && w.has_persistent_parts && can_look_back(device) && device.forward_progress) {
    row = shared_rows(device, w,
                      fixed.work_items != 0 ? group : w.policy.persistent_parts_items.at(size_of(w.in) / 4),
                      fixed);
  }
  if (!row) return formatted("local memory does not hold two rows of {} elements, or parts of rows", w.cols);
  Plan plan = persistent_plan(device, w, *row);
  if (w.weights_bytes != 0) define(plan, "REGISTER_WORDS", row->registers);
  return plan;
}

/// How rows of "persistent" pass through the rings of a group's warps: see cl/common/row_ring.clh.
struct RowRing {
  std::size_t group = 0, chunks = 1;                    ///< chunks: of 16 bytes, of a work-item in a piece
  std::size_t pieces = 1, most_of_warp = 1, slots = 1;  ///< most_of_warp: pieces of a row
  std::size_t local_bytes = 0;
};
constexpr std::size_t kChunkBytes = 16;

RowRing row_ring(const Device& device, const RowWork& w, std::size_t group) {
  RowRing ring{.group = group, .chunks = w.policy.ring_chunks};
  const std::size_t piece_bytes = ring.chunks * kLanes * kChunkBytes, warps = group / kLanes;
  const std::size_t before =
      kLineBytes - std::min(w.row_alignment, kLineBytes);  // elements of others in a line
  ring.pieces = at_least_1(divide_up(w.cols * size_of(w.in) + before, piece_bytes));
  ring.most_of_warp = divide_up(ring.pieces, warps);
  constexpr std::size_t kBarrierBytes = 8, kFetchedBytes = 8;
  const std::size_t scratch = 2 * value_bytes(w) * (is_nvidia_gpu(device) ? 2 * warps : group);
  const std::size_t others = scratch + kFetchedBytes + kLineBytes,
                    slot_bytes = warps * (piece_bytes + kBarrierBytes);
  const std::size_t room = local_room(device) - std::min(others, local_room(device));
  ring.slots = std::clamp(room / slot_bytes, ring.most_of_warp, 2 * ring.most_of_warp);
  ring.local_bytes = size_product(ring.slots, slot_bytes) + others;
  return ring;
}

/// Whole rows, of which pieces come as those of the row before leave.
plan::Attempt rows_in_rings(const Device& device, const RowWork& w, std::size_t group,
                            const PlanOverrides& fixed) {
  if (fixed.tile_rows > 1 || (fixed.tile_cols != 0 && fixed.tile_cols < w.cols))
    return "a group has whole rows";
  if (w.alignment < kChunkBytes) return "its pieces begin at multiples of 16 bytes of buffers";
  const RowRing ring = row_ring(device, w, group);
  if (ring.local_bytes > local_room(device))
    return formatted("local memory does not hold a row of {} elements", w.cols);
  const std::size_t a_unit = groups_a_unit(device, w, group, ring.local_bytes);
  const std::size_t each = kChunkBytes / size_of(w.in);
  Plan plan = base_plan(w, "persistent", "persistent_rings", 1);
  set_groups(plan, group, std::min(results_of(w), a_unit * device.compute_units));
  set_group_tile(plan, {.rows = 1,
                        .cols = ring.pieces * ring.chunks * kLanes * each,
                        .vector_width = each,
                        .items = ring.most_of_warp * ring.chunks * each,
                        .local_bytes = ring.local_bytes});
  define(plan, {{"GROUP", group},
                {"PACK", sizeof(std::uint32_t) / size_of(w.in)},
                {"CHUNKS", ring.chunks},
                {"PIECES", ring.pieces},
                {"SLOTS", ring.slots}});
  plan.counters = true;
  plan.reason = formatted("{} a unit stay, and load their next rows as results leave", groups_text(a_unit));
  return plan;
}

}  // namespace

plan::Attempt plan::persistent_rows(const Device& device, const RowWork& w, const PlanOverrides& fixed) {
  const RowPolicy& policy = w.policy;
  if (w.has_second_input) return "its local memory holds one input";
  if (w.out != w.in || size_of(w.in) > sizeof(std::uint32_t))
    return "its words hold elements of at most 4 bytes, whose results have their type";
  if (w.element_written == 0) return "it writes a result for each element";
  if (results_of(w) > std::numeric_limits<std::uint32_t>::max()) return "its counter has 32 bits";
  if (w.weights_bytes != 0 && !w.weights_are_elements)
    return "its registers hold weights of the elements' type";
  const std::size_t group = group_for(
      device, group_wanted({.work_items = fixed.work_items}, policy.persistent_items), 2 * value_bytes(w));
  if (group == 0 || group % kLanes != 0) return no_tile_fits(device);
  // Rings are slower for bfloat16: softmax_policy.hpp.
  const bool begins_with_rings = w.has_row_rings && w.in != Scalar::bfloat16;
  Attempt made =
      begins_with_rings ? rows_in_rings(device, w, group, fixed) : rows_in_sections(device, w, group, fixed);
  if (!made.plan && w.has_row_rings && !begins_with_rings) made = rows_in_rings(device, w, group, fixed);
  if (!made.plan) return made;
  Plan& plan = *made.plan;
  if (w.batch == 1) define(plan, "ONE_MATRIX", 1);
  if (is_nvidia_gpu(device)) {
    define(plan, "SHUFFLES", 1);
    if (compute_capability(device) >= 90) define(plan, "BULK_COPIES", 1);
  }
  if (w.weights_bytes != 0) plan.reason += "; work-items keep the weights of their columns";
  return made;
}

}  // namespace smem
