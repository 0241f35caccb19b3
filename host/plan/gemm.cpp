// Plans for products of matrices: which variant, and why not the others.
#include <smem/gemm_plan.hpp>

#include "formatted.hpp"
#include "plan/gemm_nvidia.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace smem {

namespace plan::gemm {

namespace {

/// Loops of a work-item on devices that do not run them to their end, with some room.
constexpr std::size_t kShortLoops = 32768;

void set_grid(const Device& device, const GemmProblem& problem, Plan& plan) {
  const std::array<std::size_t, 3> extent{problem.n, problem.m, problem.batch};
  // One group for all shapes, so that one program serves them.
  plan.work_group = shape_group(device, policy_of(device).group, 16, {16, 16, 1});
  plan.global = global_size(extent, plan.work_group);
  plan.tile_rows = plan.work_group[1];
  plan.tile_cols = plan.work_group[0];
  define_group(plan);
}

}  // namespace

std::size_t type_number(Scalar type) {
  switch (type) {
    case Scalar::float64:
      return 1;
    case Scalar::half:
      return 2;
    case Scalar::bfloat16:
      return 3;
    case Scalar::int8:
      return 4;
    case Scalar::int32:
      return 5;
    case Scalar::e4m3:
      return 6;
    case Scalar::e5m2:
      return 7;
    default:
      return 0;
  }
}

Scalar b_type(const GemmProblem& problem) {
  if (!problem.mixed) return problem.in;
  return problem.in == Scalar::e4m3 ? Scalar::e5m2 : Scalar::e4m3;
}

Scalar value_type(Scalar in) {
  return in == Scalar::int8 ? Scalar::int32 : in == Scalar::float64 ? in : Scalar::float32;
}

std::string text_of(Scalar type) {
  const bool is_known = type >= Scalar::int8 && type <= Scalar::e5m2;
  return is_known ? std::string(name_of(type)) : formatted("{}", static_cast<int>(type));
}

void check(const Device& device, const GemmProblem& problem) {
  require_element("gemm", "in", problem.in);
  require_element("gemm", "out", problem.out);
  require_known("gemm", "activation", problem.activation, Activation::gelu);
  if (!problem.expression.empty()) plan::require_code("gemm", "expression", problem.expression);
  // Factors may be those of all products.
  require_elements("gemm", "a", {problem.m, problem.k});
  require_elements("gemm", "b", {problem.k, problem.n});
  require_elements("gemm", "c", {problem.m, problem.n, problem.batch});
  using enum Scalar;
  require_one_of("gemm", "in", problem.in, {float32, float64, half, bfloat16, int8, e4m3, e5m2});
  const std::string in(name_of(problem.in));
  const Scalar sums = value_type(problem.in);
  if (is_fp8(problem.in)) require_one_of("gemm", "out", problem.out, {float32, half, bfloat16});
  if (problem.mixed && !is_fp8(problem.in)) refuse("b", formatted("{}, as a has", in), "another type");
  const bool storage = problem.in == half || problem.in == bfloat16;
  if (!is_fp8(problem.in) && problem.out != sums && !(storage && problem.out == problem.in)) {
    refuse("out", formatted("{}{} for {}", name_of(sums), storage ? formatted(" or {}", in) : "", in),
           name_of(problem.out));
  }
  require_fp64("gemm", device, "in", problem.in);
  if (problem.activation == Activation::gelu && !is_float(problem.in))
    refuse("activation", "none or relu of integers", "gelu");
}

Plan base_plan(const GemmProblem& problem, std::string_view variant, std::string_view file,
               std::string_view entry) {
  Plan plan = named_plan("gemm", variant, file, entry);
  define(plan, {{"ELEMENT_TYPE", type_number(problem.in)},
                {"RESULT_TYPE", type_number(problem.out)},
                {"A_ALONG_K", problem.a_along_k ? 1 : 0},
                {"B_ALONG_K", problem.b_along_k ? 1 : 0}});
  if (problem.mixed) define(plan, "B_TYPE", type_number(b_type(problem)));
  if (problem.listed) define(plan, "LISTED", problem.turned ? 2 : 1);
  if (problem.epilogue) {
    define(plan, "EPILOGUE", 1);
    if (problem.activation != Activation::none)
      define(plan, "ACTIVATION", static_cast<std::size_t>(problem.activation));
    if (problem.row_bias || problem.column_bias) define(plan, "BIAS", problem.row_bias ? 1 : 2);
    if (problem.residual) define(plan, "RESIDUAL", problem.residual_is_c ? 2 : 1);
    if (!problem.expression.empty()) {
      const std::string_view type = opencl_name_of(value_type(problem.in));
      plan.preamble = formatted(
          "#define CUSTOM custom_result\n"
          "#line 1 \"custom.cl\"\n"
          "static inline {0} custom_result({0} x, ulong {1}, ulong {2}) {{ (void)row; (void)col; return (\n"
          "#line 1 \"expression.cl\"\n{3}\n"
          "#line 2 \"custom.cl\"\n); }}\n",
          type, problem.turned ? "col" : "row", problem.turned ? "row" : "col", problem.expression);
      if (problem.in == Scalar::float64)
        plan.preamble.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    }
  }
  const auto m = real(problem.m), n = real(problem.n), k = real(problem.k), batch = real(problem.batch);
  const auto in = real(size_of(problem.in)), out = real(size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) ? 2 * m * n * k * batch : 0;
  plan.prediction.bytes_read = batch * ((m * k + k * n) * in + (problem.reads_c ? m * n * out : 0));
  plan.prediction.bytes_written = batch * m * n * out;
  return plan;
}

void refuse_tile(const PlanOverrides& fixed, std::string_view variant) {
  if (!fixes_tile(fixed) && fixed.layout == LayoutChoice{}) return;
  refuse(fixed.tile_rows != 0    ? "tile_rows"
         : fixed.tile_cols != 0  ? "tile_cols"
         : fixed.work_items != 0 ? "work_items"
                                 : "layout",
         formatted("none: \"{}\" has {}", variant,
                   variant == "cpu" ? "the tiles that its caches hold" : "no tile"),
         "one");
}

Attempt naive(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  refuse_tile(fixed, "naive");
  if (!device.long_loops && problem.k > kShortLoops)
    return formatted("its loop of {} is longer than this device runs it", problem.k);
  Plan plan = base_plan(problem, "naive", "gemm/naive.cl", "gemm_naive");
  set_grid(device, problem, plan);
  plan.reason = "one result after the other, without local memory";
  return plan;
}

namespace {

bool is_free(const PlanOverrides& fixed) { return !fixes_tile(fixed) && fixed.layout == LayoutChoice{}; }

bool is_nvidias(std::string_view variant) {
  return variant == "multistage" || variant == "packed" || variant == "mma" || variant == "wgmma";
}

std::size_t tiles_of(const GemmProblem& problem, const TileShape& tile) {
  return at_least_1(count_tiles(problem, tile));
}

/// Parts of each sum, of at least `depth` numbers: as many as give the device so many work-groups.
std::size_t count_parts(const Device& device, const GemmProblem& problem, std::size_t tiles,
                        std::size_t groups, std::size_t depth) {
  const std::size_t most = policy_of(device).parts.most;
  const std::size_t sums = problem.m * problem.n * problem.batch * size_of(value_type(problem.in));
  const std::size_t room = device.max_allocation == 0 ? most : device.max_allocation / at_least_1(sums);
  return at_least_1(std::min({groups / tiles, problem.k / depth, most, room}));
}

/// Cuts sums into parts that begin at multiples of `multiple`.
void cut(const GemmProblem& problem, std::size_t parts, std::size_t multiple, Split& split) {
  split.part_depth = round_up(at_least_1(divide_up(problem.k, parts)), multiple);
  split.parts = at_least_1(divide_up(problem.k, split.part_depth));
  split.bytes = split.parts * problem.m * problem.n * problem.batch * size_of(value_type(problem.in));
}

}  // namespace

namespace {

/// Whether the plan takes matrix units: whatever the shape, since they do several times the operations of
/// vectors.
bool takes_units(const Device& device, const GemmProblem& problem) {
  TileShape shape{};
  return !device.emulated_unit && unit_tile(device, problem, shape) != nullptr;
}

/// The parts of sums that "matrix_units" makes, where C has few tiles: with the numbers of "split_k".
Split split_of_units(const Device& device, const GemmProblem& problem) {
  const PartsPolicy& policy = policy_of(device).parts;
  Split split;
  split.part_depth = problem.k;
  TileShape shape{};
  if (unit_tile(device, problem, shape) == nullptr) return split;
  const std::size_t tiles = tiles_of(problem, shape);
  if (tiles * 2 > device.compute_units) return split;
  const std::size_t parts =
      count_parts(device, problem, tiles, policy.groups_a_unit * device.compute_units, policy.least_depth);
  if (parts > 1) cut(problem, parts, shape.k, split);
  return split;
}

}  // namespace

std::string_view choose(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  const bool has_room = device.local_bytes >= 1024;
  const GemmProblem wide = as_widened(device, problem);
  if (is_free(fixed) && runs_on_cpu(device, wide)) return "cpu";
  if (is_free(fixed) && has_room) {
    if (const auto choices = nvidia_choices(device, problem); !choices.empty())
      return choices.front().variant;
    if (takes_units(device, wide)) return "matrix_units";
    const std::size_t tiles = tiles_of(problem, best_tile(device, problem));
    const PartsPolicy& policy = policy_of(device).parts;
    const std::size_t groups = policy.groups_a_unit * device.compute_units;
    if (tiles * 2 <= device.compute_units &&
        count_parts(device, problem, tiles, groups, policy.least_depth) > 1)
      return "split_k";
  }
  return policy_of(device).variant;
}

Split split_of(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  if (variant == "stream_k") return stream_split(device, problem, fixed);
  if (is_fp8(problem.in) && widens(variant) && !is_nvidias(variant)) {
    const GemmProblem wide = as_widened(device, problem);
    Split split = is_fp8(wide.in) ? Split{} : split_of(device, wide, fixed, variant);
    split.packing = widening_of(device, problem);
    return split;
  }
  if (variant == "matrix_units") return split_of_units(device, problem);
  const PartsPolicy& policy = policy_of(device).parts;
  Split split;
  split.part_depth = problem.k;
  if (is_nvidias(variant)) {
    // What is chosen only by name is left out where no name is fixed.
    if (fixed.variant.empty() && is_free(fixed)) {
      for (const Choice& choice : nvidia_choices(device, problem))
        if (choice.variant == variant) return choice.split;
    }
    const std::vector<Choice> choices = nvidia_choices(device, problem, variant, fixed);
    if (!choices.empty()) return choices.front().split;
  } else if (variant == "split_k") {
    const std::size_t tiles = tiles_of(problem, best_tile(device, problem));
    // By hand, short sums are cut too.
    const std::size_t parts = std::max(
        count_parts(device, problem, tiles, policy.groups_a_unit * device.compute_units, policy.least_depth),
        count_parts(device, problem, tiles, 4 * tiles, 16));
    cut(problem, parts, 16, split);
  }
  return split;
}

namespace {

Attempt plan_variant(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant, const Split& split) {
  if (is_fp8(problem.in) && widens(variant)) {
    if (std::string reason = no_widening(device, problem); !reason.empty()) return reason;
    return plan_variant(device, as_widened(device, problem), fixed, variant, split);
  }
  if (variant == "matrix_units") return matrix_units(device, problem, fixed, split);
  if (variant == "naive") return naive(device, problem, fixed);
  if (variant == "async") return async(device, problem, fixed);
  if (variant == "cpu") return cpu(device, problem, fixed);
  if (variant == "multistage" || variant == "packed")
    return multistage(device, problem, fixed, variant, split);
  if (variant == "wgmma") return wgmma(device, problem, fixed, split);
  if (variant == "mma") return mma(device, problem, fixed, split);
  return tiled(device, problem, fixed, variant, split);
}

/// The launch that adds the parts of the tiles that groups of `plan`, "stream_k", cut.
Launch finish_stream(const Plan& plan, const Split& split) {
  Launch launch = plan;
  launch.variant = "finish";
  launch.entry_point = "gemm_stream_k_finish";
  launch.global[0] = at_least_1(split.parts - 1) * plan.work_group[0];
  launch.local_bytes = 0;
  launch.layout = {};
  launch.prediction = {};
  launch.reason = "adds the partial sums of tiles that groups share, always in the same order";
  return launch;
}

/// The launch that adds the parts of all sums.
Launch finish(const Device& device, const GemmProblem& problem, const Split& split) {
  const Policy& policy = policy_of(device);
  Launch launch = base_plan(problem, "finish", "gemm/finish.cl", "gemm_finish");
  std::array<std::size_t, 3> group = shape_group(device, policy.group, 16, {16, 16, 1});
  // Few results of many parts would leave the device idle: several work-items share each.
  const std::size_t results = at_least_1(problem.m * problem.n * problem.batch);
  std::size_t slices = std::min({split.parts / 2, device.compute_units * policy.parts.items_a_unit / results,
                                 policy.parts.most_slices, at_least_1(device.max_work_items[2])});
  slices = std::bit_floor(at_least_1(slices));
  const std::size_t item_bytes = size_of(value_type(problem.in));
  if (slices > 1) {
    const std::size_t most = std::bit_floor(std::clamp<std::size_t>(device.max_work_group, 1, policy.group));
    slices = std::min(slices, most);
    group = shape_group(device, most / slices, 16, {16, 16, 1});
    while (slices > 1 && slices * group[0] * group[1] * item_bytes > device.local_bytes)
      slices /= 2;
  }
  launch.work_group = {group[0], group[1], slices};
  launch.global = global_size({problem.n, problem.m, problem.batch * slices}, launch.work_group);
  launch.tile_rows = group[1];
  launch.tile_cols = group[0];
  define(launch, {{"GROUP_0", group[0]}, {"GROUP_1", group[1]}});
  if (slices > 1) {
    define(launch, "SLICES", slices);
    launch.local_bytes = slices * group[0] * group[1] * item_bytes;
  }
  launch.prediction.operations = 0;
  launch.prediction.bytes_read = real(split.bytes);
  launch.reason = formatted("adds {} part(s) of each sum, always in the same order", split.parts);
  return launch;
}

/// Gives the plan what its variant needs beside its own launch: temporary memory, of the sums first, then of
/// packed factors, and the launches that fill and read it.
void complete(const Device& device, const GemmProblem& problem, const Split& split, Plan& plan) {
  const Packing& packing = split.packing;
  if (plan.scratch.empty() && (split.bytes > 0 || packing.bytes > 0)) add_scratch(plan, split.bytes);
  if (split.bytes > 0) {
    plan.counters = is_nvidias(plan.variant);  // their last groups add the parts
    if (plan.variant == "stream_k") {
      plan.after.push_back(finish_stream(plan, split));
    } else if (!plan.counters) {
      plan.after.push_back(finish(device, problem, split));
    }
    plan.numbers = {{"parts", plan.variant == "wgmma" ? split.whole : split.parts},
                    {"part_depth", split.part_depth}};
  }
  if (packing.bytes > 0) {
    add_scratch(plan, packing.bytes);
    plan.before.push_back(packing.widened ? widen(device, problem, packing) : pack(device, problem, packing));
    for (const auto& [name, number] : {std::pair{"packed_a_pitch", packing.a_pitch},
                                       {"packed_b", packing.b_at},
                                       {"packed_b_pitch", packing.b_pitch}})
      plan.numbers.emplace_back(name, number);
  }
}

/// Why `variant` was not chosen, against the plan that was.
std::string why_not(const Device& device, const GemmProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, problem, {}, variant, split_of(device, problem, {}, variant));
  if (!attempt.plan) return attempt.why_not;
  const Plan& plan = *attempt.plan;
  if (variant == "naive") return "each element comes from global memory for each result that needs it";
  if (variant == "split_k") return "C has enough tiles for the device, or its sums are short";
  if (variant == "stream_k") return "no measurement shows a gain here";
  if (variant == "packed") return "by the model, no factor is worth the launch that packs it";
  if (variant == "multistage" && chosen.variant == "packed")
    return "by the model, it takes longer with factors as they lie";
  if (is_nvidias(chosen.variant))
    return formatted("{} copies tiles several steps ahead, without registers", chosen.variant);
  if (variant == "matrix_units") return "its unit is emulated, for tests";
  if (chosen.variant == "matrix_units") return "the matrix unit does several times the operations of vectors";
  if (chosen.variant == "split_k") return "its work-groups would leave most of the device idle";
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (chosen.variant == "naive") return "a tile would be nearly empty";
  if (plan.layout.store_degree() > chosen.layout.store_degree() ||
      plan.layout.load_degree() > chosen.layout.load_degree()) {
    return formatted(
        "its tiles are written in {} and read in {} turns of the banks, the chosen one's in {} and {}",
        plan.layout.store_degree(), plan.layout.load_degree(), chosen.layout.store_degree(),
        chosen.layout.load_degree());
  }
  if (plan.items_per_work_item < chosen.items_per_work_item) {
    return formatted("{} result(s) a work-item, the chosen one {}: it reads local memory more often",
                     plan.items_per_work_item, chosen.items_per_work_item);
  }
  if (variant == "async") return "its tiles hold elements as they came, and are read one by one";
  return formatted("{} is better on this family, or nothing is known", chosen.variant);
}

}  // namespace

}  // namespace plan::gemm

std::string_view name_of(Activation activation) {
  static constexpr std::array<std::string_view, 3> kNames{"none", "relu", "gelu"};
  return plan::name_among(kNames, activation);
}

namespace {

struct Step {
  std::string_view variant;
  std::string_view what;
};

// A new variant joins here, and in plan_variant() above; it is chosen where choose() says so.
constexpr Step kSteps[] = {
    {"naive", "one result a work-item, all from global memory"},
    {"tiled", "a work-group shares square tiles in local memory"},
    {"padded", "the tiles are padded: no column in one bank"},
    {"swizzled", "an XOR instead of the padding"},
    {"rectangular", "tiles wider than high: longer rows"},
    {"registers_1d", "a column of results in registers"},
    {"registers_2d", "a block of results in registers"},
    {"vector", "vector accesses everywhere, larger blocks"},
    {"double_buffered", "the next tiles are loaded while the current ones are multiplied"},
    {"async", "async_work_group_copy loads the tiles"},
    {"two_level", "sub-groups compute blocks of the tile"},
    {"split_k", "several work-groups share each sum"},
    {"stream_k", "every work-group computes the same number of steps, across tiles"},
    {"matrix_units", "matrix units of AMD and Intel, a sub-group at a time"},
    {"multistage", "asynchronous copies fill tiles several steps ahead"},
    {"packed", "a launch before multistage moves factors to aligned rows across k"},
    {"mma", "matrix units, a warp at a time"},
    {"wgmma", "matrix units, four warps at a time; other warps fill their tiles"},
    {"cpu", "a thread's own caches and vector registers"},
};

}  // namespace

std::vector<std::string_view> gemm_variants() {
  std::vector<std::string_view> names;
  for (const Step& step : kSteps)
    names.push_back(step.variant);
  return names;
}

std::string_view gemm_step(std::string_view variant) {
  for (const Step& step : kSteps)
    if (step.variant == variant) return step.what;
  return {};
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const GemmProblem& problem, const PlanOverrides& overrides) {
  namespace gemm = plan::gemm;
  gemm::check(device, problem);
  const auto names = gemm_variants();
  plan::require_choice("gemm", {.variant = overrides.variant}, names);
  const std::string_view chosen =
      overrides.variant.empty() ? gemm::choose(device, problem, overrides) : overrides.variant;
  gemm::Split split = gemm::split_of(device, problem, overrides, chosen);
  plan::Attempt attempt = gemm::plan_variant(device, problem, overrides, chosen, split);
  if (!attempt.plan) {
    const std::string reason = attempt.why_not;
    split = {};
    if (overrides.variant.empty() && chosen != "split_k") {
      attempt = gemm::tiled(device, problem, overrides, gemm::policy_of(device).variant, split);
      if (!attempt.plan) attempt = gemm::naive(device, problem, overrides);
    }
    if (!attempt.plan) {
      gemm::refuse("variant", formatted("one that can run this on {}", device.name),
                   formatted("\"{}\": {}", chosen, reason));
    }
    attempt.plan->reason += "; " + reason;
  }
  Plan plan = std::move(*attempt.plan);
  gemm::complete(device, problem, split, plan);
  if (plan.evidence.empty()) plan.evidence = gemm::policy_of(device).evidence.text(device);
  plan::note_choice(plan, overrides, names, [device, problem](std::string_view other, const Plan& instead) {
    return gemm::why_not(device, problem, other, instead);
  });
  return plan;
}

}  // namespace

std::vector<GemmCandidate> gemm_candidates(const Device& device, const GemmProblem& problem,
                                           std::string_view variant) {
  namespace gemm = plan::gemm;
  gemm::check(device, problem);
  std::vector<GemmCandidate> candidates;
  for (const gemm::Choice& choice : gemm::nvidia_choices(device, problem, variant)) {
    const gemm::TileShape tile = gemm::nvidia_tile(device, problem, choice.variant, choice.split.tile);
    const PlanOverrides fixed{
        .variant = std::string(choice.variant), .tile_rows = tile.m, .tile_cols = tile.n};
    const bool is_known = std::any_of(candidates.begin(), candidates.end(), [&](const GemmCandidate& other) {
      return other.plan.overrides == fixed;
    });
    if (is_known) continue;
    candidates.push_back({make_plan(device, problem, fixed), choice.nanoseconds * 1e-9,
                          formatted("{}, {}", choice.variant, gemm::text_of(device, problem, choice))});
  }
  return candidates;
}

Plan plan_gemm(const Device& device, const GemmProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "gemm", problem.in)
      .plan(gemm_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
