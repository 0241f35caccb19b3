// Plans for operations along columns: where columns are kept between the two times that their elements are
// needed.
#include "plan/column_variants.hpp"

#include "formatted.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/rows.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace smem {

namespace {

using namespace plan;

std::size_t value_bytes(const ColumnWork& w) { return size_of(row_value(w.in)); }
std::size_t blocks_of(const ColumnWork& w, std::size_t width) {
  return size_product(divide_up(w.cols, width), w.batch);
}

/// `kernel`: its file without the ending. `readings`: of each element.
Plan base_plan(const ColumnWork& w, std::string_view variant, std::string_view kernel, double readings) {
  Plan plan = named_plan(w.operation, variant, formatted("{}/{}.cl", w.family, kernel),
                         formatted("{}_{}", w.family, kernel));
  define_row_types(plan, w.in, w.out);
  for (const Define& one : w.defines)
    define(plan, one.name, one.value);
  define(plan, "PACK", 1);
  const double columns = real(w.cols, w.batch), elements = columns * real(w.rows);
  const double element = w.element_read != 0 ? w.element_read : real(size_of(w.in));
  plan.prediction.bytes_read = readings * elements * element + w.read_once;
  plan.prediction.bytes_written = columns * w.column_written + elements * w.element_written;
  plan.prediction.operations = w.operations * elements;
  return plan;
}

Attempt naive(const Device& device, const ColumnWork& w, std::size_t wanted) {
  if (!device.long_loops && w.rows > 20000) return "its loops are shorter than the column";
  const std::size_t group =
      group_for(device, group_wanted({.work_items = wanted}, column_policy(device).naive_group), 0);
  if (group == 0) return no_tile_fits(device);
  Plan plan = base_plan(w, "naive", "naive", w.naive_readings);
  set_groups(plan, group, divide_up(size_product(w.cols, w.batch), group));
  plan.tile_rows = plan.items_per_work_item = at_least_1(w.rows);
  plan.tile_cols = group;
  define(plan, "GROUP", group);
  plan.reason = formatted("a work-item reads its column {}", w.naive_readings == 2 ? "twice" : "three times");
  return plan;
}

/// The work-items of a block of columns; `bytes`: of local memory for each.
std::size_t group_of_block(const Device& device, const ColumnWork& w, std::size_t width, std::size_t bytes,
                           std::size_t wanted) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t lines = std::bit_ceil(divide_up(w.rows, policy.rows_each));
  const std::size_t usual = std::clamp<std::size_t>(width * lines, 64, policy.most_group);
  return group_for(device, group_wanted({.work_items = wanted}, usual), bytes);
}

/// Loads of a work-item that are under way at once: of doubles at most 4, of which ptxas spills none.
std::size_t loads_at_once(const Device& device, const ColumnWork& w) {
  const std::size_t loads = column_policy(device).unroll;
  return value_bytes(w) == sizeof(double) ? std::min<std::size_t>(loads, 4) : loads;
}

Attempt tiled(const Device& device, const ColumnWork& w, std::size_t wanted) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t bytes = value_bytes(w), room = local_room(device);
  const std::size_t least = std::max(policy.least_width, policy.least_bytes / size_of(w.in));
  for (const std::size_t groups : {2, 1}) {  // two groups of a unit hide each other's barriers
    for (std::size_t width = policy.tile_width; width >= least; width /= 2) {
      const std::size_t group = group_of_block(device, w, width, w.tree_values * bytes, wanted);
      if (group < width) continue;
      const std::size_t scratch = group * w.tree_values * bytes;
      const std::size_t most = room / groups > scratch ? (room / groups - scratch) / (width * bytes) : 0;
      if (at_least_1(w.rows) > most) continue;
      // Few sizes, so that a program serves several lengths of columns.
      const std::size_t rows =
          std::min(round_up(at_least_1(w.rows), at_least_1(std::bit_ceil(w.rows) / 8)), most);
      Plan plan = base_plan(w, "tiled", "tiled", 1);
      set_groups(plan, group, blocks_of(w, width));
      plan.tile_rows = at_least_1(rows);
      plan.tile_cols = width;
      plan.items_per_work_item = at_least_1(divide_up(w.rows * width, group));
      plan.local_bytes = scratch + plan.tile_rows * width * bytes;
      plan.prediction.local_bytes = w.local_passes * real(w.rows, w.cols, w.batch) * real(bytes);
      define(plan, {{"GROUP", group},
                    {"WIDTH", width},
                    {"TILE_ROWS", plan.tile_rows},
                    {"UNROLL", loads_at_once(device, w)}});
      plan.reason = formatted("{} columns in local memory are read from global memory once", width);
      return plan;
    }
  }
  return formatted("local memory does not hold {} columns of {} elements", least, w.rows);
}

/// Columns of a block of "online" and "split": of narrow matrices no more than there are, so that
/// neighbouring work-items read neighbouring rows.
std::size_t online_width(const Device& device, const ColumnWork& w) {
  return std::min(column_policy(device).width, std::bit_ceil(at_least_1(w.cols)));
}

/// Parts of a column: enough to fill the units, of some rows for each work-item.
std::size_t count_parts(const Device& device, const ColumnWork& w, std::size_t group) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t width = std::min(online_width(device, w), group);
  const std::size_t wanted = divide_up(2 * device.compute_units, at_least_1(blocks_of(w, width)));
  const std::size_t most = w.rows / (group / width * policy.rows_of_parts);
  return std::clamp<std::size_t>(std::min(wanted, most), 1, policy.most_parts);
}

std::size_t online_group(const Device& device, const ColumnWork& w, bool split, std::size_t wanted) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t bytes = w.part_values * value_bytes(w);
  if (wanted == 0 && split) wanted = std::min<std::size_t>(256, policy.most_group);
  const std::size_t group = group_of_block(device, w, online_width(device, w), bytes, wanted);
  return wanted != 0 ? group : std::min(group, policy.online_group);
}

/// Two readings of a column. `phase`: see online.cl of the operation.
Attempt online(const Device& device, const ColumnWork& w, std::size_t phase, std::size_t wanted) {
  const std::size_t bytes = w.part_values * value_bytes(w);
  const std::size_t group = online_group(device, w, phase != 2, wanted);
  if (group == 0) return no_tile_fits(device);
  const std::size_t width = std::min(online_width(device, w), group), columns = size_product(w.cols, w.batch);
  const std::size_t parts = phase == 2 ? 1 : count_parts(device, w, group);
  const bool results_alone = w.element_written == 0 && phase == 2;
  Plan plan = base_plan(w, phase == 2 ? "online" : "split", "online", phase == 2 && !results_alone ? 2 : 1);
  if (phase == 0) plan.prediction.bytes_written = real(columns, parts, bytes);
  if (phase == 1 && w.element_written == 0) plan.prediction.bytes_read = 0;
  if (phase == 1) plan.prediction.bytes_read += real(columns, parts, parts) * real(bytes);
  set_groups(plan, group, size_product(blocks_of(w, width), parts));
  plan.tile_rows = group / width * loads_at_once(device, w);
  plan.tile_cols = width;
  plan.items_per_work_item = loads_at_once(device, w);
  plan.local_bytes = group * bytes;
  define(plan, {{"GROUP", group}, {"WIDTH", width}, {"UNROLL", loads_at_once(device, w)}, {"PHASE", phase}});
  plan.numbers = {{"parts", parts}};
  plan.reason = phase == 2
                    ? formatted("{} in one pass over the columns, and a second pass", w.statistics)
                    : formatted("{} groups share columns, and each merges the statistics of all", parts);
  return plan;
}

Attempt split(const Device& device, const ColumnWork& w, std::size_t wanted) {
  if (size_product(w.cols, w.batch) > kMaxGroups) return "there are columns enough for all groups";
  Attempt main = online(device, w, 1, wanted);
  if (!main.plan) return main;
  Launch first = *online(device, w, 0, wanted).plan;
  first.variant = "statistics";
  first.reason = formatted("groups leave {} of each part", w.statistics);
  const std::size_t parts = main.plan->number("parts");
  main.plan->before.push_back(std::move(first));
  add_scratch(*main.plan,
              size_product(at_least_1(size_product(w.cols, w.batch)), parts, w.part_values * value_bytes(w)));
  return main;
}

/// Makes of a plan for threads of a CPU the second one of two launches: the first leaves the statistics of
/// `parts` of the rows, of all columns, padded to whole vectors.
void put_statistics_before(Plan& plan, const ColumnWork& w, std::size_t parts, std::size_t lanes) {
  const std::size_t bytes = w.part_values * value_bytes(w);
  plan.numbers = {{"parts", parts}};
  Launch first = plan;
  define(plan, "PHASE", 1);
  define(first, "PHASE", 0);
  first.variant = "statistics";
  first.prediction.bytes_written = real(w.batch, parts, w.cols) * real(bytes);
  first.reason = formatted("threads leave {} of each part", w.statistics);
  if (w.element_written == 0) plan.prediction.bytes_read = 0;
  plan.before.push_back(std::move(first));
  add_scratch(plan, size_product(w.batch, parts, round_up(w.cols, lanes), bytes));
}

/// Of narrow matrices, whose rows share vectors: parts of the rows, whose statistics a first launch leaves.
/// Empty where whole vectors of columns are as good, and fill the threads.
std::optional<Plan> cpu_narrow(const Device& device, const ColumnWork& w) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t bytes = value_bytes(w), lanes = policy.lanes_bytes / bytes;
  const std::size_t tile = policy.narrow_tile, elements = size_product(w.rows, w.cols);
  const std::size_t local = (w.narrow_tiles * tile + w.narrow_values * lanes * policy.narrow_cols +
                             w.narrow_columns * policy.narrow_cols) *
                            bytes;
  // Of columns that a cache holds, no element is read twice.
  const bool once = w.rows <= policy.tile_bytes / (policy.least_lanes * lanes * bytes);
  const bool fills = size_product(divide_up(w.cols, lanes), w.batch) >= 2 * device.compute_units;
  if (w.cols == 0 || w.cols > policy.narrow_cols || elements < policy.narrow_elements ||
      local > local_room(device) || (fills && once && 2 * w.cols > lanes))
    return std::nullopt;
  const std::size_t wanted =
      divide_up(policy.narrow_parts_a_unit * device.compute_units, at_least_1(w.batch));
  const std::size_t parts = std::min(wanted, elements / policy.narrow_elements);
  Plan plan = base_plan(w, "cpu", "cpu_narrow", 1);
  set_groups(plan, 1, size_product(parts, w.batch), policy.groups_a_unit * device.compute_units);
  set_group_tile(
      plan,
      {.rows = tile / w.cols, .cols = w.cols, .vector_width = lanes, .items = tile, .local_bytes = local});
  define(plan, {{"LANES", lanes}, {"MOST_COLS", policy.narrow_cols}, {"TILE", tile}});
  define_read_ahead(device, plan);
  plan.reason = formatted("rows share vectors, and {} parts of a matrix merge their statistics", parts);
  put_statistics_before(plan, w, parts, lanes);
  return plan;
}

/// Of columns that a thread's cache does not hold, or of which it holds few: parts of the rows, whose
/// statistics a first launch leaves. Empty where there are columns enough for all threads, and no results for
/// each element.
std::optional<Plan> cpu_parts(const Device& device, const ColumnWork& w) {
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t bytes = value_bytes(w), lanes = policy.lanes_bytes / bytes;
  // Blocks of about as many columns each.
  const std::size_t all = at_least_1(divide_up(w.cols, lanes));
  const std::size_t vectors = divide_up(all, divide_up(all, policy.part_lanes));
  const std::size_t width = vectors * lanes;
  const std::size_t rows =
      std::clamp<std::size_t>(policy.block_bytes / (width * bytes), 1, policy.block_rows);
  const std::size_t local = (rows + w.block_values + w.column_values) * width * bytes;
  const std::size_t wanted =
      divide_up(policy.narrow_parts_a_unit * device.compute_units, at_least_1(blocks_of(w, width)));
  const std::size_t parts = std::min(wanted, at_least_1(w.rows / policy.part_rows));
  if (local > local_room(device) || (parts == 1 && w.element_written == 0)) return std::nullopt;
  Plan plan = base_plan(w, "cpu", "cpu", 1);
  set_groups(plan, 1, size_product(blocks_of(w, width), parts), policy.groups_a_unit * device.compute_units);
  set_group_tile(
      plan,
      {.rows = rows, .cols = width, .vector_width = lanes, .items = rows * width, .local_bytes = local});
  std::erase_if(plan.defines, [](const auto& d) { return d.first == "PACK"; });
  define(plan,
         {{"PACK", lanes}, {"LANES", lanes}, {"WIDTH", width}, {"TILE_ROWS", rows}, {"BLOCK_ROWS", rows}});
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  plan.reason = formatted("{} parts of a column merge their statistics, and are read again", parts);
  put_statistics_before(plan, w, parts, lanes);
  return plan;
}

Attempt cpu(const Device& device, const ColumnWork& w) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (std::optional<Plan> narrow = cpu_narrow(device, w)) return std::move(*narrow);
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t bytes = value_bytes(w), lanes = policy.lanes_bytes / bytes;
  const std::size_t most = std::min(policy.tile_bytes, local_room(device)) / (lanes * bytes);
  if (most <= w.column_values + w.block_values) return no_tile_fits(device);
  // As wide as columns that fit may be; of others, as leaves groups enough.
  const std::size_t wide = std::min({policy.most_lanes, std::bit_ceil(at_least_1(divide_up(w.cols, lanes))),
                                     std::bit_floor(most / (w.column_values + w.block_values + 1))});
  const auto rows_of = [&](std::size_t vectors) {
    const std::size_t room = most / vectors - std::min(most / vectors, w.column_values);
    return room - w.block_values * divide_up(room, policy.block_rows + w.block_values);
  };
  std::size_t vectors = wide;
  while (vectors > policy.least_lanes && rows_of(vectors) < w.rows)
    vectors /= 2;
  const bool fits = w.element_written != 0 && rows_of(vectors) >= w.rows;
  // Each piece of a row is in a page of its own, or nearly.
  const bool is_thin = vectors < wide && vectors * lanes * size_of(w.in) < policy.least_run_bytes;
  if (!fits || is_thin) {
    if (std::optional<Plan> parts = cpu_parts(device, w)) return std::move(*parts);
  }
  if (!fits) {
    vectors = wide;
    while (vectors > policy.least_lanes && blocks_of(w, vectors * lanes) < 2 * device.compute_units)
      vectors /= 2;
  }
  const std::size_t rows =
      std::min(rows_of(vectors), fits ? std::bit_ceil(at_least_1(w.rows)) : policy.block_rows);
  const std::size_t block = std::min(rows, policy.block_rows), width = vectors * lanes;
  const bool twice = !fits && w.element_written != 0;
  Plan plan = base_plan(w, "cpu", "cpu", twice ? 2 : 1);
  set_groups(plan, 1, blocks_of(w, width), policy.groups_a_unit * device.compute_units);
  set_group_tile(plan, {.rows = rows,
                        .cols = width,
                        .vector_width = lanes,
                        .items = at_least_1(std::min(w.rows, rows) * width),
                        .local_bytes = (rows + w.block_values * divide_up(rows, block) + w.column_values) *
                                       width * bytes});
  std::erase_if(plan.defines, [](const auto& d) { return d.first == "PACK"; });
  define(plan,
         {{"PACK", lanes}, {"LANES", lanes}, {"WIDTH", width}, {"TILE_ROWS", rows}, {"BLOCK_ROWS", block}});
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  plan.reason = twice  ? "a thread merges blocks of rows in its cache, and reads them again"
                : fits ? formatted("a thread has {} columns in its cache", width)
                       : "a thread merges blocks of rows in its cache";
  return plan;
}

}  // namespace

std::vector<std::string_view> plan::column_variants() { return {"naive", "online", "split", "tiled", "cpu"}; }

plan::Attempt plan::plan_column_variant(const Device& device, const ColumnWork& w, const PlanOverrides& fixed,
                                        std::string_view variant) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "naive") return naive(device, w, wanted);
  if (variant == "tiled") return tiled(device, w, wanted);
  if (variant == "online") return online(device, w, 2, wanted);
  if (variant == "split") return split(device, w, wanted);
  return cpu(device, w);
}

std::vector<std::string_view> plan::column_preference(const Device& device, const ColumnWork& w,
                                                      const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu", "online", "naive"};
  const ColumnPolicy& policy = column_policy(device);
  const std::size_t group = online_group(device, w, true, fixed.work_items);
  const bool few = real(blocks_of(w, policy.width)) < policy.blocks_a_unit * real(device.compute_units);
  const double bytes = real(w.rows, w.cols, w.batch) * real(size_of(w.in));
  const bool cached = size_of(w.in) == 2 && w.rows >= policy.cached_rows && bytes <= policy.cached_bytes;
  if (cached && real(blocks_of(w, policy.width)) >= real(device.compute_units))
    return {"online", "tiled", "naive"};
  // One launch, where local memory holds the columns.
  if (few && group != 0 && count_parts(device, w, group) > 1) return {"tiled", "split", "online", "naive"};
  return {"tiled", "online", "naive"};
}

std::string plan::why_not_column_variant(std::string_view variant, const Plan& chosen) {
  if (variant == "naive") return "one work-item has a whole column, which it reads more than once";
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (chosen.variant == "split") return "there are fewer columns than groups that could run";
  return "it reads each column twice";
}

void plan::check_columns(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t rows,
                         std::size_t cols, std::size_t batch) {
  check_rows(operation, device, in, out, rows, 0, batch);
  require_elements(operation, "in", {rows, cols, batch});
  if (rows > kMostCols) refuse(operation, "in", "columns of at most 2^30 elements", std::to_string(rows));
}

}  // namespace smem
