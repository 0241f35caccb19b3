// Plans for pooling: how many results a work-item makes, and why.
#include <smem/error.hpp>
#include <smem/pool_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/pixels.hpp"
#include "plan/pool_checks.hpp"
#include "plan/pool_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::define;
using plan::divide_up;

constexpr std::size_t kMostWindow = std::size_t{1} << 20;
constexpr std::size_t kOwnBytes = 64;  // of local memory, which compilers take for themselves

const char* operation_of(const PoolProblem& problem) {
  return problem.op == PoolOp::max ? "max_pool2d" : "avg_pool2d";
}
const char* operation_of(const GlobalPoolProblem& problem) {
  return problem.op == PoolOp::max ? "global_max_pool" : "global_avg_pool";
}

/// What poolings of windows and of whole planes have.
template <class Problem>
Plan base_plan(const Problem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = operation_of(problem);
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan::define_pixels(plan, problem.in, problem.out, Boundary::zero, problem.channels);
  if (!is_float(problem.in)) define(plan, "INTEGER", 1);
  if (problem.op == PoolOp::average) define(plan, "AVERAGE", 1);
  plan.prediction.bytes_read = static_cast<double>(problem.width) * static_cast<double>(problem.height) *
                               static_cast<double>(problem.planes * problem.channels) *
                               static_cast<double>(size_of(problem.in));
  return plan;
}

/// Of windows.
Plan windows_plan(const PoolProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan = base_plan(problem, variant, file, entry);
  if (problem.count_padding) define(plan, "COUNT_PADDING", 1);
  if (problem.indices) define(plan, "INDICES", 1);
  const auto results = static_cast<double>(problem.windows.across(problem.width)) *
                       static_cast<double>(problem.windows.down(problem.height)) *
                       static_cast<double>(problem.planes * problem.channels);
  plan.prediction.bytes_written =
      results * static_cast<double>(size_of(problem.out) + (problem.indices ? sizeof(std::uint32_t) : 0));
  plan.prediction.operations = results * static_cast<double>(problem.windows.width * problem.windows.height);
  return plan;
}

/// `wanted`: work-items of a group.
void set_launch(const Device& device, const PoolProblem& problem, std::size_t per_item, bool cpu,
                std::size_t wanted, Plan& plan) {
  const std::size_t cols = problem.windows.across(problem.width) * problem.channels;
  const std::size_t rows = problem.windows.down(problem.height);
  const std::size_t band = cpu ? plan::cpu_band(device, rows, problem.planes, 0) : 1;
  const std::array<std::size_t, 3> extent{cpu ? 1 : divide_up(std::max<std::size_t>(cols, 1), per_item),
                                          divide_up(std::max<std::size_t>(rows, 1), band),
                                          std::max<std::size_t>(problem.planes, 1)};
  plan.work_group = cpu ? std::array<std::size_t, 3>{1, 1, 1} : plan::shape_group(device, wanted, 64, extent);
  plan.global = plan::global_size(extent, plan.work_group);
  for (const auto& [name, size] : {std::pair{"GROUP_0", plan.work_group[0]},
                                   {"GROUP_1", plan.work_group[1]},
                                   {"GROUP_2", plan.work_group[2]}})
    define(plan, name, size);
  plan.items_per_work_item = per_item;
  plan.numbers = {{"band", band}};  // rows of results of a work-item
}

struct Block {
  std::size_t results = 0;
  std::size_t read = 1;  ///< elements at once
};

/// Results that a work-item makes of windows in vectors; none where it cannot.
std::optional<Block> block_for(const Device& device, const PoolProblem& problem) {
  const Pooling& w = problem.windows;
  const std::size_t bytes = size_of(problem.in);
  if (problem.channels != 1 || problem.indices) return std::nullopt;
  const plan::PoolPolicy& policy = plan::pool_policy(device);
  const std::size_t span_bytes = w.width == w.stride_across ? policy.span_bytes : policy.overlapping_bytes;
  Block block{std::clamp<std::size_t>(span_bytes / bytes / w.stride_across, 2, 16), 1};
  block.results = std::bit_floor(block.results);
  const auto span = [&] { return (block.results - 1) * w.stride_across + w.width; };
  const auto fits = [&] { return span() <= policy.most_span && span() * w.height <= policy.most_kept; };
  while (block.results > 2 && !fits())
    block.results /= 2;
  if (!fits()) return std::nullopt;
  const std::size_t read = std::min(policy.read_bytes, problem.in_alignment) / bytes;
  if (w.pad_left == 0 && read > 1 && span() % read == 0 && block.results * w.stride_across % read == 0)
    block.read = read;
  // Compilers keep single elements of half in memory.
  if (problem.in == Scalar::half && block.read == 1) return std::nullopt;
  return block;
}

std::optional<Plan> plan_variant(const Device& device, const PoolProblem& problem, std::string_view variant,
                                 std::size_t work_items = 0) {
  const plan::PoolPolicy& policy = plan::pool_policy(device);
  const std::size_t usual = variant == "vector" ? policy.vector_group : policy.group;
  const std::size_t wanted = work_items != 0 ? work_items : usual;
  const bool cpu = variant == "cpu";
  if (cpu && !plan::runs_cpu_variant(device)) return std::nullopt;
  const std::optional<Block> block = block_for(device, problem);
  if (variant == "windows") {
    Plan plan = windows_plan(problem, variant, "pool/windows.cl", "pool_windows");
    set_launch(device, problem, 1, cpu, wanted, plan);
    plan.reason = "a work-item has one result, of any window";
    return plan;
  }
  // Of halves the other way takes 1.5 times the time for means of 2 x 2, as long for maxima.
  if (cpu && (!block || problem.in == Scalar::half)) {
    Plan plan = windows_plan(problem, variant, "pool/cpu.cl", "pool_cpu");
    set_launch(device, problem, 1, cpu, wanted, plan);
    define(plan, "STRIDE_W", problem.windows.stride_across);
    plan.reason = "a thread has whole rows, whose windows it joins cell by cell in vectors";
    return plan;
  }
  if (!block) return std::nullopt;
  Plan plan = windows_plan(problem, variant, "pool/vector.cl", "pool_vector");
  set_launch(device, problem, block->results, cpu, wanted, plan);
  plan.vector_width = block->read;
  define(plan, "WINDOW_W", problem.windows.width);
  define(plan, "WINDOW_H", problem.windows.height);
  define(plan, "STRIDE_W", problem.windows.stride_across);
  define(plan, "RESULTS", block->results);
  define(plan, "READ", block->read);
  define(plan, "VECTOR_OUT", problem.out_alignment >= block->results * size_of(problem.out) ? 1 : 0);
  plan.reason = formatted("{} results {}, whose windows are read {} elements at a time", block->results,
                          cpu ? "after the other" : "a work-item", block->read);
  return plan;
}

std::string why_not(const Device& device, const PoolProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "cpu") return plan::no_cpu_variant(device);
  if (!plan_variant(device, problem, variant)) {
    return problem.channels != 1 ? "its vectors have one channel"
           : problem.indices     ? "it keeps no places"
                                 : "windows are too large for its registers";
  }
  if (chosen.variant == "cpu") return "work-items of few results are loops on a CPU";
  return "it reads single elements";
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

[[noreturn]] void refuse(const char* operation, const char* argument, std::string expected, std::string got) {
  throw Error(
      {.operation = operation, .argument = argument, .expected = std::move(expected), .got = std::move(got)});
}

template <class Problem>
void check_planes(const char* operation, const Device& device, const Problem& problem) {
  plan::check_pixels(operation, device, problem.in, problem.out, problem.channels);
  plan::require_known(operation, "op", problem.op, PoolOp::average);
  plan::require_elements(operation, "in", {problem.width, problem.channels, problem.height, problem.planes});
  if (problem.out != problem.in && problem.out != Scalar::float32) {
    refuse(operation, "out", formatted("{} or float32", name_of(problem.in)),
           std::string(name_of(problem.out)));
  }
}

}  // namespace

void plan::check_pool(const char* operation, const Device& device, const PoolProblem& problem) {
  check_planes(operation, device, problem);
  const Pooling& w = problem.windows;
  const auto check = [&](std::size_t window, std::size_t stride, std::size_t before, std::size_t after) {
    if (window == 0 || window > kMostWindow) {
      refuse(operation, "windows", formatted("windows of 1 to {} cells", kMostWindow),
             formatted("{}", window));
    }
    if (stride == 0 || stride > kMostWindow)
      refuse(operation, "windows", formatted("strides of 1 to {}", kMostWindow), formatted("{}", stride));
    if (std::max(before, after) >= window) {
      refuse(operation, "windows", formatted("paddings of less than {}, the window", window),
             formatted("{}", std::max(before, after)));
    }
  };
  check(w.width, w.stride_across, w.pad_left, w.pad_right);
  check(w.height, w.stride_down, w.pad_top, w.pad_bottom);
  plan::require_elements(operation, "out",
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

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const PoolProblem& problem, const PlanOverrides& overrides) {
  const char* operation = operation_of(problem);
  plan::check_pool(operation, device, problem);
  const auto names = pool_variants();
  plan::require_choice(operation, overrides, names);
  plan::require_work_items(operation, device, overrides);
  const std::string_view chosen = !overrides.variant.empty()       ? std::string_view(overrides.variant)
                                  : plan::runs_cpu_variant(device) ? "cpu"
                                  : block_for(device, problem)     ? "vector"
                                                                   : "windows";
  std::optional<Plan> plan = plan_variant(device, problem, chosen, overrides.work_items);
  if (!plan) {
    refuse(operation, "variant", "one that can run this pooling on this device",
           formatted("\"{}\" for windows of {} x {} of {} channels on {}", chosen, problem.windows.width,
                     problem.windows.height, problem.channels, device.name));
  }
  if (overrides.work_items != 0 && plan->work_items() != overrides.work_items) {
    refuse(operation, "work_items",
           plan->variant == "cpu" ? std::string("1: a thread has whole rows")
                                  : formatted("at most {}, for so few results", plan->work_items()),
           formatted("{}", overrides.work_items));
  }
  plan->evidence = plan::pool_policy(device).evidence.text(device);
  plan::note_choice(*plan, overrides, names, device, problem, why_not);
  return *plan;
}

}  // namespace

Plan plan_pool(const Device& device, const PoolProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "pool", problem.in)
      .plan(pool_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

namespace {

/// Work-items for a part of so many elements.
std::size_t usual_group(const Device& device, std::size_t elements) {
  const plan::GlobalPoolPolicy& policy = plan::global_pool_policy(device);
  return std::clamp(std::bit_ceil(divide_up(elements, policy.item_elements)), policy.least_group,
                    policy.most_group);
}

/// How whole planes are cut.
struct Cut {
  std::size_t joined = 1;  ///< rows of the input that are one row
  std::size_t band = 1;    ///< of these, a part
  std::size_t parts = 1;   ///< of a plane; of more than one a second launch makes the results
};

Cut cut_planes(const Device& device, const GlobalPoolProblem& problem) {
  const plan::GlobalPoolPolicy& policy = plan::global_pool_policy(device);
  const std::size_t row = std::max<std::size_t>(problem.width * problem.channels, 1);
  const std::size_t height = std::max<std::size_t>(problem.height, 1);
  const std::size_t wanted =
      divide_up(policy.groups_a_unit * device.compute_units, std::max<std::size_t>(problem.planes, 1));
  Cut cut;
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
  Plan plan = base_plan(problem, "parts", "pool/whole.cl", "pool_whole");
  const double read = plan.prediction.bytes_read / static_cast<double>(size_of(problem.in));
  plan.prediction.bytes_written =
      static_cast<double>(problem.planes * problem.channels) * static_cast<double>(size_of(problem.out));
  plan.prediction.operations = read;
  // Without local memory, one work-item a group needs none to share.
  const std::size_t group = std::max<std::size_t>(plan::group_for(device, wanted, 8, kOwnBytes), 1);
  plan.work_group = {group, 1, 1};
  define(plan, "PHASE", phase);
  define(plan, "GROUP", group);
  return plan;
}

Plan make_plan(const Device& device, const GlobalPoolProblem& problem, const PlanOverrides& overrides) {
  const char* operation = operation_of(problem);
  plan::check_global_pool(operation, device, problem);
  plan::require_choice(operation, overrides, {"parts"});
  plan::require_work_items(operation, device, overrides);
  const Cut cut = cut_planes(device, problem);
  const std::size_t rows = cut.band * cut.joined;
  const auto wanted = [&](std::size_t usual) {
    return overrides.work_items != 0 ? overrides.work_items : usual;
  };
  Plan plan = phase_of_planes(device, problem,
                              wanted(usual_group(device, rows * problem.width * problem.channels)), 0);
  const std::size_t group = plan.work_group[0];
  plan.global = {std::clamp<std::size_t>(cut.parts * problem.planes, 1, std::size_t{1} << 20) * group, 1, 1};
  plan.local_bytes = group > 1 ? group * 8 : 0;
  plan.numbers = {{"joined", cut.joined}, {"band", cut.band}};
  if (cut.parts == 1) {
    define(plan, "ONE_PART", 1);
    plan.reason = "a group takes a plane";
  } else {
    plan.reason = formatted("groups take {} rows of a plane each", rows);
    plan::add_scratch(plan, cut.parts * problem.planes * problem.channels * 8);
    Launch join = phase_of_planes(device, problem, wanted(plan::global_pool_policy(device).finish_group), 1);
    join.variant = "finish";
    join.reason = "joins the parts";
    join.global = {std::clamp<std::size_t>(divide_up(problem.planes * problem.channels, join.work_group[0]),
                                           1, plan::kMaxTiles) *
                       join.work_group[0],
                   1, 1};
    plan.after.push_back(std::move(join));
  }
  plan.evidence = plan::global_pool_policy(device).evidence.text(device);
  plan.overrides = overrides;
  ++plan::plans_made();
  return plan;
}

}  // namespace

Plan plan_global_pool(const Device& device, const GlobalPoolProblem& problem,
                      const PlanOverrides& overrides) {
  return plan::Broken(device, "global_pool", problem.in)
      .plan({"parts"}, overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
