// Transposes with windows of aligned stores, and for CPUs; and what all variants share.
#include "formatted.hpp"
#include "plan/transpose_variants.hpp"

#include <algorithm>

namespace smem::plan::transpose {

Plan base_plan(const TransposeProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  Plan plan = named_plan("transpose", variant, file, entry);
  define(plan, "ELEMENT_BYTES", problem.element_bytes);
  if (problem.in_place) define(plan, "IN_PLACE", 1);
  const double bytes = real(problem.element_bytes, problem.rows, problem.cols, problem.batch);
  plan.prediction.bytes_read = plan.prediction.bytes_written = bytes;
  return plan;
}

void set_layout(Plan& plan, const LocalLayout& layout, std::size_t tiles_of_a_group) {
  plan.layout = layout;
  plan.local_bytes = layout.bytes() * tiles_of_a_group;
  define_layout(plan, layout);
  // Every element goes into a tile once and out of it once.
  plan.prediction.local_bytes = plan.prediction.bytes();
}

void allow_only(const PlanOverrides& fixed, std::string_view variant) {
  const auto none = [&](const char* field, std::size_t value) {
    if (value != 0)
      refuse("transpose", field, formatted("none with the variant \"{}\"", variant), std::to_string(value));
  };
  none("tile_rows", fixed.tile_rows);
  none("tile_cols", fixed.tile_cols);
  none("work_items", fixed.work_items);
  if (fixed.layout != LayoutChoice{}) {
    refuse("transpose", "layout", formatted("none with the variant \"{}\"", variant),
           "a layout fixed by hand");
  }
}

namespace {

constexpr std::size_t kPackBytes = 16;

/// Windows of small elements whose rows begin anywhere: see transpose/windows.cl.
Attempt packed_windows(const Device& device, const TransposeProblem& problem) {
  const TransposePolicy& policy = transpose_policy(device);
  const std::size_t element = problem.element_bytes, pack = kPackBytes / element, word = kWordBytes / element;
  if (problem.base_alignment < kPackBytes)
    return formatted("the buffers do not begin at multiples of {} bytes", kPackBytes);
  const auto smallest = [&](std::size_t lanes) {
    return WindowsPolicy{lanes, lanes * word, lanes * word, lanes * 8, 4, kSectorBytes};
  };
  const WindowsPolicy& full = policy.windows[size_index(element)];
  WindowsPolicy half = full;  // for fewer columns
  half.cols /= 2;
  const WindowsPolicy sizes[] = {full, half, smallest(32), smallest(16), smallest(8)};
  for (const WindowsPolicy& size : sizes) {
    if (size.lanes > device.sub_group_width && device.sub_group_width > 1) continue;
    if (size.rows == full.rows && (problem.rows < size.rows || 2 * problem.cols <= size.cols)) continue;
    if (size.group > device.max_work_group || size.group > device.max_work_items[0]) continue;
    const std::size_t window = size.align / element, rows = size.rows + window - 1;
    const std::size_t row = (size.cols / pack + 1) * pack + pack - 1;  // in local memory, at most
    const std::size_t local_bytes = round_up((rows * row + 2 * pack) / pack * kPackBytes, kLocalStep);
    if (local_bytes > device.local_bytes) continue;
    const std::size_t groups =
        divide_up(problem.rows + window - 1, size.rows) * divide_up(problem.cols, size.cols) * problem.batch;
    if (groups > kMaxTiles) continue;
    Plan plan = base_plan(problem, "skewed", "transpose/windows.cl", "transpose_windows");
    plan.tile_rows = size.rows;
    plan.tile_cols = size.cols;
    plan.vector_width = pack;
    plan.items_per_work_item = divide_up(size.rows * size.cols, size.group);
    plan.work_group = {size.group, 1, 1};
    plan.global = {groups * size.group, 1, 1};
    plan.local_bytes = local_bytes;
    plan.prediction.local_bytes = plan.prediction.bytes();
    define(plan, {{"LANES", size.lanes},
                  {"TILE_R", size.rows},
                  {"TILE_C", size.cols},
                  {"GROUP", size.group},
                  {"ALIGN", size.align},
                  {"AHEAD", size.ahead}});
    if (device.type == DeviceType::cpu)
      define(plan, "PATHS", 1);  // PoCL 3.1 miscompiles the kernel with both paths
    plan.reason = formatted(
        "rows begin anywhere: they are read as they lie, and each output row has a window of its own that "
        "begins at {} bytes",
        size.align);
    plan.evidence = policy.of_windows.text(device);
    return plan;
  }
  return no_tile_fits(device);
}

}  // namespace

Attempt skewed_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "skewed");
  const std::size_t element = problem.element_bytes;
  const std::size_t word_bytes = std::max(element, kWordBytes);
  const std::size_t word = word_bytes / element;  // elements of a word
  if (problem.in_place) return "it cannot work in place";
  if (problem.base_alignment < word_bytes) {
    return formatted("the buffers begin at multiples of {} bytes, and its words need {}",
                     problem.base_alignment, word_bytes);
  }

  if (element < kWordBytes && problem.in_alignment < kWordBytes) {
    if (Attempt windows = packed_windows(device, problem); windows.plan) return windows;
  }
  const TransposePolicy& policy = transpose_policy(device);
  // For smaller devices and smaller matrices: the smallest tile of so many lanes, with reads in groups of
  // four.
  const auto smallest = [&](std::size_t lanes) {
    return SkewedPolicy{lanes, lanes * word, lanes * word, lanes * 8, 2, 1};
  };
  const SkewedPolicy sizes[] = {policy.skewed[size_index(element)], smallest(32), smallest(16), smallest(8)};
  const std::size_t window = at_least_1(kSectorBytes / element);
  const std::size_t halo = round_up(window - 1, word);
  for (const SkewedPolicy& size : sizes) {
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
    if (groups > kMaxTiles) continue;

    Plan plan = base_plan(problem, "skewed", "transpose/skewed.cl", "transpose_skewed");
    plan.tile_rows = size.rows;
    plan.tile_cols = size.cols;
    plan.vector_width = word;
    plan.items_per_work_item = divide_up(size.rows * size.cols, size.group);
    plan.work_group = {size.group, 1, 1};
    plan.global = {groups * size.group, 1, 1};
    define(plan, {{"LANES", size.lanes},
                  {"TILE_R", size.rows},
                  {"TILE_C", size.cols},
                  {"GROUP", size.group},
                  {"ALIGN", kSectorBytes},
                  {"AHEAD", size.ahead},
                  {"UNROLL_READS", size.unroll}});
    set_layout(plan, layout, 1);
    if (device.type == DeviceType::cpu)
      define(plan, "PATHS", 1);  // PoCL 3.1 miscompiles the kernel with both paths
    plan.reason =
        formatted("rows are not aligned, so each output row has a window of its own that begins at {} bytes",
                  kSectorBytes);
    plan.evidence = policy.evidence.text(device);
    return plan;
  }
  return no_tile_fits(device);
}

namespace {

/// Whether one side is short, and the one that is interleaved has no gaps.
bool is_narrow(const TransposeThreads& threads, const TransposeProblem& problem) {
  const std::size_t side = std::min(problem.rows, problem.cols);
  const std::size_t most = problem.rows == side         ? threads.most_interleaved
                           : problem.element_bytes >= 8 ? threads.most_wide_separated
                                                        : threads.most_separated;
  return !problem.in_place && side > 1 && side <= most &&
         std::max(problem.rows, problem.cols) >= threads.least_long &&
         (problem.rows == side ? problem.out_packed : problem.in_packed);
}

Attempt cpu_narrow(const Device& device, const TransposeProblem& problem) {
  const TransposePolicy& policy = transpose_policy(device);
  const TransposeThreads& threads = policy.threads;
  const bool interleaves = problem.rows <= problem.cols;
  const std::size_t element = problem.element_bytes, line = threads.line_bytes / element;
  const std::size_t side = std::min(problem.rows, problem.cols),
                    places = std::max(problem.rows, problem.cols);
  std::size_t chunk = std::max(threads.chunk_bytes / element / side / line * line, line);
  const auto bytes = [&] { return (chunk + line) * side * element; };
  const auto chunks = [&] { return divide_up(places, chunk) * problem.batch; };
  while (chunk > line &&
         (bytes() > device.local_bytes || chunks() < threads.tiles_a_unit * device.compute_units))
    chunk = std::max(chunk / 2 / line * line, line);
  if (bytes() > device.local_bytes) return no_tile_fits(device);
  Plan plan = base_plan(problem, "cpu", "transpose/cpu_narrow.cl", "transpose_cpu_narrow");
  plan.local_bytes = bytes();
  plan.prediction.local_bytes = plan.prediction.bytes();
  plan.tile_rows = interleaves ? side : chunk;
  plan.tile_cols = interleaves ? chunk : side;
  plan.items_per_work_item = chunk * side;
  plan.global = {std::min(chunks(), threads.most_groups), 1, 1};  // the kernel loops over the rest
  define(plan, {{"SIDE", side}, {"INTERLEAVES", interleaves ? 1 : 0}, {"CHUNK", chunk}});
  plan.evidence = policy.of_narrow.text(device);
  plan.reason = formatted(
      "one thread moves {} places at a time of a short side of {}: turned in its first cache", chunk, side);
  return plan;
}

/// Whether there are many matrices that registers hold.
bool is_small(const TransposeThreads& threads, const TransposeProblem& problem) {
  const bool packed = problem.in_packed && problem.out_packed;
  return packed && problem.batch >= threads.least_small && problem.rows > 1 && problem.cols > 1 &&
         problem.rows <= threads.most_small && problem.cols <= threads.most_small / problem.rows;
}

Attempt cpu_small(const Device& device, const TransposeProblem& problem) {
  const TransposePolicy& policy = transpose_policy(device);
  const TransposeThreads& threads = policy.threads;
  const std::size_t size = problem.rows * problem.cols, element = problem.element_bytes;
  const std::size_t line = threads.line_bytes / element;
  // Whole lines, so that groups share none.
  const std::size_t chunk = at_least_1(threads.chunk_bytes / element / size / line) * line;
  if (chunk * size * element > device.local_bytes) return no_tile_fits(device);
  Plan plan = base_plan(problem, "cpu", "transpose/cpu_small.cl", "transpose_cpu_small");
  plan.local_bytes = chunk * size * element;
  plan.prediction.local_bytes = plan.prediction.bytes();
  plan.tile_rows = problem.rows;
  plan.tile_cols = problem.cols;
  plan.items_per_work_item = chunk * size;
  plan.global = {std::min(divide_up(problem.batch, chunk), threads.most_groups), 1, 1};
  define(plan, {{"ROWS", problem.rows}, {"COLS", problem.cols}, {"CHUNK", chunk}});
  plan.evidence = policy.of_small.text(device);
  plan.reason =
      formatted("one thread turns {} matrices at a time, each in registers, in its first cache", chunk);
  return plan;
}

}  // namespace

Attempt cpu_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  allow_only(fixed, "cpu");
  if (device.type != DeviceType::cpu)
    return "it is for CPUs: only one work-item of a GPU's sub-group would work";
  if (!device.packed_vectors) return "it reads vectors at any alignment, which this driver gets wrong";
  if (is_small(transpose_policy(device).threads, problem)) return cpu_small(device, problem);
  if (is_narrow(transpose_policy(device).threads, problem)) return cpu_narrow(device, problem);
  const std::size_t element = problem.element_bytes;
  const std::size_t block = element == 1 ? 16 : element <= 4 ? 8 : 4;  // edge of the kernel's register block
  const TransposePolicy& policy = transpose_policy(device);
  const TransposeThreads& threads = policy.threads;
  const std::size_t line = threads.line_bytes / element;
  std::size_t rows = (problem.in_place ? threads.side_bytes : threads.row_bytes) / element;
  std::size_t cols = problem.in_place ? rows : threads.cols;
  const auto bytes = [&] { return cols * (rows + line) * element * (problem.in_place ? 2 : 1); };
  const auto tiles = [&] {
    return divide_up(problem.rows, rows) * divide_up(problem.cols, cols) * problem.batch;
  };
  const auto few = [&] { return tiles() < threads.tiles_a_unit * device.compute_units; };
  if (problem.in_place) {
    while (rows > line && (bytes() > device.local_bytes || few()))
      cols = rows /= 2;
  } else {
    // Every core has work, and the last ones to end do not leave the others idle for long.
    while (cols > threads.least_cols && few())
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
  plan.global = {std::min(tiles(), threads.most_groups), 1, 1};  // the kernel loops over the rest
  define(plan, {{"TILE_R", rows}, {"TILE_C", cols}});
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  plan.evidence = policy.of_threads.text(device);
  plan.reason =
      "one thread a tile: long reads, blocks turned in registers, whole cache lines written past the cache";
  return plan;
}

}  // namespace smem::plan::transpose
