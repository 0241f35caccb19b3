/// Checks of grids that operations share, and the way a grid is handed to a kernel.
#pragma once

#include "ops/views.hpp"

#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>

namespace smem::ops {

inline bool is_empty(const ConstGrid& grid) {
  return grid.size.width == 0 || grid.size.height == 0 || grid.size.depth == 0 || grid.channels == 0 ||
         grid.batch == 0;
}

/// \throws Error naming `argument`, when the grid leaves its buffer, its rows, planes or grids overlap, its
/// channels are not 1 to 4, or the buffer belongs to another context. For grids that are not empty.
Memory check_grid(const Context& context, const char* operation, const char* argument, const ConstGrid& grid,
                  bool written);

/// \throws Error naming the written grid when the two may share an element.
void check_apart(const char* operation, const ConstGrid& in, const Memory& in_memory, const ConstGrid& out,
                 const Memory& out_memory, const char* in_name = "in", const char* out_name = "out");

/// Checks an "in" and an "out" that share no element. \throws Error as the checks of each.
Memories check_grids(const Context& context, const char* operation, const ConstGrid& in,
                     const ConstGrid& out);

/// \throws Error naming `out` when its cells, channels or batch are not those of `in`.
void check_same_grid(const char* operation, const ConstGrid& in, const ConstGrid& out);

/// The largest power of two, at most 64, that divides the byte address of each row's first element.
std::size_t row_alignment(const ConstGrid& grid, const Memory& memory);

/// A number as an element of the type, as kernels compute with it: of integers the nearest one.
double as_element(Scalar type, double value);

}  // namespace smem::ops
