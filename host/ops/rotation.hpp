/// Angles of rotary position embeddings, as kernels take them.
#pragma once

#include <smem/opencl.hpp>
#include <smem/rotary.hpp>

#include <cstddef>
#include <vector>

namespace smem::ops {

/// \throws Error naming the number unless base, scale and first position are in their ranges.
void check_rotation(const char* operation, const Rotary& what);

/// A rotation by one position of each pair of `rotated` elements, in 2^-64 turns: whole turns are left out.
std::vector<cl_ulong> rotation_turns(const Rotary& what, std::size_t rotated);

}  // namespace smem::ops
