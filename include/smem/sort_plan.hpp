/// smem: plans for sorts. Includes no OpenCL header.
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

/// What moves with the keys of a sort.
enum class SortPayload {
  none,    ///< sort
  values,  ///< sort_pairs
  places   ///< argsort: the keys' places, without the keys
};
/// "none", "values" or "places".
SMEM_API std::string_view name_of(SortPayload payload);

/// A sort without its data: all that a plan depends on.
struct SortProblem {
  Scalar keys = Scalar::uint32;             ///< their type
  std::size_t size = 0;                     ///< keys
  SortPayload payload = SortPayload::none;  ///< what moves with them
  std::size_t value_bytes = 0;              ///< of a value, 1 to 16; of a place 4 or 8; else 0
  bool descending = false;                  ///< whether the greatest key comes first
  bool total_order = false;                 ///< of floating-point keys: IEEE 754's totalOrder
  bool nan_least = false;                   ///< of floating-point keys: NaN is less than all others
  std::size_t begin_bit = 0;                ///< the lowest bit that keys are sorted by
  std::size_t end_bit = 32;                 ///< the bit after the highest one; at most the bits of a key
  bool in_place = false;                    ///< whether keys or values are sorted where they are

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "sort"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("keys", keys), extent("size", size), choice("payload", payload),
                choice("value_bytes", value_bytes), choice("descending", descending),
                choice("total_order", total_order), choice("nan_least", nan_least),
                choice("begin_bit", begin_bit), choice("end_bit", end_bit), choice("in_place", in_place));
  }
};

/// The plan that the sorts use on `device`. The predicted traffic is what all launches read and write if no
/// pass is skipped. Overrides: `variant`; `work_items`, a power of two, for all variants but "cpu"; and
/// `tile_cols`, the keys of a work-group, a multiple of its work-items, for "onesweep". Fixed fields are
/// never shrunk. \throws Error when the problem is not valid, the variant is unknown or cannot run it on this
/// device, or another field was fixed; it names the field.
SMEM_API Plan plan_sort(const Device& device, const SortProblem& problem,
                        const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> sort_variants();

}  // namespace smem
