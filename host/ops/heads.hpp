/// Checks of views of heads.
#pragma once

#include "ops/views.hpp"

#include <smem/heads.hpp>

#include <cstddef>
#include <string>

namespace smem::ops {

/// Whether the view has no element.
bool is_empty(const ConstHeads& view);

/// "[2, 8, 100, 64]".
std::string text_of(const HeadsShape& shape);

/// \throws Error naming `argument` unless the view has the shape.
void require_shape(const char* operation, const char* argument, const ConstHeads& view,
                   const HeadsShape& wanted);

/// All elements from the first to the last one, as a matrix of one row.
ConstMatrix span_of(const ConstHeads& view);

/// check_view() of views of heads. \throws Error naming `argument` also when two elements of a written view
/// are one.
Memory check_heads(const Context& context, const char* operation, const char* argument,
                   const ConstHeads& view, bool written);

/// The largest power of two, at most 64, that divides the byte address of each vector.
std::size_t vector_alignment(const ConstHeads& view, const Memory& memory);

/// A view as kernels take it. Sequences of a view that has one lie at the same place.
struct KernelHeads {
  cl_mem buffer;
  cl_ulong offset, batch, head, token;

  explicit KernelHeads(const ConstHeads& view)
      : buffer(view.buffer),
        offset(view.offset),
        batch(view.shape.batch == 1 ? 0 : view.batch_stride),
        head(view.shape.heads == 1 ? 0 : view.head_stride),
        token(view.shape.tokens == 1 ? 0 : view.token_stride) {}
};

}  // namespace smem::ops
