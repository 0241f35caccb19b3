/// Tuned choices of a context: read when it opens.
#pragma once

#include <smem/device.hpp>
#include <smem/tuning_plan.hpp>

#include <string_view>
#include <vector>

namespace smem::runtime {

class Tuning {
 public:
  /// Nothing where SMEM_TUNING is off.
  explicit Tuning(const Device& device);

  bool empty() const { return entries_.empty(); }
  /// The nearest entry; null when none is near enough.
  const TuningEntry* nearest(const TuningClass& problems) const;

 private:
  std::vector<TuningEntry> entries_;
};

}  // namespace smem::runtime
