/// The numbers of a convolution's kernel, for launches without conv2d().
#pragma once

#include <smem/conv2d_plan.hpp>
#include <smem/opencl.hpp>

#include <array>
#include <cstddef>

namespace test {

/// As conv2d_numbers of cl/conv2d/parameters.clh.
struct Conv2dNumbers {
  std::array<cl_ulong, 4> in;       ///< offset, pitch, and from a plane and an image to the next
  std::array<cl_ulong, 2> weights;  ///< offset, and from a filter to the next
  std::array<cl_ulong, 4> out;
  cl_ulong bias, images;
  std::array<cl_uint, 20> small;
};

/// Of grids without gaps, and a bias.
inline Conv2dNumbers conv2d_numbers(const smem::Conv2dProblem& p, std::size_t tile_h = 0) {
  const auto n = [](std::size_t x) { return static_cast<cl_ulong>(x); };
  const auto u = [](std::size_t x) { return static_cast<cl_uint>(x); };
  const std::size_t cell = p.out_interleaved ? p.out_channels : 1;
  const std::size_t in_cell = p.in_interleaved ? p.in_channels : 1, in_plane = p.width * p.height;
  return {.in = {0, n(p.width * in_cell), n(p.in_interleaved ? 1 : in_plane), n(in_plane * p.in_channels)},
          .weights = {0, n(p.depth())},
          .out = {0, n(p.out_width * cell), n(p.out_interleaved ? 1 : p.plane_results()),
                  n(p.plane_results() * p.out_channels)},
          .bias = 0,
          .images = n(p.images),
          .small = {1,
                    u(p.groups),
                    u(p.group_channels()),
                    u(p.group_filters()),
                    u(p.width),
                    u(p.height),
                    u(p.out_width),
                    u(p.out_height),
                    u(p.window.width),
                    u(p.window.height),
                    u(p.stride.x),
                    u(p.stride.y),
                    u(p.dilation.x),
                    u(p.dilation.y),
                    u(p.padding.left),
                    u(p.padding.top),
                    0,
                    0,
                    u(tile_h),
                    0}};
}

}  // namespace test
