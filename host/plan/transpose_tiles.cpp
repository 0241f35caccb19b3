// Transposes through tiles of a work-group, and the one without a tile.
#include <smem/explain.hpp>

#include "formatted.hpp"
#include "plan/transpose_variants.hpp"

#include <algorithm>
#include <bit>

namespace smem::plan::transpose {

namespace {

/// \throws Error when a field that was fixed is not a power of two in [1, most].
void check_power(const char* field, std::size_t value, std::size_t most) {
  if (value == 0 || (std::has_single_bit(value) && value <= most)) return;
  refuse("transpose", field, formatted("a power of two, at most {}", most), std::to_string(value));
}

/// \throws Error when the caller fixed something of which no tile could be made.
void refuse_fixed(const Device& device, const PlanOverrides& fixed, std::size_t local_bytes) {
  const char* field = fixed.tile_rows + fixed.tile_cols > 0
                          ? (fixed.tile_rows > 0 ? "tile_rows" : "tile_cols")
                      : fixed.work_items > 0 ? "work_items"
                                             : "layout";
  refuse("transpose", field,
         formatted("a tile that fits {} bytes of local memory and work-groups of {} on {}",
                   device.local_bytes, device.max_work_group, device.name),
         local_bytes > device.local_bytes ? formatted("one of {} bytes", local_bytes)
                                          : "one that no work-group here can hold");
}

bool fixes_more_than_variant(const PlanOverrides& fixed) {
  PlanOverrides rest = fixed;
  rest.variant.clear();
  return rest != PlanOverrides{};
}

/// Tiles of all matrices; in place, pairs of tiles.
std::size_t count_tiles(const TransposeProblem& problem, std::size_t tile_rows, std::size_t tile_cols) {
  const std::size_t down = divide_up(problem.rows, tile_rows);
  const std::size_t across = divide_up(problem.cols, tile_cols);
  return (problem.in_place ? down * (down + 1) / 2 : down * across) * problem.batch;
}

}  // namespace

Attempt naive(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "naive");
  Plan plan = base_plan(problem, "naive", "transpose/naive.cl", "transpose_naive");
  const std::array<std::size_t, 3> extent{problem.rows, problem.cols, problem.batch};
  set_grid(plan, device, transpose_policy(device).naive_group, extent);
  plan.tile_rows = plan.work_group[0];
  plan.tile_cols = plan.work_group[1];
  define_group(plan);
  plan.reason = "one element after the other, without local memory";
  return plan;
}

Attempt square_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed,
                    Kind kind) {
  const char* names[] = {"", "tiled", "padded", "swizzled"};
  const char* reasons[] = {
      "", "both sides of global memory are contiguous; a column of the tile lies in few banks",
      "both sides of global memory are contiguous; padding spreads the tile's columns over the banks",
      "both sides of global memory are contiguous; an XOR of row and column spreads the tile's columns over "
      "the banks, without more memory"};
  const char* name = names[static_cast<int>(kind)];
  check_power("tile_rows", fixed.tile_rows, 64);
  check_power("tile_cols", fixed.tile_cols, 64);
  check_power("work_items", fixed.work_items, device.max_work_group);
  if (fixed.tile_rows != 0 && fixed.tile_cols != 0 && fixed.tile_rows != fixed.tile_cols) {
    refuse("transpose", "tile_cols", formatted("{}, as tile_rows: the tile is a square", fixed.tile_rows),
           std::to_string(fixed.tile_cols));
  }
  if (fixed.layout.kind) require_known("transpose", "layout", *fixed.layout.kind, Kind::swizzled);
  if (fixed.layout.kind && *fixed.layout.kind != kind) {
    refuse("transpose", "layout",
           formatted("one that is {}, or the variant that is {}", name_of(kind), name_of(*fixed.layout.kind)),
           formatted("a {} layout with the variant \"{}\"", name_of(*fixed.layout.kind), name));
  }
  LayoutChoice choice = fixed.layout;
  choice.kind = kind;
  const TransposePolicy& policy = transpose_policy(device);
  const std::size_t fixed_tile = std::max(fixed.tile_rows, fixed.tile_cols);
  for (std::size_t tile = fixed_tile != 0 ? fixed_tile : policy.square; tile >= 2; tile /= 2) {
    if (fixed_tile != 0 && tile != fixed_tile) break;
    if (tile > device.max_work_group || tile > device.max_work_items[0]) continue;
    const std::size_t most_steps = std::min({tile, device.max_work_group / tile, device.max_work_items[1]});
    const std::size_t step = fixed.work_items != 0 ? fixed.work_items / tile
                                                   : std::bit_floor(std::min(policy.square_rows, most_steps));
    if (step == 0 || step > most_steps) continue;
    const LocalLayout layout = infer_layout(device,
                                            {tile,
                                             tile,
                                             problem.element_bytes,
                                             tile * step,
                                             {Access::rows(tile, true), Access::columns(tile, false)}},
                                            choice);
    const std::size_t tiles_of_a_group = problem.in_place ? 2 : 1;
    if (layout.bytes() * tiles_of_a_group > device.local_bytes) continue;
    const std::size_t groups = count_tiles(problem, tile, tile);
    if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);

    Plan plan = base_plan(problem, name, "transpose/tiled.cl", "transpose_tiled");
    plan.tile_rows = plan.tile_cols = tile;
    plan.items_per_work_item = tile / step;
    plan.work_group = {tile, step, 1};
    plan.global = {groups * tile, step, 1};
    define(plan, {{"TILE", tile}, {"TILE_STEP", step}});
    set_layout(plan, layout, tiles_of_a_group);
    plan.reason = reasons[static_cast<int>(kind)];
    return plan;
  }
  if (fixes_more_than_variant(fixed))
    refuse_fixed(device, fixed, fixed_tile * fixed_tile * problem.element_bytes * (problem.in_place ? 2 : 1));
  return no_tile_fits(device);
}

namespace {

/// The layout of a tile of vectors, of which a group has `copies`. Padding by a vector was 0.001 to 0.002
/// faster than the swizzle on the H200; the swizzle needs no memory, so it is the one where padding would
/// keep a group out of the device, or a compute unit.
LocalLayout vector_layout(const Device& device, const Tile& tile, std::size_t copies) {
  LocalLayout layout = infer_layout(device, tile, {.kind = Kind::plain});
  if (layout.store_degree() == 1 && layout.load_degree() == 1) return layout;
  layout = infer_layout(device, tile, {.kind = Kind::padded});
  if (tile.cols == 1 || !std::has_single_bit(tile.cols)) return layout;
  const auto resident = [&](const LocalLayout& of) {
    Plan plan;
    plan.work_group[0] = tile.work_items;
    plan.local_bytes = of.bytes() * copies;
    return plan.local_bytes > device.local_bytes ? -1 : static_cast<long>(occupancy(device, plan).groups);
  };
  const LocalLayout swizzled = infer_layout(device, tile, {.kind = Kind::swizzled});
  return resident(swizzled) > resident(layout) ? swizzled : layout;
}

/// In local memory a tile of `block` elements a vector is turned, and its rows are dealt out: see LOCAL_ROW
/// in the kernel.
Tile turned_tile(std::size_t rows, std::size_t cols, std::size_t block, std::size_t vector_bytes,
                 std::size_t group) {
  const std::size_t across = cols / block, down = rows / block;
  const auto input_columns = [=](std::size_t item) { return Item{item % across, item / across}; };
  const auto output_rows = [=](std::size_t item) {
    const std::size_t col = item / down;
    return Item{col % block * across + col / block, item % down};
  };
  return {cols,
          down,
          vector_bytes,
          group,
          {{"input columns", true, 1, input_columns}, {"output rows", false, 1, output_rows}}};
}

/// A side of a tile, at least a quarter of `most`: the longest one that covers `extent` with little more
/// than shorter ones do.
std::size_t fitted_side(std::size_t extent, std::size_t most) {
  const std::size_t least = round_up(extent, most / 4);
  std::size_t side = most;
  while (side > most / 4 && round_up(extent, side) > least + least / 4)
    side /= 2;
  return side;
}

}  // namespace

Attempt vector_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  const TransposePolicy& policy = transpose_policy(device);
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment);
  if (alignment < word_bytes)
    return formatted("rows begin at multiples of {} bytes, and its vectors need {}", alignment, word_bytes);
  std::size_t vector_bytes = std::min(policy.vector_bytes[size_index(element)], alignment);
  while (vector_bytes > word_bytes && vector_bytes * vector_bytes / element > policy.register_bytes)
    vector_bytes /= 2;
  const std::size_t block = vector_bytes / element;
  std::size_t rows = std::max<std::size_t>(policy.tile_bytes / element, 32);
  std::size_t cols = policy.tile_bytes / element;
  if (problem.rows <= rows && problem.cols <= cols) {
    rows = std::max(block, std::bit_ceil(problem.rows) / policy.quarters);
    cols = std::max(block, std::bit_ceil(problem.cols));
  } else if (element <= policy.fitted_bytes && !problem.in_place) {
    rows = fitted_side(problem.rows, rows);
    cols = fitted_side(problem.cols, cols);
  }
  rows = std::max(block, std::min(rows, std::bit_ceil(problem.rows)));
  cols = std::max(block, std::min(cols, std::bit_ceil(problem.cols)));
  check_power("tile_rows", fixed.tile_rows, 1024);
  check_power("tile_cols", fixed.tile_cols, 1024);
  check_power("work_items", fixed.work_items, device.max_work_group);
  if (fixed.tile_rows != 0) rows = fixed.tile_rows;
  if (fixed.tile_cols != 0) cols = fixed.tile_cols;
  const bool by_hand = fixes_more_than_variant(fixed);
  if (problem.in_place) {
    if (fixed.tile_rows != 0 && fixed.tile_cols != 0 && rows != cols) {
      refuse("transpose", "tile_cols", formatted("{}, as tile_rows: in place the tile is a square", rows),
             std::to_string(cols));
    }
    cols = rows = fixed.tile_rows != 0 ? rows : fixed.tile_cols != 0 ? cols : std::min(rows, cols);
  }

  std::size_t bytes = 0;
  for (; rows >= block && cols >= block; (rows >= cols ? rows : cols) /= 2) {
    if (problem.in_place) cols = rows;
    const std::size_t blocks = (rows / block) * (cols / block);
    const std::size_t group =
        fixed.work_items != 0 ? fixed.work_items
                              : std::bit_floor(std::min({policy.group, at_least_1(blocks),
                                                         device.max_work_group, device.max_work_items[0]}));
    const bool fits_registers = group <= blocks && rows * cols * element <= group * policy.register_bytes;
    if (fits_registers) {
      const Tile tile = turned_tile(rows, cols, block, vector_bytes, group);
      const std::size_t copies = problem.in_place ? 2 : 1;
      const LocalLayout layout = fixed.layout != LayoutChoice{} ? infer_layout(device, tile, fixed.layout)
                                                                : vector_layout(device, tile, copies);
      bytes = layout.bytes() * copies;
      if (bytes <= device.local_bytes) {
        const std::size_t groups = count_tiles(problem, rows, cols);
        if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);
        Plan plan = base_plan(problem, "vector", "transpose/vector.cl", "transpose_vector");
        plan.tile_rows = rows;
        plan.tile_cols = cols;
        plan.vector_width = block;
        plan.items_per_work_item = rows * cols / group;
        plan.work_group = {group, 1, 1};
        plan.global = {groups * group, 1, 1};
        define(plan, {{"VECTOR_WORDS", vector_bytes / word_bytes},
                      {"TILE_R", rows},
                      {"TILE_C", cols},
                      {"GROUP", group}});
        set_layout(plan, layout, copies);
        if (policy.tile_loop) define(plan, "TILE_LOOP", 1);
        plan.reason = formatted("rows are aligned, so both sides move vectors of {} bytes", vector_bytes);
        plan.evidence = policy.evidence.text(device);
        return plan;
      }
    }
    if (by_hand) break;
  }
  if (by_hand) refuse_fixed(device, fixed, bytes);
  return no_tile_fits(device);
}

}  // namespace smem::plan::transpose
