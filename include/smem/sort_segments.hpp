/// smem: sorts of the segments of vectors.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/sort_segments_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// out: each segment of `keys`, its keys in ascending order, or as `order` says: each as if sort() had it.
/// Segment i goes from offsets[i] to offsets[i + 1], of type uint32 or uint64. What lies before the first or
/// behind the last offset is not written. Empty, short and very long segments may be mixed.
///
/// `out` has the type and size of `keys`. They may be the very same elements; else they must not overlap.
///
/// The offsets lie on the device, where a call that does not wait cannot refuse them: where they descend, or
/// exceed the size of `keys`, nothing is written. check_segments() tells.
///
/// Segments that fit local memory are read once and written once, several of the short ones by one group;
/// longer ones take O(n) for each digit of 8 bits. Temporary memory: as much as the keys take, and a fifth
/// more: Plan::scratch_bytes. The same bits in every run. No host wait. \returns the event after which the
/// result is there. \throws Error as sort_rows().
SMEM_API cl::Event sort_segments(const Context& context, const ConstVector& keys, const ConstVector& offsets,
                                 const Vector& out, const SortOrder& order = {},
                                 const CallOptions& options = {});

/// The same of keys with values, which have 1 to 16 bytes. Both, or one of them, may be sorted in place.
SMEM_API cl::Event sort_pairs_segments(const Context& context, const ConstVector& keys,
                                       const ConstVector& values, const ConstVector& offsets,
                                       const Vector& out_keys, const Vector& out_values,
                                       const SortOrder& order = {}, const CallOptions& options = {});

/// places: those of the keys of each segment in the order that sort_segments() gives them, counted from the
/// beginning of the segment. Of type uint32 or uint64; as many as keys.
SMEM_API cl::Event argsort_segments(const Context& context, const ConstVector& keys,
                                    const ConstVector& offsets, const Vector& places,
                                    const SortOrder& order = {}, const CallOptions& options = {});

}  // namespace smem
