// Plans for searches in sorted vectors.
#include <smem/bounds_plan.hpp>

#include "formatted.hpp"
#include "plan/merge_policy.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* bounds_name(const BoundsProblem& p) { return name_of(p.op).data(); }

Attempt bisection(const Device& device, const BoundsProblem& p, const PlanOverrides& fixed,
                  std::string_view variant) {
  const MergePolicy& policy = merge_policy(device);
  const bool batches = runs_cpu_variant(device) && p.op != BoundsOp::is_sorted && fixed.work_items <= 1;
  const std::size_t usual = batches ? 1 : device.type == DeviceType::cpu ? 16 : policy.bounds_group;
  const std::size_t group = group_for(device, fixed.work_items != 0 ? fixed.work_items : usual, 0);
  const std::size_t keys = batches ? policy.cpu_batch : group;  // of a group at once
  Plan plan = named_plan(bounds_name(p), variant, "bounds/bounds.cl", "bounds");
  define_order(plan, p.keys, key_order(p));
  plan.text_defines.emplace_back("PLACE", opencl_name_of(p.places));
  if (p.op == BoundsOp::upper_bound) define(plan, "UPPER", 1);
  if (p.op == BoundsOp::is_sorted) define(plan, "CHECK", 1);
  if (batches) define(plan, "BATCH", keys);
  set_groups(plan, group,
             std::min(divide_up(at_least_1(p.count), keys),
                      at_least_1(policy.groups_a_unit * device.compute_units)));
  const double key = real(size_of(p.keys));
  if (p.op == BoundsOp::is_sorted) {
    plan.prediction.bytes_read = real(p.size) * key;
    plan.reason = "each work-item compares neighbours; a descending pair sets a flag";
  } else {
    // Of the sorted keys each at most once: what many searches share, caches keep.
    const double steps = real(std::bit_width(p.size));
    plan.prediction.bytes_read = real(p.count) * key + std::min(real(p.size), real(p.count) * steps) * key;
    plan.prediction.bytes_written = real(p.count, size_of(p.places));
    plan.reason = batches
                      ? formatted("a thread finds {} keys at a time, whose bisections go on together", keys)
                      : "each work-item finds keys by bisection";
  }
  return plan;
}

std::vector<std::string_view> preference(const Device& /*device*/, const BoundsProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  return {"bisection"};
}

std::string why_not(const Device& /*device*/, const BoundsProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& /*chosen*/) {
  return "there is no other variant";
}

const Evidence& evidence(const Device& device, const BoundsProblem& /*p*/, const Plan& /*plan*/) {
  return merge_policy(device).evidence;
}

void check(const Device& /*device*/, const BoundsProblem& p) {
  require_known("lower_bound", "op", p.op, BoundsOp::is_sorted);
  const char* operation = bounds_name(p);
  require_known(operation, "keys", p.keys);
  require_order(operation, key_order(p));
  require_known(operation, "places", p.places);
  require_one_of(operation, "places", p.places, {Scalar::uint32, Scalar::uint64});
  require_elements(operation, "sorted", {p.size});
  require_elements(operation, "keys", {p.count});
  if (p.op != BoundsOp::is_sorted && p.places == Scalar::uint32 && p.size > 0xffffffff)
    plan::refuse(operation, "places", formatted("uint64 for {} sorted keys", p.size), "uint32");
}

constexpr Operation<BoundsProblem> kBounds{.what = "search",
                                           .name = bounds_name,
                                           .variants = bounds_variants,
                                           .check = check,
                                           .preference = preference,
                                           .attempt = bisection,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = nullptr};

}  // namespace

std::string_view name_of(BoundsOp op) {
  static constexpr std::array<std::string_view, 3> kNames{"lower_bound", "upper_bound", "is_sorted"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> bounds_variants() { return {"bisection"}; }

Plan plan_bounds(const Device& device, const BoundsProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kBounds, "bounds", problem.keys, device, problem, overrides);
}

}  // namespace smem
