/// smem: attention.
#pragma once

#include <smem/attention_plan.hpp>
#include <smem/context.hpp>
#include <smem/heads.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>

namespace smem {

/// The keys that a query attends to, relative to its own key. For n queries and m keys, the own key of query
/// i is i + m - n.
struct AttentionWindow {
  static constexpr std::size_t kAll = SIZE_MAX;  ///< no limit

  std::size_t left = kAll;   ///< keys before the own key
  std::size_t right = kAll;  ///< keys after the own key
  std::size_t sinks = 0;     ///< the first keys of a sequence, which every query attends to
};

/// Sequences of different lengths, packed one after the other in views whose batch is 1: sequence s has the
/// tokens from offsets[s] to offsets[s + 1] - 1. Each vector of offsets is uint32 or int32 and has one more
/// element than there are sequences.
struct RaggedBatch {
  ConstVector queries = {};  ///< offsets of queries and results
  ConstVector keys = {};     ///< offsets of keys and values; empty with a page table
};

/// A cache of keys and values in pages. The batch of the views of keys and values counts pages.
struct PagedCache {
  /// A row for each sequence: the number of the page with its keys 0 to page size - 1, then that of the next
  /// page, and so on; uint32 or int32.
  ConstMatrix table = {};
};

/// Options of attention(). An empty view or a default turns an option off.
struct Attention {
  double scale = 0;             ///< factor of the products of queries and keys; 0: 1 / sqrt(head size)
  bool causal = false;          ///< masks the keys after the own key of a query, as a window with right = 0
  AttentionWindow window = {};  ///< masks keys outside of the window
  double soft_cap = 0;          ///< if not 0, logits become cap * tanh(logit / cap)
  /// Added to logits: [batch or 1, heads or 1, queries or 1, keys], where a size of 1 is broadcast; float32
  /// or the type of q. -inf masks a key. Not with a ragged batch.
  ConstHeads bias = {};
  /// The number of valid keys of each sequence; uint32 or int32. A paged cache must have it.
  ConstVector key_lengths = {};
  RaggedBatch ragged = {};  ///< sequences of different lengths
  /// ALiBi: a slope for each head, float32. The slope times the distance of query and key is subtracted from
  /// the logit.
  ConstVector slopes = {};
  ConstVector sink_logits = {};  ///< for each head, the logit of an extra key whose value is 0; float32
  PagedCache cache = {};         ///< keys and values in pages
  /// Validates lengths, offsets and the page numbers in use first. The host waits for the device then.
  bool check = false;
};

/// out[b, h, i] = the sum over all keys j that query i attends to of w(j) * v[b, g, j], where w is the
/// softmax of the logits scale * (q[b, h, i] . k[b, g, j]) over these keys, and g = h / (heads / key heads).
///
/// `q` is [batch, heads, queries, head size], `k` [batch, key heads, keys, head size], `v` [batch, key heads,
/// keys, value size], and `out` [batch, heads, queries, value size], each with any strides. Head and value
/// sizes are 1 to 256; there are at most 2^29 queries and 2^29 keys. The number of key heads divides the
/// number of heads. Inputs are half, bfloat16 or float32; `out` has their type, or float32. Logits and sums
/// are float32. Variants that use matrix units round weights to the type of the values.
///
/// Queries and keys are aligned at their ends: with 3 queries and 5 keys, query 0 attends to keys 0 to 2 if
/// `causal` is set. Each logit is scaled, capped, reduced by ALiBi, biased and masked, in this order. A query
/// without keys has the result 0. A logit of NaN or +inf makes the results of its query NaN. Keys and values
/// beyond the length of their sequence, and in unused pages, may hold any data. Those that are masked only by
/// a window, `causal` or a bias must be finite. Lengths, offsets and page numbers lie on the device; without
/// `check` the call cannot refuse them. Lengths and offsets beyond the views are clamped to them, and a page
/// number that does not exist reads some other page.
///
/// No host wait, unless `check` is set. A plan gives the same bits in every run. Temporary memory: as the
/// plan states. \returns the event that completes with the results. \throws Error when shapes or types do not
/// fit, a view exceeds its buffer or belongs to another context, `out` overlaps an input or itself, a number
/// is NaN or out of its range, or the variant cannot run. The error names the argument, and nothing is
/// enqueued.
///
/// T. Dao, "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023.
SMEM_API cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k,
                             const ConstHeads& v, const Heads& out, const Attention& how = {},
                             const CallOptions& options = {});

/// The same, and lse[(b * heads + h) * queries + i] = the logarithm of the sum of the exponentials of the
/// logits of query i, in float32; -inf for a query without keys. The sum includes the sink logit. `lse` has
/// at least batch * heads * queries elements. In a ragged batch, `queries` counts those of all sequences.
SMEM_API cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k,
                             const ConstHeads& v, const Heads& out, const Vector& lse,
                             const Attention& how = {}, const CallOptions& options = {});

}  // namespace smem
