/// smem: reductions of runs of equal keys.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_by_key_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// Reduces the elements of each run of equal neighbouring keys to one element of `out`. Writes the first key
/// of each run to `unique_keys`, and the number of runs to `count`. If keys are sorted, for example by
/// sort_pairs(), each key has one run.
///
/// `in` has as many elements as `keys`; `unique_keys` and `out` have at least as many, and elements behind
/// the last run do not change. Keys compare as numbers, as in unique(): zeros of both signs are equal, and a
/// NaN, which equals nothing, is a run by itself. Keys have any type but fp8, also float64 on devices without
/// fp64, and keep their bits. `count` is one uint32 or uint64; for more than 2^32 - 1 elements, uint64.
/// Operations and the types of `in` and `out` are those of inclusive_scan(). A custom operation must be
/// associative, but need not be commutative: `a` always precedes `b`. Views must not overlap.
///
/// The plan determines how floating-point sums are grouped: the same plan, alignment and input give the same
/// bits in every run, whichever work-group starts first.
///
/// Single-pass variants ("look_back", and "cpu" where work-groups that have started keep running) read each
/// key and element once, the others twice: O(n). Temporary memory comes from the context. No host wait.
/// \returns the event that completes with the result. \throws Error when types or sizes do not fit, a view
/// exceeds its buffer, overlaps another one or belongs to another context, elements or results are float64
/// and the device has no fp64, the variant cannot run, or a custom expression does not compile. The error
/// names the argument, and no kernel is enqueued.
///
/// D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002,
/// 2016; G. E. Blelloch, "Prefix sums and their applications", 1990, section 1.5.
SMEM_API cl::Event reduce_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                                 const Vector& unique_keys, const Vector& out, const Vector& count,
                                 const Reduction& operation = ReduceOp::sum, const CallOptions& options = {});
/// Writes the first element of each run of equal neighbouring keys to `out`, and its key to `unique_keys`.
/// Elements have any type of 1, 2, 4 or 8 bytes, and keep their bits. All else as reduce_by_key().
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
