#include "ops/grids.hpp"
#include "formatted.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace smem::ops {

namespace {

/// Elements from the first of the first row to the last of the last: of a plane, and of a grid.
std::size_t plane_span(const ConstGrid& grid) {
  return multiply_add(grid.size.height - 1, grid.pitch, grid.row_elements());
}
std::size_t grid_span(const ConstGrid& grid) {
  return multiply_add(grid.size.depth - 1, grid.plane, plane_span(grid));
}

/// The whole batch as one row, which has the same first and last element: for the checks of its place.
ConstMatrix as_row(const ConstGrid& grid) {
  return {grid.buffer,
          grid.type,
          1,
          multiply_add(grid.batch - 1, grid.batch_stride, grid_span(grid)),
          {.offset = grid.offset}};
}

std::string text_of(const GridSize& size) {
  if (size.depth != 1) return formatted("{} x {} x {}", size.width, size.height, size.depth);
  if (size.height != 1) return formatted("{} x {}", size.width, size.height);
  return formatted("{}", size.width);
}

}  // namespace

Memory check_grid(const Context& context, const char* operation, const char* argument, const ConstGrid& grid,
                  bool written) {
  if (grid.channels < 1 || grid.channels > 4)
    refuse(operation, argument, "1 to 4 interleaved channels", grid.channels);
  if (grid.size.height > 1 && grid.pitch < grid.row_elements()) {
    refuse(operation, argument, formatted("a pitch of at least {} elements", grid.row_elements()),
           grid.pitch);
  }
  if (grid.size.depth > 1 && grid.plane < plane_span(grid))
    refuse(operation, argument, formatted("planes of at least {} elements", plane_span(grid)), grid.plane);
  if (written && grid.batch > 1 && grid.batch_stride < grid_span(grid)) {
    refuse(operation, argument, "grids that share no element",
           formatted("a batch stride of {} for grids of {} elements", grid.batch_stride, grid_span(grid)));
  }
  return check_view(context, operation, argument, as_row(grid), written);
}

void check_apart(const char* operation, const ConstGrid& in, const Memory& in_memory, const ConstGrid& out,
                 const Memory& out_memory, const char* in_name, const char* out_name) {
  if (in_memory.root != out_memory.root) return;  // before the rows are made
  check_apart(operation, as_row(in), in_memory, as_row(out), out_memory, in_name, out_name);
}

Memories check_grids(const Context& context, const char* operation, const ConstGrid& in,
                     const ConstGrid& out) {
  const Memories memories{check_grid(context, operation, "in", in, false),
                          check_grid(context, operation, "out", out, true)};
  check_apart(operation, in, memories.in, out, memories.out);
  return memories;
}

void check_same_grid(const char* operation, const ConstGrid& in, const ConstGrid& out) {
  if (out.size != in.size)
    refuse(operation, "out", formatted("{} cells, as in has", text_of(in.size)), text_of(out.size));
  if (out.channels != in.channels)
    refuse(operation, "out", formatted("{} channels, as in has", in.channels), out.channels);
  if (out.batch != in.batch)
    refuse(operation, "out", formatted("a batch of {}, as in has", in.batch), out.batch);
}

std::size_t row_alignment(const ConstGrid& grid, const Memory& memory) {
  const std::size_t bytes = grid.type.bytes;
  std::size_t bits = 64 | memory.host_address | (grid.offset * bytes);
  if (grid.size.height > 1) bits |= grid.pitch * bytes;
  if (grid.size.depth > 1) bits |= grid.plane * bytes;
  if (grid.batch > 1) bits |= grid.batch_stride * bytes;
  return std::size_t{1} << std::countr_zero(bits);
}

double as_element(Scalar type, double value) {
  switch (type) {
    case Scalar::uint8:
    case Scalar::uint16: {
      const double most = type == Scalar::uint8 ? 255 : 65535;
      return value > 0 ? std::min(std::nearbyint(value), most) : 0;
    }
    case Scalar::half:
      return static_cast<float>(half(static_cast<float>(value)));
    default:
      return value;
  }
}

}  // namespace smem::ops
