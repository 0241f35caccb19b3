// Plans for convolutions of many channels: tiles or a product of matrices, and why.
#include <smem/conv2d_plan.hpp>
#include <smem/error.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
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
// What a product of matrices needs to be worth its tiles.
constexpr std::size_t kGemmFilters = 32, kGemmDepth = 64;
// The same of half on matrix units, whose columns "implicit" does not need. H200, 64 filters, ms of "gemm"
// and "implicit": of 147 weights 0.618, 0.537, of 576 0.363, 0.525.
constexpr std::size_t kUnitsDepth = 256;
// "gemm" with columns instead of "direct" on GPUs, where "implicit" does not run. H200, float, ms of "direct"
// and "gemm": 64 filters of 64 x 3^2 0.99, 2.06; 128 of 128 x 3^2 1.18, 1.77; 256 of 256 x 3^2 1.41, 1.36;
// 512 of 512 x 3^2 1.63, 1.52; 512 of 256 x 1 / 2 2.81, 0.75.
constexpr std::size_t kColumnsFilters = 256;
// "implicit" instead of "direct": half of its smallest wide tile, and four steps of its sums. With 16 filters
// of 16 x 3^2, "direct" took 0.265 ms there, 14 TFLOP/s, with registers full of them.
constexpr std::size_t kImplicitFilters = 32, kImplicitDepth = 32;

[[noreturn]] void refuse(const Device& device, const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got),
               .device = device.name});
}

/// Whether a product of matrices is faster than tiles.
bool prefers_product(const Device& device, const Conv2dProblem& p) {
  if (plan::runs_cpu_variant(device)) {
    // A window of one cell gives a tile nothing to use again. Small planes use a weight too few times to
    // pay for its way into the cache, and leave vectors half empty. PoCL on two Zen 4 cores, ms with "cpu"
    // and "gemm": 64 x 56^2, 64 of 3 x 3 2.8, 4.5; 128 x 28^2, 128 3.7, 3.6; 256 x 14^2, 256 5.6, 4.1; 1 x
    // 1, 64 x 56^2, 256 3.1, 2.0.
    if (p.taps() == 1) return p.group_filters() >= 8 && p.depth() >= 16;
    return p.group_filters() >= 128 && p.depth() >= kGemmDepth && p.plane_results() <= 400;
  }
  if (p.group_filters() < kGemmFilters || p.depth() < kGemmDepth) return false;
  const bool units = p.type == Scalar::half && device.vendor == Vendor::nvidia;  // matrix units
  return plan::conv2d::is_straight(p) || (units && p.depth() >= kUnitsDepth);
}

/// Whether a product whose columns are gathered tile by tile is faster than tiles with a halo.
bool prefers_implicit(const Device& device, const Conv2dProblem& p) {
  return device.type == DeviceType::gpu && p.group_filters() >= kImplicitFilters &&
         p.depth() >= kImplicitDepth;
}

/// The variants to try, best first; "naive" runs everywhere.
std::vector<std::string_view> preference(const Device& device, const Conv2dProblem& p) {
  const bool columns = p.group_filters() >= kColumnsFilters && p.depth() >= kGemmDepth;
  if (prefers_product(device, p)) return {"gemm", "implicit", "cpu", "direct", "naive"};
  if (prefers_implicit(device, p) && columns) return {"implicit", "gemm", "direct", "naive"};
  if (prefers_implicit(device, p)) return {"implicit", "direct", "gemm", "naive"};
  if (p.depth() >= kGemmDepth) return {"cpu", "direct", "gemm", "naive"};
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
       {p.window_width, p.window_height, p.stride_x, p.stride_y, p.dilation_x, p.dilation_y}) {
    if (number > kMostOfWindow) {
      refuse(device, "weights", formatted("windows, strides and dilations of at most {}", kMostOfWindow),
             formatted("{}", number));
    }
  }
  if (std::max(p.pad_left, p.pad_top) > kMostOfWindow) {
    refuse(device, "padding", formatted("at most {}", kMostOfWindow),
           formatted("{}", std::max(p.pad_left, p.pad_top)));
  }
  require_elements(kOperation, "in", {p.images, p.in_channels, p.width, p.height});
  require_elements(kOperation, "out", {p.images, p.out_channels, p.out_width, p.out_height});
  require_elements(
      kOperation, "weights",
      {p.out_channels, p.in_channels / std::max<std::size_t>(p.groups, 1), p.window_width, p.window_height});
  // The columns of a row of results, which "gemm" lays in memory.
  require_elements(kOperation, "weights", {p.in_channels, p.window_width, p.window_height, p.out_width});
  if (p.type != Scalar::half && p.type != Scalar::float32 && p.type != Scalar::float64)
    refuse(device, "in", "half, float32 or float64", std::string(name_of(p.type)));
  if (p.type == Scalar::float64 && !device.fp64)
    refuse(device, "in", "a type that the device computes with; it has no fp64", "float64");
  if (p.taps() == 0 || p.stride_x * p.stride_y == 0) {
    refuse(device, "weights", "windows and strides of at least 1",
           formatted("{} x {}, strides {} and {}", p.window_width, p.window_height, p.stride_x, p.stride_y));
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
  plan.evidence =
      plan::runs_cpu_variant(device)
          ? "PoCL, two busy Zen 4 cores, float, ms beside OpenCV's dnn: 3 x 224^2, 64 of 7 x 7 / "
            "2 1.8 (4.8); 64 x "
            "56^2, 64 of 3 x 3 2.8 (4.0); 256 x 14^2, 256 of 3 x 3 4.1 (3.5); 64 x 56^2, 256 of "
            "1 x 1 2.0 (2.1)"
      : family_of(device) == "nvidia-hopper"
          ? "H200, float, TFLOP/s of \"implicit\", \"gemm\" and \"direct\": 64 x 56^2, 64 of 3 x 3 37.6, "
            "13.0, 15.0; 256 x 14^2, 256 of 3 x 3 38.7, 13.6, 10.5; 64 x 56^2, 256 of 1 x 1 30.4, 31.8, "
            "9.2; 16 x 112^2, 16 of 3 x 3 9.1, 4.3, 14.0"
          : "no measurement for this family: the sizes follow from the device's facts";
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
