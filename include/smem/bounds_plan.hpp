/// smem: plans for searches in sorted vectors. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// What is searched.
enum class BoundsOp {
  lower_bound,  ///< the number of keys that precede the searched one
  upper_bound,  ///< the number of keys that precede or equal it
  is_sorted     ///< whether no key precedes the one before it
};
/// "lower_bound", "upper_bound" or "is_sorted".
SMEM_API std::string_view name_of(BoundsOp op);

/// A search without its data: all that a plan depends on.
struct BoundsProblem {
  BoundsOp op = BoundsOp::lower_bound;  ///< what is searched
  Scalar keys = Scalar::uint32;         ///< type of the keys
  Scalar places = Scalar::uint32;       ///< type of results: uint32 or uint64
  std::size_t size = 0;                 ///< of the sorted vector
  std::size_t count = 0;                ///< keys that are searched for; is_sorted: equal to size
  bool descending = false;              ///< whether the greatest key comes first
  bool total_order = false;             ///< of floating-point keys: IEEE 754's totalOrder
  bool nan_least = false;               ///< of floating-point keys: NaN is less than all others

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "bounds"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("keys", keys), choice("places", places), extent("size", size),
                extent("count", count), choice("descending", descending), choice("total_order", total_order),
                choice("nan_least", nan_least));
  }
};

/// The plan that lower_bound(), upper_bound() and is_sorted() use on `device`. Overrides: `variant`, and
/// `work_items`, a power of two. \throws Error when the problem is not valid, the variant is unknown or
/// cannot run it on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_bounds(const Device& device, const BoundsProblem& problem,
                          const PlanOverrides& overrides = {});

/// The names of all variants.
SMEM_API std::vector<std::string_view> bounds_variants();

}  // namespace smem
