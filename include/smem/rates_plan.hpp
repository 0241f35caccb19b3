/// smem: plans for measuring what a device reaches. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem {

/// What is measured.
enum class Rate {
  copy,  ///< bytes from one buffer to another
  fp32   ///< multiply-adds on the whole device; the output has one float a work-item
};

/// One measurement.
struct RatesProblem {
  Rate rate = Rate::copy;  ///< which
  std::size_t amount = 0;  ///< bytes to copy, a multiple of 64; rounds of multiply-adds

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "rates"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("rate", rate), extent("amount", amount));
  }
};

/// The plan of the measurement. There are no overrides. \throws Error naming the argument that is wrong.
SMEM_API Plan plan_rates(const Device& device, const RatesProblem& problem,
                         const PlanOverrides& overrides = {});

}  // namespace smem
