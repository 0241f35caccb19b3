/// smem: merges of sorted vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/merge_plan.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/view.hpp>

namespace smem {

/// out: the keys of `a` and `b`, each of which is sorted as `order` says, in this order. Stable: of equal
/// keys those of `a` come first, and all stay in their order; each keeps its own bits.
///
/// `b` and `out` have the type of `a`, and `out` as many elements as both. Views of outputs overlap no other
/// view. Where `a` or `b` is not sorted, some keys of both are written, in any order.
///
/// Keys are read once and written once. No host wait. \returns the event after which the result is there.
/// \throws Error when types or sizes do not fit, the bits are none of the key's, a view leaves its buffer,
/// overlaps an output or belongs to another context, or the variant cannot run. It names the argument; no
/// kernel is enqueued then.
///
/// O. Green, R. McColl and D. A. Bader, "GPU Merge Path: a GPU merging algorithm", ICS 2012.
SMEM_API cl::Event merge(const Context& context, const ConstVector& a, const ConstVector& b,
                         const Vector& out, const SortOrder& order = {}, const CallOptions& options = {});

/// The same of keys with values: each value goes where its key goes. Values have 1 to 16 bytes.
SMEM_API cl::Event merge_pairs(const Context& context, const ConstVector& a, const ConstVector& a_values,
                               const ConstVector& b, const ConstVector& b_values, const Vector& out_keys,
                               const Vector& out_values, const SortOrder& order = {},
                               const CallOptions& options = {});

}  // namespace smem
