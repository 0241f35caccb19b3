/// smem: plans for sorts of segments. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sort_plan.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A sort of segments without its data: all that a plan depends on.
struct SortSegmentsProblem {
  Scalar keys = Scalar::float32;            ///< their type
  Scalar offsets = Scalar::uint32;          ///< type of the offsets: uint32 or uint64
  std::size_t size = 0;                     ///< keys
  std::size_t segments = 0;                 ///< one less than offsets
  SortPayload payload = SortPayload::none;  ///< what moves with the keys
  std::size_t value_bytes = 0;              ///< of a value, 1 to 16; of a place 4 or 8; else 0
  bool descending = false;                  ///< whether the greatest key comes first
  bool total_order = false;                 ///< of floating-point keys: IEEE 754's totalOrder
  bool nan_least = false;                   ///< of floating-point keys: NaN is less than all others
  std::size_t begin_bit = 0;                ///< the lowest bit that keys are sorted by
  std::size_t end_bit = 32;                 ///< the bit after the highest one; at most the bits of a key
  bool in_place = false;                    ///< whether keys or values are sorted where they are

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "sort_segments"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("keys", keys), choice("offsets", offsets), extent("size", size),
                extent("segments", segments), choice("payload", payload), choice("value_bytes", value_bytes),
                choice("descending", descending), choice("total_order", total_order),
                choice("nan_least", nan_least), choice("begin_bit", begin_bit), choice("end_bit", end_bit),
                choice("in_place", in_place));
  }
};

/// The plan that sort_segments(), sort_pairs_segments() and argsort_segments() use on `device`. Overrides:
/// `variant`. \throws Error when the problem is not valid, the variant is unknown or cannot run it on this
/// device, or another field was fixed; it names the field.
SMEM_API Plan plan_sort_segments(const Device& device, const SortSegmentsProblem& problem,
                                 const PlanOverrides& overrides = {});

/// The names of all variants; the one for CPUs last.
SMEM_API std::vector<std::string_view> sort_segments_variants();

}  // namespace smem
