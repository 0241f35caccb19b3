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

/// Where new keys and values go in a cache, and whether keys are rotated.
struct CacheAppend {
  /// The number of keys that the cache has of each sequence; new keys follow them. uint32 or int32. Not
  /// changed.
  ConstVector lengths = {};
  /// For new tokens of several sequences, packed one after the other in views whose batch is 1: sequence s
  /// has the tokens from offsets[s] to offsets[s + 1] - 1; uint32 or int32. Empty: all sequences have the
  /// same number of new tokens.
  ConstVector offsets = {};
  PagedCache cache = {};  ///< a cache in pages
  /// Rotates keys as rotary() does, token i of a sequence at position lengths[s] + i + first_position. Its
  /// `head_size` is 0 or that of keys, and its `positions` are empty. None: keys are copied.
  std::optional<Rotary> rotary = {};
  /// Validates lengths, offsets and the page numbers in use first. The host waits for the device then.
  bool check = false;
};

/// Writes key and value i of the new tokens of sequence s to place lengths[s] + i of its cache.
///
/// `k` is [batch, key heads, tokens, head size] and `v` [batch, key heads, tokens, value size]. `key_cache`
/// and `value_cache` are [batch, key heads, capacity, size], or, for a paged cache, [pages, key heads, page
/// size, size]. Each has any strides, and vectors of 1 to 256 elements. All have one type: half, bfloat16 or
/// float32. Values, and keys that are not rotated, keep their bits. Rotations are computed in float32, with
/// the angles of rotary().
///
/// Tokens beyond the capacity of the cache, or in a page that does not exist, are not written. Lengths lie on
/// the device; without `check` the call cannot refuse them. If two sequences write to the same place of a
/// shared page, the token of one of them is stored.
///
/// Each element is read once and written once. No host wait, unless `check` is set. No temporary memory.
/// \returns the event that completes with the cache. \throws Error when shapes or types do not fit, a number
/// is out of its range, a view exceeds its buffer or belongs to another context, a cache overlaps another
/// view or itself, or the variant cannot run. The error names the argument, and nothing is enqueued.
SMEM_API cl::Event append_to_cache(const Context& context, const ConstHeads& k, const ConstHeads& v,
                                   const Heads& key_cache, const Heads& value_cache, const CacheAppend& how,
                                   const CallOptions& options = {});

}  // namespace smem
