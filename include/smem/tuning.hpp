/// smem: what `smem tune` has found on this machine, which operations use by themselves where the caller
/// fixes nothing.
///
/// Each device has a file of its own, in a folder that no cleaning of caches touches, since measuring takes
/// minutes. A context reads it when it opens. A file that was made with another driver, platform or version
/// of smem is ignored, and so is whatever in it is wrong or cannot be; the shipped plan stands then. Ignored
/// too, with a line on the error stream when SMEM_TRACE is set, is a file that others can write or replace,
/// by the rules of the program cache (cache.hpp).
#pragma once

#include <smem/context.hpp>
#include <smem/tuning_plan.hpp>

#include <filesystem>
#include <optional>
#include <vector>

namespace smem {

/// The folder that the environment names: SMEM_TUNING_DIR, else $XDG_DATA_HOME/smem/tuning, else
/// ~/.local/share/smem/tuning. It need not exist. Empty without any home.
SMEM_API std::filesystem::path tuning_folder();

/// The file of a device, its driver and this version of smem; it need not exist. Empty without a folder.
SMEM_API std::filesystem::path tuning_file(const Device& device);

/// Whether contexts that open from now on use tuning files: the environment variable SMEM_TUNING is not 0 or
/// off.
SMEM_API bool tuning_is_on();

/// What the device's file says, also when SMEM_TUNING is off; nothing where the file is not there, or not for
/// this device, driver and version. Entries of a wrong form are left out. Never an error.
SMEM_API std::vector<TuningEntry> tuning_entries(const Device& device);

/// Puts entries into the device's file, in place of those of the same classes; `dropped`: classes whose
/// entries go. The file is replaced as a whole, and other processes that do the same wait.
/// \throws Error when it cannot be written, or others could write or replace it.
SMEM_API void store_tuning(const Device& device, const std::vector<TuningEntry>& entries,
                           const std::vector<TuningClass>& dropped = {});

/// The entry that operations on this context try for problems of the class: the nearest one. Nothing when
/// there is none.
SMEM_API std::optional<TuningEntry> find_tuning(const Context& context, const TuningClass& problems);

/// The plan of a call that fixes nothing: `make_plan(overrides)` of what was tuned, and its evidence; the
/// shipped plan, of no overrides, where nothing was or the plan function refuses it.
template <class Problem, class MakePlan>
Plan tuned_plan(const Context& context, const Problem& problem, const MakePlan& make_plan) {
  if (const auto entry = find_tuning(context, tuning_class(problem))) {
    try {
      Plan plan = make_plan(entry->overrides);
      plan.evidence = entry->evidence();
      return plan;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): then the shipped plan stands
    }
  }
  return make_plan(PlanOverrides{});
}

}  // namespace smem
