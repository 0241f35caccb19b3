// Plans for stencils and convolutions: where the neighbours are kept, and why.
#include <smem/error.hpp>
#include <smem/stencil_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/sizes.hpp"
#include "plan/stencil_problem.hpp"
#include "plan/stencil_variants.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::stencil::Attempt;

[[noreturn]] void refuse(const StencilProblem& problem, const Device* device, const char* argument,
                         std::string expected, std::string got) {
  throw Error({.operation = plan::operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got),
               .device = device != nullptr ? device->name : std::string()});
}

Attempt plan_variant(const Device& device, const StencilProblem& problem, std::string_view variant,
                     const PlanOverrides& fixed = {}) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "naive") return plan::stencil::naive(device, problem);
  if (variant == "tiled") return plan::stencil::tiled(device, problem, wanted);
  if (variant == "rows") return plan::stencil::rows(device, problem, wanted);
  if (variant == "march") return plan::stencil::march(device, problem, wanted);
  if (variant == "planes") return plan::stencil::planes(device, problem, fixed);
  return plan::stencil::cpu(device, problem);
}

/// The variants to try, best first; "naive" runs wherever loops do.
std::vector<std::string_view> preference(const StencilProblem& problem) {
  if (problem.window[2] > 1) return {"cpu", "planes", "march", "tiled", "naive"};
  return {"cpu", "rows", "tiled", "naive"};
}

std::string why_not(const Device& device, const StencilProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, problem, variant);
  if (!attempt.plan) return attempt.why_not;
  if (variant == "naive")
    return formatted("each of {} neighbours of each element is asked of the cache", problem.weights());
  if (chosen.variant == "cpu") return "work-items of one element each are loops on a CPU";
  return "each weight costs a read of local memory; in registers a row serves several results";
}

}  // namespace

std::string_view name_of(StencilShape shape) {
  constexpr std::array<std::string_view, 3> kNames{"box", "star", "expression"};
  return plan::name_among(kNames, shape);
}

void plan::check_stencil(const Device& device, const StencilProblem& p) {
  const char* operation = operation_name(p);
  require_known(operation, "in", p.type);
  require_known(operation, "shape", p.shape, StencilShape::expression);
  require_known(operation, "boundary", p.boundary);
  switch (p.type) {
    case Scalar::uint8:
    case Scalar::uint16:
    case Scalar::half:
    case Scalar::float32:
      break;
    case Scalar::float64:
      if (!device.fp64)
        refuse(p, &device, "in", "a type that the device computes with; it has no fp64", "float64");
      break;
    default:
      refuse(p, nullptr, "in", "uint8, uint16, half, float32 or float64", std::string(name_of(p.type)));
  }
  if (p.channels < 1 || p.channels > 4)
    refuse(p, nullptr, "in", "1 to 4 interleaved channels", formatted("{}", p.channels));
  constexpr std::size_t kMost = std::size_t{1} << 30;  // what kernels count in 32 bits
  for (std::size_t d = 0; d < 3; ++d) {
    const char* argument = p.convolution                         ? "kernel"
                           : p.shape == StencilShape::expression ? "radius"
                                                                 : "weights";
    if (p.window[d] < 1 || p.window[d] > kMost || p.dilation[d] < 1 || p.stride[d] < 1 ||
        p.stride[d] > kMost || size_product(p.window[d] - 1, p.dilation[d]) >= kMost) {
      refuse(p, nullptr, argument, formatted("a window of 1 to {} cells along each axis", kMost),
             formatted("{}", p.window[d]));
    }
    const auto most = static_cast<std::ptrdiff_t>(kMost);
    if (p.first[d] < -most || p.first[d] > most) {
      refuse(p, nullptr, argument, formatted("a window that begins at most {} cells away", kMost),
             formatted("{}", p.first[d]));
    }
  }
  if (p.weights() > kMost)
    refuse(p, nullptr, "weights", formatted("at most {}", kMost), formatted("{}", p.weights()));
  require_elements(operation, "in", {p.size[0], p.size[1], p.size[2], p.channels, p.batch});
  require_elements(operation, "out", {p.out_size[0], p.out_size[1], p.out_size[2], p.channels, p.batch});
  if (p.shape == StencilShape::expression && p.expression.empty())
    refuse(p, nullptr, "expression", "OpenCL C", "nothing");
}

StencilProblem stencil_problem(Scalar type, const std::array<std::size_t, 3>& size,
                               const std::array<std::size_t, 3>& radius, std::size_t channels) {
  StencilProblem problem;
  problem.type = type;
  problem.channels = channels;
  problem.size = problem.out_size = size;
  for (std::size_t d = 0; d < 3; ++d) {
    problem.window[d] = 2 * radius[d] + 1;
    problem.first[d] = -static_cast<std::ptrdiff_t>(radius[d]);
  }
  const std::size_t row = size[0] * channels * size_of(type);
  if (row != 0) {
    problem.in_alignment = problem.out_alignment =
        size[1] * size[2] == 1 ? 64 : std::min<std::size_t>(64, row & (~row + 1));
  }
  return problem;
}

std::vector<std::string_view> stencil_variants() {
  return {"naive", "tiled", "rows", "march", "planes", "cpu"};
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const StencilProblem& problem, const PlanOverrides& overrides) {
  plan::check_stencil(device, problem);
  const char* operation = plan::operation_name(problem);
  const auto names = stencil_variants();
  PlanOverrides untiled = overrides;  // whose tile has no sizes
  if (overrides.variant == "planes") untiled.tile_rows = untiled.tile_cols = 0;
  plan::require_choice(operation, untiled, names);
  plan::require_work_items(operation, device, overrides);
  Attempt attempt;
  if (!overrides.variant.empty()) {
    attempt = plan_variant(device, problem, overrides.variant, overrides);
    if (!attempt.plan) {
      refuse(problem, nullptr, "variant", formatted("one that can run this {} on {}", operation, device.name),
             formatted("\"{}\": {}", overrides.variant, attempt.why_not));
    }
  } else {
    for (const std::string_view choice : preference(problem)) {
      attempt = plan_variant(device, problem, choice, overrides);
      if (attempt.plan) break;
    }
  }
  if (!attempt.plan)
    refuse(problem, &device, "variant", "one that can run this on the device", attempt.why_not);
  Plan& plan = *attempt.plan;
  plan::require_fixed_group(operation, device, overrides, plan, "a thread has lines of its own");
  plan::note_choice(plan, overrides, names, device, problem, why_not);
  return plan;
}

}  // namespace

Plan plan_stencil(const Device& device, const StencilProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "stencil", problem.type)
      .plan(stencil_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
