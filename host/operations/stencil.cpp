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

Case read_stencil(const Words& words) {
  const PackedGrids packed = packed_grids(words);
  std::vector<std::size_t> reach = words.sizes("radius");
  reach.resize(3, 0);
  const std::array<std::size_t, 3> radius{reach[0], reach[1], reach[2]};
  std::vector<std::size_t> window;
  for (const std::size_t r : radius)
    window.push_back(detail::size_sum(detail::size_product(r, 2), 1));
  check_weights("stencil", "radius", window);
  Stencil what;
  what.shape = words.enumerator<StencilShape>("shape");
  what.radius = {radius[0], radius[1], radius[2]};
  what.edges.boundary = boundary_of(words);
  const GridSize& size = packed.size;
  StencilProblem problem =
      stencil_problem(packed.type, {size.width, size.height, size.depth}, radius, packed.channels);
  if (what.shape == StencilShape::expression)
    what.expression = largest_of(taps_of(StencilShape::star, radius));
  problem.shape = what.shape;
  problem.expression = what.expression;
  problem.boundary = boundary_of(words);
  problem.batch = packed.batch;
  problem.in_alignment = problem.out_alignment = packed.alignment();
  const std::vector<Tap> taps =
      taps_of(what.shape == StencilShape::box ? what.shape : StencilShape::star, radius);
  if (what.shape != StencilShape::expression) {
    for (const Tap& tap : taps)
      what.weights.push_back(tap.weight);
    problem.int8_weights = packed.type == Scalar::uint8 && are_int8_weights(what.weights);
  }
  Case made =
      case_of(formatted("{}, {} of radius {}", packed.text(), name_of(what.shape), words.text("radius")),
              problem, plan_stencil);
  Windows windows{size, size, packed.channels, packed.batch, {1, 1}, problem.boundary};
  windows.taps = taps;
  made.in = {packed.array("in", {.most = 15})};
  made.out = {packed.array("out")};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return stencil(context, packed.of(arrays.in[0]), packed.of(arrays.out[0]), what, options);
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
std::vector<Programs> stencil_programs() {
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
    for (const char* shape : {"box", "star"}) {
      all.push_back(
          {formatted("{} {} --radius 1x1x1 --boundary zero --shape {}", volume, type, shape), {"planes"}});
    }
    for (const char* radius : {"1x1", "2x2"})
      all.push_back({formatted("{} {} --radius {} --boundary zero", image, type, radius), {"rows"}});
  }
  // Weights that int8 holds are those of dot products and matrix units; "rows" of bytes have others too.
  all.push_back({image + " uint8 --channels 4 --radius 1x1 --boundary zero", {"rows"}, "int8_weights=0"});
  all.push_back({image + " uint8 --channels 3 --boundary mirror", {"rows"}});
  all.push_back({image + " uint8 --channels 4 --radius 2x2 --boundary zero", {"units"}});
  all.push_back({image + " uint8 --channels 3",
                 {"units"},
                 formatted("boundary={}", static_cast<int>(Boundary::constant))});
  all.push_back({image + " uint8 --radius 4x4 --shape star --boundary mirror", {"units"}});
  all.push_back({image + " half --radius 3x3 --boundary zero", {"units"}});
  all.push_back({image + " half --radius 4x4 --shape star --boundary mirror", {"units"}});
  all.push_back({image + " --radius 3x3 --boundary zero", {"rows"}});
  for (const char* type : {"uint8 --channels 4", "half", "float32", "double"})
    all.push_back({formatted("{} {} --radius 7x7", image, type), {"blocks"}});
  for (const char* radius : {"2x2x2", "3x3x3"})
    all.push_back({formatted("{} --radius {} --shape star --boundary zero", volume, radius), {"planes"}});
  return all;
}

}  // namespace

Operation stencil_operation() {
  return {
      .name = "stencil",
      .summary = "Stencils: weighted sums of the neighbours of each cell",
      .steps = {{"naive", "all cells of the window from global memory"},
                {"tiled", "a tile with its halo in local memory"},
                {"blocks", "blocks of results in registers, of a tile in local memory"},
                {"rows", "vectors of several rows in registers, each row read once"},
                {"units", "bytes and halves: products with bands of weights by matrix units"},
                {"march", "plane streaming (2.5D blocking) in local memory"},
                {"planes", "vectors of several planes in registers"},
                {"cpu", "one thread a band of rows, vector registers"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(),
                or_zero(
                    sizes_rule("radius", "Radius of the window: X, XxY or XxYxZ", "XxYxZ", {1, 3}, "1x1")),
                choice_rule("shape",
                            "Which neighbours have a weight; expression: the maximum of a star, in OpenCL C",
                            {"box", "star", "expression"}),
                channels_rule(), boundary_rule("clamp")},
      .read = read_stencil,
      // GPUs: of an H200. CPUs: as fast as OpenCV's filter2D with two threads for float, half as fast for
      // bytes, which is judged beside it; the shares here are for information.
      .samples =
          {.edges = {"1 float", "301x7 half --radius 3x2 --boundary zero",
                     "133x37 uchar --channels 3 --batch 2 --radius 1x2 --boundary mirror",
                     "256x64 uchar --channels 4 --boundary wrap",
                     "67x33x9 float --radius 2x1x1 --boundary reflect",
                     "64x35x17 float --radius 1x1x1 --shape star", "65x20 double --radius 2x2 --shape star",
                     "37x20x5 float --radius 1x1x1 --shape expression --boundary clamp"},
           .small = {"200x200 float --radius 2x2", "2048x2048 float", "2048x2048 uchar --channels 4",
                     "128x128x128 float --radius 1x1x1 --shape star"},
           .usual = {"2048x2048 float --radius 2x2", "4096x4096 float", "4096x4096 float --radius 2x2",
                     "4096x4096 uchar --channels 4", "4096x4096 uchar --radius 2x2 --channels 4",
                     "4096x4096 uchar", "4096x4096 ushort", "4096x4096 half", "4096x4096 half --radius 2x2",
                     "4096x4096 half --radius 3x3", "4096x2048 double", "4096x4096 float --shape star",
                     "4095x4095 float", "4096x4096 float --radius 7x7", "16777216 float --radius 1",
                     "256x256x256 float --radius 1x1x1 --shape star", "256x256x256 float --radius 1x1x1",
                     "256x256x256 float --radius 4x4x4 --shape star"},
           .large = {goal("8192x8192 float --radius 2x2", 0.85), goal("8192x8192 float", 0.90),
                     goal("8192x8192 uchar --channels 4", 0.80), "8192x8192 uchar --radius 2x2 --channels 4",
                     "8192x8192 uchar", "8192x8192 ushort", "8192x8192 half", "8192x8192 half --radius 2x2",
                     "8192x8192 half --radius 3x3", "8192x4096 double", "8192x8192 float --shape star",
                     "8191x8191 float", "8192x8192 float --radius 7x7", "67108864 float --radius 1",
                     "512x512x512 float --radius 1x1x1 --shape star", "512x512x512 float --radius 1x1x1",
                     "512x512x512 float --radius 4x4x4 --shape star"},
           .weak_usual = {"4096x4096 uchar --radius 2x2 --channels 4"},
           .weak = {goal("8192x8192 uchar --channels 4", 0.90),
                    goal("8192x8192 uchar --radius 2x2 --channels 4", 0.70),
                    goal("8192x8192 float --radius 3x3", 0.25), "8192x8192 float --radius 7x7"}},
      .programs = stencil_programs(),
  };
}

}  // namespace smem::operations
