// Plans for convolutions of many channels: tiles or a product of matrices, and why.
#include <smem/conv2d_plan.hpp>
#include <smem/error.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"
#include "plan/pixels.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::conv2d::Attempt;
using plan::conv2d::kOperation;
using plan::conv2d::plan_variant;

constexpr std::size_t kShortLoops = 65535;  // of devices without long_loops
constexpr std::size_t kMostOfWindow = 65535;

[[noreturn]] void refuse(const Device& device, const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got),
               .device = device.name});
}

/// Whether a product of matrices is faster than tiles.
bool prefers_product(const Device& device, const Conv2dProblem& p) {
  const plan::conv2d::Policy& policy = plan::conv2d::policy_of(device);
  const auto is_worth = [&](const plan::conv2d::Worth& worth) {
    return worth.holds(p.group_filters(), p.depth(), p.plane_results());
  };
  if (plan::runs_cpu_variant(device)) return is_worth(p.taps() == 1 ? policy.product : policy.columns);
  const bool units = p.type == Scalar::half && device.vendor == Vendor::nvidia;  // matrix units
  return is_worth(policy.product) &&
         (plan::conv2d::is_straight(p) || (units && p.depth() >= policy.units_depth));
}

/// Whether a product whose columns are gathered tile by tile is faster than tiles with a halo.
bool prefers_implicit(const Device& device, const Conv2dProblem& p) {
  return device.type == DeviceType::gpu &&
         plan::conv2d::policy_of(device).implicit.holds(p.group_filters(), p.depth());
}

/// The variants to try, best first; "naive" runs everywhere.
std::vector<std::string_view> preference(const Device& device, const Conv2dProblem& p) {
  const plan::conv2d::Worth& columns = plan::conv2d::policy_of(device).columns;
  if (prefers_product(device, p)) return {"gemm", "implicit", "cpu", "direct", "naive"};
  if (prefers_implicit(device, p) && columns.holds(p.group_filters(), p.depth()))
    return {"implicit", "gemm", "direct", "naive"};
  if (prefers_implicit(device, p)) return {"implicit", "direct", "gemm", "naive"};
  if (p.depth() >= columns.depth) return {"cpu", "direct", "gemm", "naive"};
  return {"cpu", "direct", "naive"};
}

std::string why_not(const Device& device, const Conv2dProblem& p, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, p, variant);
  if (!attempt.plan) return attempt.why_not;
  if (variant == "naive") return formatted("each result reads {} numbers of global memory", 2 * p.depth());
  if (variant == "gemm") {
    return formatted("{} filters a group of {} weights: the columns cost more than they save",
                     p.group_filters(), p.depth());
  }
  if (variant == "implicit" && device.type == DeviceType::cpu)
    return "work-items of a small tile are loops on a CPU";
  if (variant == "implicit" && chosen.variant == "gemm")
    return "what it gathers lies side by side already, or matrix units multiply columns";
  if (variant == "implicit")
    return formatted("{} filters a group of {} weights do not fill its tiles", p.group_filters(), p.depth());
  if (chosen.variant == "gemm" || chosen.variant == "implicit")
    return "its tiles have a halo, and products of matrices none";
  return "work-items of few results are loops on a CPU";
}

}  // namespace

void plan::conv2d::check(const Device& device, const Conv2dProblem& p) {
  require_known(kOperation, "in", p.type);
  require_known(kOperation, "activation", p.activation, Activation::gelu);
  for (const std::size_t number :
       {p.window.width, p.window.height, p.stride.x, p.stride.y, p.dilation.x, p.dilation.y}) {
    if (number > kMostOfWindow) {
      refuse(device, "weights", formatted("windows, strides and dilations of at most {}", kMostOfWindow),
             formatted("{}", number));
    }
  }
  if (std::max(p.padding.left, p.padding.top) > kMostOfWindow) {
    refuse(device, "padding", formatted("at most {}", kMostOfWindow),
           formatted("{}", std::max(p.padding.left, p.padding.top)));
  }
  require_elements(kOperation, "in", {p.images, p.in_channels, p.width, p.height});
  require_elements(kOperation, "out", {p.images, p.out_channels, p.out_width, p.out_height});
  require_elements(
      kOperation, "weights",
      {p.out_channels, p.in_channels / std::max<std::size_t>(p.groups, 1), p.window.width, p.window.height});
  // The columns of a row of results, which "gemm" lays in memory.
  require_elements(kOperation, "weights", {p.in_channels, p.window.width, p.window.height, p.out_width});
  if (p.type != Scalar::half && p.type != Scalar::float32 && p.type != Scalar::float64)
    refuse(device, "in", "half, float32 or float64", std::string(name_of(p.type)));
  if (p.type == Scalar::float64 && !device.fp64)
    refuse(device, "in", "a type that the device computes with; it has no fp64", "float64");
  if (p.taps() == 0 || p.stride.x * p.stride.y == 0) {
    refuse(device, "weights", "windows and strides of at least 1",
           formatted("{} x {}, strides {} and {}", p.window.width, p.window.height, p.stride.x, p.stride.y));
  }
  if (p.groups == 0 || p.in_channels % p.groups != 0 || p.out_channels % p.groups != 0)
    refuse(device, "groups", "a number that divides the channels and the filters", formatted("{}", p.groups));
  if (!device.long_loops && p.depth() > kShortLoops) {
    refuse(device, "weights",
           formatted("filters of at most {} weights: its loops are no longer", kShortLoops),
           formatted("{}", p.depth()));
  }
}

std::vector<std::string_view> conv2d_variants() { return {"naive", "direct", "implicit", "cpu", "gemm"}; }

namespace {

std::string_view choose(const Device& device, const Conv2dProblem& p) {
  for (const std::string_view variant : preference(device, p))
    if (plan_variant(device, p, variant).plan) return variant;
  return "naive";
}

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const Conv2dProblem& problem, const PlanOverrides& overrides) {
  plan::conv2d::check(device, problem);
  const auto names = conv2d_variants();
  plan::require_choice(kOperation, overrides, names);
  if (overrides.work_items != 0)
    refuse(device, "work_items", "none: the shapes decide", formatted("{}", overrides.work_items));
  const std::string_view variant =
      overrides.variant.empty() ? choose(device, problem) : std::string_view(overrides.variant);
  Attempt attempt = plan_variant(device, problem, variant);
  if (!attempt.plan) {
    refuse(device, "variant", "one that can run this convolution on this device",
           formatted("\"{}\": {}", variant, attempt.why_not));
  }
  Plan plan = *std::move(attempt.plan);
  plan.evidence = plan::conv2d::policy_of(device).evidence.text(device);
  plan::note_choice(plan, overrides, names, device, problem, why_not);
  return plan;
}

}  // namespace

Plan plan_conv2d(const Device& device, const Conv2dProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, kOperation, problem.type)
      .plan(conv2d_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
