/// Variants that a device's driver breaks (Device::broken): no plan has one.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::plan {

/// Which variants of an operation a device's driver breaks, for inputs of one type (BrokenVariant::type).
class Broken {
 public:
  Broken(const Device& device, std::string_view operation, std::string_view type);
  /// An unknown type is the operation's to refuse.
  Broken(const Device& device, std::string_view operation, Scalar type);

  bool none() const { return known_.empty(); }
  /// Why the variant is broken; null: it is not.
  const std::string* why(std::string_view variant) const;

  using Make = std::function<Plan(const PlanOverrides&)>;
  /// The plan of `make(overrides)`, which knows nothing of broken variants. Where the plan's choice is
  /// broken, that of the last step of the ladder `names` which is sound and runs. \throws Error with the
  /// reason when the caller fixed a broken variant, or no sound one runs.
  Plan plan(const std::vector<std::string_view>& names, const PlanOverrides& overrides,
            const Make& make) const;

 private:
  [[noreturn]] void refuse(std::string expected, std::string got) const;

  const Device& device_;
  std::string_view operation_;
  std::vector<BrokenVariant> known_;
};

}  // namespace smem::plan
