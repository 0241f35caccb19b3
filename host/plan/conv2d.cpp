// Plans for convolutions of many channels: tiles or a product of matrices, and why.
#include <smem/conv2d_plan.hpp>

#include "formatted.hpp"
#include "plan/conv2d_nvidia.hpp"
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"
#include "plan/gemm_units_policy.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <string>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kShortLoops = 65535;  // of devices without long_loops
constexpr std::size_t kMostOfWindow = 65535;

/// Whether a product of matrices is faster than tiles.
bool prefers_product(const Device& device, const Conv2dProblem& p) {
  const conv2d::Policy& policy = conv2d::policy_of(device);
  const auto is_worth = [&](const conv2d::Worth& worth) {
    return worth.holds(p.group_filters(), p.depth(), p.plane_results());
  };
  if (runs_cpu_variant(device) && p.taps() == 1) return is_worth(policy.product);
  if (runs_cpu_variant(device)) {
    return is_worth(p.type == Scalar::int8 ? policy.columns_of_bytes : policy.columns) ||
           is_worth(policy.deep_columns);
  }
  const bool units =
      unit_multiplies(p.type) && is_nvidia_gpu(device) && compute_capability(device) >= 80;  // matrix units
  return is_worth(policy.product) && (conv2d::is_straight(p) || (units && p.depth() >= policy.units_depth));
}

/// Whether a product whose columns are gathered tile by tile is faster than tiles with a halo.
bool prefers_implicit(const Device& device, const Conv2dProblem& p) {
  if (device.type != DeviceType::gpu) return false;
  const conv2d::Policy& policy = conv2d::policy_of(device);
  const bool is_strided = p.stride.x * p.stride.y > 1;
  if ((is_strided ? policy.strided_implicit : policy.implicit).holds(p.group_filters(), p.depth()))
    return true;
  // Groups of "direct" on few compute units, where "implicit" has smaller tiles.
  return p.depth() >= policy.few_groups_depth &&
         conv2d::direct_groups(device, p) * policy.direct_rounds < device.compute_units;
}

/// Whether a CPU's vectors are channels, of interleaved layers with a filter for each.
bool prefers_cells(const Device& device, const Conv2dProblem& p) {
  if (!conv2d::is_depthwise(p) || !p.in_interleaved || !p.out_interleaved) return false;
  const conv2d::CpuPolicy& policy = conv2d::policy_of(device).cpu;
  return size_of(p.type) >= 4 || (p.taps() <= policy.converted_taps && p.activation != Activation::gelu);
}

/// Of the methods that round as sums of products do. "naive" runs everywhere.
std::vector<std::string_view> plain_preference(const Device& device, const Conv2dProblem& p) {
  const conv2d::Worth& columns = conv2d::policy_of(device).columns;
  if (conv2d::is_depthwise(p) && device.type == DeviceType::gpu) return {"depthwise", "direct", "naive"};
  if (runs_cpu_variant(device) && prefers_cells(device, p)) return {"depthwise", "cpu", "direct", "naive"};
  if (conv2d::prefers_mma(device, p)) {
    std::vector<std::string_view> all{"wgmma", "mma", "gemm", "implicit", "direct", "naive"};
    if (!conv2d::prefers_wgmma(device, p)) std::swap(all[0], all[1]);
    const bool is_narrow = conv2d::prefers_halo_to_gemm(device, p);
    all.insert(all.begin() + (is_narrow || conv2d::prefers_wgmma_halo(device, p) ? 0 : 2), "wgmma_halo");
    // Planes of int8 lie across k, and gemm turns them first. H100, 64 images of 64 x 56^2, 256 of 1 x 1:
    // 0.134 ms, by "wgmma" 0.103; of interleaved channels both 0.094.
    const bool turns = p.type == Scalar::int8 && !p.in_interleaved && all[0] == "wgmma";
    if (conv2d::is_straight(p) && !turns && !is_narrow)
      std::rotate(all.begin(), all.begin() + 3, all.begin() + 4);
    all.insert(all.begin() + (conv2d::prefers_wgmma_few(device, p) ? 0 : 4), "wgmma_few");
    return all;
  }
  if (conv2d::prefers_matrix_units(device, p)) {
    std::vector<std::string_view> all{"matrix_units", "gemm", "implicit", "direct", "naive"};
    if (conv2d::is_straight(p)) std::swap(all[0], all[1]);
    return all;
  }
  // "gemm" does not take interleaved channels, and "implicit" is slow on CPUs (kPolicies).
  if (prefers_product(device, p) && runs_cpu_variant(device)) return {"gemm", "cpu", "direct", "naive"};
  if (prefers_product(device, p)) return {"gemm", "implicit", "direct", "naive"};
  if (prefers_implicit(device, p) && conv2d::prefers_columns(device, p))
    return {"gemm", "implicit", "direct", "naive"};
  if (prefers_implicit(device, p) && columns.holds(p.group_filters(), p.depth()))
    return {"implicit", "gemm", "direct", "naive"};
  if (prefers_implicit(device, p)) return {"implicit", "direct", "gemm", "naive"};
  if (p.depth() >= columns.depth) return {"cpu", "direct", "gemm", "naive"};
  return {"cpu", "direct", "naive"};
}

std::vector<std::string_view> preference(const Device& device, const Conv2dProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  std::vector<std::string_view> all = plain_preference(device, p);
  if (const std::string_view best = conv2d::winograd_choice(device, p); !best.empty())
    all.insert(all.begin(), best);
  return all;
}

std::string why_not(const Device& device, const Conv2dProblem& p, std::string_view variant,
                    const Plan& chosen) {
  if (conv2d::is_winograd(variant)) return conv2d::why_not_winograd(p, variant);
  if (conv2d::is_winograd(chosen.variant) && variant != "naive")
    return "it multiplies nine times for a result";
  const auto has_units = [](std::string_view name) {
    return name == "mma" || name == "wgmma" || name.starts_with("wgmma_") || name == "matrix_units";
  };
  if (has_units(variant) && has_units(chosen.variant)) return "by the times of gemm's tiles, it takes longer";
  if (variant == "matrix_units" && device.emulated_unit) return "its unit is emulated, for tests";
  if (has_units(variant) && chosen.variant == "gemm") return "the input is a factor as it lies";
  if (has_units(variant)) {
    return formatted("{} filters a group of {} weights leave most of its tiles empty", p.group_filters(),
                     p.depth());
  }
  if (has_units(chosen.variant) && variant == "gemm" && conv2d::is_straight(p))
    return "planes of int8 are turned before they are multiplied";
  if (has_units(chosen.variant) && variant != "naive")
    return "it multiplies without matrix units, or writes columns to memory";
  if (variant == "depthwise") return "its work-items have few results, and loops of a CPU many";
  if (chosen.variant == "depthwise" && variant != "naive") return "its results would share no weights";
  if (variant == "naive") return formatted("each result reads {} numbers of global memory", 2 * p.depth());
  if (variant == "gemm") {
    return formatted("{} filters a group of {} weights: the columns cost more than they save",
                     p.group_filters(), p.depth());
  }
  if (variant == "implicit" && device.type == DeviceType::cpu)
    return "work-items of a small tile are loops on a CPU";
  if (variant == "implicit" && chosen.variant == "gemm" && conv2d::prefers_columns(device, p))
    return "of few results its steps take longer than columns and their product";
  if (variant == "implicit" && chosen.variant == "gemm")
    return "what it gathers lies side by side already, or matrix units multiply columns";
  if (variant == "implicit")
    return formatted("{} filters a group of {} weights do not fill its tiles", p.group_filters(), p.depth());
  if (chosen.variant == "gemm" || chosen.variant == "implicit")
    return "its tiles have a halo, and products of matrices none";
  return "work-items of few results are loops on a CPU";
}

const Evidence& evidence(const Device& device, const Conv2dProblem& /*p*/, const Plan& plan) {
  if (plan.variant == "mma" || plan.variant.starts_with("wgmma"))
    return conv2d::nvidia::policy_of(device).evidence;
  if (plan.variant == "matrix_units") return gemm::units::policy_of(device).evidence;
  if (conv2d::is_winograd(plan.variant)) return conv2d::winograd_policy_of(device).evidence;
  if (plan.entry_point == "conv2d_depthwise_ring") return conv2d::policy_of(device).depthwise.ring_evidence;
  if (plan.entry_point == "conv2d_depthwise_windows")
    return conv2d::policy_of(device).depthwise.windows_evidence;
  if (plan.entry_point == "conv2d_depthwise_planes" || plan.entry_point == "conv2d_depthwise")
    return conv2d::policy_of(device).depthwise.planes_evidence;
  if (plan.entry_point == "conv2d_depthwise_cells") return conv2d::policy_of(device).depthwise.cells_evidence;
  return conv2d::policy_of(device).evidence;
}

constexpr Operation<Conv2dProblem> kConv2d{.what = "convolution",
                                           .name = [](const Conv2dProblem&) { return kOperation; },
                                           .variants = conv2d_variants,
                                           .check = conv2d::check,
                                           .preference = preference,
                                           .attempt = conv2d::plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "",
                                           .with_tile = {"wgmma", "depthwise"}};

}  // namespace

void plan::conv2d::check(const Device& device, const Conv2dProblem& p) {
  require_known(kOperation, "in", p.type);
  require_known(kOperation, "out", p.out);
  require_known(kOperation, "activation", p.activation, Activation::gelu);
  require_known(kOperation, "winograd", p.winograd, Winograd::f4x4);
  for (const std::size_t number :
       {p.window.width, p.window.height, p.stride.x, p.stride.y, p.dilation.x, p.dilation.y}) {
    if (number > kMostOfWindow) {
      refuse(device, kOperation, "weights",
             formatted("windows, strides and dilations of at most {}", kMostOfWindow),
             formatted("{}", number));
    }
  }
  if (std::max(p.padding.left, p.padding.top) > kMostOfWindow) {
    refuse(device, kOperation, "padding", formatted("at most {}", kMostOfWindow),
           formatted("{}", std::max(p.padding.left, p.padding.top)));
  }
  require_elements(kOperation, "in", {p.images, p.in_channels, p.width, p.height});
  require_elements(kOperation, "out", {p.images, p.out_channels, p.out_width, p.out_height});
  require_elements(kOperation, "weights",
                   {p.out_channels, p.in_channels / at_least_1(p.groups), p.window.width, p.window.height});
  // The columns of a row of results, which "gemm" lays in memory.
  require_elements(kOperation, "weights", {p.in_channels, p.window.width, p.window.height, p.out_width});
  using enum Scalar;
  require_one_of(kOperation, "in", p.type, {half, bfloat16, int8, float32, float64});
  if (p.type == half || p.type == bfloat16) {
    require_one_of(kOperation, "out", p.out, {p.type, float32});
  } else {
    require_one_of(kOperation, "out", p.out, {sums_of(p.type)});
  }
  if (p.activation == Activation::gelu && p.type == int8)
    refuse(kOperation, "activation", "none or relu of integers", "gelu");
  require_fp64(kOperation, device, "in", p.type);
  if (p.taps() == 0 || p.stride.x * p.stride.y == 0) {
    refuse(device, kOperation, "weights", "windows and strides of at least 1",
           formatted("{} x {}, strides {} and {}", p.window.width, p.window.height, p.stride.x, p.stride.y));
  }
  if (p.groups == 0 || p.in_channels % p.groups != 0 || p.out_channels % p.groups != 0) {
    refuse(device, kOperation, "groups", "a number that divides the channels and the filters",
           formatted("{}", p.groups));
  }
  if (!device.long_loops && p.depth() > kShortLoops) {
    refuse(device, kOperation, "weights",
           formatted("filters of at most {} weights: its loops are no longer", kShortLoops),
           formatted("{}", p.depth()));
  }
}

std::vector<std::string_view> conv2d_variants() {
  return {"naive",        "direct", "implicit", "depthwise",  "cpu",       "gemm",        "winograd_2x2",
          "winograd_4x4", "mma",    "wgmma",    "wgmma_halo", "wgmma_few", "matrix_units"};
}

Plan plan_conv2d(const Device& device, const Conv2dProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kConv2d, kOperation, problem.type, device, conv2d::with_joined_columns(device, problem),
                   overrides);
}

}  // namespace smem
