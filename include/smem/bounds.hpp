/// smem: searches in sorted vectors.
#pragma once

#include <smem/bounds_plan.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/view.hpp>

namespace smem {

/// places[i] = the number of keys of `sorted` that are less than keys[i] in the order `order`: the first
/// place where keys[i] can be inserted. `sorted` is sorted as `order` says. `keys` has its type, and any size
/// and order. `places` has as many elements, uint32, or uint64, which 2^32 keys need, and overlaps no input.
/// If `sorted` is not sorted, places are any numbers from 0 to its size.
///
/// O(log n) for each key. Sorted `keys` reuse cache lines. No host wait. \returns the event that completes
/// with the result. \throws Error as merge() does.
SMEM_API cl::Event lower_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                               const Vector& places, const SortOrder& order = {},
                               const CallOptions& options = {});

/// places[i] = the number of keys of `sorted` that are less than or equal to keys[i]: the last place where
/// keys[i] can be inserted. All else as lower_bound().
SMEM_API cl::Event upper_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                               const Vector& places, const SortOrder& order = {},
                               const CallOptions& options = {});

/// Whether the keys are sorted as `order` says. Waits for the device. \throws Error as merge() does.
SMEM_API bool is_sorted(const Context& context, const ConstVector& keys, const SortOrder& order = {},
                        const CallOptions& options = {});

}  // namespace smem
