// Plans for separable filters: where the sums along rows wait for those down columns, and why.
#include <smem/separable_plan.hpp>

#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/separable_policy.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kCpuBlock = 64;    // results that a CPU sums at once (cl/separable/cpu.cl); 32 doubles
constexpr std::size_t kCpuPadding = 16;  // values between the rows of its ring

constexpr std::size_t kMarchCols = 4;        // columns of a work-item (cl/separable/march.cl), or 8
constexpr std::size_t kMarchMost = 1 << 30;  // elements along a row, and rows: places at edges have 32 bits

std::size_t value_bytes(const SeparableProblem& problem) {
  return size_of(pixel_value(problem.in, problem.out));
}

Plan base_plan(const SeparableProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  return separable_plan(kSeparableName, problem, variant, file, entry);
}

/// One work-item for each result.
void launch_grid(const Device& device, const SeparableProblem& problem, Plan& plan) {
  set_grid(plan, device, separable_policy(device).group,
           {problem.row_elements(), problem.height, problem.planes});
  define_group(plan);
}

Plan naive(const Device& device, const SeparableProblem& problem) {
  Plan plan = base_plan(problem, "naive", "separable/naive.cl", "separable_naive");
  launch_grid(device, problem, plan);
  plan.prediction.operations =
      2 * real(problem.elements()) * real(problem.row_taps + 1) * real(problem.column_taps);
  plan.reason = "every result from all elements of its window";
  return plan;
}

std::string no_room(const Device& device, const SeparableProblem& problem) {
  return formatted("a window of {} x {} does not fit {} bytes of local memory", problem.row_taps,
                   problem.column_taps, device.local_bytes);
}

struct TileSize {
  std::size_t width = 0, height = 0;
  std::size_t values = 0;  ///< of both tiles; 0: they do not fit
};

TileSize tile_for(const Device& device, const SeparableProblem& problem) {
  const std::size_t bytes = value_bytes(problem);
  const std::size_t most = local_room(device) / bytes;
  const auto values = [&](const TileSize& tile) {
    return (tile.height + problem.column_taps - 1) * (2 * tile.width + problem.halo());
  };
  const SeparableTile& sizes = separable_policy(device).tile;
  TileSize tile{sizes.width, sizes.height};
  // A wide window would make a small tile nothing but halo: it may have all memory that there is.
  while (tile.height > problem.column_taps && values(tile) > std::min(most, sizes.bytes / bytes))
    tile.height /= 2;
  while (values(tile) > most && tile.width * tile.height > 1) {
    if (tile.height >= tile.width) {
      tile.height /= 2;
    } else {
      tile.width /= 2;
    }
  }
  if (values(tile) <= most) tile.values = std::min(std::bit_ceil(values(tile)), most);
  return tile;
}

Attempt tiled(const Device& device, const SeparableProblem& problem, std::size_t wanted) {
  const TileSize tile = tile_for(device, problem);
  if (tile.values == 0) return no_room(device, problem);
  const std::size_t group = group_for(device, wanted == 0 ? separable_policy(device).group : wanted, 0);
  Plan plan = base_plan(problem, "tiled", "separable/tiled.cl", "separable_tiled");
  const std::size_t tiles =
      divide_up(problem.row_elements(), tile.width) * divide_up(problem.height, tile.height) * problem.planes;
  set_groups(plan, group, tiles, std::size_t{1} << 20);
  plan.tile_rows = tile.height;
  plan.tile_cols = tile.width;
  plan.local_bytes = tile.values * value_bytes(problem);
  plan.items_per_work_item = divide_up(tile.width * tile.height, group);
  const double halo_rows = real(tile.height + problem.column_taps - 1) / real(tile.height);
  plan.prediction.local_bytes = real(problem.elements() * value_bytes(problem)) *
                                (halo_rows * real(2 + problem.row_taps) + real(problem.column_taps));
  define(plan, {{"GROUP", group},
                {"LANES", std::min<std::size_t>(group, 32)},
                {"TILE_W", tile.width},
                {"TILE_H", tile.height},
                {"MEMORY", tile.values}});
  plan.reason =
      formatted("both passes on a tile of {} x {} results in local memory", tile.width, tile.height);
  return plan;
}

/// Values of local memory that a thread of a CPU uses; 0: too few for one block of results.
std::size_t cpu_memory(const Device& device, const SeparableProblem& problem) {
  const std::size_t bytes = value_bytes(problem);
  const std::size_t least =
      problem.halo() + kCpuBlock * (problem.column_taps + 2) + kCpuPadding * problem.column_taps;
  const std::size_t most = local_room(device) / bytes;
  std::size_t memory = separable_policy(device).thread_values;
  while (memory > most)
    memory /= 2;
  // Windows of many rows or columns: all that there is.
  if (memory < 2 * least) memory = most;
  return memory < least ? 0 : memory;
}

Attempt cpu(const Device& device, const SeparableProblem& problem) {
  const std::size_t memory = cpu_memory(device, problem);
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (memory == 0) return no_room(device, problem);
  Plan plan = base_plan(problem, "cpu", "separable/cpu.cl", "separable_cpu");
  const std::size_t band = cpu_band(device, problem.height, problem.planes, problem.column_taps - 1);
  const std::size_t jobs = divide_up(problem.height, band) * problem.planes;
  set_groups(plan, 1, jobs, separable_policy(device).threads_items * device.compute_units);
  plan.tile_rows = band;
  plan.tile_cols = plan.items_per_work_item = kCpuBlock;
  plan.vector_width = kCpuBlock / 4;
  plan.local_bytes = memory * value_bytes(problem);
  define(plan, {{"MEMORY", memory},
                {"RING", separable_policy(device).ring_bytes / value_bytes(problem)},
                {"RESULT_BYTES", size_of(problem.out)}});
  const bool streaming = is_streamed(device, problem.elements() * size_of(problem.out));
  plan.numbers = {{"band", band}, {"streaming", std::size_t{streaming}}};
  plan.reason = formatted("a thread keeps the sums of the last {} rows in its cache", problem.column_taps);
  return plan;
}

/// How the work-items of "march" share a problem.
struct MarchShape {
  std::size_t cols = kMarchCols;  ///< of a work-item
  std::size_t step = 4;           ///< rows
  std::size_t halo = 0;           ///< columns of a strip that have no results
  std::size_t group = 128;        ///< work-items, if the device has room for them
  std::size_t registers = 0;      ///< of 4 bytes, about
};

MarchShape march_shape(const Device& device, const SeparableProblem& problem) {
  const SeparableMarch& policy = separable_policy(device).march;
  const std::size_t words = value_bytes(problem) / sizeof(float);
  const bool small = size_of(problem.in) < sizeof(float);
  MarchShape shape;
  if (size_of(problem.in) == 1 && policy.cols_of_bytes * (problem.column_taps - 1) <= policy.wide_registers)
    shape.cols = policy.cols_of_bytes;
  shape.step = small ? policy.step_of_small : policy.step;
  const std::size_t left = problem.origin() * problem.channels, right = problem.halo() - left;
  shape.halo = round_up(left, shape.cols) + round_up(right, shape.cols);
  shape.group = (small ? policy.group_of_small : policy.group) * kMarchCols / shape.cols;
  // Where elements are read one by one, each has a register until all are there. An unsharp mask reads some
  // again, and compares.
  const std::size_t ahead = (problem.unsharp ? 3 : 1) * shape.step * shape.cols;
  const std::size_t window = round_up(shape.cols + problem.halo(), 4);
  shape.registers =
      round_up(policy.own_registers + words * (shape.cols * (problem.column_taps - 1) + ahead + window), 8);
  return shape;
}

/// Bytes of the vectors past the end of the tiles' rows, which work-items without results read.
std::size_t march_slack(const SeparableProblem& problem, const MarchShape& shape) {
  const std::size_t left = problem.origin() * problem.channels;
  const std::size_t shift = round_up(left, shape.cols) - left;
  const std::size_t past = divide_up(shift + shape.cols + problem.halo(), 4) / (shape.cols / 4);
  return 2 * shape.step * shape.cols * past * value_bytes(problem);
}

std::size_t march_local_bytes(const SeparableProblem& problem, const MarchShape& shape, std::size_t group) {
  return march_slack(problem, shape) +
         group * (2 * shape.step * shape.cols * value_bytes(problem) + (shape.cols + 1) * sizeof(int));
}

/// Whether vectors of the numbers of a work-item lie in rows of this alignment: of 16 bytes, or of fewer.
bool in_vectors(std::size_t cols, Scalar type, std::size_t alignment) {
  return alignment >= (size_of(type) < sizeof(float) ? cols : kMarchCols) * size_of(type);
}

void define_march(const Device& device, const SeparableProblem& problem, const MarchShape& shape,
                  Plan& plan) {
  const bool vectors = in_vectors(shape.cols, problem.in, problem.in_alignment);
  define(plan, {{"COLS", shape.cols},
                {"STEP", shape.step},
                {"ROW_TAPS", problem.row_taps},
                {"ROW_ORIGIN", problem.origin()},
                {"COLUMN_TAPS", problem.column_taps},
                {"VECTOR_IN", vectors ? 1 : 0},
                {"VECTOR_OUT", in_vectors(shape.cols, problem.out, problem.out_alignment) ? 1 : 0}});
  if (!vectors || size_of(problem.in) >= sizeof(float)) return;
  define(plan, "WORD_ELEMENTS", sizeof(float) / size_of(problem.in));
  if (device.vendor == Vendor::nvidia && problem.in != Scalar::half) define(plan, "BITS_TO_FLOAT", 1);
}

std::size_t march_group(const Device& device, const SeparableProblem& problem, std::size_t wanted) {
  const MarchShape shape = march_shape(device, problem);
  // A tile for each of two turns with the vectors past its end, and what edges need.
  const std::size_t slack = march_slack(problem, shape), item = march_local_bytes(problem, shape, 1) - slack;
  return group_for(device, wanted == 0 ? shape.group : wanted, item, kOwnBytes + slack);
}

std::size_t march_band(const Device& device, const SeparableProblem& problem) {
  const SeparableMarch& policy = separable_policy(device).march;
  const MarchShape shape = march_shape(device, problem);
  const std::size_t a_unit = policy.registers_a_unit == 0
                                 ? policy.groups_a_unit
                                 : policy.registers_a_unit / (shape.registers * shape.group);
  const std::size_t width = shape.group * shape.cols;
  const std::size_t strips =
      problem.planes * divide_up(problem.row_elements(), width - std::min(shape.halo, width / 2));
  return best_band(
      problem.height, problem.column_taps - 1,
      {strips, at_least_1(a_unit * device.compute_units), shape.step, policy.least_band, policy.most_rounds});
}

Attempt march(const Device& device, const SeparableProblem& problem, std::size_t wanted) {
  const SeparableMarch& policy = separable_policy(device).march;
  const auto too_large = [&] {
    return formatted("a window of {} x {} needs too many registers, or too wide a strip", problem.row_taps,
                     problem.column_taps);
  };
  if (!policy.used) return "its columns would not stay in registers";
  const std::size_t bytes = value_bytes(problem), registers = policy.registers * sizeof(float) / bytes;
  if (problem.column_taps > registers / kMarchCols ||
      (4 + problem.row_taps + problem.column_taps) * bytes > kFewWeightsBytes ||
      problem.row_elements() > kMarchMost || problem.height > kMarchMost)
    return too_large();
  const MarchShape shape = march_shape(device, problem);
  const std::size_t most =
      size_of(problem.in) < sizeof(float) ? policy.most_of_small : policy.most_shape_registers;
  if (problem.halo() + 2 * kMarchCols > registers / 2 && shape.registers > most) return too_large();
  const std::size_t group = march_group(device, problem, wanted);
  if (group * shape.cols < 2 * shape.halo + shape.cols) return too_large();
  Plan plan = base_plan(problem, "march", "separable/march.cl", "separable_march");
  const std::size_t results = group * shape.cols - shape.halo, band = march_band(device, problem);
  const std::size_t strips = divide_up(problem.row_elements(), results) * divide_up(problem.height, band);
  set_groups(plan, group, strips * problem.planes, std::size_t{1} << 20);
  set_group_tile(plan, {.rows = shape.step,
                        .cols = results,
                        .vector_width = shape.cols,
                        .items = shape.step * shape.cols,
                        .local_bytes = march_local_bytes(problem, shape, group)});
  const double vectors = real(divide_up(shape.cols + problem.halo(), shape.cols));
  plan.prediction.local_bytes = real(problem.elements() * bytes) * (1 + vectors);
  define_march(device, problem, shape, plan);
  define(plan, "GROUP", group);
  plan.numbers = {{"band", band}};
  plan.reason = formatted(
      "sums down columns stay in registers, and go through local memory once on their way to those along "
      "rows");
  return plan;
}

/// Whether the compiler has AMD's sum of four products of bytes. Mesa's takes no instructions of a target.
bool has_amd_dot_products(const Device& device) {
  constexpr std::array<std::string_view, 8> kFamilies{"gfx906", "gfx908", "gfx90a", "gfx94",
                                                      "gfx95",  "gfx103", "gfx11",  "gfx12"};
  return device.vendor == Vendor::amd && device.platform != "rusticl" &&
         std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](std::string_view family) { return device.architecture.starts_with(family); });
}

Attempt packed(const Device& device, const SeparableProblem& problem, const PlanOverrides& fixed) {
  const SeparablePacked& policy = separable_policy(device).packed;
  constexpr std::size_t kWord = 4;
  if (!policy.runs) return "its columns would not stay in registers";
  if (!problem.fixed_point || problem.in != Scalar::uint8)
    return "for weights of whole 256ths, as Gaussian blurs of bytes have them";
  if (problem.in_alignment < kWord) return "rows do not begin at multiples of 4 bytes";
  const PackedWindow window = packed_window(problem.row_taps, problem.origin(), problem.channels);
  const std::size_t begun = problem.column_taps - 1;
  const std::size_t step = fixed.tile_rows == 0 ? policy.step : fixed.tile_rows;
  if (step % 2 != 0 || step > 2 * policy.step)
    return formatted("a step has an even number of rows, at most {}", 2 * policy.step);
  const bool may_be_wide = problem.in_alignment >= 2 * kWord;
  const bool wide = fixed.tile_cols == 0 ? may_be_wide && 2 * kMarchCols * begun <= policy.wide_registers
                                         : fixed.tile_cols == 2 * kMarchCols;
  if (fixed.tile_cols != 0 && fixed.tile_cols != kMarchCols && !(wide && may_be_wide))
    return "a work-item has 4 columns, or 8 where rows begin at multiples of 8 bytes";
  const std::size_t cols = kMarchCols * (wide ? 2 : 1), vector = cols / kWord;
  // Of a row, by loads of as many words as a work-item has columns.
  const std::size_t skipped = round_up(window.left, vector) - window.left;
  const std::size_t words = round_up(skipped + vector + window.words - 1, vector);
  if (begun * cols > policy.most_registers || step * words > policy.most_registers ||
      (2 + 4 * window.words + problem.column_taps) * kWord > kFewWeightsBytes ||
      problem.row_elements() > kMarchMost || problem.height > kMarchMost) {
    return formatted("a window of {} x {} needs too many registers, or too many weights", problem.row_taps,
                     problem.column_taps);
  }
  if (problem.row_elements() < kWord * words)
    return formatted("rows have fewer than {} bytes, which a work-item loads", kWord * words);
  const std::size_t held = (kWord + 1) * words * sizeof(int);  // of a work-item, at an edge
  const std::size_t group =
      group_for(device, fixed.work_items == 0 ? policy.group : fixed.work_items, held, kOwnBytes);
  if (group == 0) return no_tile_fits(device);
  const std::size_t registers =
      round_up((wide ? policy.own_registers_of_wide : policy.own_registers) + begun * cols + step * words, 8);
  const std::size_t a_unit =
      policy.registers_a_unit == 0 ? policy.groups_a_unit : policy.registers_a_unit / (registers * group);
  const std::size_t across = divide_up(problem.row_elements(), cols);  // work-items of a row
  const std::size_t band =
      best_band(problem.height, begun,
                {divide_up(across * problem.planes, group), at_least_1(a_unit * device.compute_units), step,
                 policy.least_band, policy.most_rounds});
  Plan plan = base_plan(problem, "packed", "separable/packed.cl", "separable_packed");
  const std::size_t items = across * divide_up(problem.height, band) * problem.planes;
  set_groups(plan, group, divide_up(items, group), std::size_t{1} << 20);
  plan.tile_rows = step;
  plan.tile_cols = plan.vector_width = cols;
  plan.items_per_work_item = step * cols;
  plan.local_bytes = held * group;
  define(plan, {{"GROUP", group},
                {"COLS", cols},
                {"STEP", step},
                {"ROW_TAPS", problem.row_taps},
                {"ROW_ORIGIN", problem.origin()},
                {"COLUMN_TAPS", problem.column_taps},
                {"VECTOR_OUT", in_vectors(cols, problem.out, problem.out_alignment) ? 1 : 0}});
  if (is_nvidia_gpu(device) && compute_capability(device) >= 61) define(plan, "DOT_PRODUCTS", 1);
  if (has_amd_dot_products(device)) define(plan, "DOT_PRODUCTS", 2);
  plan.numbers = {{"band", band}};
  plan.reason = "four products by one instruction along rows, two down columns; all sums stay in registers";
  return plan;
}

Attempt plan_variant(const Device& device, const SeparableProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "units") return separable_units(device, problem, fixed);
  if (variant == "packed") return packed(device, problem, fixed);
  if (variant == "march") return march(device, problem, fixed.work_items);
  if (variant == "naive") return naive(device, problem);
  if (variant == "two_pass") return separable_passes(device, problem);
  if (variant == "tiled") return tiled(device, problem, fixed.work_items);
  return cpu(device, problem);
}

std::vector<std::string_view> preference(const Device& device, const SeparableProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  const SeparablePolicy& policy = separable_policy(device);
  std::vector<std::string_view> order{"cpu"};
  const SeparableUnits& units = policy.units;
  const std::size_t weights = problem.row_taps + problem.column_taps;
  const std::size_t least = problem.in == Scalar::half ? units.wide_taps_of_halves
                            : problem.channels > 1     ? units.wide_taps_of_channels
                                                       : units.wide_taps;
  const bool few = size_of(problem.in) > 1 && weights < least;
  if (units.chosen && !few) order.push_back("units");
  if (std::max(problem.row_taps, problem.column_taps) <= policy.packed.most_taps) order.push_back("packed");
  if (policy.passes_taps != 0 && weights >= policy.passes_taps) {
    order.insert(order.end(), {"march", "two_pass", "tiled", "naive"});
  } else {
    order.insert(order.end(), {"march", "tiled", "two_pass", "naive"});
  }
  return order;
}

std::string why_not(const Device& device, const SeparableProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "naive")
    return formatted("{} reads a result instead of about one", problem.row_taps * problem.column_taps);
  if (variant == "two_pass") return "the sums along rows go through global memory";
  if (variant == "march" && chosen.variant == "two_pass") return "its sums would not stay in registers";
  if (variant == "units") {
    return separable_policy(device).units.chosen ? "so few weights are faster by single products"
                                                 : "not measured on this device";
  }
  if (chosen.variant == "units" && (variant == "march" || variant == "packed"))
    return "matrix units make both sums faster";
  if (variant == "march" && chosen.variant == "packed") return "its products are of one number each";
  if (variant == "march") return "a CPU has no registers for so many columns at once";
  if (variant == "packed") {
    return separable_policy(device).packed.most_taps == 0
               ? "not measured on this device"
               : "for windows of so many weights it was not measured";
  }
  return "its local memory is read and written for every step of both passes";
}

const Evidence& evidence(const Device& device, const SeparableProblem& /*problem*/, const Plan& plan) {
  return separable_evidence(device, plan);
}

void check(const Device& device, const SeparableProblem& problem) {
  check_separable(kSeparableName, device, problem);
}

constexpr Operation<SeparableProblem> kSeparable{
    .what = "filter",
    .name = [](const SeparableProblem&) { return kSeparableName; },
    .variants = separable_variants,
    .check = check,
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = "a thread has a band of rows",
    .with_tile = {"packed", "units"}};

}  // namespace

Plan plan::separable_plan(const char* operation, const SeparableProblem& problem, std::string_view variant,
                          const char* file, const char* entry) {
  // The origin along columns is no part of a problem.
  Plan plan = filter_plan(operation, variant, file, entry, problem,
                          std::max(problem.origin(), problem.row_taps - 1 - problem.origin()),
                          problem.column_taps - 1);
  if (problem.unsharp) define(plan, "UNSHARP", 1);
  if (problem.half_up) define(plan, "HALF_UP", 1);
  if (problem.mean) define(plan, "MEAN", 1);
  plan.prediction.operations = 2 * real(problem.elements(), problem.row_taps + problem.column_taps);
  return plan;
}

const Evidence& plan::separable_evidence(const Device& device, const Launch& launch) {
  const SeparablePolicy& policy = separable_policy(device);
  if (launch.entry_point == "separable_packed") return policy.of_packed;
  if (launch.entry_point == "separable_units") return policy.of_units;
  if (launch.entry_point == "separable_pass") return policy.of_passes;
  return launch.entry_point == "separable_march" ? policy.evidence : policy.others;
}

plan::PackedWindow plan::packed_window(std::size_t taps, std::size_t origin, std::size_t channels) {
  constexpr std::size_t kWord = 4;  // bytes
  PackedWindow window;
  const std::size_t before = origin * channels, extent = (taps - 1) * channels + 1;
  window.left = divide_up(before, kWord);
  window.shift = window.left * kWord - before;
  window.words = (window.shift + kWord - 1 + extent - 1) / kWord + 1;
  return window;
}

void plan::check_grids(const char* operation, const Device& device, const SeparableProblem& g) {
  check_pixels(operation, device, g.in, g.out, g.channels);
  require_known(operation, "boundary", g.boundary);
  require_elements(operation, "in", {g.width, g.channels, g.height, g.planes});
}

Plan plan::filter_plan(const char* operation, std::string_view variant, const char* file, const char* entry,
                       const SeparableProblem& g, std::size_t across, std::size_t down) {
  Plan plan = named_plan(operation, variant, file, entry);
  define_pixels(plan, g.in, g.out, g.boundary, g.channels);
  define_folds(plan, g.boundary, across, g.width, down, g.height);
  predict(plan, real(g.elements()), g.in, g.out);
  return plan;
}

void plan::check_separable(const char* operation, const Device& device, const SeparableProblem& problem) {
  check_grids(operation, device, problem);
  const auto check_taps = [operation](const char* name, std::size_t taps) {
    if (taps == 0 || taps > kMostWeights)
      refuse(operation, name, formatted("1 to {} weights", kMostWeights), formatted("{}", taps));
  };
  check_taps("row_weights", problem.row_taps);
  check_taps("column_weights", problem.column_taps);
}

std::vector<std::string_view> separable_variants() {
  return {"naive", "two_pass", "tiled", "march", "packed", "units", "cpu"};
}

Plan plan_separable(const Device& device, const SeparableProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSeparable, kSeparableName, problem.in, device, problem, overrides);
}

}  // namespace smem
