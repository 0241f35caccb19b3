// Plans for transpose: which variant, which tile, and why.
#include <smem/error.hpp>
#include <smem/explain.hpp>
#include <smem/transpose_plan.hpp>

#include "plan/sizes.hpp"
#include "plan/transpose_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

namespace smem {

namespace {

using plan::divide_up;
using Kind = LocalLayout::Kind;

/// A variant's plan, or why there is none for this problem on this device.
struct Attempt {
  Attempt(Plan made) : plan(std::move(made)) {}
  Attempt(std::string reason) : why_not(std::move(reason)) {}
  std::optional<Plan> plan;
  std::string why_not;
};

constexpr std::size_t kWordBytes = 4;     // of a bank of local memory, on every GPU that smem knows
constexpr std::size_t kSectorBytes = 32;  // what memory is read and written in at least

Plan base_plan(const TransposeProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  Plan plan;
  plan.operation = "transpose";
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan.defines = {{"ELEMENT_BYTES", static_cast<long>(problem.element_bytes)}};
  if (problem.in_place) plan.defines.emplace_back("IN_PLACE", 1);
  const double bytes = static_cast<double>(problem.element_bytes) * static_cast<double>(problem.rows) *
                       static_cast<double>(problem.cols) * static_cast<double>(problem.batch);
  plan.prediction.bytes_read = plan.prediction.bytes_written = bytes;
  return plan;
}

void define(Plan& plan, const char* name, std::size_t value) {
  plan.defines.emplace_back(name, static_cast<long>(value));
}

/// The layout's side of a plan: what common/tile.clh reads.
void set_layout(Plan& plan, const LocalLayout& layout, std::size_t tiles_of_a_group) {
  plan.layout = layout;
  plan.local_bytes = layout.bytes() * tiles_of_a_group;
  define(plan, "TILE_STRIDE", layout.stride);
  if (layout.swizzle_mask != 0) define(plan, "SWIZZLE_MASK", layout.swizzle_mask);
  if (layout.swizzle_shift != 0) define(plan, "SWIZZLE_SHIFT", layout.swizzle_shift);
  if (layout.swizzle_unit != 0) define(plan, "SWIZZLE_UNIT", layout.swizzle_unit);
  // Every element goes into a tile once and out of it once.
  plan.prediction.local_bytes = plan.prediction.bytes();
}

[[noreturn]] void refuse(const char* field, std::string expected, std::string got) {
  throw Error(
      {.operation = "transpose", .argument = field, .expected = std::move(expected), .got = std::move(got)});
}

/// \throws Error when the caller fixed a field that the variant has not.
void allow_only(const PlanOverrides& fixed, std::string_view variant, bool tile, bool layout) {
  const auto none = [&](const char* field, std::size_t value) {
    if (value != 0)
      refuse(field, fmt::format("none with the variant \"{}\"", variant), std::to_string(value));
  };
  if (!tile) {
    none("tile_rows", fixed.tile_rows);
    none("tile_cols", fixed.tile_cols);
    none("work_items", fixed.work_items);
  }
  if (!layout && fixed.layout != LayoutChoice{})
    refuse("layout", fmt::format("none with the variant \"{}\"", variant), "a layout fixed by hand");
}

/// \throws Error when a field that was fixed is not a power of two in [1, most].
void check_power(const char* field, std::size_t value, std::size_t most) {
  if (value == 0 || (std::has_single_bit(value) && value <= most)) return;
  refuse(field, fmt::format("a power of two, at most {}", most), std::to_string(value));
}

/// \throws Error when the caller fixed something of which no tile could be made.
void refuse_fixed(const Device& device, const PlanOverrides& fixed, std::size_t local_bytes) {
  const char* field = fixed.tile_rows + fixed.tile_cols > 0
                          ? (fixed.tile_rows > 0 ? "tile_rows" : "tile_cols")
                      : fixed.work_items > 0 ? "work_items"
                                             : "layout";
  refuse(field,
         fmt::format("a tile that fits {} bytes of local memory and work-groups of {} on {}",
                     device.local_bytes, device.max_work_group, device.name),
         local_bytes > device.local_bytes ? fmt::format("one of {} bytes", local_bytes)
                                          : "one that no work-group here can hold");
}

bool fixes_more_than_variant(const PlanOverrides& fixed) {
  PlanOverrides rest = fixed;
  rest.variant.clear();
  return rest != PlanOverrides{};
}

Attempt naive(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "naive", false, false);
  Plan plan = base_plan(problem, "naive", "transpose/naive.cl", "transpose_naive");
  const std::array<std::size_t, 3> extent{problem.rows, problem.cols, problem.batch};
  plan.work_group = plan::shape_group(device, 256, 64, extent);
  plan.global = plan::global_size(extent, plan.work_group);
  plan.tile_rows = plan.work_group[0];
  plan.tile_cols = plan.work_group[1];
  define(plan, "GROUP_0", plan.work_group[0]);
  define(plan, "GROUP_1", plan.work_group[1]);
  define(plan, "GROUP_2", plan.work_group[2]);
  plan.reason = "one element after the other, without local memory";
  return plan;
}

/// Tiles of all matrices; in place, pairs of tiles.
std::size_t count_tiles(const TransposeProblem& problem, std::size_t tile_rows, std::size_t tile_cols) {
  const std::size_t down = divide_up(problem.rows, tile_rows);
  const std::size_t across = divide_up(problem.cols, tile_cols);
  return (problem.in_place ? down * (down + 1) / 2 : down * across) * problem.batch;
}

std::string no_tile_fits(const Device& device) {
  return fmt::format("no tile fits {} bytes of local memory and work-groups of {}", device.local_bytes,
                     device.max_work_group);
}

/// A square tile of single elements: the rungs tiled, padded and swizzled.
Attempt square_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed,
                    Kind kind) {
  const char* names[] = {"", "tiled", "padded", "swizzled"};
  const char* reasons[] = {
      "", "both sides of global memory are contiguous; a column of the tile lies in few banks",
      "both sides of global memory are contiguous; padding spreads the tile's columns over the banks",
      "both sides of global memory are contiguous; an XOR of row and column spreads the tile's "
      "columns over the banks, without more memory"};
  const char* name = names[static_cast<int>(kind)];
  check_power("tile_rows", fixed.tile_rows, 64);
  check_power("tile_cols", fixed.tile_cols, 64);
  check_power("work_items", fixed.work_items, device.max_work_group);
  if (fixed.tile_rows != 0 && fixed.tile_cols != 0 && fixed.tile_rows != fixed.tile_cols)
    refuse("tile_cols", fmt::format("{}, as tile_rows: the tile is a square", fixed.tile_rows),
           std::to_string(fixed.tile_cols));
  if (fixed.layout.kind && *fixed.layout.kind != kind)
    refuse(
        "layout",
        fmt::format("one that is {}, or the variant that is {}", name_of(kind), name_of(*fixed.layout.kind)),
        fmt::format("a {} layout with the variant \"{}\"", name_of(*fixed.layout.kind), name));
  LayoutChoice choice = fixed.layout;
  choice.kind = kind;
  const std::size_t fixed_tile = std::max(fixed.tile_rows, fixed.tile_cols);
  for (std::size_t tile = fixed_tile != 0 ? fixed_tile : 32; tile >= 2; tile /= 2) {
    if (fixed_tile != 0 && tile != fixed_tile) break;
    if (tile > device.max_work_group || tile > device.max_work_items[0]) continue;
    const std::size_t most_steps = std::min({tile, device.max_work_group / tile, device.max_work_items[1]});
    const std::size_t step = fixed.work_items != 0 ? fixed.work_items / tile
                                                   : std::bit_floor(std::min<std::size_t>(8, most_steps));
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
    if (groups > plan::kMaxTiles) return fmt::format("{} tiles are more than a launch can have", groups);

    Plan plan = base_plan(problem, name, "transpose/tiled.cl", "transpose_tiled");
    plan.tile_rows = plan.tile_cols = tile;
    plan.items_per_work_item = tile / step;
    plan.work_group = {tile, step, 1};
    plan.global = {groups * tile, step, 1};
    define(plan, "TILE", tile);
    define(plan, "TILE_STEP", step);
    set_layout(plan, layout, tiles_of_a_group);
    plan.reason = reasons[static_cast<int>(kind)];
    return plan;
  }
  if (fixes_more_than_variant(fixed))
    refuse_fixed(device, fixed, fixed_tile * fixed_tile * problem.element_bytes * (problem.in_place ? 2 : 1));
  return no_tile_fits(device);
}

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

/// Vectors of elements on both sides: see transpose/vector.cl.
Attempt vector_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  const plan::TransposePolicy& policy = plan::transpose_policy(device);
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment);
  if (alignment < word_bytes)
    return fmt::format("rows begin at multiples of {} bytes, and its vectors need {}", alignment, word_bytes);
  std::size_t vector_bytes = std::min(policy.vector_bytes[plan::size_index(element)], alignment);
  while (vector_bytes > word_bytes && vector_bytes * vector_bytes / element > policy.register_bytes)
    vector_bytes /= 2;
  const std::size_t block = vector_bytes / element;
  std::size_t rows = std::max<std::size_t>(policy.tile_bytes / element, 32);
  std::size_t cols = policy.tile_bytes / element;
  if (problem.rows <= rows && problem.cols <= cols) {
    // A matrix that is one tile: quarters keep more groups under way. H200, 4096 matrices of 64 x 64 floats:
    // 0.867, whole tiles 0.850.
    rows = std::max(block, std::bit_ceil(problem.rows) / 4);
    cols = std::max(block, std::bit_ceil(problem.cols));
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
    if (fixed.tile_rows != 0 && fixed.tile_cols != 0 && rows != cols)
      refuse("tile_cols", fmt::format("{}, as tile_rows: in place the tile is a square", rows),
             std::to_string(cols));
    cols = rows = fixed.tile_rows != 0 ? rows : fixed.tile_cols != 0 ? cols : std::min(rows, cols);
  }

  std::size_t bytes = 0;
  for (; rows >= block && cols >= block; (rows >= cols ? rows : cols) /= 2) {
    if (problem.in_place) cols = rows;
    const std::size_t blocks = (rows / block) * (cols / block);
    const std::size_t group =
        fixed.work_items != 0 ? fixed.work_items
                              : std::bit_floor(std::min({policy.group, std::max<std::size_t>(1, blocks),
                                                         device.max_work_group, device.max_work_items[0]}));
    const bool fits_registers = group <= blocks && rows * cols * element <= group * policy.register_bytes;
    if (fits_registers) {
      // In local memory the tile is turned, and its rows are dealt out: see LOCAL_ROW in the kernel.
      const std::size_t across = cols / block, down = rows / block;
      const Tile tile{cols,
                      down,
                      vector_bytes,
                      group,
                      {{"input columns", true, 1,
                        [=](std::size_t item) {
                          return Item{item % across, item / across};
                        }},
                       {"output rows", false, 1, [=](std::size_t item) {
                          const std::size_t col = item / down;
                          return Item{col % block * across + col / block, item % down};
                        }}}};
      const std::size_t copies = problem.in_place ? 2 : 1;
      const LocalLayout layout = fixed.layout != LayoutChoice{} ? infer_layout(device, tile, fixed.layout)
                                                                : vector_layout(device, tile, copies);
      bytes = layout.bytes() * copies;
      if (bytes <= device.local_bytes) {
        const std::size_t groups = count_tiles(problem, rows, cols);
        if (groups > plan::kMaxTiles) return fmt::format("{} tiles are more than a launch can have", groups);
        Plan plan = base_plan(problem, "vector", "transpose/vector.cl", "transpose_vector");
        plan.tile_rows = rows;
        plan.tile_cols = cols;
        plan.vector_width = block;
        plan.items_per_work_item = rows * cols / group;
        plan.work_group = {group, 1, 1};
        plan.global = {groups * group, 1, 1};
        define(plan, "VECTOR_WORDS", vector_bytes / word_bytes);
        define(plan, "TILE_R", rows);
        define(plan, "TILE_C", cols);
        define(plan, "GROUP", group);
        set_layout(plan, layout, copies);
        if (policy.tile_loop) define(plan, "TILE_LOOP", 1);
        plan.reason = fmt::format("rows are aligned, so both sides move vectors of {} bytes", vector_bytes);
        plan.evidence = policy.evidence;
        return plan;
      }
    }
    if (by_hand) break;
  }
  if (by_hand) refuse_fixed(device, fixed, bytes);
  return no_tile_fits(device);
}

/// Windows of aligned stores: see transpose/skewed.cl.
Attempt skewed_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "skewed", false, false);
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t word = word_bytes / element;  // elements of a word
  if (problem.in_place) return std::string("it cannot work in place");
  if (problem.base_alignment < word_bytes)
    return fmt::format("the buffers begin at multiples of {} bytes, and its words need {}",
                       problem.base_alignment, word_bytes);

  const plan::TransposePolicy& policy = plan::transpose_policy(device);
  // For smaller devices and smaller matrices: the smallest tile of so many lanes, with reads in groups of
  // four.
  const auto smallest = [&](std::size_t lanes) {
    return plan::SkewedPolicy{lanes, lanes * word, lanes * word, lanes * 8, 2, 1};
  };
  const plan::SkewedPolicy sizes[] = {policy.skewed[plan::size_index(element)], smallest(32), smallest(16),
                                      smallest(8)};
  const std::size_t window = std::max<std::size_t>(1, kSectorBytes / element);
  const std::size_t halo = plan::round_up(window - 1, word);
  for (const plan::SkewedPolicy& size : sizes) {
    const bool first = &size == sizes;
    if (size.lanes > device.sub_group_width && device.sub_group_width > 1) continue;
    if (first && (problem.rows < size.rows || problem.cols < size.cols)) continue;
    if (size.group > device.max_work_group || size.group > device.max_work_items[0]) continue;
    // Small elements are cut out of two neighbouring words, so a row has one word more.
    const std::size_t column_words = (size.rows + halo) / word + (word > 1 ? 1 : 0);
    const std::size_t share = size.cols / word;  // columns are dealt out to the elements of a word
    const Tile tile{size.cols,
                    column_words,
                    word_bytes,
                    size.group,
                    {{"input columns", true, 1,
                      [=](std::size_t item) {
                        return Item{item % size.lanes % share, item / size.lanes};
                      }},
                     {"output rows", false, 1, [=](std::size_t item) {
                        return Item{item / size.lanes, item % size.lanes};
                      }}}};
    LocalLayout layout = infer_layout(device, tile, {.kind = Kind::plain});
    if (layout.store_degree() > 1) layout = infer_layout(device, tile, {.kind = Kind::padded});
    if (layout.bytes() > device.local_bytes) continue;
    const std::size_t groups =
        divide_up(problem.rows + window - 1, size.rows) * divide_up(problem.cols, size.cols) * problem.batch;
    if (groups > plan::kMaxTiles) continue;

    Plan plan = base_plan(problem, "skewed", "transpose/skewed.cl", "transpose_skewed");
    plan.tile_rows = size.rows;
    plan.tile_cols = size.cols;
    plan.vector_width = word;
    plan.items_per_work_item = divide_up(size.rows * size.cols, size.group);
    plan.work_group = {size.group, 1, 1};
    plan.global = {groups * size.group, 1, 1};
    define(plan, "LANES", size.lanes);
    define(plan, "TILE_R", size.rows);
    define(plan, "TILE_C", size.cols);
    define(plan, "GROUP", size.group);
    define(plan, "ALIGN", kSectorBytes);
    define(plan, "AHEAD", size.ahead);
    define(plan, "UNROLL_READS", size.unroll);
    set_layout(plan, layout, 1);
    if (device.type == DeviceType::cpu)
      define(plan, "PATHS", 1);  // PoCL 3.1 miscompiles the kernel with both paths
    plan.reason = fmt::format(
        "rows are not aligned, so each output row has a window of its own that begins at {} bytes",
        kSectorBytes);
    plan.evidence = policy.evidence;
    return plan;
  }
  return no_tile_fits(device);
}

/// Tiles of one work-item each, as large as they pay on a CPU: see transpose/cpu.cl.
Attempt cpu_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "cpu", false, false);
  if (device.type != DeviceType::cpu)
    return std::string("it is for CPUs: a GPU would run one work-item in 32");
  if (!device.packed_vectors)
    return std::string("it reads vectors at any alignment, which this driver gets wrong");
  constexpr std::size_t kLineBytes = 64;
  const std::size_t element = problem.element_bytes;
  const std::size_t line = kLineBytes / element;
  const std::size_t block = element == 1 ? 16 : element <= 4 ? 8 : 4;  // edge of the kernel's register block
  // Out of place: 256 bytes of each output row, 1024 elements of each input row. On two Zen 4 cores with
  // PoCL, 4096 x 4096 float, tiles of 64 x 64 elements reached 0.45 to 0.6 of a memcpy's rate, 64 x 1024
  // reached 0.9: reads of 4 KiB in a row matter most. In place a tile is square, and both of a pair must stay
  // in the L2 cache.
  std::size_t rows = (problem.in_place ? 512 : 256) / element;
  std::size_t cols = problem.in_place ? rows : 1024;
  const auto bytes = [&] { return cols * (rows + line) * element * (problem.in_place ? 2 : 1); };
  const auto tiles = [&] {
    return divide_up(problem.rows, rows) * divide_up(problem.cols, cols) * problem.batch;
  };
  if (problem.in_place) {
    while (rows > line && (bytes() > device.local_bytes || tiles() < 4 * device.compute_units))
      cols = rows /= 2;
  } else {
    // Every core has work, and the last ones to end do not leave the others idle for long.
    while (cols > 64 && tiles() < 4 * device.compute_units)
      cols /= 2;
    while (cols > block && bytes() > device.local_bytes)
      cols /= 2;
    while (rows > line && bytes() > device.local_bytes)
      rows /= 2;
  }
  if (bytes() > device.local_bytes) return no_tile_fits(device);

  Plan plan = base_plan(problem, "cpu", "transpose/cpu.cl", "transpose_cpu");
  // Not inferred from banks, which a CPU has not: an odd number of cache lines a row, so that neighbouring
  // rows use different sets of the cache.
  plan.layout.kind = Kind::padded;
  plan.layout.rows = cols;
  plan.layout.cols = rows;
  plan.layout.item_bytes = element;
  plan.layout.stride = rows + line;
  plan.local_bytes = bytes();
  plan.prediction.local_bytes = plan.prediction.bytes();
  plan.tile_rows = rows;
  plan.tile_cols = cols;
  plan.vector_width = block;
  plan.items_per_work_item = rows * cols;
  plan.work_group = {1, 1, 1};
  // PoCL compiles a kernel once more for launches of 65536 groups or more; the kernel loops over the rest.
  plan.global = {std::min<std::size_t>(
                     divide_up(problem.rows, rows) * divide_up(problem.cols, cols) * problem.batch, 4096),
                 1, 1};
  define(plan, "TILE_R", rows);
  define(plan, "TILE_C", cols);
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  plan.evidence = "two Zen 4 cores with PoCL, 4096 x 4096 float: 0.85 of a two-thread memcpy";
  plan.reason =
      "one thread a tile: long reads, blocks turned in registers, whole cache lines written past the cache";
  return plan;
}

Attempt plan_variant(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "naive") return naive(device, problem, fixed);
  if (variant == "tiled") return square_tile(device, problem, fixed, Kind::plain);
  if (variant == "padded") return square_tile(device, problem, fixed, Kind::padded);
  if (variant == "swizzled") return square_tile(device, problem, fixed, Kind::swizzled);
  if (variant == "vector") return vector_tile(device, problem, fixed);
  if (variant == "skewed") return skewed_tile(device, problem, fixed);
  if (variant == "cpu") return cpu_tile(device, problem, fixed);
  refuse("variant", fmt::format("one of {}", fmt::join(transpose_variants(), ", ")),
         fmt::format("\"{}\"", variant));
}

/// The variants to try, best first.
std::vector<std::string_view> preference(const Device& device, const TransposeProblem& problem) {
  if (device.type == DeviceType::cpu) return {"cpu", "swizzled"};
  // Tiles of which only a few rows or columns are there: the cache serves the strided side as well.
  if (std::min(problem.rows, problem.cols) < 8) return {"naive"};
  const std::size_t wanted =
      plan::transpose_policy(device).vector_bytes[plan::size_index(problem.element_bytes)];
  const bool aligned = problem.in_alignment >= wanted && problem.out_alignment >= kSectorBytes;
  if (problem.in_place || aligned) return {"vector", "swizzled"};
  return {"skewed", "swizzled"};
}

/// Why `variant` was not chosen, against the plan that was.
std::string why_not(const Device& device, const TransposeProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, problem, {}, variant);
  if (!attempt.plan) return attempt.why_not;
  const Plan& plan = *attempt.plan;
  if (variant == "naive") {
    const std::size_t sector = std::max<std::size_t>(1, kSectorBytes / problem.element_bytes);
    return fmt::format("neighbours write a whole row apart: of each {} bytes written, {} are used at a time",
                       kSectorBytes, kSectorBytes / sector);
  }
  if (chosen.variant == "naive")
    return "a tile would be nearly empty: the matrix has fewer than 8 rows or columns";
  if (plan.layout.load_degree() > chosen.layout.load_degree())
    return fmt::format("reading a column of its tile takes {} turns of the banks, the chosen one {}",
                       plan.layout.load_degree(), chosen.layout.load_degree());
  if (chosen.variant == "cpu")
    return "work-items of one element each are loops on a CPU, and its tiles are short";
  if (variant == "vector")
    return fmt::format(
        "rows begin at multiples of {} and {} bytes: its vectors shrink, and its stores fill "
        "sectors of {} bytes only partly",
        problem.in_alignment, problem.out_alignment, kSectorBytes);
  if (variant == "skewed")
    return "rows are aligned, so the windows that it shifts would only read rows twice";
  if (plan.vector_width < chosen.vector_width || chosen.variant == "skewed")
    return fmt::format("it moves {} byte(s) a work-item at a time, the chosen one {}",
                       plan.vector_width * problem.element_bytes,
                       std::max(chosen.vector_width * problem.element_bytes, problem.element_bytes));
  return fmt::format("it has no fewer conflicts, and takes {} bytes of local memory, the chosen one {}",
                     plan.local_bytes, chosen.local_bytes);
}

}  // namespace

std::vector<std::string_view> transpose_variants() {
  return {"naive", "tiled", "padded", "swizzled", "vector", "skewed", "cpu"};
}

Plan plan_transpose(const Device& device, const TransposeProblem& problem, const PlanOverrides& overrides) {
  plan::require_element("transpose", problem.element_bytes);
  if (problem.in_place && problem.rows != problem.cols) {
    throw Error({.operation = "transpose_in_place",
                 .argument = "matrix",
                 .expected = "a square matrix",
                 .got = fmt::format("{} x {}", problem.rows, problem.cols)});
  }
  std::optional<Plan> plan;
  if (!overrides.variant.empty()) {
    Attempt attempt = plan_variant(device, problem, overrides, overrides.variant);
    if (!attempt.plan) {
      refuse("variant", "one that can run this on " + device.name,
             fmt::format("\"{}\": {}", overrides.variant, attempt.why_not));
    }
    plan = std::move(attempt.plan);
  } else {
    for (const std::string_view choice : preference(device, problem)) {
      plan = plan_variant(device, problem, overrides, choice).plan;
      if (plan) break;
    }
    if (!plan) {
      plan = naive(device, problem, overrides).plan;
      plan->reason += "; " + no_tile_fits(device);
    }
    for (const std::string_view variant : transpose_variants())
      if (variant != plan->variant)
        plan->alternatives.push_back({std::string(variant), why_not(device, problem, variant, *plan)});
  }
  plan->overrides = overrides;
  return *plan;
}

Plan plan_transpose(const Device& device, const TransposeProblem& problem, std::string_view variant) {
  return plan_transpose(device, problem, PlanOverrides{.variant = std::string(variant)});
}

}  // namespace smem
