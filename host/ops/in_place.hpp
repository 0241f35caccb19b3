/// Calls whose output may be their input.
#pragma once

#include "ops/views.hpp"

namespace smem::ops {

/// Whether the views are the very same elements, of types of one size.
inline bool is_in_place(const ConstMatrix& in, const Memory& in_memory, const ConstMatrix& out,
                        const Memory& out_memory) {
  return in_memory.root == out_memory.root && in.type.bytes == out.type.bytes &&
         in_memory.origin + in.offset * in.type.bytes == out_memory.origin + out.offset * out.type.bytes &&
         (in.rows == 1 || in.pitch == out.pitch) && (in.batch == 1 || in.batch_stride == out.batch_stride);
}

}  // namespace smem::ops
