/// smem: plans for reductions of runs of equal keys. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A reduction of runs of equal keys without its data: all that a plan depends on.
struct ReduceByKeyProblem {
  bool unique = false;                  ///< unique_by_key(): the first element of each run
  Reduction operation = ReduceOp::sum;  ///< what is combined, else
  Scalar keys = Scalar::uint32;         ///< of the keys
  Scalar in = Scalar::float32;   ///< of the elements; of unique_by_key() an unsigned integer of their size
  Scalar out = Scalar::float32;  ///< of the results
  std::size_t size = 0;          ///< keys, and elements
  /// The largest power of two, at most 16, that divides the byte address of the first element.
  std::size_t in_alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "reduce_by_key"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("unique", unique), choice("operation", operation), choice("keys", keys),
                choice("in", in), choice("out", out), extent("size", size),
                aligned("in_alignment", in_alignment));
  }
};

/// The plan that reduce_by_key() and unique_by_key() use on `device`. If one launch cannot combine the parts,
/// a launch before it, "first", computes the aggregate of each part. The predicted bytes assume runs of two
/// elements. Overrides: `variant`, and `work_items`, a power of two, for all variants but "cpu". Fixed fields
/// are never shrunk. \throws Error when the types do not fit the operation or the device, the variant is
/// unknown or cannot run this problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_reduce_by_key(const Device& device, const ReduceByKeyProblem& problem,
                                 const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> reduce_by_key_variants();

}  // namespace smem
