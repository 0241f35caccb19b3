/// smem: plans for merges of sorted vectors. Includes no OpenCL header.
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

/// A merge without its data: all that a plan depends on.
struct MergeProblem {
  Scalar keys = Scalar::uint32;  ///< their type
  std::size_t size = 0;          ///< keys of both vectors
  std::size_t value_bytes = 0;   ///< of a value, 1 to 16; 0: none
  bool descending = false;       ///< whether the greatest key comes first
  bool total_order = false;      ///< of floating-point keys: IEEE 754's totalOrder
  bool nan_least = false;        ///< of floating-point keys: NaN is less than all others

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "merge"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("keys", keys), extent("size", size), choice("value_bytes", value_bytes),
                choice("descending", descending), choice("total_order", total_order),
                choice("nan_least", nan_least));
  }
};

/// The plan that merge() and merge_pairs() use on `device`. Overrides: `variant`, and `work_items`, a power
/// of two, for "tile". \throws Error when the problem is not valid, the variant is unknown or cannot run it
/// on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_merge(const Device& device, const MergeProblem& problem,
                         const PlanOverrides& overrides = {});

/// The names of all variants; the one for CPUs last.
SMEM_API std::vector<std::string_view> merge_variants();

}  // namespace smem
