// Plans for moving means: where the sums of blocks are kept, and why.
#include <smem/moving_mean_plan.hpp>

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/moving_mean_checks.hpp"
#include "plan/moving_mean_policy.hpp"
#include "plan/moving_mean_rows.hpp"
#include "plan/pixels.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kChunkWords = 16;  // of local memory, beside the sums of a chunk

Attempt naive(const Device& device, const MovingMeanProblem& p) {
  if (!device.long_loops && p.window > 65535) return "its loops are shorter than the window";
  Plan plan = mean_base_plan(p, "naive", "moving_mean/naive.cl", "moving_mean_naive");
  const std::array<std::size_t, 3> extent{at_least_1(p.width), at_least_1(p.rows), 1};
  set_grid(plan, device, moving_mean_policy(device).group, extent);
  define(plan, {{"GROUP_0", plan.work_group[0]}, {"GROUP_1", plan.work_group[1]}});
  plan.prediction.operations *= real(p.window) / 4;
  plan.reason = "a work-item adds up a window";
  return plan;
}

/// A work-group of "tiled" and what it has in local memory.
struct MeanTile {
  std::size_t group = 0, items = 0;  // work-items, and elements of each
  std::size_t banks = 32;            // sums that local memory delivers at once
  bool is_short = false;             // windows are added up element by element

  std::size_t elements() const { return group * items; }
  /// Of `window`: where there are many, whole lines of memory (moving_mean/tiled.cl has the same).
  std::size_t results(std::size_t window) const {
    constexpr std::size_t kAlign = 32;
    const std::size_t most = elements() - window + 1;
    return most < kAlign ? most : most / kAlign * kAlign;
  }
  /// Elements, what keeps the banks apart or what the last windows read too much, and sums of whole chunks.
  std::size_t sums() const {
    if (is_short) return elements() + items;
    return elements() + (items % 2 == 0 ? elements() / banks : 0) + 4 * group;
  }
};

/// `wanted`: work-items, or 0. \returns a tile of no work-items where none has room for two windows.
MeanTile tile_of(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  const std::size_t sum = size_of(mean_sum_type(p));
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  MeanTile tile;
  tile.items = policy.items;
  tile.is_short = p.window <= policy.short_window;
  if (!tile.is_short && p.window <= policy.items) tile.items /= 2;
  if (!tile.is_short) tile.items = std::min(tile.items, policy.item_bytes / sum);
  const std::size_t bytes = device.local_is_cache ? 0 : device.local_banks * device.local_bank_bytes;
  tile.banks = std::max(std::bit_floor(std::max<std::size_t>(bytes, 128)) / sum, tile.items);
  std::size_t group = wanted != 0 ? wanted : policy.group;
  while (wanted == 0 && group < policy.most_group && group * tile.items < policy.windows_a_tile * p.window)
    group *= 2;
  // Rows may be shorter than a tile.
  const std::size_t row = p.window + std::max(p.width, p.window + 1) - 1;
  while (wanted == 0 && group > policy.least_group && group / 2 * tile.items >= row)
    group /= 2;
  const std::size_t least_items =
      std::max(policy.least_items, tile.is_short ? std::bit_ceil(p.window) : std::size_t{1});
  while (wanted == 0 && tile.items > least_items && group * (tile.items / 2) >= row)
    tile.items /= 2;
  // Rows that fill little of such a tile: an odd number of elements needs no padding.
  const std::size_t odd = divide_up(row, group) | 1;
  if (wanted == 0 && !tile.is_short && odd < p.window && 4 * odd < 3 * tile.items) tile.items = odd;
  tile.group = group_for(device, group, (tile.items + 5) * sum, kOwnBytes + tile.items * sum);
  if (tile.elements() < 2 * p.window) tile.group = 0;
  return tile;
}

Attempt tiled(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  const std::size_t sum = size_of(mean_sum_type(p));
  const MeanTile tile = tile_of(device, p, wanted);
  if (tile.group == 0)
    return formatted("a window of {} elements is more than half of the longest tile", p.window);
  Plan plan = mean_base_plan(p, "tiled", "moving_mean/tiled.cl", "moving_mean_tiled");
  const std::size_t results = tile.results(p.window), rows = at_least_1(p.rows);
  const std::size_t groups =
      at_least_1(moving_mean_policy(device).groups_a_unit * device.compute_units / rows);
  plan.work_group = {tile.group, 1, 1};
  plan.global = {std::clamp<std::size_t>(divide_up(p.width, results), 1, groups) * tile.group,
                 std::min(rows, kMaxGroups), 1};
  plan.local_bytes = tile.sums() * sum;
  plan.tile_cols = results;
  plan.items_per_work_item = tile.items;
  define(plan, {{"GROUP", tile.group},
                {"ITEMS", tile.items},
                {"BANKS", tile.banks},
                {"SHORT", tile.is_short ? 1 : 0}});
  // A tile is written and read by elements, by chunks and as sums; in each step that doubles the chunks of a
  // sum a work-item reads and writes two. Short windows are read but for their first elements.
  const auto steps = real(std::bit_width((p.window - 1) / tile.items));
  const double accesses = tile.is_short ? real(p.window) : 6 + (2 + 4 * steps) / real(tile.items);
  const auto halo = real(tile.elements()) / real(results);
  plan.prediction.local_bytes = accesses * halo * real(p.width * p.rows * sum);
  plan.prediction.operations *= tile.is_short ? real(p.window) / 4 : 1.5;
  plan.reason = formatted("tiles of {} elements in local memory make {} means each{}", tile.elements(),
                          results, tile.is_short ? ", added up one by one" : "");
  return plan;
}

/// Rows that "blocks" does in a round, and the sums of them.
struct Slice {
  std::size_t rows, bytes;
};

Slice slice_of(const Device& device, const MovingMeanProblem& p) {
  const std::size_t row = at_least_1(2 * p.width * size_of(mean_sum_type(p)));
  const std::size_t rows =
      std::clamp<std::size_t>(moving_mean_policy(device).slice_bytes / row, 1, at_least_1(p.rows));
  return {rows, rows * row};
}

/// The launch of PHASE `phase`, of a slice.
Plan phase_of_blocks(const Device& device, const MovingMeanProblem& p, std::size_t wanted,
                     std::size_t phase) {
  const std::size_t rows = slice_of(device, p).rows, sum = size_of(mean_sum_type(p));
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const std::size_t usual = phase == 0 ? policy.sums_group : policy.group;
  const std::size_t group = at_least_1(group_for(device, wanted != 0 ? wanted : usual, sum, kOwnBytes));
  Plan plan = mean_base_plan(p, "blocks", "moving_mean/blocks.cl", "moving_mean_blocks");
  plan.work_group = {group, 1, 1};
  const std::size_t jobs = rows * divide_up(p.width, p.window);
  plan.global = {std::clamp<std::size_t>(phase == 0 ? jobs : divide_up(p.width, group), 1, kMaxTiles) * group,
                 phase == 0 ? 1 : std::clamp<std::size_t>(rows, 1, kMaxGroups), 1};
  plan.local_bytes = phase == 0 ? group * sum : 0;
  const double sums = 2 * real(p.width * p.rows) * real(sum);
  if (phase == 0) {
    plan.prediction.bytes_read *= 2;  // from both ends
    plan.prediction.bytes_written = sums;
  } else {
    plan.prediction.bytes_read = sums;
  }
  define(plan, {{"PHASE", phase}, {"GROUP", group}});
  return plan;
}

Attempt blocks(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  const Slice slice = slice_of(device, p);
  if (device.max_allocation > 0 && std::bit_ceil(slice.bytes) > device.max_allocation)
    return formatted("the sums of a row take {} bytes, more than a buffer", slice.bytes);
  if (size_of(mean_sum_type(p)) > device.local_bytes) return "there is no local memory";
  Plan plan = phase_of_blocks(device, p, wanted, 1);
  plan.reason = formatted("each mean is the sum of two parts of blocks of {} elements", p.window);
  Launch first = phase_of_blocks(device, p, wanted, 0);
  first.variant = "sums";
  first.reason = "groups sum blocks into temporary memory, from both ends";
  plan.before.push_back(std::move(first));
  plan.rounds = at_least_1(divide_up(p.rows, slice.rows));
  plan.numbers = {{"rows", slice.rows}};
  add_scratch(plan, slice.bytes);
  return plan;
}

/// What combines the work-items of a chunk, in local memory.
std::size_t sums_bytes(const MovingMeanProblem& p, std::size_t group) {
  return 3 * group * size_of(mean_sum_type(p));
}

/// Chunks of a row, `items` elements for each of a group's work-items, and what they need; false where there
/// is no room, or windows are shorter.
bool set_chunk(const Device& device, const MovingMeanProblem& p, std::size_t wanted, std::size_t usual,
               std::size_t most_items, Plan& plan) {
  const std::size_t sum = size_of(mean_sum_type(p));
  const std::size_t items = std::min(most_items, moving_mean_policy(device).item_bytes / sum);
  const std::size_t bytes = device.local_is_cache ? 0 : device.local_banks * device.local_bank_bytes;
  const std::size_t banks = std::max(std::bit_floor(std::max<std::size_t>(bytes, 128)) / sum, items);
  const std::size_t group =
      group_for(device, wanted != 0 ? wanted : usual, (items + 4) * sum, kOwnBytes + items * sum);
  const std::size_t tile = group * items;
  plan.work_group = {group, 1, 1};
  if (tile == 0 || p.window < tile || group < items) return false;
  plan.tile_cols = tile;
  plan.items_per_work_item = items;
  plan.local_bytes = (tile + tile / banks) * sum + sums_bytes(p, group) + kChunkWords;
  define(plan, {{"GROUP", group}, {"ITEMS", items}, {"BANKS", banks}});
  if (uses_shuffles(device, group)) define(plan, "SHUFFLES", 1);
  return true;
}

/// Whether elements go to local memory as they are, without registers.
bool copies_chunks(const Device& device, const MovingMeanProblem& p, std::size_t group) {
  constexpr std::size_t kBanks = 32;  // a line of which has a place more
  return is_nvidia_gpu(device) && compute_capability(device) >= 80 && mean_sum_type(p) == p.in &&
         size_of(p.in) == 4 && group % kBanks == 0;
}

/// The launch of PHASE `phase` of "chunks"; of no work-items where there is no room, or windows are too
/// short.
Plan phase_of_chunks(const Device& device, const MovingMeanProblem& p, std::size_t wanted,
                     std::size_t phase) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const std::size_t sum = size_of(mean_sum_type(p)), rows = at_least_1(p.rows);
  Plan plan = mean_base_plan(p, "chunks", "moving_mean/chunks.cl", "moving_mean_chunks");
  if (!set_chunk(device, p, wanted, policy.chunks_group, policy.items, plan)) {
    plan.work_group[0] = 0;
    return plan;
  }
  const std::size_t group = plan.work_group[0], tile = plan.tile_cols;
  const std::size_t chunks = at_least_1(divide_up(p.width, tile) + (phase == 0 ? 0 : 1));
  plan.global = {std::min(chunks, kMaxTiles) * group, std::min(rows, kMaxGroups), 1};
  define(plan, "PHASE", phase);
  const double sums = real(p.width * p.rows, sum) / real(group);  // of units
  if (phase == 0) {
    plan.prediction.bytes_written = sums;
    plan.prediction.operations /= 4;
  } else {
    plan.prediction.bytes_read += sums;
  }
  plan.prediction.local_bytes = (phase == 0 ? 2 : 6) * real(p.width * p.rows, sum);
  return plan;
}

Attempt chunks(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  Plan plan = phase_of_chunks(device, p, wanted, 1);
  if (plan.work_group[0] == 0) return formatted("a window of {} elements is shorter than a tile", p.window);
  Launch first = phase_of_chunks(device, p, wanted, 0);
  const std::size_t tile = plan.tile_cols;
  const std::size_t sums =
      at_least_1(p.rows) * divide_up(at_least_1(p.width), tile) * (plan.items_per_work_item + 1);
  const std::size_t bytes = sums * size_of(mean_sum_type(p));
  if (device.max_allocation > 0 && std::bit_ceil(bytes) > device.max_allocation)
    return formatted("the sums take {} bytes, more than a buffer", bytes);
  plan.reason = formatted("windows that begin in {} elements share what lies between, as sums of {} and {}",
                          tile, tile, plan.work_group[0]);
  first.variant = "sums";
  first.reason = "groups sum chunks and their parts into temporary memory";
  plan.before.push_back(std::move(first));
  add_scratch(plan, bytes);
  return plan;
}

/// Results of chunks begin at multiples of so many (moving_mean/one_pass.clh and moving_mean/ring.clh have
/// the same).
constexpr std::size_t kMeanAlign = 32;

/// Chunks of a row in which windows end, and one more where they begin before multiples of `chunk` elements.
std::size_t jobs_of(const MovingMeanProblem& p, std::size_t chunk) {
  return (at_least_1(p.width) + kMeanAlign - 2 + p.window - p.window / 2) / chunk + 1;
}

Attempt one_pass(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  if (!can_look_back(device)) return kCannotPublish;
  const std::size_t word = 8;  // of a sum, and of whether it is there
  if (size_of(mean_sum_type(p)) > word / 2) return "a group cannot publish a sum of 64 bits at once";
  Plan plan = mean_base_plan(p, "one_pass", "moving_mean/one_pass.cl", "moving_mean_one_pass");
  if (!set_chunk(device, p, wanted, policy.one_pass_group, policy.one_pass_items, plan))
    return formatted("a window of {} elements is shorter than a tile", p.window);
  const std::size_t group = plan.work_group[0], tile = plan.tile_cols;
  if (p.window / tile > policy.most_chunks)
    return formatted("each group would read the sums of {} chunks", p.window / tile);
  const std::size_t rows = at_least_1(p.rows), width = at_least_1(p.width);
  const std::size_t chunks = divide_up(width + kMeanAlign - 1, tile), jobs = jobs_of(p, tile);
  if (size_product(rows, jobs) > kMaxTiles) return "its chunks are more than a launch can have";
  plan.global = {rows * jobs * group, 1, 1};
  const std::size_t both = 2 * plan.local_bytes - sums_bytes(p, group) - kChunkWords;
  if (copies_chunks(device, p, group) && both <= device.local_bytes) {
    define(plan, "COPY_ASYNC", 1);
    plan.local_bytes = both;
    plan.most_registers = policy.one_pass_registers;
    if (plan.most_registers != 0) define(plan, "LIMITS_REGISTERS", 1);
  }
  define(plan, {{"DEVICE_FENCE", device_fence(device)},
                {"POLL_LIMIT", std::min(device.poll_limit, look_back_policy(device).polls)}});
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  const std::size_t bytes = word * (1 + 2 * rows * chunks);
  add_scratch(plan, bytes, bytes);
  plan.prediction.local_bytes = 6 * real(p.width * p.rows, size_of(mean_sum_type(p)));
  plan.reason = formatted(
      "windows that end in {} elements share what lies between: sums that other groups publish", tile);
  return plan;
}

Attempt ring(const Device& device, const MovingMeanProblem& p, std::size_t wanted) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const std::size_t group = group_for(device, wanted != 0 ? wanted : policy.ring_group, 0);
  const std::size_t sum = size_of(mean_sum_type(p)), team = std::min<std::size_t>(group, 32);
  const std::size_t items = std::min(policy.items, policy.item_bytes / sum), chunk = team * items;
  if (!policy.has_ring) return "this compiler does not keep the elements of a work-item in registers";
  if (items < 4 || chunk == 0 || p.window < chunk)
    return formatted("a window of {} elements is shorter than a chunk", p.window);
  const std::size_t teams = group / team, step = chunk * teams, rows = at_least_1(p.rows);
  const std::size_t warm = divide_up(p.window / chunk + 1, teams), shares = 2 * group;
  const std::size_t places = chunk + 4 + chunk / 8 + 2;  // with the two sums of a chunk
  const std::size_t bytes = (size_product((warm + 1 + policy.ring_ahead) * teams, places) + shares) * sum;
  if (bytes > device.local_bytes)
    return formatted("local memory has no room for a window of {} elements", p.window);
  const std::size_t steps = jobs_of(p, step);
  if (steps > kMaxTiles) return "its chunks are more than a launch can have";
  Plan plan = mean_base_plan(p, "ring", "moving_mean/ring.cl", "moving_mean_ring");
  const std::size_t memory = std::max(device.unit.local_bytes, device.local_bytes);
  const std::size_t resident =
      at_least_1(std::min(memory / (bytes + device.unit.local_reserved), policy.ring_items / group));
  const std::size_t strips = divide_up(device.compute_units * resident, rows);
  plan.work_group = {group, 1, 1};
  plan.global = {std::clamp<std::size_t>(strips, 1, steps) * group, std::min(rows, kMaxGroups), 1};
  plan.tile_cols = step;
  plan.items_per_work_item = items;
  plan.local_bytes = bytes;
  define(plan, {{"GROUP", group}, {"ITEMS", items}, {"WARM", warm}, {"AHEAD", policy.ring_ahead}});
  if (uses_shuffles(device, group)) define(plan, "SHUFFLES", 1);
  if (copies_chunks(device, p, group)) {
    define(plan, {{"COPY_ASYNC", 1}, {"LIMITS_REGISTERS", policy.ring_registers != 0 ? 1 : 0}});
    plan.most_registers = policy.ring_registers;
  }
  plan.prediction.local_bytes = 5 * real(p.width * p.rows, sum);
  plan.reason = formatted("a group makes {} means a step, and keeps a window in local memory", step);
  return plan;
}

/// Elements that "cpu" has in its cache at once; 0: too few for the window.
std::size_t cpu_tile(const Device& device, const MovingMeanProblem& p) {
  const std::size_t sum = size_of(mean_sum_type(p));
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  std::size_t tile = std::bit_floor(std::min(device.local_bytes / 2, policy.strip_bytes) / sum);
  while (tile > policy.least_strip && tile > policy.windows_a_strip * p.window)
    tile /= 2;
  return tile >= 2 * p.window ? tile : 0;
}

/// "cpu" of integers, whose sums slide without errors.
Plan cpu_integers(const Device& device, const MovingMeanProblem& p) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  Plan plan = mean_base_plan(p, "cpu", "moving_mean/cpu_integers.cl", "moving_mean_cpu_integers");
  // A thread sums its strip's first window before.
  const std::size_t threads = at_least_1(policy.strips_a_thread * device.compute_units);
  const std::size_t shared = divide_up(at_least_1(p.width), divide_up(threads, at_least_1(p.rows)));
  const std::size_t strip =
      std::max(policy.least_slide, std::min(shared, size_product(policy.windows_a_slide, p.window)));
  plan.work_group = {1, 1, 1};
  plan.global = {std::min(divide_up(at_least_1(p.width), strip), kMaxGroups),
                 std::clamp<std::size_t>(p.rows, 1, kMaxGroups), 1};
  plan.tile_cols = plan.items_per_work_item = strip;
  plan.vector_width = 16;
  if (mean_sum_type(p) == Scalar::uint64) define(plan, "WIDE_SUM", 1);
  plan.reason = formatted("a thread slides a sum over {} elements", strip);
  return plan;
}

/// "cpu" of long windows; nothing: they are too short for it, or too long.
std::optional<Plan> cpu_long(const Device& device, const MovingMeanProblem& p) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const std::size_t sum = size_of(mean_sum_type(p));
  const std::size_t tile = std::bit_floor(std::min(device.local_bytes / 2, policy.long_strip_bytes) / sum);
  if (tile == 0 || p.window < tile || p.window / tile > policy.strips_a_window) return std::nullopt;
  Plan plan = mean_base_plan(p, "cpu", "moving_mean/cpu_long.cl", "moving_mean_cpu_long");
  set_groups(plan, 1, divide_up(p.width, tile) * p.rows);
  plan.tile_cols = plan.items_per_work_item = tile;
  plan.local_bytes = 2 * tile * sum;
  define(plan, "TILE", tile);
  plan.reason = formatted("the windows that begin in {} elements share what lies between", tile);
  return plan;
}

Attempt cpu(const Device& device, const MovingMeanProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (!is_float(p.in)) return cpu_integers(device, p);
  if (std::optional<Plan> plan = cpu_long(device, p)) return std::move(*plan);
  const std::size_t tile = cpu_tile(device, p);
  if (tile == 0) return formatted("a window of {} elements is too long for a thread's cache", p.window);
  Plan plan = mean_base_plan(p, "cpu", "moving_mean/cpu.cl", "moving_mean_cpu");
  const std::size_t strip = tile - p.window + 1, jobs = divide_up(p.width, strip) * p.rows;
  set_groups(plan, 1, jobs);
  plan.tile_cols = strip;
  plan.items_per_work_item = strip;
  plan.local_bytes = 2 * tile * size_of(mean_sum_type(p));
  define(plan, "TILE", tile);
  plan.reason = formatted("a thread has {} elements in its cache and makes {} means of them", tile, strip);
  return plan;
}

Attempt plan_variant(const Device& device, const MovingMeanProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "tiled") return tiled(device, p, wanted);
  if (variant == "short_rows") return mean_short_rows(device, p, wanted);
  if (variant == "blocks") return blocks(device, p, wanted);
  if (variant == "chunks") return chunks(device, p, wanted);
  if (variant == "one_pass") return one_pass(device, p, wanted);
  if (variant == "ring") return ring(device, p, wanted);
  if (wanted != 0) {
    refuse(kMovingMeanName, "work_items", formatted("none: \"{}\" has its own", variant),
           formatted("{}", wanted));
  }
  return variant == "naive" ? naive(device, p) : cpu(device, p);
}

std::vector<std::string_view> preference(const Device& device, const MovingMeanProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "tiled", "blocks", "naive"};
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  const bool is_short = p.width <= policy.short_rows_width && p.window > policy.short_window &&
                        p.window <= policy.short_rows_window;
  if (is_short) return {"short_rows", "tiled", "blocks", "naive"};
  const bool slides = p.in == Scalar::float32 && p.window >= policy.ring_window &&
                      p.window <= policy.ring_most_window &&
                      size_product(p.width, p.rows) >= policy.ring_elements;
  if (slides) return {"ring", "tiled", "one_pass", "chunks", "blocks", "naive"};
  if (p.in == Scalar::float32 && p.window <= policy.one_pass_window)
    return {"tiled", "one_pass", "chunks", "blocks", "naive"};
  if (policy.chunks) return {"tiled", "chunks", "blocks", "naive"};
  return {"tiled", "blocks", "naive"};
}

std::string why_not(const Device& /*device*/, const MovingMeanProblem& p, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "naive") return formatted("each mean reads {} elements", p.window);
  if (variant == "blocks" && (chosen.variant == "chunks" || chosen.variant == "one_pass" ||
                              chosen.variant == "ring" || chosen.variant == "cpu"))
    return "its sums of each element go through global memory";
  if (variant == "one_pass" && chosen.variant == "chunks") return "not measured to be faster";
  if (variant == "short_rows") return "not measured to be faster for such rows and windows";
  if (chosen.variant == "short_rows")
    return "a group has one row at a time, or its sums go through global memory";
  if (variant == "ring") return "not measured to be faster for vectors and windows of this length";
  if (chosen.variant == "ring" && (variant == "tiled" || variant == "one_pass"))
    return "reads elements again where the windows of another group begin";
  if (variant == "chunks" && (chosen.variant == "one_pass" || chosen.variant == "ring"))
    return "reads the elements in another launch first";
  if (variant == "blocks" || variant == "chunks" || variant == "one_pass")
    return "the window fits local memory, which saves the way through global memory";
  return chosen.variant == "cpu" ? "work-items of few elements are loops on a CPU" : "another one is faster";
}

const Evidence& evidence(const Device& device, const MovingMeanProblem& /*p*/, const Plan& plan) {
  const MovingMeanPolicy& policy = moving_mean_policy(device);
  if (plan.variant == "ring") return policy.of_ring;
  if (plan.variant == "short_rows") return policy.of_short_rows;
  return plan.variant == "one_pass" ? policy.of_one_pass : policy.evidence;
}

constexpr Operation<MovingMeanProblem> kMovingMean{
    .what = "window",
    .name = [](const MovingMeanProblem&) { return kMovingMeanName; },
    .variants = moving_mean_variants,
    .check = check_moving_mean,
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = "a thread has a strip"};

}  // namespace

void plan::check_moving_mean(const Device& device, const MovingMeanProblem& p) {
  check_pixels(kMovingMeanName, device, p.in, p.out, 1);
  require_elements(kMovingMeanName, "in", {p.width, p.rows});
  if (p.out != p.in && p.out != Scalar::float32)
    refuse(kMovingMeanName, "out", formatted("{} or float32", name_of(p.in)), name_of(p.out));
  constexpr std::size_t kMost = std::size_t{1} << 46;  // sums of 16 bits fit 64
  if (p.window == 0 || p.window > kMost)
    refuse(kMovingMeanName, "window", formatted("1 to {} elements", kMost), formatted("{}", p.window));
}

std::vector<std::string_view> moving_mean_variants() {
  return {"naive", "tiled", "short_rows", "blocks", "chunks", "one_pass", "ring", "cpu"};
}

Plan plan_moving_mean(const Device& device, const MovingMeanProblem& problem,
                      const PlanOverrides& overrides) {
  return plan_call(kMovingMean, kMovingMeanName, problem.in, device, problem, overrides);
}

}  // namespace smem
