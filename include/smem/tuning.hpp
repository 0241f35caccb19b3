/// smem: plans that `smem tune` has found on this machine. Operations use them where the caller fixes
/// nothing.
///
/// Each device has its own file, in a folder that clearing the cache does not touch, because tuning takes
/// minutes. A context reads the file when it opens. A file of another driver, platform or version of smem is
/// ignored, and so are wrong entries; the shipped plan is used then. A file that others can write or replace,
/// by the rules of the program cache (cache.hpp), is ignored too; with SMEM_TRACE set, a line on the error
/// stream says so.
#pragma once

#include <smem/context.hpp>
#include <smem/tuning_plan.hpp>

#include <filesystem>
#include <optional>
#include <vector>

namespace smem {

/// The folder of tuned plans: SMEM_TUNING_DIR, else $XDG_DATA_HOME/smem/tuning, else
/// ~/.local/share/smem/tuning. It need not exist. Empty without a home folder.
SMEM_API std::filesystem::path tuning_folder();

/// The file of a device, its driver and this version of smem; it need not exist. Empty without a folder.
SMEM_API std::filesystem::path tuning_file(const Device& device);

/// Whether contexts that open from now on use tuning files: the environment variable SMEM_TUNING is not 0 or
/// off.
SMEM_API bool tuning_is_on();

/// The entries of the device's file, also when SMEM_TUNING is off; none if there is no file for this device,
/// driver and version. Malformed entries are skipped. Never throws.
SMEM_API std::vector<TuningEntry> tuning_entries(const Device& device);

/// Adds entries to the device's file, and replaces those of the same classes. Entries of the classes in
/// `dropped` are removed. The file is replaced as a whole; other processes that do the same wait. \throws
/// Error when it cannot be written, or others could write or replace it.
SMEM_API void store_tuning(const Device& device, const std::vector<TuningEntry>& entries,
                           const std::vector<TuningClass>& dropped = {});

/// The entry that operations on this context use for problems of the class: the nearest one, if there is one.
SMEM_API std::optional<TuningEntry> find_tuning(const Context& context, const TuningClass& problems);

/// The plan of a call that fixes nothing: `make_plan(overrides)` with the tuned overrides and their evidence.
/// The shipped plan, without overrides, if nothing was tuned or the plan function refuses them.
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
