/// A description of an operation: all that programs which know no operation make of it. From descriptions
/// come bench, explain, ladder, roofline, tune, cache warm, and suites of tests.
#pragma once

#include "operations/data.hpp"
#include "operations/words.hpp"

#include <smem/context.hpp>
#include <smem/fields.hpp>
#include <smem/options.hpp>
#include <smem/plan.hpp>
#include <smem/tuning_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem::operations {

/// A number among the members of a problem.
struct Member {
  enum class Kind { number, flag, scalar, enumeration };

  std::string_view name;  ///< as the member is called
  FieldRole role = FieldRole::choice;
  Kind kind = Kind::number;
  std::size_t index = 0;  ///< in an array
};

/// What a member becomes whose value is `value`.
using Change = std::function<std::size_t(const Member& member, std::size_t value)>;

/// The problem with other numbers: `change` is called for each.
template <class Problem>
Problem changed(Problem problem, const Change& change) {
  const auto change_one = [&]<class T>(const T& value, Member member) {
    member.kind = std::is_same_v<T, bool>     ? Member::Kind::flag
                  : std::is_same_v<T, Scalar> ? Member::Kind::scalar
                  : std::is_enum_v<T>         ? Member::Kind::enumeration
                                              : Member::Kind::number;
    // A member of `problem`, which is this function's own.
    const_cast<T&>(value) = static_cast<T>(change(member, static_cast<std::size_t>(value)));  // NOLINT
  };
  detail::visit_fields(problem, [&](const auto& field) {
    using T = std::remove_cvref_t<decltype(field.value)>;
    if constexpr (detail::is_array<T>) {
      for (std::size_t i = 0; i < field.value.size(); ++i)
        change_one(field.value.at(i), {field.name, field.role, {}, i});
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      change_one(field.value, {field.name, field.role});
    }
  });
  return problem;
}

/// The change that sets members by name: "in_alignment=4 out=uint64"; enumerations but types by number.
Change change_of(std::string_view text);

/// A plan that a model chooses among, and its prediction.
struct Candidate {
  Plan plan;
  double seconds = 0;
  std::string text;  ///< what it is, in a few words
};
/// The eight fastest with their times, a line each; empty where there is none.
std::string text_of(const std::vector<Candidate>& candidates);
/// The JSON of a plan with all of them and their times.
std::string with_candidates(const std::string& plan, const std::vector<Candidate>& candidates);

/// A problem of an operation, on packed arrays: how it is planned, called and checked.
struct Case {
  std::string text;                 ///< "16001 x 15999, 4 B"
  std::vector<FieldValue> problem;  ///< its members
  TuningClass tuning;               ///< that its outcome is for
  std::vector<ArrayRule> in, in_out, out;
  std::function<Plan(const Device&, const PlanOverrides&)> plan;
  /// The same of the problem with other numbers, as no call on packed arrays has them.
  std::function<Plan(const Device&, const PlanOverrides&, const Change&)> plan_changed;
  /// All that the operation's model chooses among, or those of a variant, its choice first; empty: it has no
  /// model.
  std::function<std::vector<Candidate>(const Device&, std::string_view variant)> candidates;
  std::function<cl::Event(const Context&, const CallArrays&, const CallOptions&)> call;
  std::function<void(const HostArrays&)> reference;  ///< the results by a plain loop
  double relative = 0;    ///< what results may differ by: 0 where all sums are exact
  double bytes = 0;       ///< that must be read and written; 0: as the plan predicts
  double absolute = 0;    ///< the same, where results may be small beside what they are differences of
  double operations = 0;  ///< where these count, and not bytes: floating-point operations of a call
  std::vector<std::string_view>
      slow;  ///< variants that would take minutes: tune, ladder and roofline leave them out
};

/// The arrays of a case: inputs in the first buffer, all others in the second one.
CallArrays arrays_of(const Case& of, cl_mem inputs, cl_mem others);
/// Whether the device computes with the types of the arrays.
bool can_compute(const Device& device, const Case& of);
/// The main launch's share of a call's time, all its repeats together: of the bytes that all launches of the
/// plan move; 1 where operations count.
double main_share(const Case& of, const Plan& plan);

/// A case whose plan follows from its problem.
template <class Problem>
Case case_of(std::string text, const Problem& problem,
             Plan (*plan_of)(const Device&, const Problem&, const PlanOverrides&)) {
  Case made;
  made.text = std::move(text);
  made.problem = values_of(problem);
  made.tuning = tuning_class(problem);
  made.plan = [problem, plan_of](const Device& device, const PlanOverrides& overrides) {
    return plan_of(device, problem, overrides);
  };
  made.plan_changed = [problem, plan_of](const Device& device, const PlanOverrides& overrides,
                                         const Change& change) {
    return plan_of(device, changed(problem, change), overrides);
  };
  return made;
}

/// The case of a call that another operation computes: its plans have the name of the call.
inline Case named(std::string_view call, Case made) {
  made.plan = [call = std::string(call), plan = std::move(made.plan)](const Device& device,
                                                                      const PlanOverrides& overrides) {
    Plan found = plan(device, overrides);
    found.operation = call;
    return found;
  };
  return made;
}

/// What sizes are chosen for.
enum class Scale {
  edges,       ///< tests: sizes around those of tiles and vectors
  small,       ///< a quick look
  usual,       ///< a CPU
  large,       ///< a GPU
  weak_usual,  ///< a CPU: what is known to be weak there
  weak         ///< a GPU: the same
};

/// A problem to be measured, in words.
struct Sample {
  std::string_view words;  ///< "16384x16384 float"
  double goal = 0;  ///< least share of the device's copy bandwidth, or of its fp32 rate; 0: for information

  Sample(const char* text) : words(text) {}
};
inline Sample goal(const char* words, double share) {
  Sample sample(words);
  sample.goal = share;
  return sample;
}

/// The problems of each scale. An operation may be without weak ones.
struct Samples {
  std::vector<Sample> edges, small, usual, large, weak_usual, weak;
};

/// A variant, as a step of the ladder.
struct Step {
  std::string_view variant;
  std::string_view what;  ///< it does that the one before it does not, in a clause
};

/// Problems drawn at random, for measurements over all shapes.
struct Draw {
  std::vector<std::string> kinds;  ///< of problems: types; none: the operation draws none
  double most = 2e12;              ///< operations of a problem
  /// The words of problem `number` of a seed, of at most `most` operations.
  std::function<std::string(std::string_view kind, std::uint64_t seed, std::size_t number, double most)>
      words = {};
};

/// Problems whose programs offline compilers build, for described devices: types, sizes,
/// alignments and windows in which kernels differ.
struct Programs {
  std::string words;                       ///< of a problem
  std::vector<std::string> variants = {};  ///< empty: all; an empty name: the plan's own choice
  std::string changes = {};                ///< members that no packed arrays give: see change_of()
};

struct Operation {
  std::string_view name;     ///< "transpose"
  std::string_view summary;  ///< "Transposes of packed matrices"
  std::vector<Step> steps;   ///< all variants, slowest idea first
  std::vector<WordRule> words;
  /// \throws Error naming the word that does not fit.
  std::function<Case(const Words&)> read;
  Samples samples;                                      ///< of each scale; the ladder has the first
  std::string_view counted = "bytes read and written";  ///< by a rate
  std::vector<Programs> programs = {};
  Draw draw = {};

  /// The problem of a text.
  Case parse(std::string_view text) const { return read(Words::parse(name, words, text)); }
  std::vector<std::string_view> variants() const;
  /// The samples of a scale.
  const std::vector<Sample>& at(Scale scale) const;
};

/// The scale for a device.
inline Scale scale_for(const Device& device, bool small) {
  return small ? Scale::small : device.type == DeviceType::cpu ? Scale::usual : Scale::large;
}
/// The scale of what is weak on a device.
inline Scale weak_scale_for(const Device& device) {
  return device.type == DeviceType::cpu ? Scale::weak_usual : Scale::weak;
}

}  // namespace smem::operations
