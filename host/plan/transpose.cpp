// Plans for transpose: which variant, which tile, and why.
#include <smem/error.hpp>
#include <smem/transpose_plan.hpp>

#include "plan/banks.hpp"
#include "plan/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

namespace smem {

namespace {

using plan::divide_up;

Plan base_plan(const TransposeProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  Plan plan;
  plan.operation = "transpose";
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan.defines = {{"ELEMENT_BYTES", static_cast<long>(problem.element_bytes)}};
  if (problem.in_place) plan.defines.emplace_back("IN_PLACE", 1);
  plan.prediction.bytes = 2.0 * static_cast<double>(problem.element_bytes) *
                          static_cast<double>(problem.rows) * static_cast<double>(problem.cols) *
                          static_cast<double>(problem.batch);
  return plan;
}

void define(Plan& plan, const char* name, std::size_t value) {
  plan.defines.emplace_back(name, static_cast<long>(value));
}

Plan naive(const Device& device, const TransposeProblem& problem) {
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

constexpr std::size_t kWordBytes = 4;     // of a bank of local memory, on every GPU that smem knows
constexpr std::size_t kSectorBytes = 32;  // what memory is read and written in at least

/// Tiles of all matrices; in place, pairs of tiles.
std::size_t count_tiles(const TransposeProblem& problem, std::size_t tile_rows, std::size_t tile_cols) {
  const std::size_t down = divide_up(problem.rows, tile_rows);
  const std::size_t across = divide_up(problem.cols, tile_cols);
  return (problem.in_place ? down * (down + 1) / 2 : down * across) * problem.batch;
}

/// A square tile of single elements: the rungs tiled, padded and swizzled. Empty when no tile fits the
/// device.
std::optional<Plan> square_tile(const Device& device, const TransposeProblem& problem,
                                LocalLayout::Kind kind) {
  const char* names[] = {"", "tiled", "padded", "swizzled"};
  const char* reasons[] = {
      "", "both sides of global memory are contiguous; a column of the tile lies in few banks",
      "both sides of global memory are contiguous; padding spreads the tile's columns over the banks",
      "both sides of global memory are contiguous; an XOR of row and column spreads the tile's "
      "columns over the banks, without more memory"};
  for (std::size_t tile = 32; tile >= 2; tile /= 2) {
    if (tile > device.max_work_group || tile > device.max_work_items[0]) continue;
    LocalLayout layout{
        .kind = kind, .rows = tile, .cols = tile, .item_bytes = problem.element_bytes, .stride = tile};
    if (kind == LocalLayout::Kind::padded) {
      layout.stride += std::max<std::size_t>(1, device.local_bank_bytes / problem.element_bytes);
    }
    if (kind == LocalLayout::Kind::swizzled) layout.swizzle_mask = tile - 1;
    const std::size_t bytes = layout.bytes() * (problem.in_place ? 2 : 1);
    if (bytes > device.local_bytes) continue;
    const std::size_t step = std::bit_floor(
        std::min({std::size_t{8}, tile, device.max_work_group / tile, device.max_work_items[1]}));

    Plan plan = base_plan(problem, names[static_cast<int>(kind)], "transpose/tiled.cl", "transpose_tiled");
    plan::predict_conflicts(
        device, layout,
        [&](std::size_t item) {
          return plan::Item{item / tile, item % tile};
        },
        [&](std::size_t item) {
          return plan::Item{item % tile, item / tile};
        });
    plan.layout = layout;
    plan.local_bytes = bytes;
    plan.tile_rows = plan.tile_cols = tile;
    plan.items_per_work_item = tile / step;
    plan.work_group = {tile, step, 1};
    const std::size_t groups = count_tiles(problem, tile, tile);
    if (groups > plan::kMaxTiles) return std::nullopt;
    plan.global = {groups * tile, step, 1};
    define(plan, "TILE", tile);
    define(plan, "TILE_STEP", step);
    define(plan, "TILE_STRIDE", layout.stride);
    if (layout.swizzle_mask != 0) define(plan, "SWIZZLE_MASK", layout.swizzle_mask);
    plan.reason = reasons[static_cast<int>(kind)];
    return plan;
  }
  return std::nullopt;
}

/// Bytes of the vectors that the vector variant wants. H200, 1 GiB, share of the copy bandwidth with vectors
/// of 4, 8 and 16 bytes: elements of 4 bytes 0.963, 0.968, 0.966; of 2 bytes, 8 and 16: 0.966, 0.966; of 1
/// byte, 16: 0.965.
std::size_t wanted_vector(std::size_t element) {
  return element <= 2 ? 16 : std::max<std::size_t>(element, 8);
}

/// Vectors of elements on both sides: see transpose/vector.cl. Empty when the rows are not aligned to a word,
/// or no tile fits the device.
std::optional<Plan> vector_tile(const Device& device, const TransposeProblem& problem) {
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment);
  if (alignment < word_bytes) return std::nullopt;
  // Bytes that a work-item has in registers at once. Intel's compiler spills beyond 128 (1-byte elements on
  // pvc).
  const std::size_t register_bytes =
      device.vendor == Vendor::nvidia || device.vendor == Vendor::amd ? 256 : 128;
  std::size_t vector_bytes = std::min(wanted_vector(element), alignment);
  while (vector_bytes > word_bytes && vector_bytes * vector_bytes / element > register_bytes)
    vector_bytes /= 2;
  const std::size_t block = vector_bytes / element;
  // Tiles whose rows and columns are 256 bytes, in groups of 256, were the best for every element size on the
  // H200 (shares of the copy bandwidth as above; 8 bytes: 0.968; 16 bytes, 32 x 16: 0.920). Rows of 128 bytes
  // cost 2 to 6 %.
  std::size_t rows = std::max<std::size_t>(256 / element, 32);
  std::size_t cols = 256 / element;
  if (problem.rows <= rows && problem.cols <= cols) {
    // A matrix that is one tile: quarters keep more groups under way. H200, 4096 matrices of 64 x 64 floats:
    // 0.867, whole tiles 0.850.
    rows = std::max(block, std::bit_ceil(problem.rows) / 4);
    cols = std::max(block, std::bit_ceil(problem.cols));
  }
  rows = std::max(block, std::min(rows, std::bit_ceil(problem.rows)));
  cols = std::max(block, std::min(cols, std::bit_ceil(problem.cols)));
  if (problem.in_place) cols = rows = std::min(rows, cols);

  for (; rows >= block && cols >= block; (rows >= cols ? rows : cols) /= 2) {
    if (problem.in_place) cols = rows;
    const std::size_t blocks = (rows / block) * (cols / block);
    const std::size_t group = std::bit_floor(std::min({std::size_t{256}, std::max<std::size_t>(1, blocks),
                                                       device.max_work_group, device.max_work_items[0]}));
    if (rows * cols * element > group * register_bytes) continue;
    // Padding by a vector was 0.001 to 0.002 faster than the swizzle on the H200; the swizzle needs no
    // memory.
    LocalLayout layout{.kind = LocalLayout::Kind::padded,
                       .rows = cols,
                       .cols = rows / block,
                       .item_bytes = vector_bytes,
                       .stride = (rows / block) | 1};
    const std::size_t copies = problem.in_place ? 2 : 1;
    if (layout.bytes() * copies > device.local_bytes) {
      layout.kind = LocalLayout::Kind::swizzled;
      layout.stride = layout.cols;
      layout.swizzle_mask = std::min(std::bit_floor(std::max<std::size_t>(
                                         1, device.local_banks * device.local_bank_bytes / vector_bytes)),
                                     layout.cols) -
                            1;
    }
    const std::size_t groups = count_tiles(problem, rows, cols);
    if (layout.bytes() * copies > device.local_bytes) continue;
    if (groups > plan::kMaxTiles) return std::nullopt;

    Plan plan = base_plan(problem, "vector", "transpose/vector.cl", "transpose_vector");
    plan::predict_conflicts(
        device, layout,
        [&](std::size_t item) {
          return plan::Item{item % (cols / block), item / (cols / block) % layout.cols};
        },
        [&](std::size_t item) {
          const std::size_t col = item / layout.cols % cols;
          return plan::Item{col % block * (cols / block) + col / block, item % layout.cols};
        });
    plan.layout = layout;
    plan.local_bytes = layout.bytes() * copies;
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
    define(plan, "TILE_STRIDE", layout.stride);
    if (layout.swizzle_mask != 0) define(plan, "SWIZZLE_MASK", layout.swizzle_mask);
    // In a loop, even of one trip, NVIDIA's compiler arranges the reads better (H200, 16384 x 16384 float:
    // 0.966 of the copy bandwidth, without it 0.962). AMD's and Intel's spill with it.
    if (device.vendor == Vendor::nvidia) define(plan, "TILE_LOOP", 1);
    plan.reason = fmt::format("rows are aligned, so both sides move vectors of {} bytes", vector_bytes);
    return plan;
  }
  return std::nullopt;
}

/// Windows of aligned stores: see transpose/skewed.cl. Empty in place, for buffers that are not aligned to a
/// word, and when no tile fits the device.
std::optional<Plan> skewed_tile(const Device& device, const TransposeProblem& problem) {
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t word = word_bytes / element;  // elements of a word
  if (problem.in_place || problem.base_alignment < word_bytes) return std::nullopt;

  struct Policy {
    std::size_t lanes, rows, cols, group, ahead, unroll;
  };
  // H200, odd shapes of 1 GiB, share of the copy bandwidth: 0.764, 0.832, 0.903, 0.920, 0.935 for elements of
  // 1, 2, 4, 8 and 16 bytes (32001 x 33003, 32003 x 16381, 16001 x 15999, 16385 x 8191, 8191 x 8193).
  const Policy measured[] = {{32, 256, 256, 512, 1, 16},
                             {32, 192, 128, 416, 2, 16},
                             {32, 64, 128, 384, 6, 1},
                             {32, 64, 64, 352, 7, 1},
                             {32, 64, 64, 416, 5, 1}};
  // For smaller devices and smaller matrices: the smallest tile of so many lanes, with reads in groups of
  // four.
  const auto smallest = [&](std::size_t lanes) {
    return Policy{lanes, lanes * word, lanes * word, lanes * 8, 2, 1};
  };
  const Policy policies[] = {measured[std::countr_zero(element)], smallest(32), smallest(16), smallest(8)};
  const std::size_t window = std::max<std::size_t>(1, kSectorBytes / element);
  const std::size_t halo = plan::round_up(window - 1, word);
  for (const Policy& policy : policies) {
    const bool first = &policy == policies;
    if (policy.lanes > device.sub_group_width && device.sub_group_width > 1) continue;
    if (first && (problem.rows < policy.rows || problem.cols < policy.cols)) continue;
    if (policy.group > device.max_work_group || policy.group > device.max_work_items[0]) continue;
    const std::size_t column_words = (policy.rows + halo) / word;
    LocalLayout layout{.kind = LocalLayout::Kind::padded,
                       .rows = policy.cols,
                       .cols = column_words,
                       .item_bytes = word_bytes,
                       .stride = (column_words + (word > 1 ? 1 : 0)) | 1};
    if (layout.bytes() > device.local_bytes) continue;
    const std::size_t groups = divide_up(problem.rows + window - 1, policy.rows) *
                               divide_up(problem.cols, policy.cols) * problem.batch;
    if (groups > plan::kMaxTiles) continue;

    Plan plan = base_plan(problem, "skewed", "transpose/skewed.cl", "transpose_skewed");
    const std::size_t share = policy.cols / word;  // columns are dealt out to the elements of a word
    plan::predict_conflicts(
        device, layout,
        [&](std::size_t item) {
          return plan::Item{item % policy.lanes % share, item / policy.lanes};
        },
        [&](std::size_t item) {
          return plan::Item{item / policy.lanes, item % policy.lanes};
        });
    plan.layout = layout;
    plan.local_bytes = layout.bytes();
    plan.tile_rows = policy.rows;
    plan.tile_cols = policy.cols;
    plan.vector_width = word;
    plan.items_per_work_item = divide_up(policy.rows * policy.cols, policy.group);
    plan.work_group = {policy.group, 1, 1};
    plan.global = {groups * policy.group, 1, 1};
    define(plan, "LANES", policy.lanes);
    define(plan, "TILE_R", policy.rows);
    define(plan, "TILE_C", policy.cols);
    define(plan, "GROUP", policy.group);
    define(plan, "ALIGN", kSectorBytes);
    define(plan, "AHEAD", policy.ahead);
    define(plan, "UNROLL_READS", policy.unroll);
    define(plan, "TILE_STRIDE", layout.stride);
    if (device.type == DeviceType::cpu)
      define(plan, "PATHS", 1);  // PoCL 3.1 miscompiles the kernel with both paths
    plan.reason = fmt::format(
        "rows are not aligned, so each output row has a window of its own that begins at {} bytes",
        kSectorBytes);
    return plan;
  }
  return std::nullopt;
}

/// Tiles of one work-item each, as large as they pay on a CPU: see transpose/cpu.cl. Empty on other devices,
/// and when none fits.
std::optional<Plan> cpu_tile(const Device& device, const TransposeProblem& problem) {
  // A GPU would run one work-item in 32; and the kernel reads vectors at any alignment.
  if (device.type != DeviceType::cpu || !device.packed_vectors) return std::nullopt;
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
  if (bytes() > device.local_bytes) return std::nullopt;

  Plan plan = base_plan(problem, "cpu", "transpose/cpu.cl", "transpose_cpu");
  plan.layout = {.kind = LocalLayout::Kind::padded,
                 .rows = cols,
                 .cols = rows,
                 .item_bytes = element,
                 .stride = rows + line};
  plan.local_bytes = bytes();
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
  plan.reason =
      "one thread a tile: long reads, blocks turned in registers, whole cache lines written past the cache";
  return plan;
}

std::optional<Plan> plan_variant(const Device& device, const TransposeProblem& problem,
                                 std::string_view variant) {
  if (variant == "naive") return naive(device, problem);
  if (variant == "tiled") return square_tile(device, problem, LocalLayout::Kind::plain);
  if (variant == "padded") return square_tile(device, problem, LocalLayout::Kind::padded);
  if (variant == "swizzled") return square_tile(device, problem, LocalLayout::Kind::swizzled);
  if (variant == "vector") return vector_tile(device, problem);
  if (variant == "skewed") return skewed_tile(device, problem);
  if (variant == "cpu") return cpu_tile(device, problem);
  throw Error({.operation = "transpose",
               .argument = "variant",
               .expected = fmt::format("one of {}", fmt::join(transpose_variants(), ", ")),
               .got = fmt::format("\"{}\"", variant)});
}

/// The variants to try, best first.
std::vector<std::string_view> preference(const Device& device, const TransposeProblem& problem) {
  if (device.type == DeviceType::cpu) return {"cpu", "swizzled"};
  // Tiles of which only a few rows or columns are there: the cache serves the strided side as well.
  if (std::min(problem.rows, problem.cols) < 8) return {"naive"};
  const bool aligned =
      problem.in_alignment >= wanted_vector(problem.element_bytes) && problem.out_alignment >= kSectorBytes;
  if (problem.in_place || aligned) return {"vector", "swizzled"};
  return {"skewed", "swizzled"};
}

}  // namespace

std::vector<std::string_view> transpose_variants() {
  return {"naive", "tiled", "padded", "swizzled", "vector", "skewed", "cpu"};
}

Plan plan_transpose(const Device& device, const TransposeProblem& problem, std::string_view variant) {
  plan::require_element("transpose", problem.element_bytes);
  if (problem.in_place && problem.rows != problem.cols) {
    throw Error({.operation = "transpose_in_place",
                 .argument = "matrix",
                 .expected = "a square matrix",
                 .got = fmt::format("{} x {}", problem.rows, problem.cols)});
  }
  if (!variant.empty()) {
    if (std::optional<Plan> plan = plan_variant(device, problem, variant)) return *plan;
    throw Error({.operation = "transpose",
                 .argument = "variant",
                 .expected = "one that fits the device's local memory and work-group",
                 .got = fmt::format("\"{}\" on {} with {} bytes of local memory and work-groups of {}",
                                    variant, device.name, device.local_bytes, device.max_work_group)});
  }
  for (const std::string_view choice : preference(device, problem)) {
    if (std::optional<Plan> plan = plan_variant(device, problem, choice)) return *plan;
  }
  Plan plan = naive(device, problem);
  plan.reason += fmt::format("; no tile fits {} bytes of local memory and work-groups of {}",
                             device.local_bytes, device.max_work_group);
  return plan;
}

}  // namespace smem
