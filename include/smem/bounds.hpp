/// smem: searches in sorted vectors.
#pragma once

#include <smem/bounds_plan.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/view.hpp>

namespace smem {

/// places[i]: how many keys of `sorted` come before keys[i]: where it could be put in, in front of its
/// equals. `sorted` is in the order that `order` says; `keys` has its type, any number of elements, and any
/// order. `places` are as many, of type uint32, or uint64, which 2^32 keys need. They overlap no input. Where
/// `sorted` is not sorted, places are any from 0 to its size.
///
/// O(log n) for each key; sorted `keys` read few lines of the cache. No host wait. \returns the event after
/// which the result is there. \throws Error as merge() does.
SMEM_API cl::Event lower_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                               const Vector& places, const SortOrder& order = {},
                               const CallOptions& options = {});

/// The same, behind all equals.
SMEM_API cl::Event upper_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                               const Vector& places, const SortOrder& order = {},
                               const CallOptions& options = {});

/// Whether no key comes before the one in front of it, as `order` says. Waits for the device. \throws Error
/// as merge() does.
SMEM_API bool is_sorted(const Context& context, const ConstVector& keys, const SortOrder& order = {},
                        const CallOptions& options = {});

}  // namespace smem
