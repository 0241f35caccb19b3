// What smem tune measures of operations on grids.
#include "cli/arguments.hpp"
#include "cli/stencil_case.hpp"
#include "cli/tune_lists.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace smem::cli::tuned {

namespace {

/// Square planes and windows of a network's layer, with as much padding as keeps the size, but for the
/// stride.
struct Layer {
  std::size_t images, channels, edge, filters, window, stride = 1, groups = 1;

  std::size_t out_edge() const {
    return convolved_size(edge, window, stride, 1, window / 2, (window - 1) / 2);
  }
  std::size_t inputs() const { return images * channels * edge * edge; }
  std::size_t weights() const { return filters * channels / groups * window * window; }
  /// Where the weights begin behind the input, in elements.
  std::size_t weights_at() const { return (inputs() + 63) / 64 * 64; }
  std::size_t results() const { return images * filters * out_edge() * out_edge(); }
};

Conv2dProblem problem_of(const Layer& l, Scalar type) {
  Conv2dProblem p;
  p.type = type;
  p.images = l.images;
  p.in_channels = l.channels;
  p.width = p.height = l.edge;
  p.out_channels = l.filters;
  p.window_width = p.window_height = l.window;
  p.out_width = p.out_height = l.out_edge();
  p.stride_x = p.stride_y = l.stride;
  p.pad_left = p.pad_top = l.window / 2;
  p.groups = l.groups;
  p.in_alignment = packed_alignment(l.edge * l.edge * size_of(type));
  p.out_alignment = packed_alignment(l.out_edge() * l.out_edge() * size_of(type));
  p.weight_alignment = packed_alignment(l.weights() / l.filters * size_of(type));
  return p;
}

TuneCase layer(const Layer& l, Scalar type) {
  TuneCase made = case_of(
      fmt::format("{} x {} x {}^2, {} of {}^2 / {}{} {}", l.images, l.channels, l.edge, l.filters, l.window,
                  l.stride, l.groups > 1 ? fmt::format(", {} groups", l.groups) : "", name_of(type)),
      problem_of(l, type), conv2d_variants(), [](const auto&... all) { return plan_conv2d(all...); });
  // Of half, numbers whose sums of products it has.
  made.in = {type, l.weights_at() + l.weights(), type == Scalar::half ? 1U : 15U};
  made.out = {type, l.results()};
  made.call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
    Conv2d how;
    how.stride_x = how.stride_y = l.stride;
    how.padding = {l.window / 2, l.window / 2, (l.window - 1) / 2, (l.window - 1) / 2};
    how.groups = l.groups;
    return conv2d(context, Grid(pair.in(), type, {l.edge, l.edge, l.channels}, {.batch = l.images}),
                  Grid(pair.in(), type, {l.window, l.window, l.channels / l.groups},
                       {.offset = l.weights_at(), .batch = l.filters}),
                  Grid(pair.out(), type, {l.out_edge(), l.out_edge(), l.filters}, {.batch = l.images}), how,
                  o);
  };
  return made;
}

}  // namespace

std::vector<TuneCase> layers(Scale scale) {
  const std::size_t images = sized(scale, 1, 1, 64), edge = sized(scale, 28, 56, 56);
  std::vector<Layer> asked{{images, 64, edge, 64, 3}, {images, 32, 2 * edge, 32, 3, 1, 32}};
  if (scale != Scale::small) {
    asked.push_back({images, 3, 224, 64, 7, 2});
    asked.push_back({images, 256, 14, 256, 3});
    asked.push_back({images, 64, edge, 256, 1});
  }
  std::vector<TuneCase> cases;
  for (const Layer& l : asked) {
    cases.push_back(layer(l, Scalar::float32));
    if (scale == Scale::gpu) cases.push_back(layer(l, Scalar::half));
  }
  return cases;
}

}  // namespace smem::cli::tuned
