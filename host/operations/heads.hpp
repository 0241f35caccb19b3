/// Arrays of heads, as attention and append_to_cache have them.
#pragma once

#include "plan/sizes.hpp"

#include <smem/heads.hpp>

#include <cstddef>

namespace smem::operations {

inline std::size_t elements_of(const HeadsShape& shape) {
  return detail::size_product(shape.batch, shape.heads, shape.tokens, shape.size);
}

}  // namespace smem::operations
