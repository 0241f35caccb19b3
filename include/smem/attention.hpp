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

/// Which keys around its own a query sees. The own key of query i, of n queries and m keys, is i + m - n.
struct AttentionWindow {
  static constexpr std::size_t kAll = SIZE_MAX;  ///< no limit

  std::size_t left = kAll;   ///< keys before its own
  std::size_t right = kAll;  ///< keys behind its own
  std::size_t sinks = 0;  ///< the first keys of a sequence, which are seen however far to the left they are
};

/// Where sequences of several lengths lie, one behind the other, in views whose batch is 1: sequence s has
/// the tokens from offsets[s] to offsets[s + 1] - 1. Each has one element more than there are sequences;
/// uint32 or int32.
struct RaggedBatch {
  ConstVector queries = {};  ///< offsets of queries and results
  ConstVector keys = {};     ///< offsets of keys and values; empty with a page table
};

/// A cache of keys and values in pages, which are the sequences of the views of both.
struct PagedCache {
  /// A row for each sequence: the number of the page of its keys 0 to page size - 1, and so on; uint32 or
  /// int32.
  ConstMatrix table = {};
};

/// How attention is computed. What is empty or has its default is not there.
struct Attention {
  double scale = 0;             ///< of the products of queries and keys; 0: 1 / sqrt(head size)
  bool causal = false;          ///< hides the keys behind a query's own: its window has no right side
  AttentionWindow window = {};  ///< which keys a query sees besides
  double soft_cap = 0;          ///< not 0: logits become cap * tanh(logit / cap)
  /// Added to logits: shape [batch or 1, heads or 1, queries or 1, keys], where 1 serves all; float32, or q's
  /// type. -inf hides a key. With a ragged batch: none.
  ConstHeads bias = {};
  ConstVector key_lengths = {};  ///< of each sequence: keys that are there; uint32 or int32
  RaggedBatch ragged = {};       ///< sequences of several lengths
  /// ALiBi: for each head a slope, which is multiplied by the distance of query and key and subtracted from
  /// the logit; float32.
  ConstVector slopes = {};
  ConstVector sink_logits = {};  ///< for each head the logit of a key whose value is 0; float32
  PagedCache cache = {};         ///< keys and values in pages
  /// First looks at lengths, offsets and the page numbers that are used, and refuses what is out of range.
  /// The host waits for that.
  bool check = false;
};

/// out[b, h, i] = the mean of the values v[b, g, j] over the keys j that query i sees, weighted by the
/// exponentials of their logits, scale * (q[b, h, i] . k[b, g, j]), where g = h / (heads / key heads).
///
/// `q`: [batch, heads, queries, head size], `k` and `v`: [batch, key heads, keys, head size, or of v value
/// size], `out`: [batch, heads, queries, value size], each with any strides; head and value sizes 1 to 256.
/// The heads of k divide those of q. Half, bfloat16 or float32; `out` the same, or float32. Logits and sums
/// are float32; where matrix units multiply, weights are rounded to the type of the values.
///
/// Queries and keys are aligned at their ends: with 3 queries and 5 keys, causal query 0 sees keys 0 to 2. In
/// this order a logit is scaled, capped, lessened by the slope, biased, and hidden. A query that sees no key
/// has the result 0. A NaN or +inf among the logits of a query makes its results NaN. Keys and values behind
/// the length of their sequence, and in pages that are not used, may be anything; those that only a window,
/// causal or a bias hides must be finite. Lengths and offsets lie on the device, where a call that does not
/// wait cannot refuse them: what exceeds the views is cut to what they have, and a page that does not exist
/// is another one.
///
/// No host wait, unless `check` asks for it. The same bits in every run of the same plan. Temporary memory as
/// the plan states. \returns the event after which the results are there. \throws Error when shapes or types
/// do not fit, a view leaves its buffer or belongs to another context, `out` overlaps an input or itself, a
/// number is not one, or the variant cannot run; it names the argument, and nothing is enqueued then.
///
/// T. Dao, "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023.
SMEM_API cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k,
                             const ConstHeads& v, const Heads& out, const Attention& how = {},
                             const CallOptions& options = {});

/// The same, and lse[(b * heads + h) * queries + i] = the logarithm of the sum of the exponentials of the
/// logits of the keys that query i sees, float32: -inf where it sees none. The sink logit counts. Of a ragged
/// batch, `queries` are those of all sequences.
SMEM_API cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k,
                             const ConstHeads& v, const Heads& out, const Vector& lse,
                             const Attention& how = {}, const CallOptions& options = {});

}  // namespace smem
