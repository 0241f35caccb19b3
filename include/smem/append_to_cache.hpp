/// smem: keys and values of new tokens into a cache.
#pragma once

#include <smem/append_to_cache_plan.hpp>
#include <smem/attention.hpp>
#include <smem/context.hpp>
#include <smem/heads.hpp>
#include <smem/options.hpp>
#include <smem/rotary.hpp>
#include <smem/view.hpp>

#include <optional>

namespace smem {

/// Where new keys and values go in a cache, and what is done to them on the way.
struct CacheAppend {
  /// Of each sequence: keys that the cache has, behind which the new ones go; uint32 or int32. Not changed.
  ConstVector lengths = {};
  /// Where new tokens of several sequences lie, one behind the other, in views whose batch is 1: sequence s
  /// has those from offsets[s] to offsets[s + 1] - 1; uint32 or int32. Empty: each sequence has as many.
  ConstVector offsets = {};
  PagedCache cache = {};  ///< a cache in pages
  /// Rotates keys as rotary() does, token i of a sequence at position lengths[s] + i + first_position. Its
  /// `head_size` is 0 or that of keys, and its `positions` are empty. None: keys are copied.
  std::optional<Rotary> rotary = {};
  /// First looks at lengths, offsets and the page numbers that are used, and refuses what is out of range.
  /// The host waits for that.
  bool check = false;
};

/// Writes key and value i of the new tokens of sequence s to place lengths[s] + i of its cache.
///
/// `k` and `v`: [batch, key heads, tokens, head size, or of v value size]; `key_cache` and `value_cache`:
/// [batch, key heads, capacity, size], or where the cache is in pages [pages, key heads, page size, size];
/// each with any strides, of vectors of 1 to 256 elements. Half, bfloat16 or float32, the same for all.
/// Values, and keys that are not rotated, keep their bits; rotations are computed in float32, with the angles
/// of rotary().
///
/// What would go behind the capacity of a cache, or into a page that does not exist, is not written: lengths
/// lie on the device, where a call that does not wait cannot refuse them. Two sequences that share the page
/// they write to leave either's tokens.
///
/// Each element is read once and written once. No host wait, unless `check` asks for it, and no temporary
/// memory. \returns the event after which the cache is there. \throws Error when shapes or types do not fit,
/// a number is out of its range, a view leaves its buffer or belongs to another context, a cache overlaps
/// another view or itself, or the variant cannot run; it names the argument, and nothing is enqueued then.
SMEM_API cl::Event append_to_cache(const Context& context, const ConstHeads& k, const ConstHeads& v,
                                   const Heads& key_cache, const Heads& value_cache, const CacheAppend& how,
                                   const CallOptions& options = {});

}  // namespace smem
