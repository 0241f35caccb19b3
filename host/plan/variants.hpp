/// How the plan of a call is found among the variants of its operation.
#pragma once

#include "plan/broken.hpp"
#include "plan/policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::plan {

/// A variant's plan, or why there is none for this problem on this device.
struct Attempt {
  Attempt(Plan made);
  Attempt(std::string reason);
  Attempt(const char* reason);
  std::optional<Plan> plan;
  std::string why_not;
};

/// What an operation is to plans: its variants, and the order in which they are tried.
template <class Problem>
struct Operation {
  using Names = std::vector<std::string_view>;

  const char* what;  ///< "reduction", as errors call it
  /// Of the function that was called; known for problems that check() lets pass.
  const char* (*name)(const Problem& problem);
  Names (*variants)();  ///< in the order of the ladder
  /// \throws Error naming the argument unless the device can compute it.
  void (*check)(const Device& device, const Problem& problem);
  /// Variants, best first: the first that runs is chosen. Of one alone, an error says why it does not run.
  Names (*preference)(const Device& device, const Problem& problem, const PlanOverrides& fixed);
  Attempt (*attempt)(const Device& device, const Problem& problem, const PlanOverrides& fixed,
                     std::string_view variant);
  /// Why a variant that runs was not chosen.
  std::string (*why_not)(const Device& device, const Problem& problem, std::string_view variant,
                         const Plan& chosen);
  /// What chose the numbers of a plan; null: its variants say so themselves.
  const Evidence& (*evidence)(const Device& device, const Problem& problem, const Plan& plan);
  const char* one_work_item;  ///< why the variant for CPUs has groups of one; null: groups may be smaller
  /// How variants begin whose tile may be fixed by hand; empty: none.
  std::array<std::string_view, 2> with_tile = {};
};

/// Notes the variants that were not chosen, where the choice was the plan's, and what the caller had fixed,
/// and counts the plan. `why_not(variant, plan)` is called when the reasons are read.
void note_choice(Plan& plan, const PlanOverrides& overrides, std::vector<std::string_view> names,
                 std::function<std::string(std::string_view, const Plan&)> why_not);

/// An operation and a problem, whatever its type: what Operation's functions say of that problem.
class Task {
 public:
  Task() = default;
  virtual ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual const char* what() const = 0;
  virtual const char* name() const = 0;
  virtual std::vector<std::string_view> variants() const = 0;
  virtual void check(const Device& device) const = 0;
  virtual std::vector<std::string_view> preference(const Device& device,
                                                   const PlanOverrides& fixed) const = 0;
  virtual Attempt attempt(const Device& device, const PlanOverrides& fixed,
                          std::string_view variant) const = 0;
  virtual std::string why_not(const Device& device, std::string_view variant, const Plan& chosen) const = 0;
  virtual const Evidence* evidence(const Device& device, const Plan& plan) const = 0;
  virtual const char* one_work_item() const = 0;
  virtual bool takes_tile(std::string_view variant) const = 0;
};

template <class Problem>
class TaskOf final : public Task {
 public:
  TaskOf(const Operation<Problem>& operation, const Problem& problem) : does_(operation), problem_(problem) {}

  const char* what() const override { return does_.what; }
  const char* name() const override { return does_.name(problem_); }
  std::vector<std::string_view> variants() const override { return does_.variants(); }
  void check(const Device& device) const override { does_.check(device, problem_); }
  std::vector<std::string_view> preference(const Device& device, const PlanOverrides& fixed) const override {
    return does_.preference(device, problem_, fixed);
  }
  Attempt attempt(const Device& device, const PlanOverrides& fixed, std::string_view variant) const override {
    return does_.attempt(device, problem_, fixed, variant);
  }
  std::string why_not(const Device& device, std::string_view variant, const Plan& chosen) const override {
    return does_.why_not(device, problem_, variant, chosen);
  }
  const Evidence* evidence(const Device& device, const Plan& plan) const override {
    return does_.evidence != nullptr ? &does_.evidence(device, problem_, plan) : nullptr;
  }
  const char* one_work_item() const override { return does_.one_work_item; }
  bool takes_tile(std::string_view variant) const override {
    return std::ranges::any_of(does_.with_tile, [&](std::string_view begin) {
      return !begin.empty() && variant.starts_with(begin);
    });
  }

 private:
  const Operation<Problem>& does_;
  Problem problem_;
};

/// The plan of a task. \throws Error naming the argument or the field that was fixed and cannot be.
Plan plan_task(const std::shared_ptr<const Task>& task, const Broken& broken, const Device& device,
               const PlanOverrides& overrides);

/// The plan of a call. `operation` is a constant. `family` and `type`: as Device::broken names the operation
/// and its elements.
template <class Problem, class Type>
Plan plan_call(const Operation<Problem>& operation, const char* family, const Type& type,
               const Device& device, const Problem& problem, const PlanOverrides& overrides) {
  return plan_task(std::make_shared<TaskOf<Problem>>(operation, problem), Broken(device, family, type),
                   device, overrides);
}

}  // namespace smem::plan
