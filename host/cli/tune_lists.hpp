/// Lists of cases of operations that are not described.
#pragma once

#include "cli/tune_case.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::cli::tuned {

/// What sizes are chosen for.
enum class Scale { small, cpu, gpu };

inline std::size_t sized(Scale scale, std::size_t small, std::size_t cpu, std::size_t gpu) {
  return scale == Scale::small ? small : scale == Scale::cpu ? cpu : gpu;
}

/// A case whose plan follows from its problem.
template <class Problem, class MakePlan>
TuneCase case_of(std::string label, const Problem& problem, TuningClass problems,
                 std::vector<std::string_view> variants, const MakePlan& make_plan) {
  TuneCase made;
  made.problems = std::move(problems);
  made.label = std::move(label);
  made.variants = std::move(variants);
  made.plan = [problem, make_plan](const Device& device, const PlanOverrides& overrides) {
    return make_plan(device, problem, overrides);
  };
  return made;
}
/// And its class.
template <class Problem, class MakePlan>
TuneCase case_of(std::string label, const Problem& problem, std::vector<std::string_view> variants,
                 const MakePlan& make_plan) {
  return case_of(std::move(label), problem, tuning_class(problem), std::move(variants), make_plan);
}

std::vector<TuneCase> layers(Scale scale);

}  // namespace smem::cli::tuned
