// Rows of policies: when they hold, and what chose them, in words.
#include "plan/policy.hpp"

#include "formatted.hpp"
#include "plan/sizes.hpp"

namespace smem::plan {

namespace {

struct Measured {
  std::string_view device, family;
};

constexpr Measured kMeasured[] = {
    {"H200", "nvidia-hopper"}, {"H100", "nvidia-hopper"}, {"Zen 4", "cpu"}, {"Xeon", "cpu"}, {"EPYC", "cpu"}};

}  // namespace

std::string_view family_of_measured(std::string_view device) {
  for (const Measured& measured : kMeasured)
    if (measured.device == device) return measured.family;
  return {};
}

std::string Evidence::text(const Device& at_hand) const {
  if (!measured()) return std::string(what);
  const bool same = at_hand.name.find(device) != std::string::npos;
  return formatted("{}{}{}{}: {}, {}", same ? "" : "measured on a device of its family, ", device,
                   driver.empty() ? "" : ", driver ", driver, what, share);
}

bool When::holds(const Device& device) const {
  return (family.empty() || family == family_of(device)) && device.local_bytes >= local_bytes &&
         device.max_work_group >= max_work_group && device.vendor_name.find(vendor) != std::string::npos &&
         (matrix_unit == MatrixUnit::none || matrix_unit == device.matrix_unit) &&
         (compute_capability == 0 || plan::compute_capability(device) >= compute_capability);
}

}  // namespace smem::plan
