// Plans for heat diffusion: which variant, how many steps a pass, and why.
#include <smem/error.hpp>
#include <smem/heat_plan.hpp>

#include "formatted.hpp"
#include "plan/heat_policy.hpp"
#include "plan/heat_variants.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kMostSteps = std::size_t{1} << 32;  // of a call: each is microseconds at least
// Of a pass: more than any tile leaves results of.
constexpr std::size_t kMostOfPass = 65536;

void check_choice(const PlanOverrides& fixed) {
  const auto names = heat_variants();
  if (!fixed.variant.empty() && std::find(names.begin(), names.end(), fixed.variant) == names.end()) {
    refuse_heat("variant", formatted("one of {}", joined(names)), formatted("\"{}\"", fixed.variant));
  }
  const bool tiles = fixed.variant == "vector" || fixed.variant == "march";
  const auto none = [&](const char* field, bool is_fixed) {
    if (is_fixed) refuse_heat(field, "none: this variant has no such choice", "one");
  };
  none("tile_rows", fixed.tile_rows != 0 && !tiles);
  none("tile_cols", fixed.tile_cols != 0 && !tiles);
  none("work_items", fixed.work_items != 0);
  none("layout", fixed.layout != LayoutChoice{});
}

/// Steps a pass that a variant has where the caller fixes none.
std::size_t usual_steps(const Device& device, const HeatProblem& problem, std::string_view variant) {
  const HeatPolicy& policy = heat_policy(device);
  const std::size_t dimensions = heat_dimensions(problem);
  if (variant == "blocked") return dimensions == 1 ? policy.tiles.steps_1d : policy.tiles.steps_2d;
  if (variant == "march") {
    const std::size_t steps = dimensions == 3 ? policy.march_3d.steps : policy.march_2d.steps;
    return problem.source ? at_least_1(steps - 1) : steps;
  }
  if (variant != "cpu" || heat_queue(device, problem.type) == 0) return 1;
  const HeatThreads& threads = policy.threads;
  return dimensions == 3 ? threads.steps_3d : dimensions == 2 ? threads.steps_2d : threads.steps_1d;
}

/// The variants to try, best first.
std::vector<std::string_view> preference(const Device& device, const HeatProblem& problem) {
  if (runs_cpu_variant(device)) return {"cpu"};
  const bool several = problem.steps > 1 && problem.steps_per_pass != 1;
  const std::size_t dimensions = heat_dimensions(problem);
  if (dimensions == 1) {
    return several ? std::vector<std::string_view>{"blocked", "naive"}
                   : std::vector<std::string_view>{"naive"};
  }
  // Of half, columns keep two cells in a register, which a march does not.
  const HeatPolicy& policy = heat_policy(device);
  const bool pairs =
      problem.type == Scalar::half && heat_column_bytes(policy, problem.type, problem.variable) == 2;
  if (several && dimensions == 3 && pairs && problem.steps_per_pass == 0) return {"vector", "march", "naive"};
  if (several && !problem.variable) return {"march", "vector", "naive"};
  if (several && dimensions == 2) return {"blocked", "vector", "naive"};
  return {"vector", "naive"};
}

/// The most steps, at most `wanted`, with which the variant runs: with fewer of them it runs, too.
std::size_t steps_that_run(const Device& device, const HeatProblem& problem, std::string_view variant,
                           std::size_t wanted, const PlanOverrides& fixed) {
  const auto runs = [&](std::size_t steps) {
    return try_heat(device, problem, variant, steps, fixed).plan.has_value();
  };
  constexpr std::size_t kMost = 4096;  // of which a tile would be nothing but overlap
  wanted = std::min(wanted, kMost);
  if (runs(wanted)) return wanted;
  std::size_t run = 0;
  while (wanted - run > 1) {
    const std::size_t middle = run + (wanted - run) / 2;
    (runs(middle) ? run : wanted) = middle;
  }
  return run;
}

/// How the steps of a call are spread over passes: `longer` passes make `steps`, the others one less. Where
/// the result takes the place of the input, passes are an even number, and one of 0 steps copies.
struct Passes {
  std::size_t passes = 0;  ///< over memory
  std::size_t steps = 0;   ///< of the longer passes
  std::size_t longer = 0;  ///< how many passes make so many
};

Passes spread(const HeatProblem& problem, std::size_t most) {
  std::size_t passes = divide_up(problem.steps, most);
  if (problem.in_place) {
    passes = round_up(passes, 2);
  } else {
    passes = at_least_1(passes);
  }
  if (passes == 0) return {};
  const std::size_t least = problem.steps / passes, longer = problem.steps % passes;
  return longer == 0 ? Passes{passes, least, passes} : Passes{passes, least + 1, longer};
}

std::string why_not(const Device& device, const HeatProblem& problem, std::string_view variant,
                    const Plan& chosen, std::size_t steps) {
  const std::size_t usual = std::min(usual_steps(device, problem, variant), at_least_1(problem.steps));
  const Attempt attempt = try_heat(device, problem, variant, usual, {});
  if (!attempt.plan) return attempt.why_not;
  if (chosen.variant == "cpu") return "a thread's own cache and vectors serve a CPU better than work-items";
  if (usual < steps) return formatted("reads and writes memory for each step, not for {}", steps);
  if (variant == "naive") return "reads each cell as often as it has neighbours";
  if (variant == "tiled") return "moves one cell a work-item at a time, and waits for its tile";
  if (variant == "blocked") return "all neighbours pass through local memory, those along z too";
  if (variant == "march") return "one step needs no pipeline";
  return "its work-items have more to do than there is";
}

}  // namespace

void plan::check_heat(const Device& device, const HeatProblem& problem) {
  require_known("heat", "in", problem.type);
  require_known("heat", "walls", problem.walls, Walls::held);
  require_known("heat", "mean", problem.mean, FaceMean::arithmetic);
  require_elements("heat", "in", {problem.width, problem.height, problem.depth, problem.batch});
  if (problem.steps > kMostSteps)
    refuse_heat("steps", formatted("at most {}", kMostSteps), formatted("{}", problem.steps));
  require_one_of("heat", "in", problem.type, {Scalar::half, Scalar::float32, Scalar::float64});
  require_fp64("heat", device, "in", problem.type);
  heat_dimensions(problem);
}

std::string_view name_of(Walls walls) {
  constexpr std::array<std::string_view, 3> kNames{"insulated", "fixed", "held"};
  return name_among(kNames, walls);
}

std::string_view name_of(FaceMean mean) { return mean == FaceMean::harmonic ? "harmonic" : "arithmetic"; }

std::vector<std::string_view> heat_variants() {
  return {"naive", "tiled", "vector", "blocked", "march", "cpu"};
}

std::size_t heat_dimensions(const HeatProblem& problem) {
  const std::size_t least = problem.depth > 1 ? 3 : problem.height > 1 ? 2 : 1;
  if (problem.dimensions == 0) return least;
  if (problem.dimensions > 3) refuse_heat("dimensions", "1 to 3", formatted("{}", problem.dimensions));
  if (problem.dimensions < least) {
    refuse_heat("dimensions", formatted("at least {}, as the grid has", least),
                formatted("{}", problem.dimensions));
  }
  return problem.dimensions;
}

plan::HeatShape plan::heat_shape(const HeatProblem& problem) {
  const std::size_t dimensions = heat_dimensions(problem);
  if (dimensions == 2) return {2, problem.width, 1, problem.height};
  return {dimensions, problem.width, problem.height, problem.depth};
}

namespace {

/// What the plan, or the caller, chose for all passes of a call.
struct Choice {
  std::string variant;
  std::size_t steps = 1;  ///< of a pass, at most
};

/// \throws Error as plan_heat().
Choice choose(const Device& device, const HeatProblem& problem, const PlanOverrides& fixed) {
  check_heat(device, problem);
  check_choice(fixed);
  const std::size_t most = at_least_1(problem.steps);
  const std::size_t wanted = std::min(problem.steps_per_pass, kMostOfPass);
  if (!fixed.variant.empty()) {
    const std::string_view variant = fixed.variant;
    const std::size_t asked = std::min(most, wanted != 0 ? wanted : usual_steps(device, problem, variant));
    const std::size_t steps = steps_that_run(device, problem, variant, asked, fixed);
    if (steps == 0) {
      refuse_heat("variant", "one that can run this on " + device.name,
                  formatted("\"{}\": {}", variant, try_heat(device, problem, variant, 1, fixed).why_not));
    }
    return {std::string(variant), steps};
  }
  Choice fewer{"", 0};  // the nearest to the steps that the caller fixed
  for (const std::string_view variant : preference(device, problem)) {
    const std::size_t asked = std::min(most, wanted != 0 ? wanted : usual_steps(device, problem, variant));
    const std::size_t steps = steps_that_run(device, problem, variant, asked, fixed);
    if (steps == 0) continue;
    if (wanted != 0 && steps < asked) {
      if (steps > fewer.steps) fewer = {std::string(variant), steps};
      continue;
    }
    if (steps < 2 && asked > 1 && variant != "cpu") continue;  // one step a pass is another variant's
    return {std::string(variant), steps};
  }
  if (fewer.steps > 0) return fewer;
  refuse_heat("variant", "one that can run this on " + device.name, "none");
}

/// The plan of a pass. One of 0 steps copies, in the first variant.
Plan plan_pass(const Device& device, const HeatProblem& problem, const Choice& choice, std::size_t steps,
               const PlanOverrides& fixed) {
  const std::string_view variant = steps == 0 ? std::string_view("naive") : std::string_view(choice.variant);
  Attempt attempt = try_heat(device, problem, variant, steps, steps == 0 ? PlanOverrides{} : fixed);
  if (!attempt.plan) {
    refuse_heat("variant", "one that can run this on " + device.name,
                formatted("\"{}\": {}", variant, attempt.why_not));
  }
  return *std::move(attempt.plan);
}

/// Gives a plan its passes, and the memory between them.
void add_passes(const Device& device, const HeatProblem& problem, const Choice& choice,
                const PlanOverrides& fixed, const Passes& passes, Plan& plan) {
  set_repeats(plan, passes.longer);
  if (passes.passes < 2) return;
  constexpr std::size_t kAlignment = 64;  // bytes, of rows between two passes
  const std::size_t pitch = round_up(problem.width, kAlignment / size_of(problem.type));
  plan.numbers.emplace_back("pitch", pitch);
  add_scratch(plan, pitch * problem.height * problem.depth * problem.batch * size_of(problem.type));
  plan.reason += formatted("; {} passes of {}{} steps", passes.passes, passes.steps,
                           passes.longer < passes.passes ? formatted(" or {}", passes.steps - 1) : "");
  if (passes.longer == passes.passes) return;
  Launch shorter = plan_pass(device, problem, choice, passes.steps - 1, fixed);
  shorter.variant = passes.steps > 1 ? "shorter" : "copy";
  std::size_t repeats = passes.passes - passes.longer;
  // Only the first pass leaves a grid in place as it was: before another one, each kernel has been launched
  // once, so that a device that refuses one refuses it in time.
  if (problem.in_place && passes.longer > 1) {
    plan.before.push_back(shorter);
    --repeats;
  }
  if (repeats == 0) return;
  set_repeats(shorter, repeats);
  plan.after.push_back(std::move(shorter));
}

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const HeatProblem& problem, const PlanOverrides& overrides) {
  const Choice choice = choose(device, problem, overrides);
  const Passes passes = spread(problem, choice.steps);
  Plan plan = plan_pass(device, problem, choice, passes.steps, overrides);
  add_passes(device, problem, choice, overrides, passes, plan);
  note_choice(plan, overrides, heat_variants(),
              [device, problem, steps = passes.steps](std::string_view other, const Plan& chosen) {
                return why_not(device, problem, other, chosen, steps);
              });
  return plan;
}

}  // namespace

Plan plan_heat(const Device& device, const HeatProblem& problem, const PlanOverrides& overrides) {
  return Broken(device, "heat", problem.type)
      .plan(heat_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
