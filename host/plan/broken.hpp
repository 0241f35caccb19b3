/// Variants that a device's driver breaks (Device::broken, and by its launches plan/driver_faults.hpp): no
/// plan has one.
#pragma once

#include "plan/driver_faults.hpp"

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

  using Make = std::function<Plan(const PlanOverrides&)>;
  /// The plan of `make(overrides)`, which knows nothing of broken variants. Where the plan's choice is
  /// broken, that of the last step of the ladder `names` which is sound and runs. \throws Error with the
  /// reason when the caller fixed a broken variant, or no sound one runs.
  Plan plan(const std::vector<std::string_view>& names, const PlanOverrides& overrides,
            const Make& make) const;

 private:
  [[noreturn]] void refuse(std::string expected, std::string got) const;
  /// Whether a driver breaks the plan that `make` makes of the variant.
  static bool breaks(const LaunchFault& fault, const PlanOverrides& overrides, const Make& make);

  const Device& device_;
  std::string_view operation_;
  std::vector<BrokenVariant> known_;
  std::vector<LaunchFault> of_launches_;
};

}  // namespace smem::plan
