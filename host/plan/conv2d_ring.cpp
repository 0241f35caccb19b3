// Plans of depthwise convolutions of interleaved channels for NVIDIA's sm_80 and later: "depthwise" whose
// rows come to a ring in local memory by asynchronous copies.
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

/// What a work-item and a work-group have: as cl/nvidia/conv2d/depthwise_ring.cl counts it.
struct RingTile {
  std::size_t pack = 0, each_x = 1, lanes = 1, blocks = 1, rows = 1, ahead = 2, piece = 16, pad = 0;
  std::size_t sets = 1, across = 1;  ///< groups along channels and columns
  std::size_t step_bytes = 0, copies = 0, local_bytes = 0;
  double time = kNever;

  std::size_t group() const { return lanes * blocks; }
  std::size_t jobs(const Conv2dProblem& p) const {
    return size_product(size_product(p.images, sets), across, divide_up(p.out_height, rows));
  }
};

constexpr std::size_t kMostCopies = 32;  // of a row, whose bits a work-item has

std::size_t ages_of(const Conv2dProblem& p) { return divide_up(p.window.height, p.stride.y); }

/// Adds what follows from the shape.
RingTile completed(const Conv2dProblem& p, RingTile t) {
  const std::size_t bytes = size_of(p.type), cell = t.lanes * t.pack * bytes, span = t.each_x * p.stride.x;
  const std::size_t row_cells = (t.blocks - 1) * span + (t.each_x - 1) * p.stride.x + p.window.width;
  constexpr std::size_t kBanks = 128;  // bytes
  t.pad = (kBanks - (span - 1) * cell % kBanks) % kBanks;
  t.step_bytes = p.stride.y * (row_cells * cell + (row_cells - 1) / span * t.pad);
  t.copies = divide_up(row_cells, t.group() / (cell / t.piece));
  return t;
}

/// Registers of a work-item, as ptxas counts them.
std::size_t registers_of(const Conv2dProblem& p, const RingTile& t) {
  return t.pack * (p.taps() + ages_of(p) * t.each_x) + 28 + 3 * t.copies;
}

/// Chooses the steps in flight; returns how many work-groups a multiprocessor then has.
std::size_t resident_of(const Device& device, const Conv2dProblem& p, RingTile& t) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const std::size_t all = device.unit.registers > 0 ? device.unit.registers : policy.cells_unit_registers;
  const std::size_t items = round_up(t.group(), 32), registers = round_up(registers_of(p, t), 8);
  // Warps go to quarters of a multiprocessor in turn.
  if (registers * round_up(t.group(), 128) > all) return 0;
  std::size_t groups = std::min(all / (registers * items), std::size_t{2048} / items);
  groups = std::min(groups, divide_up(t.jobs(p), at_least_1(device.compute_units)));
  if (groups == 0) return 0;
  t.ahead =
      std::clamp<std::size_t>(divide_up(policy.ring_bytes / groups, t.step_bytes), 2, policy.ring_ahead);
  t.local_bytes = (t.ahead + 1) * t.step_bytes +
                  size_product(p.taps() + 1, t.lanes + 1, t.pack * size_of(sums_of(p.type)));
  return t.local_bytes > local_room(device) ? 0 : std::min(groups, device.local_bytes / t.local_bytes);
}

/// Instructions of a step of a work-item.
double instructions_of(const Conv2dProblem& p, const RingTile& t) {
  const double cells = real((t.each_x - 1) * p.stride.x + p.window.width) * real(p.stride.y);
  const double converts = size_of(p.type) < 4 ? real(t.pack) : 0;
  return real(t.pack, p.taps(), t.each_x) + cells * (1 + converts) + real(t.each_x) * (2 * real(t.pack) + 3) +
         5 * real(p.stride.y, t.copies) + 20;
}

/// Bytes of lines of the cache that are read for each byte of cells, beyond them: other groups read the same
/// lines for their channels, and requests of a warp begin within a line.
double waste_of(const Conv2dProblem& p, const RingTile& t) {
  constexpr std::size_t kLine = 128, kRequest = 512;
  const std::size_t bytes = size_of(p.type), cell = t.lanes * t.pack * bytes;
  const auto aligned = [](std::size_t n) { return n & (~n + 1); };
  const std::size_t run = t.sets == 1 ? std::max(cell, kRequest) : cell;
  return real(kLine - std::min({kLine, aligned(p.groups * bytes), aligned(cell)})) / real(run);
}

/// Nanoseconds of all groups: of instructions, and of memory, which overlap.
double time_of(const Device& device, const Conv2dProblem& p, const RingTile& t, std::size_t resident) {
  const RingTimes& times = policy_of(device).depthwise.ring;
  const double step = instructions_of(p, t), warps = real(divide_up(t.group(), 32));
  const std::size_t jobs = t.jobs(p), strips = divide_up(p.out_height, t.rows);
  const std::size_t units = at_least_1(device.compute_units), full = units * resident;
  const double copied = real(t.rows) + real(ages_of(p)) - 1;  // steps, of which those outside take no time
  const double outside = real(p.padding.top + p.padding.bottom) / real(p.stride.y * strips);
  const double steps = std::max(real(t.rows), copied - outside);
  const double start = times.group + real(divide_up(t.lanes * t.pack * p.taps(), t.group())) * times.weight;
  const auto round = [&](std::size_t groups) {
    return steps * (std::max(real(groups) * warps * step * times.issue, step * times.alone) +
                    times.sync / real(groups)) +
           start;
  };
  double compute = real(jobs / full) * round(resident);
  if (jobs % full > 0) compute += round(divide_up(jobs % full, units));
  const double step_bytes = real(t.step_bytes), read = real(jobs) * steps * step_bytes;
  const double once = real(p.images, p.groups, p.width * p.height, size_of(p.type));
  const double wrote = real(p.images, p.groups, p.plane_results(), size_of(p.out));
  // Of the busiest multiprocessor, which waits times.latency for what is in flight.
  const double rate = std::min(times.unit, real(resident, t.ahead) * step_bytes / times.latency);
  const double unit = (steps * step_bytes + wrote / real(jobs)) * real(divide_up(jobs, units)) / rate;
  const double again = std::max(0.0, read - once) + once * waste_of(p, t);
  const double memory = std::max(unit, (once + wrote) / times.memory + again / times.cache);
  return std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25);
}

/// Keeps the faster one of `best` and of the tile with as many rows as are fastest.
void consider_rows(const Device& device, const Conv2dProblem& p, std::size_t fixed_rows, RingTile t,
                   RingTile& best) {
  t = completed(p, t);
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  if (registers_of(p, t) > policy.ring_registers || t.copies > kMostCopies) return;
  if (size_product(t.pack, p.taps(), ages_of(p) * t.each_x) > policy.ring_unrolled) return;
  const std::size_t enough = policy.ring_rounds * at_least_1(device.compute_units);  // groups
  for (std::size_t strips = 1; strips <= p.out_height; strips += divide_up(strips, 4)) {
    t.rows = fixed_rows != 0 ? std::min(fixed_rows, p.out_height) : divide_up(p.out_height, strips);
    if (const std::size_t resident = resident_of(device, p, t); resident > 0) {
      t.time = time_of(device, p, t, resident);
      if (t.time < best.time) best = t;
    }
    if (fixed_rows != 0 || t.jobs(p) >= enough) return;
  }
}

/// The fastest tile; pack is 0: none fits.
RingTile best_ring_tile(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed) {
  constexpr std::size_t kMostLanes = 64, kLeastLanes = 8, kLeastGroup = 64, kMostGroup = 512;
  const std::size_t bytes = size_of(p.type);
  RingTile t, best;
  t.piece =
      std::min({p.in_alignment, std::size_t{1} << std::countr_zero(p.groups * bytes | 16), std::size_t{16}});
  if (t.piece < 8) return best;
  for (const std::size_t pack : {2U, 4U}) {
    if (pack * bytes > t.piece || p.groups % pack != 0 ||
        p.out_alignment < std::min<std::size_t>(pack * size_of(p.out), 16))
      continue;
    t.pack = pack;
    const std::size_t packs = p.groups / pack, whole = t.piece / (pack * bytes);
    for (const std::size_t each_x : {7U, 4U, 2U}) {
      t.each_x = fixed.tile_cols != 0 ? fixed.tile_cols : each_x;
      const std::size_t all = divide_up(p.out_width, t.each_x);
      for (t.lanes = whole; t.lanes <= kMostLanes; t.lanes += whole) {
        t.sets = divide_up(packs, t.lanes);
        const bool is_even = round_up(divide_up(packs, t.sets), whole) == t.lanes;
        if (!is_even || (t.sets > 1 && t.lanes < kLeastLanes)) continue;
        const std::size_t most = std::min(kMostGroup, device.max_work_group) / t.lanes;
        for (t.blocks = 1; t.blocks <= std::min(all, most); ++t.blocks) {
          t.across = divide_up(all, t.blocks);
          if (t.group() < kLeastGroup && size_product(t.across, t.sets) > 1) continue;
          if (divide_up(all, t.across) == t.blocks) consider_rows(device, p, fixed.tile_rows, t, best);
        }
      }
    }
  }
  return best;
}

}  // namespace

plan::Attempt plan::conv2d::depthwise_ring(const Device& device, const Conv2dProblem& p,
                                           const PlanOverrides& fixed) {
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80)
    return "needs asynchronous copies of NVIDIA's sm_80 and later";
  if (!is_depthwise(p) || !p.in_interleaved || !p.out_interleaved)
    return "needs interleaved channels, with a filter for each";
  if (size_of(p.type) < 2 || size_of(p.type) > 4 || p.activation == Activation::gelu || fixed.tile_cols > 7)
    return "has half, bfloat16 and float, without GELU, and at most 7 columns";
  if (p.taps() > 25 || std::max(p.stride.x, p.stride.y) > 2 || p.dilation.x > 1 || p.dilation.y > 1)
    return "keeps windows of at most 25 weights, 2 apart at most and without dilation, in registers";
  if (std::min({p.images, p.groups, p.out_width, p.out_height}) == 0) return "has no results";
  const double products =
      real(p.images, p.groups, p.plane_results(), p.taps()) / real(at_least_1(device.compute_units));
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const double least =
      std::max(p.stride.x, p.stride.y) > 1 ? policy.ring_products : policy.ring_products_unstrided;
  if (fixed.tile_rows == 0 && fixed.tile_cols == 0 && products < least)
    return "its groups would start longer than they multiply";
  const RingTile t = best_ring_tile(device, p, fixed);
  if (t.pack == 0) return "its cells are not aligned to 8 bytes, or its rows fit no local memory";
  const std::size_t jobs = t.jobs(p);
  if (jobs > kMaxTiles) return formatted("{} tiles are more than a launch can have", jobs);
  Plan plan = base_plan(p, "depthwise", "nvidia/conv2d/depthwise_ring.cl", "conv2d_depthwise_ring", t.pack);
  predict(p, plan);
  set_groups(plan, t.group(), jobs);
  define(plan, {{"ELEMENT_BYTES", size_of(p.type)},
                {"LANES", t.lanes},
                {"BLOCKS", t.blocks},
                {"EACH_X", t.each_x},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"AHEAD", t.ahead},
                {"PIECE", t.piece},
                {"PAD", t.pad}});
  plan.numbers = {{"tile_h", t.rows}};
  set_group_tile(plan, {.rows = t.rows,
                        .cols = t.each_x,
                        .vector_width = t.pack,
                        .items = t.each_x * t.rows * t.pack,
                        .local_bytes = t.local_bytes});
  plan.reason = formatted(
      "a channel and a filter a group, side by side: a work-item slides down {} row(s) of {} column(s) of {} "
      "channel(s), whose cells are copied to local memory {} steps before",
      t.rows, t.each_x, t.pack, t.ahead);
  return plan;
}

}  // namespace smem
