// Plans of depthwise convolutions of interleaved channels, to interleaved channels: "depthwise" without
// copies to planes, by strips of rows and by whole windows.
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kVectorBytes = 16;      // of the input, that a work-item reads at once
constexpr std::size_t kMostPack = 8;          // channels of a work-item
constexpr std::size_t kMostFixedColumns = 8;  // of a work-item, where the caller decides

/// What a work-item has: channels, columns and rows of results; and a work-group, packs of channels by blocks
/// of results.
struct CellTile {
  std::size_t pack = 1, each_x = 1, rows = 1;
  std::size_t group_packs = 1, group_blocks = 1;
  std::size_t local_bytes = 0;
};

/// Rows and columns of results that are a dilation apart.
std::size_t columns_of(const Conv2dProblem& p) { return at_least_1(divide_up(p.out_width, p.dilation.x)); }
std::size_t rows_of(const Conv2dProblem& p) { return at_least_1(divide_up(p.out_height, p.dilation.y)); }

bool is_aligned(const Conv2dProblem& p, std::size_t pack) {
  return p.groups % pack == 0 && p.in_alignment >= pack * size_of(p.type) &&
         p.out_alignment >= std::min(pack * size_of(p.out), kVectorBytes);
}

/// Registers of four bytes: weights, sums, and the rows of cells of this step and the next.
std::size_t registers_of(const Conv2dProblem& p, std::size_t pack, std::size_t each_x) {
  const std::size_t number = size_of(sums_of(p.type)) / 4;
  const std::size_t sums = divide_up(p.window.height, p.stride.y) * each_x;
  const std::size_t cells = 2 * p.stride.y * ((each_x - 1) * p.stride.x + p.window.width);
  return pack * number * (p.taps() + sums) + divide_up(cells * pack * size_of(p.type), 4);
}

/// Whether groups of `count` leave few of their places empty.
bool fills(std::size_t all, std::size_t count) { return (round_up(all, count) - all) * 6 <= all; }

/// Packs of channels of a work-group: the most of which few are beyond the last channel.
std::size_t group_packs_of(std::size_t packs, std::size_t most) {
  constexpr std::array<std::size_t, 11> kCounts{64, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};
  for (const std::size_t count : kCounts)
    if (count <= most && fills(packs, count)) return count;
  return 1;
}

/// The most results of a row that stay in registers with what they need, of at most so many columns and of
/// the most channels; none: without a pack.
CellTile results_of(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed,
                    std::size_t most_x) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  CellTile best{.pack = 0};
  for (std::size_t pack = std::min(kMostPack, kVectorBytes / size_of(p.type)); pack > 0; pack /= 2) {
    if (!is_aligned(p, pack)) continue;
    for (std::size_t each_x = fixed.tile_cols != 0 ? fixed.tile_cols : most_x; each_x > 0; each_x /= 2) {
      const bool fits =
          pack * each_x <= policy.cells_results && registers_of(p, pack, each_x) <= policy.cells_registers;
      if (fixed.tile_cols == 0 ? fits && fills(columns_of(p), each_x) : fits || pack == 1) {
        if (pack * each_x > best.pack * best.each_x) best = {.pack = pack, .each_x = each_x};
      }
      if (fixed.tile_cols != 0) break;
    }
  }
  return best;
}

/// With its work-group, which has room for the weights of its channels; none: without a pack.
CellTile tile_of(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed,
                 std::size_t most_x) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  CellTile tile = results_of(device, p, fixed, most_x);
  const std::size_t number = size_of(sums_of(p.type)), room = local_room(device);
  const auto local = [&](std::size_t packs) {
    return size_product(p.taps() + 1, packs + 1, tile.pack * number);
  };
  while (local(1) > room && tile.pack > 0)
    tile.pack /= 2;
  if (tile.pack == 0) return tile;
  const std::size_t group = std::min(policy.cells_group, at_least_1(device.max_work_group));
  std::size_t most = std::min({policy.cells_packs, group, at_least_1(device.max_work_items[0])});
  while (local(most) > room)
    --most;
  tile.group_packs = group_packs_of(p.groups / tile.pack, most);
  tile.group_blocks =
      std::clamp<std::size_t>(group / tile.group_packs, 1, at_least_1(device.max_work_items[1]));
  tile.local_bytes = local(tile.group_packs);
  return tile;
}

/// Work-groups that a compute unit has at once, as their registers allow.
std::size_t resident_groups(const Device& device, const Conv2dProblem& p, const CellTile& tile) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const std::size_t all = device.unit.registers > 0 ? device.unit.registers : policy.cells_unit_registers;
  const std::size_t own = registers_of(p, tile.pack, tile.each_x) + policy.cells_other_registers;
  return at_least_1(all / (own * tile.group_packs * tile.group_blocks));
}

/// Steps of a strip beside its rows.
std::size_t halo_of(const Conv2dProblem& p) { return divide_up(p.window.height, p.stride.y) - 1; }

/// Work-groups of strips of so many rows.
std::size_t groups_of(const Conv2dProblem& p, const CellTile& tile, std::size_t strip) {
  const std::size_t classes = size_product(p.dilation.x, p.dilation.y);
  const std::size_t blocks = size_product(at_least_1(p.images), divide_up(columns_of(p), tile.each_x),
                                          divide_up(rows_of(p), strip), classes);
  return size_product(divide_up(blocks, tile.group_blocks),
                      divide_up(p.groups / tile.pack, tile.group_packs));
}

/// Rows of a strip: those with which all work-groups are done after the fewest steps, where a device runs as
/// many groups at once as its registers allow. Short strips have more steps for their halo, long ones leave
/// compute units idle in the last round.
std::size_t strip_of(const Device& device, const Conv2dProblem& p, const CellTile& tile) {
  const std::size_t rows = rows_of(p);
  const std::size_t at_once = at_least_1(device.compute_units) * resident_groups(device, p, tile);
  std::size_t best = rows;
  double least = 0;
  for (std::size_t strips = 1; strips <= rows; strips += 1 + strips / 32) {
    const std::size_t strip = divide_up(rows, strips);
    const double steps = real(divide_up(groups_of(p, tile, strip), at_once), strip + halo_of(p));
    if (strips > 1 && steps >= least) continue;
    best = strip;
    least = steps;
  }
  return best;
}

/// With rows. Where strips that have a quarter of their steps for the halo are too few for the device,
/// work-items have fewer columns.
CellTile with_rows(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed) {
  const std::size_t strips = at_least_1(rows_of(p) / at_least_1(3 * halo_of(p)));
  const std::size_t least_rows = divide_up(rows_of(p), strips);
  CellTile tile = tile_of(device, p, fixed, policy_of(device).depthwise.cells_x);
  const auto are_few = [&] {
    const std::size_t at_once = at_least_1(device.compute_units) * resident_groups(device, p, tile);
    return groups_of(p, tile, least_rows) * 2 < at_once;
  };
  while (fixed.tile_cols == 0 && tile.pack > 0 && tile.each_x > 1 && are_few())
    tile = tile_of(device, p, fixed, tile.each_x / 2);
  if (tile.pack == 0) return tile;
  tile.rows = fixed.tile_rows != 0 ? std::min(fixed.tile_rows, rows_of(p)) : strip_of(device, p, tile);
  return tile;
}

/// Why registers cannot have the windows; empty: they can.
std::string no_cells(const Device& device, const Conv2dProblem& p) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  if (!is_depthwise(p)) return "needs one channel and one filter in each group";
  if (!p.in_interleaved || !p.out_interleaved) return "needs interleaved channels";
  if (device.vendor == Vendor::intel && device.type == DeviceType::gpu)
    return "Intel's compiler keeps its rows in memory";
  if (p.taps() > policy.cells_taps || std::max(p.stride.x, p.stride.y) > policy.cells_stride) {
    return formatted("keeps windows of at most {} weights, {} apart at most, in registers", policy.cells_taps,
                     policy.cells_stride);
  }
  return {};
}

/// As cl/conv2d/depthwise_windows.cl counts it.
struct WindowTile {
  std::size_t pack = 1, each_x = 1, lanes = 1, rows = 1, blocks = 1;

  std::size_t line(const Conv2dProblem& p) const { return (each_x - 1) * p.stride.x + p.window.width; }
  /// Of an image, for a set of channels.
  std::size_t tiles_of(const Conv2dProblem& p) const {
    return size_product(divide_up(p.out_width, blocks * each_x), divide_up(p.out_height, rows));
  }
  std::size_t jobs(const Conv2dProblem& p) const {
    return size_product(p.images, tiles_of(p), divide_up(p.groups, lanes * pack));
  }
  /// Cells that all tiles of an image read.
  std::size_t cells_of(const Conv2dProblem& p) const {
    return size_product(tiles_of(p), (rows - 1) * p.stride.y + p.window.height,
                        (blocks * each_x - 1) * p.stride.x + p.window.width);
  }
  std::size_t local_bytes(const Conv2dProblem& p) const {
    return size_product(p.taps() + 1, lanes + 1, pack * size_of(sums_of(p.type)));
  }
};

/// The most channels that are aligned.
std::size_t pack_of(const Device& device, const Conv2dProblem& p) {
  std::size_t pack = policy_of(device).depthwise.windows_pack_bytes / size_of(p.type);
  while (pack > 1 && (p.groups % pack != 0 || p.in_alignment < pack * size_of(p.type) ||
                      p.out_alignment < std::min(pack * size_of(p.out), kVectorBytes)))
    pack /= 2;
  return pack;
}

WindowTile window_tile_of(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  WindowTile t{.pack = pack_of(device, p)};
  t.each_x = fixed.tile_cols != 0 ? fixed.tile_cols : policy.windows_x;
  const std::size_t packs = p.groups / t.pack, most = std::min(policy.windows_group, device.max_work_group);
  const std::size_t sets = divide_up(packs, std::min(policy.windows_packs, most));
  t.lanes = divide_up(packs, sets);
  while (t.lanes > 1 && t.local_bytes(p) > local_room(device))
    --t.lanes;
  // Warps go to quarters of a multiprocessor in turn: of an odd number some leave a quarter's registers
  // unused.
  const auto is_even = [&](std::size_t blocks) { return divide_up(blocks * t.lanes, 32) % 2 == 0; };
  std::size_t all =
      std::min(most / t.lanes, std::max(policy.windows_blocks, policy.windows_least_group / t.lanes));
  for (std::size_t blocks = all; blocks > all / 2; --blocks) {
    if (!is_even(blocks)) continue;
    all = blocks;
    break;
  }
  // The rows with which the fewest cells are read several times.
  WindowTile best;
  for (std::size_t rows = 1; rows <= all; ++rows) {
    t.rows = rows, t.blocks = all / rows;
    if (all % rows == 0 && (rows == 1 || t.cells_of(p) < best.cells_of(p))) best = t;
  }
  return best;
}

}  // namespace

plan::Attempt plan::conv2d::depthwise_cells(const Device& device, const Conv2dProblem& p,
                                            const PlanOverrides& fixed) {
  if (std::string reason = no_cells(device, p); !reason.empty()) return reason;
  if (fixed.tile_cols > kMostFixedColumns) {
    refuse(device, kOperation, "tile_cols", formatted("at most {} columns", kMostFixedColumns),
           formatted("{}", fixed.tile_cols));
  }
  const CellTile tile = with_rows(device, p, fixed);
  if (tile.pack == 0) return "its weights and sums fit neither registers nor local memory";
  const std::size_t across = size_product(divide_up(columns_of(p), tile.each_x), p.dilation.x);
  const std::size_t down = size_product(divide_up(rows_of(p), tile.rows), p.dilation.y);
  const std::size_t blocks = size_product(p.images, across, down);
  if (blocks > kMost32) return "results that 32 bits do not count";
  Plan plan = base_plan(p, "depthwise", "conv2d/depthwise_cells.cl", "conv2d_depthwise_cells", tile.pack);
  predict(p, plan);
  plan.work_group = {tile.group_packs, tile.group_blocks, 1};
  plan.global = global_size({at_least_1(p.groups / tile.pack), at_least_1(blocks), 1}, plan.work_group);
  define(plan, {{"GROUP_0", tile.group_packs},
                {"GROUP_1", tile.group_blocks},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"EACH_X", tile.each_x}});
  plan.numbers = {{"tile_h", tile.rows}};
  set_group_tile(plan, {.rows = tile.rows,
                        .cols = tile.each_x,
                        .vector_width = tile.pack,
                        .items = tile.each_x * tile.rows * tile.pack,
                        .local_bytes = tile.local_bytes});
  plan.reason = formatted(
      "a channel and a filter a group, side by side: a work-item slides down {} row(s) of {} column(s) of {} "
      "channel(s)",
      tile.rows, tile.each_x, tile.pack);
  return plan;
}

bool plan::conv2d::prefers_windows(const Device& device, const Conv2dProblem& p) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  // Of floats, ptxas spills some registers for sm_75.
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80 || p.activation == Activation::gelu)
    return false;
  if (p.type != Scalar::half && p.type != Scalar::float32) return false;
  const double products =
      real(p.images, p.groups, p.plane_results(), p.taps()) / real(at_least_1(device.compute_units));
  return std::min(p.stride.x, p.stride.y) > 1 && p.taps() <= policy.windows_taps &&
         products >= policy.ring_products;
}

plan::Attempt plan::conv2d::depthwise_windows(const Device& device, const Conv2dProblem& p,
                                              const PlanOverrides& fixed) {
  if (!is_depthwise(p) || !p.in_interleaved || !p.out_interleaved)
    return "needs interleaved channels, with a filter for each";
  if (p.dilation.x > 1 || p.dilation.y > 1) return "has windows without dilation";
  if (device.vendor == Vendor::intel && device.type == DeviceType::gpu)
    return "Intel's compiler keeps its cells in memory";
  if (fixed.tile_cols > kMostFixedColumns) return formatted("has at most {} columns", kMostFixedColumns);
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const WindowTile t = window_tile_of(device, p, fixed);
  const std::size_t bytes = t.pack * size_of(p.type) * p.window.height * t.line(p);
  if (bytes > policy.windows_bytes) return formatted("windows of {} bytes fit no registers", bytes);
  if (t.local_bytes(p) > local_room(device)) return "its weights fit no local memory";
  if (t.jobs(p) > kMaxTiles) return "results that 32 bits do not count";
  Plan plan = base_plan(p, "depthwise", "conv2d/depthwise_windows.cl", "conv2d_depthwise_windows", t.pack);
  predict(p, plan);
  set_groups(plan, t.lanes * t.rows * t.blocks, t.jobs(p));
  define(plan, {{"LANES", t.lanes},
                {"ROWS", t.rows},
                {"BLOCKS", t.blocks},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"EACH_X", t.each_x}});
  set_group_tile(plan, {.rows = 1,
                        .cols = t.each_x,
                        .vector_width = t.pack,
                        .items = t.each_x * t.pack,
                        .local_bytes = t.local_bytes(p)});
  plan.reason = formatted(
      "a channel and a filter a group, side by side: a work-item loads the windows of {} column(s) of {} "
      "channel(s) at once",
      t.each_x, t.pack);
  return plan;
}

}  // namespace smem
