// The variants of stencils that go by tiles in local memory, by single cells or on a CPU: their groups, and
// what they cost.
#include <smem/stencil_plan.hpp>

#include "formatted.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/stencil_problem.hpp"
#include "plan/stencil_variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>

namespace smem::plan::stencil {

namespace {

constexpr std::size_t kConstantBytes = 65536;  // that every device of OpenCL's full profile has
constexpr std::size_t kLocalLot = 64;  // bytes that local memory is given in, where compilers round up

/// The expression on one line, where macros have their text.
std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\r', ' ');
  return text;
}

/// The group of `tiled` and `march`: as large as requested and local memory allows; 0: none fits.
/// `bytes(group)`: of local memory.
template <class Bytes>
Sizes group_that_fits(const Device& device, Sizes group, std::size_t wanted, std::size_t usual,
                      const Bytes& bytes) {
  for (std::size_t d = 0; d < 3; ++d)
    group[d] = std::min(group[d], std::bit_floor(at_least_1(device.max_work_items[d])));
  const auto items = [&] { return group[0] * group[1] * group[2]; };
  const auto halve = [&] {  // the last dimension that is more than one, and the first at last
    for (const std::size_t d : {2, 1, 0}) {
      if (group.at(d) > 1 && (d == 0 || group.at(d) * 8 > group[0] || group[0] <= 8)) {
        group.at(d) /= 2;
        return;
      }
    }
    for (const std::size_t d : {2, 1, 0}) {
      if (group.at(d) > 1) {
        group.at(d) /= 2;
        return;
      }
    }
  };
  const std::size_t most = wanted != 0 ? wanted : std::bit_floor(at_least_1(device.max_work_group));
  while (items() > most)
    halve();
  if (wanted != 0) {  // what was fixed does not shrink
    while (items() < wanted && group[1] < device.max_work_items[1])
      group[1] *= 2;
    return bytes(group) <= device.local_bytes ? group : Sizes{};
  }
  while (items() > 64 && bytes(group) > usual)
    halve();
  while (items() > 1 && bytes(group) > device.local_bytes)
    halve();
  return bytes(group) <= device.local_bytes ? group : Sizes{};
}

std::string no_room(const Device& device) {
  return formatted("the cells that a window covers do not fit {} bytes of local memory", device.local_bytes);
}

/// Planes of a job of "march": enough groups for all units, which read window - 1 planes more each.
std::size_t march_planes(const Device& device, const StencilProblem& problem) {
  const StencilTiles& sizes = stencil_policy(device).tiles;
  const std::size_t across =
      divide_up(problem.size[0], sizes.across) * divide_up(problem.size[1], sizes.march_down) * problem.batch;
  const std::size_t pieces = divide_up(sizes.groups_a_unit * device.compute_units, at_least_1(across));
  return std::min(std::max(divide_up(problem.size[2], pieces), sizes.windows_of_planes * problem.window[2]),
                  std::size_t{1} << 30);
}

constexpr std::size_t kCacheLine = 64;  // as in cl/common/lanes.clh

/// Jobs of "cpu": so many cells of so many rows.
struct Jobs {
  std::size_t strip = 0;  ///< 0: no line of cells fits
  std::size_t band = 1;
  std::size_t memory = 0;  ///< values of local memory
  std::size_t lanes = 16;  ///< of a vector
};

Jobs cpu_jobs(const Device& device, const StencilProblem& problem) {
  const std::size_t each = value_bytes(problem);
  const StencilThreads& sizes = stencil_policy(device).threads;
  Jobs jobs;
  jobs.memory = std::min(sizes.bytes, device.local_bytes) / each;
  jobs.lanes =
      std::clamp<std::size_t>(std::bit_floor(std::max<std::size_t>(device.vector_bytes, each)) / each, 4, 16);
  const std::size_t block = 4 * jobs.lanes;
  for (std::size_t d = 0; d < 3; ++d)  // so that no extent of a window overflows
    if (size_product(problem.window.at(d), problem.dilation.at(d)) > device.local_bytes) return jobs;
  const std::size_t ring = (problem.window[1] - 1) * problem.dilation[1] + 2;  // for two rows of results
  const std::size_t lines = ring * problem.window[2];
  const std::size_t reach = (problem.window[0] - 1) * problem.dilation[0];
  const auto values = [&](std::size_t strip) {
    return size_product(
        lines, round_up(((strip - 1) * problem.stride[0] + reach + 1) * problem.channels + block, block));
  };
  const std::size_t whole = round_up(at_least_1(problem.out_size[0]), block);
  jobs.strip = std::min(whole, sizes.strip);
  // Half of what a strip reads twice is its reach: it is not much shorter than that.
  while (jobs.strip > block && values(jobs.strip) > sizes.line_values &&
         jobs.strip * problem.channels > sizes.least_strip && jobs.strip > 2 * reach)
    jobs.strip = round_up(jobs.strip / 2, block);
  while (jobs.strip > block && values(jobs.strip) > jobs.memory)
    jobs.strip = round_up(jobs.strip / 2, block);
  if (values(jobs.strip) > jobs.memory) {
    jobs.strip = 0;
    return jobs;
  }
  const std::size_t strips = divide_up(whole, jobs.strip) * at_least_1(problem.out_size[2] * problem.batch);
  const std::size_t bands = divide_up(sizes.jobs_a_unit * device.compute_units, strips);
  jobs.band = std::max({divide_up(problem.out_size[1], bands), sizes.rings_of_rows * ring / problem.stride[1],
                        sizes.least_rows});
  jobs.band = std::min(jobs.band, std::size_t{1} << 30);
  return jobs;
}

}  // namespace

std::size_t value_bytes(const StencilProblem& problem) { return size_of(stencil_value_type(problem.type)); }

bool is_plain(const StencilProblem& problem) {
  return problem.stride == Sizes{1, 1, 1} && problem.dilation == Sizes{1, 1, 1};
}

/// Whether a window reaches farther than one reflection or repetition of the grid goes.
bool is_folded(const StencilProblem& p) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (p.size.at(d) == 0 || p.out_size.at(d) == 0) return false;
    const auto before = -p.first.at(d);
    const auto after = static_cast<std::ptrdiff_t>((p.out_size.at(d) - 1) * p.stride.at(d) +
                                                   (p.window.at(d) - 1) * p.dilation.at(d)) -
                       before - static_cast<std::ptrdiff_t>(p.size.at(d) - 1);
    const auto reach = static_cast<std::size_t>(std::max<std::ptrdiff_t>({before, after, 0}));
    if (reach > reach_of(p.boundary, p.size.at(d))) return true;
  }
  return false;
}

Plan base_plan(const Device& device, const StencilProblem& problem, const char* variant) {
  Plan plan = named_plan(operation_name(problem), variant, formatted("stencil/{}.cl", variant),
                         formatted("stencil_{}", variant));
  const StencilPolicy& policy = stencil_policy(device);
  const std::string_view name = variant;
  plan.evidence = (name == "rows" || name == "planes" ? policy.evidence
                   : name == "blocks"                 ? policy.of_blocks
                   : name == "units"                  ? policy.of_units
                   : name == "cpu"                    ? policy.of_threads
                                                      : policy.others)
                      .text(device);
  const Scalar type = problem.type;
  define_types(plan, {{"ELEMENT", type}, {"VALUE", stencil_value_type(type)}, {"RESULT", type}});
  if (type == Scalar::half) define(plan, "ELEMENT_HALF", 1), define(plan, "RESULT_HALF", 1);
  if (type == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (!is_float(type)) define(plan, "RESULT_HIGH", type == Scalar::uint8 ? 255 : 65535);
  define(plan, "CHANNELS", problem.channels);
  if (is_folded(problem)) define(plan, "FOLDS", 1);
  if (problem.shape == StencilShape::expression)
    define(plan, "SHAPE", static_cast<std::size_t>(problem.shape));
  if ((problem.weights() + 1) * value_bytes(problem) > kConstantBytes &&
      problem.shape != StencilShape::expression)
    plan.text_defines.emplace_back("WEIGHT_SPACE", "global");
  if (problem.shape == StencilShape::expression) {
    constexpr std::array<const char*, 3> kNames{"RADIUS_X", "RADIUS_Y", "RADIUS_Z"};
    for (std::size_t d = 0; d < 3; ++d)
      define(plan, kNames.at(d), problem.window.at(d) / 2);
    plan.preamble =
        formatted("#line 1 \"expression.cl\"\n#define EXPRESSION ({})\n", in_one_line(problem.expression));
  }
  const auto results = real(problem.results()), bytes = real(size_of(type));
  plan.prediction.bytes_read =
      real(problem.size[0] * problem.size[1] * problem.size[2] * problem.channels * problem.batch) * bytes;
  plan.prediction.bytes_written = results * bytes;
  plan.prediction.operations = 2 * real(problem.weights()) * results;
  return plan;
}

void define_window(Plan& plan, const Device& device, const StencilProblem& problem) {
  if (device.type == DeviceType::cpu) define(plan, "ROLLED", 1);
  if (problem.shape == StencilShape::star) define(plan, "SHAPE", static_cast<std::size_t>(problem.shape));
  // A constant is what zero is with another value.
  const Boundary boundary = problem.boundary == Boundary::constant ? Boundary::zero : problem.boundary;
  define(plan, {{"BOUNDARY", static_cast<std::size_t>(boundary)},
                {"WINDOW_X", problem.window[0]},
                {"WINDOW_Y", problem.window[1]},
                {"WINDOW_Z", problem.window[2]}});
}

Attempt naive(const Device& device, const StencilProblem& problem) {
  constexpr std::size_t kShortLoops = 32768;  // with some room: a work-item's loops end after 65535 turns
  if (!device.long_loops && problem.weights() > kShortLoops)
    return formatted("its loop of {} is longer than this device runs it", problem.weights());
  Plan plan = base_plan(device, problem, "naive");
  const Sizes extent{problem.out_size[0] * problem.channels, problem.out_size[1],
                     problem.out_size[2] * problem.batch};
  set_grid(plan, device, stencil_policy(device).naive_group, extent);
  plan.reason = "each work-item reads its neighbours from global memory";
  return plan;
}

/// Whether the program of "tiled" is for one window: a small flat box.
bool knows_window(const Device& device, const StencilProblem& problem) {
  constexpr std::size_t kFew = std::size_t{1} << 31;  // planes, which it counts in 32 bits
  return problem.shape == StencilShape::box && problem.window[2] == 1 &&
         size_product(problem.out_size[2], problem.batch) < kFew &&
         size_product(problem.weights(), problem.channels) <= stencil_policy(device).tiles.most_written_out;
}

Attempt tiled(const Device& device, const StencilProblem& problem, std::size_t wanted) {
  const std::size_t each = value_bytes(problem);
  const bool is_known = knows_window(device, problem);
  std::size_t rows = is_known ? stencil_policy(device).tiles.known_rows : 1;  // of results of a work-item
  const auto values = [&](const Sizes& group) {
    std::size_t product = problem.channels;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::size_t results = group.at(d) * (d == 1 ? rows : 1);
      product = size_product(product, (results - 1) * problem.stride.at(d) +
                                          (problem.window.at(d) - 1) * problem.dilation.at(d) + 1);
    }
    return product;
  };
  for (std::size_t d = 0; d < 3; ++d) {  // so that no extent of a tile overflows
    if (size_product(problem.window.at(d), problem.dilation.at(d)) > device.local_bytes ||
        problem.stride.at(d) > device.local_bytes)
      return no_room(device);
  }
  const StencilTiles& sizes = stencil_policy(device).tiles;
  const std::size_t items = sizes.group;
  const std::size_t across = sizes.across, down = sizes.down_of_volumes;
  const Sizes shape = problem.window[2] > 1 ? Sizes{across, down, at_least_1(items / (across * down))}
                      : problem.out_size[1] > 1 || problem.window[1] > 1 ? Sizes{across, items / across, 1}
                                                                         : Sizes{items, 1, 1};
  const auto groups_of = [&](const Sizes& g) {
    return divide_up(problem.out_size[0], g[0]) * divide_up(problem.out_size[1], g[1] * rows) *
           divide_up(problem.out_size[2], g[2]) * problem.batch;
  };
  while (rows > 1 && (problem.out_size[1] <= shape[1] * (rows / 2) ||  // half of them are enough
                      size_product(values(shape), each) > sizes.bytes ||
                      groups_of(shape) < sizes.groups_a_unit * device.compute_units))
    rows /= 2;
  const Sizes group = group_that_fits(device, shape, wanted, sizes.bytes,
                                      [&](const Sizes& g) { return size_product(values(g), each); });
  if (group[0] == 0) return no_room(device);
  Plan plan = base_plan(device, problem, "tiled");
  // Powers of two, so that few programs serve all windows.
  const std::size_t needed = std::max(values(group), std::min(sizes.least_values, device.local_bytes / each));
  const std::size_t tile =
      std::bit_ceil(needed) * each <= device.local_bytes ? std::bit_ceil(needed) : needed;
  plan.work_group = group;
  const std::size_t layers = divide_up(problem.out_size[2], group[2]);
  plan.global = global_size(
      {problem.out_size[0], divide_up(problem.out_size[1], rows), layers * problem.batch * group[2]}, group);
  plan.tile_rows = group[1] * rows;
  plan.tile_cols = group[0];
  plan.items_per_work_item = rows;
  plan.local_bytes = tile * each;
  define(plan, {{"GROUP_X", group[0]}, {"GROUP_Y", group[1]}, {"GROUP_Z", group[2]}, {"TILE", tile}});
  if (is_known) {
    define_window(plan, device, problem);
    define(plan, {{"EACH", rows},
                  {"STRIDE_X", problem.stride[0]},
                  {"STRIDE_Y", problem.stride[1]},
                  {"DILATION_X", problem.dilation[0]},
                  {"DILATION_Y", problem.dilation[1]}});
  }
  plan.prediction.local_bytes = real(each) * (real(groups_of(group)) * real(values(group)) +
                                              real(problem.results(), problem.weights()));
  plan.reason = formatted("a group's {} x {} x {} cells and their halo are read once, into local memory",
                          group[0], group[1] * rows, group[2]);
  return plan;
}

Attempt blocks(const Device& device, const StencilProblem& problem, std::size_t wanted) {
  // Of a work-item, weights at a time, and cells of a read (cl/stencil/blocks.cl).
  constexpr std::size_t kCols = 8, kTaps = 4, kQuad = 4;
  if (!is_plain(problem)) return "needs strides and dilations of 1";
  if (problem.window[2] > 1) return "a volume's planes would each be read as often as the window is deep";
  if (problem.shape != StencilShape::box) return "goes through whole rows of weights: for boxes";
  const std::size_t each = value_bytes(problem);
  for (const std::size_t d : {0, 1})  // so that no extent of a tile overflows
    if (problem.window.at(d) > device.local_bytes) return no_room(device);
  const StencilTiles& sizes = stencil_policy(device).tiles;
  const auto values = [&](const Sizes& group) {
    const std::size_t quads =
        group[0] * (kCols / kQuad) + divide_up(problem.window[0], kTaps) * problem.channels;
    const std::size_t half_line = (divide_up(quads, 2) + 3) / 8 * 8 + 4;  // in different banks
    return 2 * kQuad * half_line * (group[1] * sizes.block_rows + problem.window[1] - 1);
  };
  const std::size_t weights = std::bit_ceil(problem.window[1] * round_up(problem.window[0], kTaps));
  const Sizes group = group_that_fits(
      device, {sizes.block_across, at_least_1(sizes.block_group / sizes.block_across), 1}, wanted,
      sizes.block_bytes, [&](const Sizes& g) { return (std::bit_ceil(values(g)) + weights) * each; });
  if (group[0] == 0) return no_room(device);
  Plan plan = base_plan(device, problem, "blocks");
  // Powers of two, so that few programs serve all windows.
  const std::size_t tile = std::bit_ceil(values(group));
  plan.work_group = group;
  plan.global =
      global_size({divide_up(problem.out_size[0] * problem.channels, kCols),
                   divide_up(problem.out_size[1], sizes.block_rows), problem.out_size[2] * problem.batch},
                  group);
  plan.tile_rows = group[1] * sizes.block_rows;
  plan.tile_cols = group[0] * kCols;
  plan.items_per_work_item = kCols * sizes.block_rows;
  plan.local_bytes = (tile + weights) * each;
  define(plan, {{"GROUP_X", group[0]},
                {"GROUP_Y", group[1]},
                {"ROWS", sizes.block_rows},
                {"TILE", tile},
                {"WEIGHTS", weights}});
  define_sub_group(device, plan);
  // Cells as they are in memory need no registers on their way.
  constexpr unsigned kSm80 = 80;
  const bool same = problem.type == Scalar::float32 || problem.type == Scalar::float64;
  if (same && compute_capability(device) >= kSm80) define(plan, "ASYNC", each);
  plan.prediction.local_bytes =
      real(each) * real(problem.results(), problem.weights()) / real(sizes.block_rows);
  plan.reason = formatted("{} x {} results in a work-item's registers, of a tile in local memory", kCols,
                          sizes.block_rows);
  return plan;
}

Attempt march(const Device& device, const StencilProblem& problem, std::size_t wanted) {
  if (!is_plain(problem) || problem.size != problem.out_size) return "needs strides and dilations of 1";
  if (problem.window[2] == 1) return "the window is flat: there is nothing to keep from plane to plane";
  if (problem.weights() * problem.channels > stencil_policy(device).most_unrolled / 4)
    return "the window is too large to be written out";
  const std::size_t each = value_bytes(problem);
  const auto values = [&](const Sizes& group) {
    const std::size_t plane =
        problem.channels * (group[0] + problem.window[0] - 1) * (group[1] + problem.window[1] - 1);
    return round_up(problem.window[2] * plane, kLocalLot / each);
  };
  const StencilTiles& sizes = stencil_policy(device).tiles;
  const Sizes group = group_that_fits(device, {sizes.across, sizes.group / sizes.across, 1}, wanted,
                                      sizes.bytes, [&](const Sizes& g) { return values(g) * each; });
  if (group[0] == 0) return no_room(device);
  const std::size_t share = divide_up(values(group) / problem.window[2], group[0] * group[1]);
  // With less room in local memory groups grow small.
  if (share > sizes.reads_each) return "its groups would be small beside their halo";
  Plan plan = base_plan(device, problem, "march");
  const std::size_t planes = march_planes(device, problem);
  plan.work_group = group;
  plan.global = global_size(
      {problem.size[0], problem.size[1], divide_up(problem.size[2], planes) * problem.batch}, group);
  plan.tile_rows = group[1];
  plan.tile_cols = group[0];
  plan.items_per_work_item = planes;
  plan.local_bytes = values(group) * each;
  define(plan, {{"GROUP_X", group[0]}, {"GROUP_Y", group[1]}});
  define_window(plan, device, problem);
  plan.numbers = {{"planes", planes}};
  const auto share_of_plane =
      real(values(group)) / real(problem.window[2] * group[0] * group[1] * problem.channels);
  plan.prediction.local_bytes = real(each, problem.results()) * (share_of_plane + real(problem.weights()));
  plan.reason = formatted(
      "plane streaming (2.5D blocking) along z keeps the last {} planes of a {} x {} tile in local memory",
      problem.window[2], group[0], group[1]);
  return plan;
}

Attempt cpu(const Device& device, const StencilProblem& problem) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const Jobs jobs = cpu_jobs(device, problem);
  if (jobs.strip == 0) return no_room(device);
  Plan plan = base_plan(device, problem, "cpu");
  const std::size_t count = divide_up(at_least_1(problem.out_size[0]), jobs.strip) *
                            divide_up(at_least_1(problem.out_size[1]), jobs.band) * problem.out_size[2] *
                            problem.batch;
  set_groups(plan, 1, count);
  set_group_tile(plan, {.rows = jobs.band,
                        .cols = jobs.strip,
                        .vector_width = jobs.lanes,
                        .items = jobs.strip * jobs.band,
                        .local_bytes = jobs.memory * value_bytes(problem)});
  define(plan, {{"MEMORY", jobs.memory}, {"LANES", jobs.lanes}, {"RESULT_BYTES", size_of(problem.type)}});
  plan.numbers = {{"strip", jobs.strip}, {"band", jobs.band}};
  // What a cache holds is left there for whoever reads it next. Parts of cache lines are not stored past it.
  if (problem.out_alignment >= kCacheLine && plan.prediction.bytes() > 2.0 * real(device.cache_bytes))
    define(plan, "STREAMING", 1);
  plan.reason = formatted(
      "a thread keeps the lines of {} cells that the windows cover in its cache, as numbers", jobs.strip);
  return plan;
}

}  // namespace smem::plan::stencil
