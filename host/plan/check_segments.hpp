/// The plan of check_segments.
#pragma once

#include <smem/device.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// A check of segments without its data.
struct CheckSegmentsProblem {
  Scalar bounds = Scalar::uint32;  ///< type of the offsets: uint32 or uint64
  std::size_t count = 0;           ///< of offsets

  std::string_view name() const { return "check_segments"; }
  auto fields() const {
    using namespace smem::fields;
    return list(choice("bounds", bounds), extent("count", count));
  }
};

/// The launch that checks whether the offsets ascend. There is nothing to choose.
Plan plan_check_segments(const Device& device, const CheckSegmentsProblem& problem,
                         const PlanOverrides& overrides = {});

}  // namespace smem::plan
