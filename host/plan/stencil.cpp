// Plans for stencils and convolutions: where the neighbours are kept, and why.
#include <smem/stencil_plan.hpp>

#include "formatted.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/stencil_problem.hpp"
#include "plan/stencil_variants.hpp"

#include <algorithm>
#include <string>

namespace smem {

namespace {

using namespace plan;

Attempt plan_variant(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "naive") return stencil::naive(device, problem);
  if (variant == "tiled") return stencil::tiled(device, problem, wanted);
  if (variant == "blocks") return stencil::blocks(device, problem, wanted);
  if (variant == "rows") return stencil::rows(device, problem, wanted);
  if (variant == "units") return stencil::units(device, problem, fixed);
  if (variant == "march") return stencil::march(device, problem, wanted);
  if (variant == "planes") return stencil::planes(device, problem, fixed);
  return stencil::cpu(device, problem);
}

/// "naive" runs wherever loops do.
std::vector<std::string_view> preference(const Device& device, const StencilProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  if (problem.window[2] > 1) return {"cpu", "planes", "march", "tiled", "naive"};
  const StencilUnits& units = stencil_policy(device).units;
  const std::size_t least =
      problem.type == Scalar::half ? units.least_weights_of_halves : units.least_weights;
  if (least != 0 && problem.weights() >= least) return {"cpu", "units", "rows", "blocks", "tiled", "naive"};
  if (stencil_policy(device).tiles.blocks) return {"cpu", "rows", "blocks", "tiled", "naive"};
  return {"cpu", "rows", "tiled", "naive"};
}

std::string why_not(const Device& device, const StencilProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "naive")
    return formatted("each element reads {} neighbours from the cache", problem.weights());
  if (variant == "units") {
    return stencil_policy(device).units.least_weights == 0 ? "not measured on this device"
                                                           : "rows in registers are faster for few weights";
  }
  if (variant == "blocks" && chosen.variant != "rows" && chosen.variant != "units")
    return "not measured on this device";
  if (chosen.variant == "cpu") return "work-items of one element each are loops on a CPU";
  if (chosen.variant == "units") return "each weight costs an instruction for each result";
  return "each weight costs a read of local memory; in registers a row serves several results";
}

constexpr Operation<StencilProblem> kStencil{.what = "stencil",
                                             .name = operation_name,
                                             .variants = stencil_variants,
                                             .check = check_stencil,
                                             .preference = preference,
                                             .attempt = plan_variant,
                                             .why_not = why_not,
                                             .evidence = nullptr,
                                             .one_work_item = "a thread has lines of its own",
                                             .with_tile = {"planes", "units"}};

}  // namespace

std::string_view name_of(StencilShape shape) {
  constexpr std::array<std::string_view, 3> kNames{"box", "star", "expression"};
  return name_among(kNames, shape);
}

void plan::check_stencil(const Device& device, const StencilProblem& p) {
  const char* operation = operation_name(p);
  require_known(operation, "in", p.type);
  require_known(operation, "shape", p.shape, StencilShape::expression);
  require_known(operation, "boundary", p.boundary);
  using enum Scalar;
  require_one_of(operation, "in", p.type, {uint8, uint16, half, float32, float64});
  require_fp64(operation, device, "in", p.type);
  if (p.channels < 1 || p.channels > 4)
    refuse(operation, "in", "1 to 4 interleaved channels", formatted("{}", p.channels));
  constexpr std::size_t kMost = std::size_t{1} << 30;  // what kernels count in 32 bits
  for (std::size_t d = 0; d < 3; ++d) {
    const char* argument = p.convolution                         ? "kernel"
                           : p.shape == StencilShape::expression ? "radius"
                                                                 : "weights";
    if (p.window[d] < 1 || p.window[d] > kMost || p.dilation[d] < 1 || p.stride[d] < 1 ||
        p.stride[d] > kMost || size_product(p.window[d] - 1, p.dilation[d]) >= kMost) {
      refuse(operation, argument, formatted("a window of 1 to {} cells along each axis", kMost),
             formatted("{}", p.window[d]));
    }
    const auto most = static_cast<std::ptrdiff_t>(kMost);
    if (p.first[d] < -most || p.first[d] > most) {
      refuse(operation, argument, formatted("a window that begins at most {} cells away", kMost),
             formatted("{}", p.first[d]));
    }
  }
  if (p.weights() > kMost)
    refuse(operation, "weights", formatted("at most {}", kMost), formatted("{}", p.weights()));
  require_elements(operation, "in", {p.size[0], p.size[1], p.size[2], p.channels, p.batch});
  require_elements(operation, "out", {p.out_size[0], p.out_size[1], p.out_size[2], p.channels, p.batch});
  if (p.shape == StencilShape::expression) require_code(operation, "expression", p.expression);
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
  return {"naive", "tiled", "blocks", "rows", "units", "march", "planes", "cpu"};
}

Plan plan_stencil(const Device& device, const StencilProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kStencil, "stencil", problem.type, device, problem, overrides);
}

}  // namespace smem
