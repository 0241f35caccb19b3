/// smem: selections, also called stream compaction: the elements that satisfy a condition, packed.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/select_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <string>

namespace smem {

/// Writes the elements x of `in` for which `predicate` is not zero to the beginning of `out`, in their order,
/// and their number to `count`.
///
/// `predicate` is an expression in OpenCL C, e.g. "x < 0.5f". `x` has the type of the elements, but int for
/// int8 and int16, uint for uint8 and uint16, float for half. The expression may call the functions of OpenCL
/// C.
///
/// Elements are integers, half, float32 or float64, and keep their bits. `out` has the same type and at least
/// as many elements; those behind the selected ones do not change. `count` is one uint32 or uint64; uint64 if
/// `in` has more than 2^32 - 1 elements. Views must not overlap: there is no selection in place.
///
/// The result is the same in every run. Single-pass variants ("look_back", and "cpu" where work-groups that
/// have started keep running) read each element once, the others twice: O(n). Temporary memory comes from the
/// context. No host wait. \returns the event that completes with the result. \throws Error when types or
/// sizes do not fit, a view exceeds its buffer, overlaps another one or belongs to another context, the type
/// is float64 and the device has no fp64, the variant cannot run, or the predicate does not compile. The
/// error names the argument, and no kernel is enqueued.
///
/// M. Billeter, O. Olsson and U. Assarsson, "Efficient stream compaction on wide SIMD many-core
/// architectures", HPG 2009; D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
/// look-back", NVR-2016-002, 2016.
SMEM_API cl::Event copy_if(const Context& context, const ConstVector& in, const Vector& out,
                           const Vector& count, const std::string& predicate,
                           const CallOptions& options = {});
/// Selects the elements of `in` whose flag is not zero. `flags` has as many elements as `in`, of any integer
/// type. Elements of float64 do not need fp64 on the device. All else as copy_if().
SMEM_API cl::Event copy_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                                const Vector& out, const Vector& count, const CallOptions& options = {});

/// Writes the elements for which `predicate` is not zero, in their order, then all others in theirs, and the
/// number of the former to `count`. Each element is read twice, because the place of the others is known only
/// when all are counted: partition_reversed() is faster. All else as copy_if().
SMEM_API cl::Event partition(const Context& context, const ConstVector& in, const Vector& out,
                             const Vector& count, const std::string& predicate,
                             const CallOptions& options = {});
/// As partition() and copy_flagged().
SMEM_API cl::Event partition_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                                     const Vector& out, const Vector& count, const CallOptions& options = {});

/// As partition(), but the others are written in reverse order: the first of them goes to element in.size - 1
/// of `out`, the next to the element before it. Single-pass variants read each element once.
SMEM_API cl::Event partition_reversed(const Context& context, const ConstVector& in, const Vector& out,
                                      const Vector& count, const std::string& predicate,
                                      const CallOptions& options = {});
/// As partition_reversed() and copy_flagged().
SMEM_API cl::Event partition_flagged_reversed(const Context& context, const ConstVector& in,
                                              const ConstVector& flags, const Vector& out,
                                              const Vector& count, const CallOptions& options = {});

/// Writes the first element of each run of equal neighbours, and the number of runs to `count`. Elements
/// compare as numbers: zeros of both signs are equal, and a NaN, which equals nothing, is a run by itself.
/// All else as copy_if().
SMEM_API cl::Event unique(const Context& context, const ConstVector& in, const Vector& out,
                          const Vector& count, const CallOptions& options = {});
/// Writes the first element of each run of equal neighbours to `values`, as unique() does, and the length of
/// the run to `lengths`, which is uint32 or uint64 (uint64 for more than 2^32 - 1 elements of `in`). Both
/// have at least as many elements as `in`. All else as copy_if().
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
/// As partition_reversed() above; waits for the device and returns the count.
SMEM_API std::size_t partition_reversed(const Context& context, const ConstVector& in, const Vector& out,
                                        const std::string& predicate, const CallOptions& options = {});
/// As partition_flagged_reversed() above; waits for the device and returns the count.
SMEM_API std::size_t partition_flagged_reversed(const Context& context, const ConstVector& in,
                                                const ConstVector& flags, const Vector& out,
                                                const CallOptions& options = {});
/// As unique() above; waits for the device and returns the count.
SMEM_API std::size_t unique(const Context& context, const ConstVector& in, const Vector& out,
                            const CallOptions& options = {});
/// As run_length_encode() above; waits for the device and returns the count.
SMEM_API std::size_t run_length_encode(const Context& context, const ConstVector& in, const Vector& values,
                                       const Vector& lengths, const CallOptions& options = {});

}  // namespace smem
