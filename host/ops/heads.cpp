#include "ops/heads.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace smem::ops {

namespace {

/// How many elements there are along a dimension, and how far they are apart.
struct Along {
  std::size_t extent, stride;
};

std::array<Along, 3> dimensions_of(const ConstHeads& view) {
  return {{{view.shape.tokens, view.token_stride},
           {view.shape.heads, view.head_stride},
           {view.shape.batch, view.batch_stride}}};
}

}  // namespace

bool is_empty(const ConstHeads& view) {
  const HeadsShape& shape = view.shape;
  return shape.batch == 0 || shape.heads == 0 || shape.tokens == 0 || shape.size == 0;
}

void require_shape(const char* operation, const char* argument, const ConstHeads& view,
                   const HeadsShape& wanted) {
  if (view.shape != wanted) refuse(operation, argument, text_of(wanted), text_of(view.shape));
}

std::string text_of(const HeadsShape& shape) {
  return formatted("[{}, {}, {}, {}]", shape.batch, shape.heads, shape.tokens, shape.size);
}

ConstMatrix span_of(const ConstHeads& view) {
  std::size_t span = is_empty(view) ? 0 : view.shape.size;
  if (span > 0) {
    for (const Along& along : dimensions_of(view))
      span = multiply_add(along.extent - 1, along.stride, span);
  }
  return {view.buffer, view.type, 1, span, {.offset = view.offset}};
}

Memory check_heads(const Context& context, const char* operation, const char* argument,
                   const ConstHeads& view, bool written) {
  std::array<Along, 3> dimensions = dimensions_of(view);
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Along& a, const Along& b) { return a.stride < b.stride; });
  std::size_t span = view.shape.size;
  for (const Along& along : dimensions) {
    if (!written || along.extent <= 1) continue;
    if (along.stride < span) {
      refuse(operation, argument, "vectors that share no element",
             formatted("a stride of {} from one to the next of {} elements", along.stride, span));
    }
    span = multiply_add(along.extent - 1, along.stride, span);
  }
  return check_view(context, operation, argument, span_of(view), written);
}

std::size_t vector_alignment(const ConstHeads& view, const Memory& memory) {
  std::size_t bits = 64 | memory.host_address | (view.offset * view.type.bytes);
  for (const Along& along : dimensions_of(view))
    if (along.extent > 1) bits |= along.stride * view.type.bytes;
  return std::size_t{1} << std::countr_zero(bits);
}

}  // namespace smem::ops
