/// Layers that tests of plans describe.
#pragma once

#include <smem/conv2d_plan.hpp>

#include <cstddef>

namespace test {

/// A layer that keeps the size of its planes.
inline smem::Conv2dProblem layer(std::size_t images, std::size_t channels, std::size_t edge,
                                 std::size_t filters, std::size_t window, std::size_t groups = 1) {
  smem::Conv2dProblem p;
  p.images = images;
  p.in_channels = channels;
  p.out_channels = filters;
  p.width = p.height = p.out_width = p.out_height = edge;
  p.window.width = p.window.height = window;
  p.padding.left = p.padding.top = window / 2;
  p.groups = groups;
  return p;
}

}  // namespace test
