/// smem: reductions of runs of equal keys.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_by_key_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// What the elements of each run of neighbours with equal keys make together, in `out`; the first key of each
/// run in `unique_keys`; the number of runs in `count`. Sorted keys have one run each: sort_pairs() before it
/// sums up all elements of a key.
///
/// `in` has as many elements as `keys`; `unique_keys` and `out` have at least as many, and what is behind the
/// runs stays as it is. Keys are compared as numbers, as unique() does: zeros of both signs are equal, and a
/// NaN, which equals nothing, is a run of its own. They have any type, float64 also where the device has no
/// fp64, and arrive bit by bit as they were. `count` is one uint32 or uint64; past 2^32 - 1 elements, uint64.
/// Operations and the types of `in` and `out` are those of inclusive_scan(); a custom operation must be
/// associative, but need not be commutative: `a` is always what comes before `b`. Views must not overlap.
///
/// Sums of floating-point numbers are grouped in a way that the plan fixes: the same plan, alignment and
/// input give the same bits in every run, whichever work-group comes first.
///
/// Single-pass variants ("look_back", and "cpu" where work-groups that have started go on) read each key and
/// element once, the others twice: O(n). Temporary memory comes from the context. No host wait.
/// \returns the event after which the result is there. \throws Error when types or sizes do not fit, a view
/// leaves its buffer, overlaps another or belongs to another context, the device has no fp64 and elements or
/// results are float64, the variant cannot run, or a custom expression does not compile. It names the
/// argument; no kernel is enqueued then.
///
/// D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002,
/// 2016; G. E. Blelloch, "Prefix sums and their applications", 1990, section 1.5.
SMEM_API cl::Event reduce_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                 const Vector& unique_keys, const Vector& out, const Vector& count,
                                 const Reduction& operation = ReduceOp::sum, const CallOptions& options = {});
/// The first element of each run of neighbours with equal keys, and its key. Elements have any type of 1, 2,
/// 4 or 8 bytes and arrive bit by bit as they were. As reduce_by_key().
SMEM_API cl::Event unique_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                 const Vector& unique_keys, const Vector& out, const Vector& count,
                                 const CallOptions& options = {});

// ---------------------------------------------------------------------------------------------------------
// The same, returning the count: these wait.

/// As reduce_by_key() above; waits for the device and returns the count.
SMEM_API std::size_t reduce_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                   const Vector& unique_keys, const Vector& out,
                                   const Reduction& operation = ReduceOp::sum,
                                   const CallOptions& options = {});
/// As unique_by_key() above; waits for the device and returns the count.
SMEM_API std::size_t unique_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                   const Vector& unique_keys, const Vector& out,
                                   const CallOptions& options = {});

}  // namespace smem
