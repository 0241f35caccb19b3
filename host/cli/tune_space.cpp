// The plans that smem tune can choose from.
#include "cli/tune.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace smem::cli {

namespace {

/// The plan without its words: two of the same launch are one candidate.
Plan launch_of(Plan plan) {
  plan.reason.clear();
  plan.evidence.clear();
  plan.alternatives = {};
  plan.overrides = {};
  return plan;
}

std::size_t times(std::size_t value, std::size_t by, std::size_t parts) { return value * by / parts; }

}  // namespace

TuneSpace::TuneSpace(const TuneCase& of, const Device& device)
    : case_(of), device_(device), shipped_(of.one.plan(device, {})), known_{launch_of(shipped_)} {}

void TuneSpace::offer(const PlanOverrides& candidate, std::vector<std::pair<double, PlanOverrides>>& into) {
  Plan plan;
  try {
    plan = case_.one.plan(device_, candidate);
  } catch (const Error&) {
    return;  // it cannot be, or does not fit the device
  }
  Plan launch = launch_of(plan);
  if (std::find(known_.begin(), known_.end(), launch) != known_.end()) return;
  known_.push_back(std::move(launch));
  // Turns of the banks, by which a plan's local memory is slower than without conflicts, and passes over it.
  double cost = 1;
  for (const AccessCost& access : plan.layout.accesses)
    cost += access.slowdown - 1;
  into.emplace_back(cost * (1 + plan.prediction.local_bytes / std::max(plan.prediction.bytes(), 1.0)),
                    candidate);
}

std::vector<PlanOverrides> TuneSpace::sorted(std::vector<std::pair<double, PlanOverrides>> found) const {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PlanOverrides> candidates;
  candidates.reserve(found.size());
  for (auto& [cost, candidate] : found)
    candidates.push_back(std::move(candidate));
  return candidates;
}

std::vector<PlanOverrides> TuneSpace::variants() {
  std::vector<std::pair<double, PlanOverrides>> found;
  const std::vector<std::string_view> names = case_.operation->variants();
  const auto& slow = case_.one.slow;
  // The later steps of a ladder are the faster ones, where the prediction sees no difference.
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    if (std::find(slow.begin(), slow.end(), *name) == slow.end())
      offer({.variant = std::string(*name)}, found);
  return sorted(std::move(found));
}

std::vector<PlanOverrides> TuneSpace::neighbours(const PlanOverrides& choice) {
  const Plan plan = case_.one.plan(device_, choice);
  PlanOverrides base = choice;
  base.variant = plan.variant;
  std::vector<std::pair<double, PlanOverrides>> found;
  for (const auto& [by, parts] : {std::pair<std::size_t, std::size_t>{2, 1}, {1, 2}, {4, 1}, {1, 4}}) {
    PlanOverrides other = base;
    other.work_items = times(plan.work_items(), by, parts);
    if (other.work_items > 0) offer(other, found);
    // Along one side, along the other, both, and one at the cost of the other.
    for (const auto& [rows, cols] : {std::pair{true, false}, {false, true}, {true, true}}) {
      PlanOverrides tile = base;
      if (rows) tile.tile_rows = times(plan.tile_rows, by, parts);
      if (cols) tile.tile_cols = times(plan.tile_cols, by, parts);
      if ((rows && tile.tile_rows == 0) || (cols && tile.tile_cols == 0)) continue;
      offer(tile, found);
      tile.work_items = times(plan.work_items(), by, parts);
      if (tile.work_items > 0) offer(tile, found);
    }
    PlanOverrides turned = base;
    turned.tile_rows = times(plan.tile_rows, by, parts);
    turned.tile_cols = times(plan.tile_cols, parts, by);
    if (turned.tile_rows > 0 && turned.tile_cols > 0) offer(turned, found);
  }
  for (const char* layout : {"plain", "padded:1", "padded:2", "padded:4", "swizzled"}) {
    PlanOverrides other = base;
    other.layout = parse_layout(layout);
    offer(other, found);
  }
  return sorted(std::move(found));
}

}  // namespace smem::cli
