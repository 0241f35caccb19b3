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

/// Of the sorted keys each at most once: what many searches share, caches keep.
void predict_search(const BoundsProblem& p, Plan& plan) {
  const double key = real(size_of(p.keys)), steps = real(std::bit_width(p.size));
  plan.prediction.bytes_read = real(p.count) * key + std::min(real(p.size), real(p.count) * steps) * key;
  plan.prediction.bytes_written = real(p.count, size_of(p.places));
}

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
  if (p.op == BoundsOp::is_sorted) {
    plan.prediction.bytes_read = real(p.size, size_of(p.keys));
    plan.reason = "each work-item compares neighbours; a descending pair sets a flag";
  } else {
    predict_search(p, plan);
    plan.reason = batches
                      ? formatted("a thread finds {} keys at a time, whose bisections go on together", keys)
                      : "each work-item finds keys by bisection";
  }
  return plan;
}

/// The first steps in local memory, whose samples each group reads once.
Attempt sampled(const Device& device, const BoundsProblem& p, const PlanOverrides& fixed) {
  constexpr std::size_t kItems = 4;  // searches of a work-item that go on together
  const MergePolicy& policy = merge_policy(device);
  if (p.op == BoundsOp::is_sorted) return "neighbours are compared, not searched for";
  const std::size_t image = size_of(p.keys);
  const std::size_t table = std::min(policy.samples, std::bit_floor(local_room(device) / image));
  const std::size_t group = group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.sampled_group,
                                      0, kOwnBytes + table * image);
  if (table < 2 || group == 0) return no_tile_fits(device);
  Plan plan = named_plan(bounds_name(p), "sampled", "bounds/sampled.cl", "bounds_sampled");
  define_order(plan, p.keys, key_order(p));
  plan.text_defines.emplace_back("PLACE", opencl_name_of(p.places));
  if (p.op == BoundsOp::upper_bound) define(plan, "UPPER", 1);
  define(plan, {{"GROUP", group}, {"ITEMS", kItems}, {"TABLE", table}});
  set_groups(plan, group, divide_up(at_least_1(p.count), group * kItems),
             at_least_1(policy.sampled_groups_a_unit * device.compute_units));
  plan.local_bytes = table * image;
  plan.items_per_work_item = kItems;
  predict_search(p, plan);
  plan.reason = formatted(
      "the first steps in {} samples of the vector in local memory, {} searches of a work-item at a time",
      table, kItems);
  return plan;
}

Attempt attempt(const Device& device, const BoundsProblem& p, const PlanOverrides& fixed,
                std::string_view variant) {
  return variant == "sampled" ? sampled(device, p, fixed) : bisection(device, p, fixed, variant);
}

std::vector<std::string_view> preference(const Device& device, const BoundsProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  const MergePolicy& policy = merge_policy(device);
  if (policy.sampled_from == 0 || p.op == BoundsOp::is_sorted || p.count < policy.sampled_from)
    return {"bisection"};
  // Of longer vectors samples are far apart, and cost each group as many accesses.
  const bool is_short = p.size <= policy.samples;
  const bool has_many = p.size <= policy.sampled_in && p.count >= policy.many_searches &&
                        p.count / policy.searches_each >= p.size;
  if (is_short || has_many) return {"sampled", "bisection"};
  return {"bisection"};
}

std::string why_not(const Device& /*device*/, const BoundsProblem& /*p*/, std::string_view variant,
                    const Plan& /*chosen*/) {
  return variant == "sampled" ? "samples cost as much as the steps that they save"
                              : "the first steps of all searches read the same few keys";
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
                                           .attempt = attempt,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = nullptr};

}  // namespace

std::string_view name_of(BoundsOp op) {
  static constexpr std::array<std::string_view, 3> kNames{"lower_bound", "upper_bound", "is_sorted"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> bounds_variants() { return {"bisection", "sampled"}; }

Plan plan_bounds(const Device& device, const BoundsProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kBounds, "bounds", problem.keys, device, problem, overrides);
}

}  // namespace smem
