// stencil, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/sizes.hpp>
#include <smem/stencil.hpp>

#include <algorithm>
#include <string>

namespace smem::operations {

namespace {

/// The neighbours of a stencil, in the order of its weights.
std::vector<Tap> taps_of(StencilShape shape, const std::array<std::size_t, 3>& radius) {
  const auto reach = [&](std::size_t d) { return static_cast<std::ptrdiff_t>(radius.at(d)); };
  std::vector<Tap> taps;
  for (std::ptrdiff_t z = -reach(2); z <= reach(2); ++z) {
    for (std::ptrdiff_t y = -reach(1); y <= reach(1); ++y) {
      for (std::ptrdiff_t x = -reach(0); x <= reach(0); ++x) {
        const int off = (x != 0) + (y != 0) + (z != 0);  // axes
        if (shape == StencilShape::box || off <= 1) taps.push_back({x, y, z});
      }
    }
  }
  for (std::size_t i = 0; i < taps.size(); ++i)
    taps[i].weight = weight_of(i);
  return taps;
}

/// The largest of some neighbours, as an expression.
std::string largest_of(const std::vector<Tap>& taps) {
  std::string text = "C";
  for (const Tap& tap : taps)
    text = formatted("fmax({}, AT({}, {}, {}))", text, tap.x, tap.y, tap.z);
  return text;
}

Case read(const Words& words) {
  const GridSize size = grid_size(words);
  const Scalar type = words.scalar("type");
  const std::size_t channels = words.number("channels"), batch = words.number("batch");
  std::vector<std::size_t> reach = words.sizes("radius");
  reach.resize(3, 0);
  const std::array<std::size_t, 3> radius{reach[0], reach[1], reach[2]};
  std::vector<std::size_t> window;
  for (const std::size_t r : radius)
    window.push_back(detail::size_sum(detail::size_product(r, 2), 1));
  check_weights("stencil", "radius", window);
  Stencil what;
  const std::string& shape = words.text("shape");
  what.shape = shape == "star"         ? StencilShape::star
               : shape == "expression" ? StencilShape::expression
                                       : StencilShape::box;
  what.radius = {radius[0], radius[1], radius[2]};
  what.edges.boundary = boundary_of(words);
  StencilProblem problem = stencil_problem(type, {size.width, size.height, size.depth}, radius, channels);
  if (what.shape == StencilShape::expression)
    what.expression = largest_of(taps_of(StencilShape::star, radius));
  problem.shape = what.shape;
  problem.expression = what.expression;
  problem.boundary = boundary_of(words);
  problem.batch = batch;
  problem.in_alignment = problem.out_alignment =
      packed_alignment(size.height * size.depth * batch, size.width * channels * size_of(type));
  Case made = case_of(formatted("{}, {} of radius {}", text_of(size, type, batch, channels),
                                name_of(what.shape), words.text("radius")),
                      problem, plan_stencil);
  Windows windows{size, size, channels, batch, {1, 1}, problem.boundary};
  windows.taps = taps_of(what.shape == StencilShape::box ? what.shape : StencilShape::star, radius);
  if (what.shape != StencilShape::expression)
    for (const Tap& tap : windows.taps)
      what.weights.push_back(tap.weight);
  made.in = {{"in", type, elements_of(size, batch, channels), {.most = 15}}};
  made.out = {{"out", type, made.in[0].elements}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return stencil(context, grid_of(arrays.in[0], size, batch, channels),
                   grid_of(arrays.out[0], size, batch, channels), what, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    if (what.shape == StencilShape::expression) {
      for_each_window(windows, numbers_of(arrays.in[0]),
                      [&](std::size_t result, const std::vector<double>& elements) {
                        store(arrays.out[0], result, *std::max_element(elements.begin(), elements.end()));
                      });
      return;
    }
    for_each_sum(windows, numbers_of(arrays.in[0]),
                 [&](std::size_t result, double sum) { store(arrays.out[0], result, sum); });
  };
  return made;
}

/// What registers hold is what differs: types, channels, windows, alignments.
std::vector<Programs> programs() {
  const std::string volume = "512x512x512", image = "8192x8192";
  const std::string leave = formatted("boundary={}", static_cast<int>(Boundary::leave));
  std::vector<Programs> all{
      {volume + " --radius 1x1x1 --boundary zero"},
      {volume + " --radius 1x1x1 --shape star --boundary reflect", {"march", "planes"}},
      {"511x511x511 --radius 1x1x1 --shape star", {"planes"}, leave},
      {"511x511x511 --radius 1x1x1 --shape expression", {"planes"}, leave},
      {"8191x8191 --boundary reflect", {"rows"}},
      {"8191x8191 --shape expression --boundary reflect", {"rows"}},
      {"8191x8191 uint8 --channels 3 --shape expression --boundary reflect", {"tiled", "cpu"}},
      {"16777216 half --radius 40 --boundary zero", {"naive", "tiled", "cpu"}}};
  for (const char* type : {"uint8 --channels 4", "uint16", "half", "float32", "double"}) {
    for (const char* shape : {"box", "star"})
      all.push_back(
          {formatted("{} {} --radius 1x1x1 --boundary zero --shape {}", volume, type, shape), {"planes"}});
    for (const char* radius : {"1x1", "2x2"})
      all.push_back({formatted("{} {} --radius {} --boundary zero", image, type, radius), {"rows"}});
  }
  all.push_back({image + " --radius 3x3 --boundary zero", {"rows"}});
  for (const char* radius : {"2x2x2", "3x3x3"})
    all.push_back({formatted("{} --radius {} --shape star --boundary zero", volume, radius), {"planes"}});
  return all;
}

}  // namespace

Operation stencil_operation() {
  return {
      .name = "stencil",
      .summary = "Weighted sums of the neighbours of each cell of a grid",
      .steps = {{"naive", "every cell of the window from global memory"},
                {"tiled", "a tile with its halo in local memory"},
                {"rows", "vectors of several rows in registers, each row read once"},
                {"march", "a queue of planes in local memory"},
                {"planes", "vectors of several planes in registers"},
                {"cpu", "one thread a band of rows, vector registers"}},
      .words = {grid_rule(),
                pixel_rule(),
                grids_rule(),
                {.name = "radius",
                 .kind = WordKind::sizes,
                 .help = "Of the window: X, XxY or XxYxZ",
                 .usual = "1x1",
                 .form = "XxYxZ",
                 .least = 1,
                 .most = 3,
                 .zero = true},
                {.name = "shape",
                 .kind = WordKind::choice,
                 .help = "Which neighbours have a weight; expression: the largest of a star's, as OpenCL C",
                 .usual = "box",
                 .choices = {"box", "star", "expression"}},
                channels_rule(),
                boundary_rule("clamp")},
      .read = read,
      // GPUs: of an H200. CPUs: as fast as OpenCV's filter2D with two threads for float, half as fast for
      // bytes, which is judged beside it; the shares here are for information.
      .samples = {{Scale::edges, "1 float"},
                  {Scale::edges, "301x7 half --radius 3x2 --boundary zero"},
                  {Scale::edges, "133x37 uchar --channels 3 --batch 2 --radius 1x2 --boundary mirror"},
                  {Scale::edges, "256x64 uchar --channels 4 --boundary wrap"},
                  {Scale::edges, "67x33x9 float --radius 2x1x1 --boundary reflect"},
                  {Scale::edges, "64x35x17 float --radius 1x1x1 --shape star"},
                  {Scale::edges, "65x20 double --radius 2x2 --shape star"},
                  {Scale::edges, "37x20x5 float --radius 1x1x1 --shape expression --boundary clamp"},
                  {Scale::small, "200x200 float --radius 2x2"},
                  {Scale::small, "2048x2048 float"},
                  {Scale::small, "2048x2048 uchar --channels 4"},
                  {Scale::small, "128x128x128 float --radius 1x1x1 --shape star"},
                  {Scale::usual, "2048x2048 float --radius 2x2"},
                  {Scale::usual, "4096x4096 float"},
                  {Scale::usual, "4096x4096 float --radius 2x2"},
                  {Scale::usual, "4096x4096 uchar --channels 4"},
                  {Scale::usual, "4096x4096 uchar --radius 2x2 --channels 4"},
                  {Scale::usual, "4096x4096 uchar"},
                  {Scale::usual, "4096x4096 ushort"},
                  {Scale::usual, "4096x4096 half"},
                  {Scale::usual, "4096x4096 half --radius 2x2"},
                  {Scale::usual, "4096x2048 double"},
                  {Scale::usual, "4096x4096 float --shape star"},
                  {Scale::usual, "4095x4095 float"},
                  {Scale::usual, "4096x4096 float --radius 7x7"},
                  {Scale::usual, "16777216 float --radius 1"},
                  {Scale::usual, "256x256x256 float --radius 1x1x1 --shape star"},
                  {Scale::usual, "256x256x256 float --radius 1x1x1"},
                  {Scale::usual, "256x256x256 float --radius 4x4x4 --shape star"},
                  {Scale::large, "8192x8192 float --radius 2x2", 0.85},
                  {Scale::large, "8192x8192 float", 0.90},
                  {Scale::large, "8192x8192 uchar --channels 4", 0.80},
                  {Scale::large, "8192x8192 uchar --radius 2x2 --channels 4"},
                  {Scale::large, "8192x8192 uchar"},
                  {Scale::large, "8192x8192 ushort"},
                  {Scale::large, "8192x8192 half"},
                  {Scale::large, "8192x8192 half --radius 2x2"},
                  {Scale::large, "8192x4096 double"},
                  {Scale::large, "8192x8192 float --shape star"},
                  {Scale::large, "8191x8191 float"},
                  {Scale::large, "8192x8192 float --radius 7x7"},
                  {Scale::large, "67108864 float --radius 1"},
                  {Scale::large, "512x512x512 float --radius 1x1x1 --shape star"},
                  {Scale::large, "512x512x512 float --radius 1x1x1"},
                  {Scale::large, "512x512x512 float --radius 4x4x4 --shape star"}},
      .programs = programs(),
  };
}

}  // namespace smem::operations
