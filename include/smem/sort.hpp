/// smem: sorts of vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <optional>

namespace smem {

/// How keys are ordered.
///
/// Integers by their values. Floating-point keys by their values too: -0 equals 0, and NaN is greater than
/// all else and equals any other NaN, as in NumPy and PyTorch. With `total_order` as IEEE 754's totalOrder
/// has it: -NaN, -infinity, ..., -0, 0, ..., infinity, NaN, and NaNs by their bits.
///
/// Bits are those of an unsigned integer of the key's size that orders as the key does: of unsigned keys
/// their own; of others of n bits, 2^(n-1) + x for a signed x; 2^(n-1) + m for a floating-point key of
/// magnitude m (its bits without the sign), 2^(n-1) - m for a negative one (with `total_order` one less), and
/// all ones for NaN. Keys that agree in them are equal, whatever their other bits.
struct SortOrder {
  bool descending = false;                  ///< the greatest first; NaN before all else
  bool total_order = false;                 ///< of floating-point keys
  std::size_t begin_bit = 0;                ///< the lowest bit that keys are sorted by
  std::optional<std::size_t> end_bit = {};  ///< the bit after the highest one; without: all bits of a key
};

/// out: the keys in ascending order, or as `order` says. Stable: equal keys stay in their order, which shows
/// where they have other bits all the same. Each key keeps its own bits.
///
/// Keys are integers of 8 to 64 bits, half, bfloat16, float32 or float64; no device needs fp16 or fp64 for
/// them. `out` has the type and size of `keys`. They may be the very same elements; else they must not
/// overlap.
///
/// O(n) for each digit of 8 bits. Temporary memory comes from the context, as much as the keys take and
/// little more: Plan::scratch_bytes. The same bits in every run. No host wait.
/// \returns the event after which the result is there. \throws Error when `out` has another type or size, the
/// bits are none of the key's, a view leaves its buffer, overlaps an output or belongs to another context, or
/// the variant cannot run. It names the argument; no kernel is enqueued then.
///
/// A. Adinets and D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv
/// 2206.01784, 2022; N. Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for
/// manycore GPUs", IPDPS 2009; K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
SMEM_API cl::Event sort(const Context& context, const ConstVector& keys, const Vector& out,
                        const SortOrder& order = {}, const CallOptions& options = {});

/// The same of keys with values: values[i] goes where keys[i] goes. `values` has as many elements as `keys`,
/// of any type; `out_values` has its type and size. Both, or one of them, may be sorted in place. Temporary
/// memory: as much as keys and values take, and little more.
SMEM_API cl::Event sort_pairs(const Context& context, const ConstVector& keys, const ConstVector& values,
                              const Vector& out_keys, const Vector& out_values, const SortOrder& order = {},
                              const CallOptions& options = {});

/// places: those of the keys in the order that sort() gives them, so that keys[places[0]] is the first. Of
/// type uint32, or uint64, which more than 2^32 keys need. The keys stay as they are. Temporary memory: at
/// most twice what the keys take, what the places take, and little more. As sort().
SMEM_API cl::Event argsort(const Context& context, const ConstVector& keys, const Vector& places,
                           const SortOrder& order = {}, const CallOptions& options = {});

}  // namespace smem
