/// What was found by tuning, as a context has it: read when it opens.
#pragma once

#include "runtime/problem_key.hpp"

#include <smem/device.hpp>
#include <smem/tuning_plan.hpp>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smem::runtime {

class Tuning {
 public:
  /// Nothing where SMEM_TUNING is off.
  explicit Tuning(const Device& device);

  /// Whether there is an entry of the operation; one look at an empty list where nothing was tuned.
  bool has(std::string_view operation) const {
    for (const TuningEntry& entry : entries_)
      if (entry.problems.operation == operation) return true;
    return false;
  }
  bool empty() const { return entries_.empty(); }
  /// The nearest entry; null when none is near enough.
  const TuningEntry* nearest(const TuningClass& problems) const;

  /// What is used for a problem; null: nothing. `find()` tells it the first time.
  template <class Find>
  std::shared_ptr<const PlanOverrides> choice(const ProblemKey& key, const Find& find) {
    {
      const std::shared_lock lock(mutex_);
      const auto known = choices_.find(key);
      if (known != choices_.end()) return known->second;
    }
    std::shared_ptr<const PlanOverrides> found = find();
    set(key, found);
    return found;
  }
  /// From now on nothing is used for the problem.
  void drop(const ProblemKey& key) { set(key, nullptr); }

 private:
  void set(const ProblemKey& key, std::shared_ptr<const PlanOverrides> choice);

  std::vector<TuningEntry> entries_;
  std::shared_mutex mutex_;
  std::unordered_map<ProblemKey, std::shared_ptr<const PlanOverrides>, ProblemKeyHash> choices_;
};

}  // namespace smem::runtime
