/// smem: merges of sorted vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/merge_plan.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/view.hpp>

namespace smem {

/// Merges `a` and `b`, which are both sorted as `order` says, into `out`. The merge is stable: of equal keys
/// those of `a` come first, and each input keeps its relative order. Keys keep their bits.
///
/// `b` and `out` have the type of `a`, and `out` has as many elements as `a` and `b` together. Outputs
/// overlap no other view. If `a` or `b` is not sorted, `out` receives some keys of both, in any order.
///
/// Keys are read once and written once. No host wait. \returns the event that completes with the result.
/// \throws Error when types or sizes do not fit, the selected bits exceed the key, a view exceeds its buffer,
/// overlaps an output or belongs to another context, or the variant cannot run. The error names the argument,
/// and nothing is enqueued.
///
/// O. Green, R. McColl and D. A. Bader, "GPU Merge Path: a GPU merging algorithm", ICS 2012.
SMEM_API cl::Event merge(const Context& context, const ConstVector& a, const ConstVector& b,
                         const Vector& out, const SortOrder& order = {}, const CallOptions& options = {});

/// Merges keys together with values: each value moves with its key. Values have 1 to 16 bytes, and one type.
/// Each vector of values has as many elements as its vector of keys. All else as merge().
SMEM_API cl::Event merge_pairs(const Context& context, const ConstVector& a, const ConstVector& a_values,
                               const ConstVector& b, const ConstVector& b_values, const Vector& out_keys,
                               const Vector& out_values, const SortOrder& order = {},
                               const CallOptions& options = {});

}  // namespace smem
