// Plans for pooling: how many results a work-item makes, and why.
#include <smem/pool_plan.hpp>

#include "formatted.hpp"
#include "plan/pixels.hpp"
#include "plan/pool_checks.hpp"
#include "plan/pool_policy.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kMostWindow = std::size_t{1} << 20;

const char* operation_of(const PoolProblem& problem) {
  return problem.op == PoolOp::max ? "max_pool2d" : "avg_pool2d";
}
const char* operation_of(const GlobalPoolProblem& problem) {
  return problem.op == PoolOp::max ? "global_max_pool" : "global_avg_pool";
}

/// What poolings of windows and of whole planes have.
template <class Problem>
Plan pool_plan(const Problem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan = named_plan(operation_of(problem), variant, file, entry);
  define_pixels(plan, problem.in, problem.out, Boundary::zero, problem.channels);
  if (!is_float(problem.in)) define(plan, "INTEGER", 1);
  if (problem.op == PoolOp::average) define(plan, "AVERAGE", 1);
  plan.prediction.bytes_read =
      real(problem.width, problem.height, problem.planes * problem.channels, size_of(problem.in));
  return plan;
}

/// Of windows.
Plan windows_plan(const PoolProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan = pool_plan(problem, variant, file, entry);
  if (problem.op == PoolOp::average && problem.pooling.count_padding) define(plan, "COUNT_PADDING", 1);
  if (problem.indices) define(plan, "INDICES", 1);
  const auto results = real(problem.pooling.across(problem.width), problem.pooling.down(problem.height),
                            problem.planes * problem.channels);
  plan.prediction.bytes_written =
      results * real(size_of(problem.out) + (problem.indices ? sizeof(std::uint32_t) : 0));
  plan.prediction.operations = results * real(problem.pooling.window.width * problem.pooling.window.height);
  return plan;
}

/// Results of a work-item of "windows", one below the other: 1 where their windows are not known to the
/// program, or work-items would be few.
std::size_t results_down(const Device& device, const PoolProblem& problem) {
  const PoolPolicy& policy = pool_policy(device);
  const Pooling& w = problem.pooling;
  const std::size_t rows = w.down(problem.height), area = size_product(w.window.width, w.window.height);
  if (problem.indices || area > policy.most_written_out || area == 0) return 1;
  const std::size_t read = policy.down_elements / w.window.width;  // rows of windows
  if (read < w.window.height + w.stride.y) return 1;
  const double all = real(w.across(problem.width) * problem.channels, rows, at_least_1(problem.planes));
  const double each = all / real(policy.items_a_unit, at_least_1(device.compute_units));
  const auto most = static_cast<std::size_t>(std::clamp(each, 1.0, real(policy.most_down)));
  const std::size_t down = std::min(most, (read - w.window.height) / w.stride.y + 1);
  return down < 2 ? 1 : divide_up(rows, divide_up(rows, down));
}

/// `wanted`: work-items of a group.
void set_launch(const Device& device, const PoolProblem& problem, std::size_t per_item, bool cpu,
                std::size_t wanted, Plan& plan, std::size_t down = 1) {
  const std::size_t cols = problem.pooling.across(problem.width) * problem.channels;
  const std::size_t rows = problem.pooling.down(problem.height);
  const std::size_t band = cpu ? cpu_band(device, rows, problem.planes, 0) : down;
  const std::array<std::size_t, 3> extent{cpu ? 1 : divide_up(at_least_1(cols), per_item),
                                          divide_up(at_least_1(rows), band), at_least_1(problem.planes)};
  set_grid(plan, device, cpu ? 1 : wanted, extent);
  const std::array<std::size_t, 3> usual = plan.work_group;
  const std::size_t bands = std::min(std::bit_ceil(extent[1]), usual[1]);
  const std::size_t planes = usual[2] * (usual[1] / bands);
  if (down > 1 && bands < usual[1] && usual[2] * 4 <= extent[2] && planes <= device.max_work_items[2]) {
    plan.work_group = {usual[0], bands, planes};  // few bands: more planes
    plan.global = global_size(extent, plan.work_group);
  }
  define_group(plan);
  plan.items_per_work_item = per_item;
  plan.numbers = {{"band", band}};  // rows of results of a work-item
}

struct Block {
  std::size_t results = 0;
  std::size_t read = 1;  ///< elements at once
};

/// What "windows" knows of a problem when it is compiled.
void define_few(const PoolProblem& problem, const PoolPolicy& policy, Plan& plan) {
  const Pooling& w = problem.pooling;
  constexpr std::size_t kFew = std::size_t{1} << 30;  // with windows and strides of at most 2^20
  const std::size_t width = size_product(problem.width, problem.channels);
  if (std::max({width, size_product(w.across(problem.width), problem.channels), problem.height,
                problem.planes}) < kFew)
    define(plan, "FEW", 1);
  if (size_product(w.window.width, w.window.height) > policy.most_written_out) return;
  define(plan, {{"WINDOW_W", w.window.width}, {"WINDOW_H", w.window.height}});
  const auto reach = [](std::size_t results, std::size_t stride, std::size_t window) {
    return (at_least_1(results) - 1) * stride + window;
  };
  if (w.padding.left == 0 && w.padding.top == 0 &&
      reach(w.across(problem.width), w.stride.x, w.window.width) <= problem.width &&
      reach(w.down(problem.height), w.stride.y, w.window.height) <= problem.height)
    define(plan, "INSIDE", 1);
}

/// Results that a work-item makes of windows in vectors; none where it cannot.
std::optional<Block> block_for(const Device& device, const PoolProblem& problem) {
  const Pooling& w = problem.pooling;
  const std::size_t bytes = size_of(problem.in);
  if (problem.channels != 1 || problem.indices) return std::nullopt;
  const PoolPolicy& policy = pool_policy(device);
  const std::size_t span_bytes = w.window.width == w.stride.x ? policy.span_bytes : policy.overlapping_bytes;
  Block block{std::clamp<std::size_t>(span_bytes / bytes / w.stride.x, 2, 16), 1};
  block.results = std::bit_floor(block.results);
  const auto span = [&] { return (block.results - 1) * w.stride.x + w.window.width; };
  const auto fits = [&] {
    return span() <= policy.most_span && span() * w.window.height <= policy.most_kept;
  };
  while (block.results > 2 && !fits())
    block.results /= 2;
  if (!fits()) return std::nullopt;
  const std::size_t read = std::min(policy.read_bytes, problem.in_alignment) / bytes;
  if (w.padding.left == 0 && read > 1 && span() % read == 0 && block.results * w.stride.x % read == 0)
    block.read = read;
  // Single bytes of work-items that are far apart take as many accesses as whole lines.
  while (block.read == 1 && bytes == 1 && block.results > 2 &&
         block.results * w.stride.x > policy.single_span)
    block.results /= 2;
  // Compilers keep single elements of half in memory, but for NVIDIA's.
  const bool is_narrow = w.across(problem.width) <= policy.narrow_results;
  if (problem.in == Scalar::half && block.read == 1 && (!policy.single_halves || is_narrow))
    return std::nullopt;
  // Of a short row many results have windows that reach beyond it, which are made one by one.
  const bool is_short = is_narrow && w.stride.x > 1;
  if (block.read == 1 && w.padding.left != 0 && problem.op == PoolOp::max && is_short) return std::nullopt;
  return block;
}

/// Whether a thread joins the rows of windows first: its line has a quarter for a window, and its sums of
/// integers have 31 bits.
bool joins_lines(const PoolProblem& problem) {
  constexpr std::size_t kLine = 4096, kMostSummed = 32768;  // cl/pool/cpu_lines.cl
  const Pooling& w = problem.pooling;
  const bool fits = size_product(w.window.width, problem.channels) <= kLine / 4 &&
                    size_product(w.stride.x, problem.channels) <= kLine / 4;
  const bool wide = problem.op == PoolOp::average && !is_float(problem.in) &&
                    size_product(w.window.width, w.window.height) > kMostSummed;
  return !problem.indices && fits && !wide;
}

/// Lanes of a vector of the narrowest integers that hold the greatest of a window, or a sum of bytes; 0: of
/// int.
std::size_t narrow_lanes(const Device& device, const PoolProblem& problem) {
  constexpr std::size_t kMostBytes = 256;  // whose sum has 16 bits
  const Window2d& window = problem.pooling.window;
  const bool mean = problem.op == PoolOp::average;
  if (!device.extended_vectors || is_float(problem.in) || problem.in != problem.out) return 0;
  if (mean && (problem.in != Scalar::uint8 || size_product(window.width, window.height) > kMostBytes))
    return 0;
  return std::clamp<std::size_t>(device.vector_bytes / (mean ? 2 : size_of(problem.in)), 16, 64);
}

Plan cpu_plan(const Device& device, const PoolProblem& problem, std::size_t wanted) {
  const bool lines = joins_lines(problem);
  Plan plan = windows_plan(problem, "cpu", lines ? "pool/cpu_lines.cl" : "pool/cpu.cl",
                           lines ? "pool_cpu_lines" : "pool_cpu");
  set_launch(device, problem, 1, true, wanted, plan);
  define(plan, {{"STRIDE_W", problem.pooling.stride.x}});
  const std::size_t narrow = lines ? narrow_lanes(device, problem) : 0;
  if (narrow != 0) define(plan, "NARROW_LANES", narrow);
  const Pooling& w = problem.pooling;
  const bool are_pairs = w.window.width == 2 && w.stride.x == 2 && w.padding.left == 0;
  if (narrow != 0 && are_pairs && problem.in == Scalar::uint8 && problem.channels == 1)
    define(plan, "PAIRS", problem.op == PoolOp::average ? narrow : narrow / 2);
  plan.reason = lines
                    ? "a thread joins the rows of windows into a line, in vectors, and then the line's cells"
                    : "a thread has whole rows, whose windows it joins cell by cell in vectors";
  return plan;
}

Attempt plan_variant(const Device& device, const PoolProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const PoolPolicy& policy = pool_policy(device);
  const std::size_t wanted = group_wanted(fixed, variant == "vector" ? policy.vector_group : policy.group);
  if (variant == "cpu") {
    if (!runs_cpu_variant(device)) return no_cpu_variant(device);
    return cpu_plan(device, problem, wanted);
  }
  const std::optional<Block> block = block_for(device, problem);
  if (variant == "windows") {
    Plan plan = windows_plan(problem, variant, "pool/windows.cl", "pool_windows");
    const std::size_t down = results_down(device, problem);
    set_launch(device, problem, 1, false, wanted, plan, down);
    define_few(problem, pool_policy(device), plan);
    if (down > 1) define(plan, {{"DOWN", down}, {"STRIDE_H", problem.pooling.stride.y}});
    plan.reason = down > 1 ? formatted("{} results a work-item, one below the other, of rows read once", down)
                           : "one result a work-item, of any window";
    return plan;
  }
  if (!block) {
    return problem.channels != 1 ? "its vectors have one channel"
           : problem.indices     ? "it keeps no places"
                             : "it would read single elements, or windows are too large for its registers";
  }
  Plan plan = windows_plan(problem, variant, "pool/vector.cl", "pool_vector");
  set_launch(device, problem, block->results, false, wanted, plan);
  plan.vector_width = block->read;
  define(plan, {{"WINDOW_W", problem.pooling.window.width},
                {"WINDOW_H", problem.pooling.window.height},
                {"STRIDE_W", problem.pooling.stride.x},
                {"RESULTS", block->results},
                {"READ", block->read},
                {"VECTOR_OUT", problem.out_alignment >= block->results * size_of(problem.out) ? 1 : 0}});
  plan.reason = formatted("{} results a work-item, whose windows are read {} elements at a time",
                          block->results, block->read);
  return plan;
}

/// Whether most warps of "vector" have an end of a row, with windows that are made one by one.
bool has_short_rows(const Device& device, const PoolProblem& problem) {
  const PoolPolicy& policy = pool_policy(device);
  const std::optional<Block> block = block_for(device, problem);
  if (!block || policy.short_results == 0) return false;
  const Pooling& w = problem.pooling;
  const std::size_t results = w.across(problem.width), area = size_product(w.window.width, w.window.height);
  if (w.padding.left == 0 || problem.op != PoolOp::max)
    return divide_up(results, block->results) <= policy.narrow_items;
  return results <= policy.short_results / (area > policy.most_written_out ? 2 : 1);
}

std::vector<std::string_view> preference(const Device& device, const PoolProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  const Pooling& w = problem.pooling;
  const bool overlap = w.stride.x < w.window.width || w.stride.y < w.window.height;
  if (pool_policy(device).down_first && results_down(device, problem) > 1) {
    const std::optional<Block> block = block_for(device, problem);
    const bool is_dense = w.stride.x == 1 && w.stride.y == 1;
    const bool is_wide = is_dense && overlap && w.window.height > 1 && size_of(problem.in) >= 4;
    const bool is_single = block && block->read == 1 && !overlap;
    if (block && (is_single || is_wide)) return {"windows", "vector"};
  }
  if (overlap && w.stride.x > 1 && has_short_rows(device, problem)) return {"windows", "vector"};
  return {"cpu", "vector", "windows"};
}

std::string why_not(const Device& /*device*/, const PoolProblem& /*problem*/, std::string_view /*variant*/,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "work-items of few results are loops on a CPU";
  return chosen.variant == "windows" ? "it reads rows again for windows below" : "it reads single elements";
}

const Evidence& evidence(const Device& device, const PoolProblem& /*problem*/, const Plan& /*plan*/) {
  return pool_policy(device).evidence;
}

/// A number that divides `height`, at least `wanted` and not much larger; 1 where there is none.
std::size_t joined_rows(std::size_t height, std::size_t wanted) {
  for (std::size_t rows = wanted; rows <= std::min(height, 4 * wanted); ++rows)
    if (height % rows == 0) return rows;
  return 1;
}

}  // namespace

std::vector<std::string_view> pool_variants() { return {"windows", "vector", "cpu"}; }

namespace {

template <class Problem>
void check_planes(const char* operation, const Device& device, const Problem& problem) {
  check_pixels(operation, device, problem.in, problem.out, problem.channels);
  require_known(operation, "op", problem.op, PoolOp::average);
  require_elements(operation, "in", {problem.width, problem.channels, problem.height, problem.planes});
  if (problem.out != problem.in && problem.out != Scalar::float32)
    refuse(operation, "out", formatted("{} or float32", name_of(problem.in)), name_of(problem.out));
}

}  // namespace

void plan::check_pool(const char* operation, const Device& device, const PoolProblem& problem) {
  check_planes(operation, device, problem);
  const Pooling& w = problem.pooling;
  const auto check = [&](std::size_t window, std::size_t stride, std::size_t before, std::size_t after) {
    if (window == 0 || window > kMostWindow) {
      refuse(operation, "pooling", formatted("windows of 1 to {} cells", kMostWindow),
             formatted("{}", window));
    }
    if (stride == 0 || stride > kMostWindow)
      refuse(operation, "pooling", formatted("strides of 1 to {}", kMostWindow), formatted("{}", stride));
    if (std::max(before, after) >= window) {
      refuse(operation, "pooling", formatted("paddings of less than {}, the window", window),
             formatted("{}", std::max(before, after)));
    }
  };
  check(w.window.width, w.stride.x, w.padding.left, w.padding.right);
  check(w.window.height, w.stride.y, w.padding.top, w.padding.bottom);
  require_elements(operation, "out",
                   {w.across(problem.width), problem.channels, w.down(problem.height), problem.planes});
  if (problem.indices && problem.width * problem.height > 0xffffffff) {
    refuse(operation, "indices", "planes of at most 2^32 - 1 cells",
           formatted("{}", problem.width * problem.height));
  }
}

void plan::check_global_pool(const char* operation, const Device& device, const GlobalPoolProblem& problem) {
  check_planes(operation, device, problem);
}

namespace {

constexpr Operation<PoolProblem> kPool{
    .what = "pooling",
    .name = operation_of,
    .variants = pool_variants,
    .check = [](const Device& device, const PoolProblem& p) { check_pool(operation_of(p), device, p); },
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = "a thread has whole rows"};

/// Work-items for a part of so many elements.
std::size_t usual_group(const Device& device, std::size_t elements) {
  const GlobalPoolPolicy& policy = global_pool_policy(device);
  return std::clamp(std::bit_ceil(divide_up(elements, policy.item_elements)), policy.least_group,
                    policy.most_group);
}

/// Whether planes of so few elements share a group, of several teams.
bool has_teams(const Device& device, std::size_t elements) {
  const GlobalPoolPolicy& policy = global_pool_policy(device);
  return elements <= policy.most_team * policy.item_elements;
}

/// Work-items of a team of a group of `group`: all, or a power of two.
std::size_t team_for(const Device& device, std::size_t elements, std::size_t group) {
  const GlobalPoolPolicy& policy = global_pool_policy(device);
  const std::size_t team = std::clamp(std::bit_floor(at_least_1(elements / policy.team_elements)),
                                      policy.least_team, policy.most_team);
  return has_teams(device, elements) && group % team == 0 ? team : group;
}

/// How whole planes are cut.
struct PlaneCut {
  std::size_t joined = 1;  ///< rows of the input that are one row
  std::size_t band = 1;    ///< of these, a part
  std::size_t parts = 1;   ///< of a plane; of more than one a second launch makes the results
};

PlaneCut cut_planes(const Device& device, const GlobalPoolProblem& problem) {
  const GlobalPoolPolicy& policy = global_pool_policy(device);
  const std::size_t row = at_least_1(problem.width * problem.channels);
  const std::size_t height = at_least_1(problem.height);
  const std::size_t wanted =
      divide_up(policy.groups_a_unit * device.compute_units, at_least_1(problem.planes));
  PlaneCut cut;
  // Work-items beyond a short row's end have nothing to do: rows without gaps are taken as one.
  if (problem.packed && row < policy.joined_elements) {
    cut.joined = row * height <= 2 * policy.part_elements
                     ? height
                     : joined_rows(height, divide_up(policy.joined_elements, row));
  }
  const std::size_t rows = height / cut.joined;
  cut.band =
      std::max({std::size_t{1}, divide_up(rows, wanted), divide_up(policy.part_elements, row * cut.joined)});
  cut.band = std::min({cut.band, rows, std::size_t{1} << 30});
  cut.parts = divide_up(rows, cut.band);
  return cut;
}

/// The launch of PHASE `phase`, of groups of at most `wanted` work-items.
Plan phase_of_planes(const Device& device, const GlobalPoolProblem& problem, std::size_t wanted,
                     std::size_t phase) {
  Plan plan = pool_plan(problem, "parts", "pool/whole.cl", "pool_whole");
  const double read = plan.prediction.bytes_read / real(size_of(problem.in));
  plan.prediction.bytes_written = real(problem.planes * problem.channels, size_of(problem.out));
  plan.prediction.operations = read;
  // Without local memory, one work-item a group needs none to share.
  const std::size_t group = at_least_1(group_for(device, wanted, 8, kOwnBytes));
  plan.work_group = {group, 1, 1};
  define(plan, {{"PHASE", phase}, {"GROUP", group}});
  return plan;
}

Attempt plan_parts(const Device& device, const GlobalPoolProblem& problem, const PlanOverrides& fixed,
                   std::string_view /*variant*/) {
  const PlaneCut cut = cut_planes(device, problem);
  const std::size_t rows = cut.band * cut.joined, elements = rows * problem.width * problem.channels;
  const std::size_t usual =
      has_teams(device, elements) ? global_pool_policy(device).teams_group : usual_group(device, elements);
  Plan plan = phase_of_planes(device, problem, group_wanted(fixed, usual), 0);
  const std::size_t group = plan.work_group[0], team = team_for(device, elements, group);
  constexpr std::size_t kShortLoops =
      20000;  // elements of a work-item, which has up to three loops over them
  if (!device.long_loops && elements > kShortLoops * team)
    return "its loops are shorter than a part of a plane";
  if (team < group) define(plan, "TEAM", team);
  set_groups(plan, group, divide_up(cut.parts * problem.planes, group / team), std::size_t{1} << 20);
  plan.local_bytes = group > 1 ? group * 8 : 0;
  plan.numbers = {{"joined", cut.joined}, {"band", cut.band}};
  if (cut.parts == 1) {
    define(plan, "ONE_PART", 1);
    plan.reason = team < group ? formatted("{} work-items take a plane", team) : "a group takes a plane";
  } else {
    plan.reason = formatted("groups take {} rows of a plane each", rows);
    add_scratch(plan, cut.parts * problem.planes * problem.channels * 8);
    Launch join =
        phase_of_planes(device, problem, group_wanted(fixed, global_pool_policy(device).finish_group), 1);
    join.variant = "finish";
    join.reason = "combines the parts";
    set_groups(join, join.work_group[0], divide_up(problem.planes * problem.channels, join.work_group[0]));
    plan.after.push_back(std::move(join));
  }
  return plan;
}

std::vector<std::string_view> only_parts() { return {"parts"}; }

constexpr Operation<GlobalPoolProblem> kGlobalPool{
    .what = "pooling",
    .name = operation_of,
    .variants = only_parts,
    .check = [](const Device& device,
                const GlobalPoolProblem& p) { check_global_pool(operation_of(p), device, p); },
    .preference = [](const Device&, const GlobalPoolProblem&, const PlanOverrides&) { return only_parts(); },
    .attempt = plan_parts,
    .why_not = nullptr,  // there is no other
    .evidence = [](const Device& device, const GlobalPoolProblem&, const Plan&) -> const Evidence& {
      return global_pool_policy(device).evidence;
    },
    .one_work_item = ""};

}  // namespace

Plan plan_pool(const Device& device, const PoolProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kPool, "pool", problem.in, device, problem, overrides);
}

Plan plan_global_pool(const Device& device, const GlobalPoolProblem& problem,
                      const PlanOverrides& overrides) {
  return plan_call(kGlobalPool, "global_pool", problem.in, device, problem, overrides);
}

}  // namespace smem
