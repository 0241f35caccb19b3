// Plans of box blurs in two passes: sums along rows, then means down their columns.
#include "plan/box.hpp"
#include "plan/box_policy.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kMostPlaces = std::size_t{1} << 30;  // of rows and columns, which have 32 bits
constexpr std::size_t kMostKeptChunks = 16;                // whose sums are in registers

/// How a group sums along a row: it has so many columns of each work-item, so many times.
struct RowTile {
  std::size_t columns = 0, step = 0, turns = 0, bytes = 0;
  std::size_t results = 0, tiles = 0;  ///< of a tile; of a row
};

/// The tile with which the fewest columns are loaded, if boxes leave enough of one.
std::optional<RowTile> row_tile(const Device& device, const SeparableProblem& g, std::size_t group) {
  const BoxPasses& policy = box_policy(device).passes;
  const std::size_t columns = g.channels == 3 ? 3 : 4, width = group * columns, halo = box_halo(g, columns);
  std::optional<RowTile> best;
  std::size_t least = 0;
  for (std::size_t times = policy.most_parts; times > 0; --times) {
    if (times * width < 2 * halo) break;  // else mostly halo
    RowTile tile{.columns = columns,
                 .step = std::min(times, is_float(g.in) ? policy.parts : policy.integer_parts)};
    while (times % tile.step != 0)
      --tile.step;
    const std::size_t totals = uses_box_shuffles(device, group) ? 0 : tile.step * g.channels * group;
    tile.turns = times / tile.step;
    tile.bytes = (times * width + totals) * box_sum(g).bytes;
    tile.results = times * width - halo;
    tile.tiles = divide_up(g.row_elements(), tile.results);
    if (tile.bytes > local_room(device) || g.row_elements() > kMostPlaces ||
        (best && tile.tiles * times >= least))
      continue;
    best = tile;
    least = tile.tiles * times;
  }
  return best;
}

/// Bytes of the sums along rows, which begin at cache lines: sums_pitch() of cl/blur/sums.clh.
std::size_t row_sums_bytes(const SeparableProblem& g) {
  return size_product(round_up(g.row_elements(), 32), g.height, g.planes, box_sum(g).bytes);
}

/// A launch of "two_pass" of boxes that are too large for local memory.
Plan box_pass(const Device& device, const SeparableProblem& g, bool first) {
  Plan plan = box_plan(g, first ? "rows" : "two_pass", "blur/box_pass.cl", "box_pass");
  const BoxPasses& policy = box_policy(device).passes;
  const std::array<std::size_t, 3> extent =
      first ? std::array<std::size_t, 3>{divide_up(g.width, policy.run), g.height, g.planes}
            : std::array<std::size_t, 3>{g.row_elements(), divide_up(g.height, policy.run), g.planes};
  set_grid(plan, device, policy.rows_group, extent);
  define(plan, {{"PASS", first ? 0 : 1}, {"RUN", policy.run}});
  define_group(plan);
  plan.items_per_work_item = policy.run;
  if (!first) plan.prediction.bytes_read = real(row_sums_bytes(g));
  return plan;
}

/// The first launch of "two_pass": sums along rows.
Plan box_rows(const Device& device, const SeparableProblem& g) {
  const BoxPasses& policy = box_policy(device).passes;
  const std::size_t group = group_for(device, policy.rows_group, 0);
  const std::optional<RowTile> tile = row_tile(device, g, group);
  Plan plan;
  if (tile) {
    plan = box_plan(g, "rows", "blur/box_rows.cl", "box_rows");
    const std::size_t groups = size_product(tile->tiles, g.height, g.planes);
    set_groups(plan, group, groups, std::size_t{1} << 20);
    set_group_tile(plan, {.cols = tile->results,
                          .vector_width = tile->columns,
                          .items = tile->step * tile->columns,
                          .local_bytes = tile->bytes});
    define(plan, {{"GROUP", group},
                  {"COLS", tile->columns},
                  {"STEP", tile->step},
                  {"TURNS", tile->turns},
                  {"ROW_TAPS", g.row_taps},
                  {"SMALL", is_float(g.in) || g.channels == 3 ? 0 : size_of(g.in)}});
    if (uses_box_shuffles(device, group)) define(plan, "SHUFFLES", 1);
    define(plan, "VECTOR_IN", tile->columns != 3 && g.in_alignment >= tile->columns * size_of(g.in) ? 1 : 0);
    plan.reason = "differences of prefix sums along rows, into temporary memory";
  } else {
    plan = box_pass(device, g, true);
    plan.reason = "boxes are too long for a tile: slides along rows, into temporary memory";
  }
  plan.prediction.bytes_written = real(row_sums_bytes(g));
  return plan;
}

/// How a group of "two_pass" goes down a strip of columns.
struct ColumnTile {
  std::size_t lanes = 0, parts = 1, rows = 0, items_a_unit = 0, bytes = 0;
  std::size_t kept = 0;  ///< rows in local memory until they leave the boxes; 0: they are read again
  std::size_t step() const { return parts * rows; }
  std::size_t group() const { return lanes * parts; }
};

/// The tile of the most rows up to the policy's, of which a box has one step at least.
ColumnTile column_tile(const Device& device, const SeparableProblem& g, const BoxColumns& policy) {
  const std::size_t group = group_for(device, policy.group, 0);
  ColumnTile tile{.lanes = std::min(group, policy.lanes), .rows = policy.rows};
  tile.items_a_unit = std::max(policy.items_a_unit, group);
  while (tile.rows > g.column_taps)
    tile.rows /= 2;
  while (2 * tile.parts * tile.lanes <= group && 2 * tile.step() <= g.column_taps)
    tile.parts *= 2;
  return tile;
}

/// The same with the rows of a box in local memory, if that has room for the groups that bands are made for.
std::optional<ColumnTile> kept_column_tile(const Device& device, const SeparableProblem& g) {
  const BoxPasses& policy = box_policy(device).passes;
  if (!policy.keeps || box_sum(g).bytes != 4) return std::nullopt;
  ColumnTile tile = column_tile(device, g, policy.kept);
  const std::size_t between = g.column_taps / tile.step();
  if (between > kMostKeptChunks) return std::nullopt;
  tile.kept = (between + 2) * tile.step();
  tile.bytes = (tile.kept + tile.rows + 2 * tile.parts) * tile.lanes * box_sum(g).bytes;
  const std::size_t memory = std::max(device.unit.local_bytes, device.local_bytes);
  const std::size_t groups = at_least_1(tile.items_a_unit / tile.group());
  if (tile.bytes > local_room(device) ||
      groups * (tile.bytes + device.unit.local_reserved + kOwnBytes) > memory)
    return std::nullopt;
  return tile;
}

/// The tile with which rows where boxes begin are read again.
std::optional<ColumnTile> read_column_tile(const Device& device, const SeparableProblem& g) {
  const BoxPasses& policy = box_policy(device).passes;
  BoxColumns columns = policy.columns;
  if (box_sum(g).bytes != 4) columns.rows = policy.large_rows;
  ColumnTile tile = column_tile(device, g, columns);
  const std::size_t chunks = g.column_taps / tile.step() + 1;
  tile.bytes = (3 * tile.parts + 2 * chunks) * tile.lanes * box_sum(g).bytes;
  return tile.bytes > local_room(device) ? std::nullopt : std::optional(tile);
}

std::optional<ColumnTile> column_tile(const Device& device, const SeparableProblem& g) {
  if (g.row_elements() > kMostPlaces || g.height > kMostPlaces) return std::nullopt;
  const std::optional<ColumnTile> kept = kept_column_tile(device, g);
  return kept ? kept : read_column_tile(device, g);
}

/// The second launch of "two_pass", and its group.
void set_columns(Plan& plan, const Device& device, const SeparableProblem& g, const ColumnTile& tile) {
  const BoxPasses& policy = box_policy(device).passes;
  const std::size_t group = tile.group(), step = tile.step();
  const std::size_t strips = divide_up(g.row_elements(), tile.lanes) * g.planes;
  const std::size_t resident = tile.items_a_unit / group * at_least_1(device.compute_units);
  const std::size_t bands = at_least_1(resident / at_least_1(strips));
  const std::size_t least = at_least_1(std::min(g.height, g.column_taps));
  const std::size_t band = round_up(std::max(least, divide_up(g.height, bands)), step);
  set_groups(plan, group, strips * divide_up(g.height, band), std::size_t{1} << 20);
  set_group_tile(plan, {.rows = step, .cols = tile.lanes, .items = tile.rows, .local_bytes = tile.bytes});
  define(plan,
         {{"GROUP", group}, {"LANES", tile.lanes}, {"ROWS", tile.rows}, {"COLUMN_TAPS", g.column_taps}});
  if (tile.kept != 0 && is_nvidia_gpu(device)) {
    plan.most_registers = policy.registers_a_unit / tile.items_a_unit;
    define(plan, "LIMITS_REGISTERS", 1);
  }
  plan.numbers = {{"band", band}};
  plan.prediction.bytes_read = (tile.kept != 0 ? 1 : 2) * real(row_sums_bytes(g));
  plan.reason = "adds chunks of rows of sums along rows, which go through temporary memory";
}

}  // namespace

Plan plan::box_two_pass(const Device& device, const SeparableProblem& g) {
  const std::optional<ColumnTile> tile = column_tile(device, g);
  Plan plan;
  if (tile) {
    plan = tile->kept != 0 ? box_plan(g, "two_pass", "blur/box_columns_kept.cl", "box_columns_kept")
                           : box_plan(g, "two_pass", "blur/box_columns.cl", "box_columns");
    set_columns(plan, device, g, *tile);
  } else {
    plan = box_pass(device, g, false);
    plan.reason = "boxes are too high for local memory: slides down the columns of the launch before";
  }
  plan.before.push_back(box_rows(device, g));
  add_scratch(plan, row_sums_bytes(g));
  return plan;
}

double plan::box_two_pass_time(const Device& device, const SeparableProblem& g) {
  const BoxPasses& policy = box_policy(device).passes;
  const std::optional<RowTile> tile = row_tile(device, g, group_for(device, policy.rows_group, 0));
  if (!tile || !column_tile(device, g)) return std::numeric_limits<double>::infinity();
  const double loaded =
      real(tile->tiles * (tile->results + box_halo(g, tile->columns))) / real(at_least_1(g.row_elements()));
  const double element = policy.element_ns * real(box_sum(g).bytes) / 4 +
                         policy.byte_ns * real(size_of(g.in)) * std::max(loaded, 1.0);
  const double elements = real(g.elements()) / real(at_least_1(device.compute_units));
  return std::max(policy.least_ns, policy.launch_ns + elements * element);
}

}  // namespace smem
