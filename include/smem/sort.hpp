/// smem: sorts of vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <optional>

namespace smem {

/// The order of keys.
///
/// Integers compare by their values. Floating-point keys do too: -0 equals 0, and NaN is greater than all
/// other keys and equals any other NaN, as in NumPy and PyTorch; with `nan_least` NaN is less than all other
/// keys. With `total_order` they compare by IEEE 754's totalOrder: -NaN, -infinity, ..., -0, 0, ...,
/// infinity, NaN, and NaNs by their bits; `nan_least` is not allowed then.
///
/// `begin_bit` and `end_bit` select bits of the sort code of a key, an unsigned integer of the key's size
/// with the same order. The code of an unsigned key is the key. For keys of n bits, a signed key x has the
/// code 2^(n-1) + x; a floating-point key with magnitude m (its bits without the sign) has the code
/// 2^(n-1) + m, or 2^(n-1) - m if it is negative (one less with `total_order`); NaN has a code of ones only,
/// with `nan_least` of zeros only. Keys with the same selected bits are equal.
struct SortOrder {
  bool descending = false;                  ///< the greatest key first, NaN before all others
  bool total_order = false;                 ///< for floating-point keys
  bool nan_least = false;                   ///< for floating-point keys: NaN first, or last if descending
  std::size_t begin_bit = 0;                ///< the lowest bit of the code that keys are sorted by
  std::optional<std::size_t> end_bit = {};  ///< the bit after the highest one; default: all bits
};

/// Writes the keys to `out` in ascending order, or as `order` says. The sort is stable: equal keys keep their
/// relative order. Keys keep their bits.
///
/// Keys are integers of 8 to 64 bits, half, bfloat16, float32 or float64; the device needs neither fp16 nor
/// fp64. `out` has the type and size of `keys`. It may be `keys` itself; otherwise they must not overlap.
///
/// O(n) for each digit of 8 bits. Temporary memory, slightly more than the size of the keys
/// (Plan::scratch_bytes), comes from the context, or from the caller as CallOptions::scratch, which nothing
/// else may use until the call has completed. The same bits in every run. No host wait. \returns the event
/// that completes with the result. \throws Error when `out` has another type or size, the selected bits
/// exceed the key, a view exceeds its buffer, overlaps an output or belongs to another context, or the
/// variant cannot run. The error names the argument, and nothing is enqueued.
///
/// A. Adinets and D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv
/// 2206.01784, 2022; N. Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for
/// manycore GPUs", IPDPS 2009; K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
SMEM_API cl::Event sort(const Context& context, const ConstVector& keys, const Vector& out,
                        const SortOrder& order = {}, const CallOptions& options = {});

/// Sorts keys together with values: values[i] moves with keys[i]. `values` has as many elements as `keys`, of
/// any type; `out_values` has its type and size. Keys, values or both may be sorted in place. Temporary
/// memory: slightly more than the size of keys and values. All else as sort().
SMEM_API cl::Event sort_pairs(const Context& context, const ConstVector& keys, const ConstVector& values,
                              const Vector& out_keys, const Vector& out_values, const SortOrder& order = {},
                              const CallOptions& options = {});

/// Writes the places of the keys in sorted order: keys[places[0]] is the first key. `places` is uint32, or
/// uint64, which more than 2^32 keys need. The keys do not change. Temporary memory: at most slightly more
/// than twice the size of the keys plus the size of the places. All else as sort().
SMEM_API cl::Event argsort(const Context& context, const ConstVector& keys, const Vector& places,
                           const SortOrder& order = {}, const CallOptions& options = {});

}  // namespace smem
