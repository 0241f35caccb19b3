/// smem: attention of a long sequence over all ranks.
#pragma once

#include <smem/distributed/data.hpp>

#include <cstddef>

namespace smem::distributed {

/// Options of attention(); see smem::Attention.
struct SequenceAttention {
  std::size_t heads = 1;      ///< of queries and results
  std::size_t key_heads = 0;  ///< of keys and values; 0: as many as heads
  double scale = 0;           ///< as Attention::scale
  bool causal = false;        ///< a query attends to no key after its own
  /// Keys before the own key; only of causal attention. As AttentionWindow::left and AttentionWindow::sinks.
  std::size_t left = static_cast<std::size_t>(-1);
  std::size_t sinks = 0;  ///< keys at the beginning that every query attends to
  double soft_cap = 0;    ///< as Attention::soft_cap
};

/// smem::attention() of one sequence whose tokens are divided among the ranks. A row is a token, with the
/// vectors of its heads one after the other: `q` is tokens x (heads * head size), `k` tokens x (key heads *
/// head size), `v` tokens x (key heads * value size), `out` tokens x (heads * value size) of the type of `q`
/// or float32, in the layout of `q`. Causal attention needs as many queries as keys.
///
/// Collective, waits. Each block of queries is a task; all keys and values are sent to all ranks, block by
/// block, once: a rank receives (ranks - 1) / ranks of both. They must fit a device's memory, together with a
/// block of queries and one of results. Causal attention of equal parts leaves the first ranks idle at the
/// end, because the last block has twice the work of the middle one; an uneven layout balances the work.
/// \throws Error on all ranks as smem::attention() does, or when shapes or layouts do not fit, keys and
/// values exceed half of a device's memory, or an input has no values.
SMEM_DISTRIBUTED_API void attention(const Rows& q, const Rows& k, const Rows& v, Rows& out,
                                    const SequenceAttention& how = {});

}  // namespace smem::distributed
