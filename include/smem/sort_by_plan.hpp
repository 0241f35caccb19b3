/// smem: plans for sorts by a caller's comparison. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem {

/// A sort by a comparison without its data: all that a plan depends on.
struct SortByProblem {
  std::size_t size = 0;            ///< elements
  std::string type = "float";      ///< of elements in OpenCL C: "float2"
  std::string precedes = "a < b";  ///< the comparison: OpenCL C, of `a` and `b`

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "sort_by"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(extent("size", size), choice("type", type),
                ignored("precedes", precedes));  // which costs little beside the elements' way
  }
};

/// The plan that sort_by() uses on `device`. Overrides: `variant`, and `work_items`, a power of two, for
/// "merge". \throws Error when the problem is not valid, the variant is unknown or cannot run it on this
/// device, or another field was fixed; it names the field.
SMEM_API Plan plan_sort_by(const Device& device, const SortByProblem& problem,
                           const PlanOverrides& overrides = {});

/// The names of all variants; the one for CPUs last.
SMEM_API std::vector<std::string_view> sort_by_variants();

}  // namespace smem
