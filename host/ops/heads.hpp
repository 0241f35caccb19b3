/// Checks of views of heads.
#pragma once

#include "ops/views.hpp"

#include <smem/heads.hpp>

#include <cstddef>

namespace smem::ops {

/// Whether the view has no element.
bool is_empty(const ConstHeads& view);

/// All elements from the first to the last one, as a matrix of one row.
ConstMatrix span_of(const ConstHeads& view);

/// check_view() of views of heads. \throws Error naming `argument` also when two elements of a written view
/// are one.
Memory check_heads(const Context& context, const char* operation, const char* argument,
                   const ConstHeads& view, bool written);

/// The largest power of two, at most 64, that divides the byte address of each vector.
std::size_t vector_alignment(const ConstHeads& view, const Memory& memory);

}  // namespace smem::ops
