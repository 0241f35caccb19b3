// Attention: blocks of queries, keys and values on all ranks.
#include <smem/distributed/attention.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"

#include <smem/attention.hpp>

#include <algorithm>

namespace smem::distributed {

namespace {

using namespace detail;

constexpr const char* kAttention = "distributed::attention";

std::size_t key_heads_of(const SequenceAttention& how) {
  return how.key_heads == 0 ? how.heads : how.key_heads;
}

/// What tasks need to know of the views.
struct Shapes {
  ElementType type, result;
  std::size_t keys, size, value_size;
};

/// All rows of all ranks, on this one, where it has queries. Every rank calls it.
Temporary gathered(State& state, const Rows& rows, const Rows& queries) {
  const std::size_t row_bytes = rows.row_elements() * rows.type().bytes;
  Temporary all;
  for (int rank = 0; rank < state.ranks(); ++rank) {
    if (queries.layout().rows[static_cast<std::size_t>(rank)] == 0) continue;
    if (rank == state.rank()) {
      all = Temporary(rows.elements(), rows.type().bytes);
      touch(state, all.handle());
    }
    for (const Block& block : rows.blocks()) {
      const std::size_t bytes = block.rows * row_bytes;
      move(state, {block.rank, block.handle, 0, bytes},
           {rank, rank == state.rank() ? all.handle() : nullptr, block.first * row_bytes, bytes}, 1, bytes);
    }
  }
  return all;
}

void check_attention(Signature& signature, State& state, const Rows& q, const Rows& k, const Rows& v,
                     const Rows& out, const SequenceAttention& how) {
  const std::size_t heads = how.heads, key_heads = key_heads_of(how);
  signature.add(heads).add(key_heads).add(how.scale).add(how.causal).add(how.left).add(how.sinks);
  signature.add(how.soft_cap);
  check_input(kAttention, "q", state, q, signature);
  check_input(kAttention, "k", state, k, signature);
  check_input(kAttention, "v", state, v, signature);
  check_output(kAttention, "out", state, out, signature);
  if (&out == &q || &out == &k || &out == &v)
    refuse(kAttention, "out", "an object other than the inputs", "one of them");
  if (heads == 0 || heads % key_heads != 0) {
    refuse(kAttention, "how.heads", "a multiple of how.key_heads",
           std::to_string(heads) + " and " + std::to_string(key_heads));
  }
  if (!q.type().scalar || !(k.type() == q.type()) || !(v.type() == q.type())) {
    refuse(kAttention, "k", "numbers of the type of q, as v", "others");
  }
  if (!(out.type() == q.type()) && !(out.type() == ElementType(Scalar::float32))) {
    refuse(kAttention, "out", "the type of q, or float32", "another type");
  }
  const std::size_t size = q.row_elements() / heads;
  if (size == 0 || q.row_elements() % heads != 0) {
    refuse(kAttention, "q", "rows of " + std::to_string(heads) + " heads", detail::shape_of(q));
  }
  if (k.row_elements() != key_heads * size) {
    refuse(kAttention, "k", "rows of " + std::to_string(key_heads * size) + " elements", detail::shape_of(k));
  }
  if (v.rows() != k.rows() || v.row_elements() == 0 || v.row_elements() % key_heads != 0) {
    refuse(kAttention, "v", std::to_string(k.rows()) + " rows of " + std::to_string(key_heads) + " heads",
           detail::shape_of(v));
  }
  if (out.layout().rows != q.layout().rows || out.row_elements() != v.row_elements() / key_heads * heads) {
    refuse(kAttention, "out",
           std::to_string(q.rows()) + " rows of " + std::to_string(v.row_elements() / key_heads * heads) +
               " elements, in the layout of q",
           detail::shape_of(out));
  }
  if (how.causal && q.rows() != k.rows()) {
    refuse(kAttention, "how.causal", "as many queries as keys",
           detail::shape_of(q) + " and " + detail::shape_of(k));
  }
  if (!how.causal && (how.left != AttentionWindow::kAll || how.sinks != 0)) {
    refuse(kAttention, "how.left", "a window of causal attention", "one without causal");
  }
  const std::size_t bytes = (k.elements() + v.elements()) * q.type().bytes;
  if (bytes > state.device_bytes() / 2 || std::max(k.elements(), v.elements()) > UINT32_MAX) {
    refuse(
        kAttention, "k",
        "keys and values of at most " + std::to_string(state.device_bytes() / 2) + " bytes, half of a device",
        std::to_string(bytes) + " bytes");
  }
}

/// The attention of queries [first, end), a part of the block `from`, to part of the block `to`.
void attend(State& state, const Block& from, const Block& to, std::size_t first, std::size_t end,
            const Shapes& shapes, Handle keys, Handle values, const SequenceAttention& how) {
  // The last of these queries is aligned with the last of the keys that are given.
  const std::size_t given = how.causal ? end : shapes.keys;
  std::vector<Argument> arguments = {{to.handle, Access::update}, {from.handle, Access::read}};
  if (keys != nullptr) arguments.push_back({keys, Access::read});
  if (values != nullptr) arguments.push_back({values, Access::read});
  state.submit("attention", arguments, [=](const Context& context, std::span<const Piece> pieces) {
    const auto view = [](const Piece& piece, const ElementType& of, const HeadsShape& shape,
                         std::size_t before) {
      return std::pair(
          shape, tokens_before_heads(shape, piece.vector(of).offset + before * shape.heads * shape.size));
    };
    // Without keys any memory does.
    const Piece &of_keys = pieces.size() == 4 ? pieces[2] : pieces[1],
                &of_values = pieces.size() == 4 ? pieces[3] : pieces[1];
    const std::size_t key_heads = key_heads_of(how);
    const auto [q_shape, q_layout] =
        view(pieces[1], shapes.type, {1, how.heads, end - first, shapes.size}, first - from.first);
    const auto [k_shape, k_layout] = view(of_keys, shapes.type, {1, key_heads, given, shapes.size}, 0);
    const auto [v_shape, v_layout] =
        view(of_values, shapes.type, {1, key_heads, given, shapes.value_size}, 0);
    const auto [out_shape, out_layout] =
        view(pieces[0], shapes.result, {1, how.heads, end - first, shapes.value_size}, first - to.first);
    smem::attention(context, ConstHeads(pieces[1].buffer, shapes.type, q_shape, q_layout),
                    ConstHeads(of_keys.buffer, shapes.type, k_shape, k_layout),
                    ConstHeads(of_values.buffer, shapes.type, v_shape, v_layout),
                    Heads(pieces[0].buffer, shapes.result, out_shape, out_layout),
                    {.scale = how.scale,
                     .causal = how.causal,
                     .window = {.left = how.left, .sinks = how.sinks},
                     .soft_cap = how.soft_cap});
  });
}

}  // namespace

void attention(const Rows& q, const Rows& k, const Rows& v, Rows& out, const SequenceAttention& how) {
  State& state = q.session().state();
  const auto check = [&](Signature& signature) { check_attention(signature, state, q, k, v, out, how); };
  state.collective(kAttention, check, [&] {
    const Shapes shapes{q.type(), out.type(), k.rows(), q.row_elements() / how.heads,
                        v.row_elements() / key_heads_of(how)};
    const Temporary keys = gathered(state, k, q), values = gathered(state, v, q);
    for (const Block& to : out.blocks()) {
      if (to.handle == nullptr) continue;
      touch(state, to.handle);
      // Rows of q and out have different lengths, so that their blocks may differ: by the common parts.
      for (const Block& from : q.blocks()) {
        const std::size_t first = std::max(from.first, to.first),
                          end = std::min(from.first + from.rows, to.first + to.rows);
        if (from.handle == nullptr || first >= end) continue;
        attend(state, from, to, first, end, shapes, keys.handle(), values.handle(), how);
      }
    }
    out.set_has_values();
  });
}

}  // namespace smem::distributed
