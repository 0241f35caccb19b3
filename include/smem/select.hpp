/// smem: selections, also called stream compaction: the elements that fulfil a condition, next to each other.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/select_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <string>

namespace smem {

/// The elements x of `in` for which `predicate` is not zero, in their order, at the begin of `out`; their
/// number in `count`.
///
/// `predicate` is an expression in OpenCL C, e.g. "x < 0.5f". `x` has the element's type, but int for int8
/// and int16, uint for uint8 and uint16, float for half. The functions of OpenCL C can be called.
///
/// Elements have any type and arrive bit by bit as they were. `out` has the same type and at least as many
/// elements; those behind the selected ones stay as they are. `count` is one uint32 or uint64; past 2^32 - 1
/// elements of `in`, uint64. Views must not overlap: there is no selection in place.
///
/// The result is the same in every run. Single-pass variants ("look_back", and "cpu" where work-groups that
/// have started go on) read each element once, the others twice: O(n). Temporary memory comes from the
/// context. No host wait.
/// \returns the event after which the result is there. \throws Error when types or sizes do not fit, a view
/// leaves its buffer, overlaps another or belongs to another context, the device has no fp64 and the type is
/// float64, the variant cannot run, or the predicate does not compile. It names the argument; no kernel is
/// enqueued then.
///
/// M. Billeter, O. Olsson and U. Assarsson, "Efficient stream compaction on wide SIMD many-core
/// architectures", HPG 2009; D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
/// look-back", NVR-2016-002, 2016.
SMEM_API cl::Event copy_if(const Context& context, const ConstVector& in, const Vector& out,
                           const Vector& count, const std::string& predicate,
                           const CallOptions& options = {});
/// The elements of `in` whose flag is not zero. `flags` has as many elements as `in`, of any integer type. As
/// copy_if(), but float64 needs no fp64.
SMEM_API cl::Event copy_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                                const Vector& out, const Vector& count, const CallOptions& options = {});

/// The elements for which `predicate` is not zero in their order, then all others in theirs; the number of
/// the former in `count`. As copy_if(). Each element is read twice: where the others begin is known only when
/// all are counted.
SMEM_API cl::Event partition(const Context& context, const ConstVector& in, const Vector& out,
                             const Vector& count, const std::string& predicate,
                             const CallOptions& options = {});
/// As partition() and copy_flagged().
SMEM_API cl::Event partition_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                                     const Vector& out, const Vector& count, const CallOptions& options = {});

/// The first element of each run of equal neighbours; the number of runs in `count`. Numbers are compared,
/// not bits: zeros of both signs are equal, and a NaN, which equals nothing, is a run of its own. As
/// copy_if().
SMEM_API cl::Event unique(const Context& context, const ConstVector& in, const Vector& out,
                          const Vector& count, const CallOptions& options = {});
/// The first element of each run of equal neighbours in `values`, as unique() has it, and the run's length in
/// `lengths`, of type uint32 or uint64 (past 2^32 - 1 elements of `in`, uint64). Both have at least as many
/// elements as `in`. As copy_if().
SMEM_API cl::Event run_length_encode(const Context& context, const ConstVector& in, const Vector& values,
                                     const Vector& lengths, const Vector& count,
                                     const CallOptions& options = {});

// ---------------------------------------------------------------------------------------------------------
// The same, returning the count: these wait.

/// As copy_if() above; waits for the device and returns the count.
SMEM_API std::size_t copy_if(const Context& context, const ConstVector& in, const Vector& out,
                             const std::string& predicate, const CallOptions& options = {});
/// As copy_flagged() above; waits for the device and returns the count.
SMEM_API std::size_t copy_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                                  const Vector& out, const CallOptions& options = {});
/// As partition() above; waits for the device and returns the count.
SMEM_API std::size_t partition(const Context& context, const ConstVector& in, const Vector& out,
                               const std::string& predicate, const CallOptions& options = {});
/// As partition_flagged() above; waits for the device and returns the count.
SMEM_API std::size_t partition_flagged(const Context& context, const ConstVector& in,
                                       const ConstVector& flags, const Vector& out,
                                       const CallOptions& options = {});
/// As unique() above; waits for the device and returns the count.
SMEM_API std::size_t unique(const Context& context, const ConstVector& in, const Vector& out,
                            const CallOptions& options = {});
/// As run_length_encode() above; waits for the device and returns the count.
SMEM_API std::size_t run_length_encode(const Context& context, const ConstVector& in, const Vector& values,
                                       const Vector& lengths, const CallOptions& options = {});

}  // namespace smem
