/// What moves by places take.
#pragma once

#include <smem/device.hpp>
#include <smem/fields.hpp>
#include <smem/gather_plan.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// \throws Error naming the argument of `operation`, unless it is a problem.
void check_gather(const char* operation, const GatherProblem& problem);

/// A check of places without its data.
struct CheckPlacesProblem {
  Scalar places = Scalar::uint32;  ///< type of the places: uint32 or uint64
  std::size_t count = 0;           ///< of places

  std::string_view name() const { return "check_places"; }
  auto fields() const {
    using namespace smem::fields;
    return list(choice("places", places), extent("count", count));
  }
};

/// The launch that checks whether places are inside. There is nothing to choose.
Plan plan_check_places(const Device& device, const CheckPlacesProblem& problem,
                       const PlanOverrides& overrides = {});

}  // namespace smem::plan
