/// smem: sorts of the segments of vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/sort_segments_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// Sorts each segment of `keys` by itself, as sort() would. Segment i goes from offsets[i] to offsets[i + 1]
/// - 1; offsets are uint32 or uint64. Elements before the first offset, and those from the last one on, are
/// not written. Empty, short and very long segments may be mixed.
///
/// `out` has the type and size of `keys`. It may be `keys` itself; otherwise they must not overlap.
///
/// The offsets lie on the device, so the call cannot refuse them. If they descend or exceed the size of
/// `keys`, nothing is written; check_segments() finds such offsets.
///
/// Segments that fit local memory are read once and written once; a work-group sorts several short ones.
/// Longer segments take O(n) for each digit of 8 bits. Temporary memory: 1.2 times the size of the keys
/// (Plan::scratch_bytes). The same bits in every run. No host wait. \returns the event that completes with
/// the result. \throws Error as sort_rows().
SMEM_API cl::Event sort_segments(const Context& context, const ConstVector& keys, const ConstVector& offsets,
                                 const Vector& out, const SortOrder& order = {},
                                 const CallOptions& options = {});

/// Sorts keys together with values of 1 to 16 bytes. `values` has as many elements as `keys`; `out_values`
/// has its type and size. Keys, values or both may be sorted in place. All else as sort_segments().
SMEM_API cl::Event sort_pairs_segments(const Context& context, const ConstVector& keys,
                                       const ConstVector& values, const ConstVector& offsets,
                                       const Vector& out_keys, const Vector& out_values,
                                       const SortOrder& order = {}, const CallOptions& options = {});

/// Writes the places of the keys of each segment in sorted order, counted from the beginning of the segment.
/// `places` has as many elements as `keys`, of uint32 or uint64. All else as sort_segments().
SMEM_API cl::Event argsort_segments(const Context& context, const ConstVector& keys,
                                    const ConstVector& offsets, const Vector& places,
                                    const SortOrder& order = {}, const CallOptions& options = {});

}  // namespace smem
