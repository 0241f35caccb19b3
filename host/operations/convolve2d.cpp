// convolve2d, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/convolve2d.hpp>

#include <algorithm>

namespace smem::operations {

namespace {

/// "WIDTHxHEIGHT" of what planes have for each direction.
WordRule pair_rule(std::string name, std::string help, std::string usual) {
  return sizes_rule(std::move(name), std::move(help), "WIDTHxHEIGHT", {2, 2}, std::move(usual));
}

Case read_convolve2d(const Words& words) {
  const PackedGrids packed = packed_grids(words);
  const std::vector<std::size_t> taps = words.sizes("kernel"), stride = words.sizes("stride"),
                                 dilation = words.sizes("dilation");
  check_weights("convolve2d", "kernel", taps);
  ConvolutionKernel kernel{taps[0], taps[1]};
  for (std::size_t i = 0; i < taps[0] * taps[1]; ++i)
    kernel.weights.push_back(weight_of(i));
  // In one pass: two are separable's.
  const Convolution convolution{.turned = words.flag("turned"),
                                .stride = {stride[0], stride[1]},
                                .dilation = {dilation[0], dilation[1]},
                                .edges = {boundary_of(words)},
                                .separable = Separable::never};
  // Of the middle weight, from both ends.
  const auto before = [&](std::size_t d) {
    return (convolution.turned ? taps[d] - 1 - taps[d] / 2 : taps[d] / 2) * dilation[d];
  };
  const auto out_cells = [&](std::size_t cells, std::size_t d) {
    return convolved_size(cells, taps[d], stride[d], dilation[d], before(d),
                          (taps[d] - 1) * dilation[d] - before(d));
  };
  const GridSize& size = packed.size;
  PackedGrids out = packed;
  out.size = {out_cells(size.width, 0), out_cells(size.height, 1), size.depth};
  StencilProblem problem =
      stencil_problem(packed.type, {size.width, size.height, size.depth}, {0, 0, 0}, packed.channels);
  problem.convolution = true;
  problem.boundary = boundary_of(words);
  problem.batch = packed.batch;
  problem.out_size = {out.size.width, out.size.height, out.size.depth};
  problem.window = {taps[0], taps[1], 1};
  problem.first = {static_cast<std::ptrdiff_t>(0 - before(0)), static_cast<std::ptrdiff_t>(0 - before(1)), 0};
  problem.int8_weights = packed.type == Scalar::uint8 && are_int8_weights(kernel.weights);
  problem.stride = {stride[0], stride[1], 1};
  problem.dilation = {dilation[0], dilation[1], 1};
  problem.in_alignment = packed.alignment(), problem.out_alignment = out.alignment();
  Case made = case_of(
      formatted("{}, {} x {}{}{}{}", packed.text(), taps[0], taps[1],
                stride[0] * stride[1] == 1 ? "" : formatted(" / {}", words.text("stride")),
                dilation[0] * dilation[1] == 1 ? "" : formatted(", dilation {}", words.text("dilation")),
                convolution.turned ? ", turned" : ""),
      problem, plan_stencil);
  Windows windows{size, out.size, packed.channels, packed.batch, {stride[0], stride[1]}, problem.boundary};
  std::vector<double> weights = kernel.weights;
  if (convolution.turned) std::reverse(weights.begin(), weights.end());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Unsigned: hostile offsets wrap, and their plans are refused.
    const auto tap = [&](std::size_t d, std::size_t place) {
      return static_cast<std::ptrdiff_t>(place * dilation[d] + static_cast<std::size_t>(problem.first[d]));
    };
    windows.taps.push_back({tap(0, i % taps[0]), tap(1, i / taps[0]), 0, weights[i]});
  }
  made.in = {packed.array("in", {.most = 15})};
  made.out = {out.array("out")};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return convolve2d(context, packed.of(arrays.in[0]), out.of(arrays.out[0]), kernel, convolution, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_sum(windows, numbers_of(arrays.in[0]),
                 [&](std::size_t result, double sum) { store(arrays.out[0], result, sum); });
  };
  return made;
}

}  // namespace

Operation convolve2d_operation() {
  return {
      .name = "convolve2d",
      .summary = "Correlates or convolves planes with a dense kernel",
      .steps = {{"naive", "all cells of the window from global memory"},
                {"tiled", "a tile with its halo in local memory"},
                {"blocks", "blocks of results in registers, of a tile in local memory"},
                {"rows", "vectors of several rows in registers, each row read once"},
                {"units", "bytes: products with bands of weights of int8, by matrix units"},
                {"march", "plane streaming (2.5D blocking) in local memory: volumes only"},
                {"planes", "vectors of several planes in registers: volumes only"},
                {"cpu", "one thread a band of rows, vector registers"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(), pair_rule("kernel", "Size of the kernel", "3x3"),
                pair_rule("stride", "Distance from one window to the next", "1x1"),
                pair_rule("dilation", "Distance from one weight to the next", "1x1"), channels_rule(),
                boundary_rule("zero"),
                flag_rule("turned", "Convolve: turn the kernel by 180 degrees; default: correlate")},
      .read = read_convolve2d,
      .samples = {.edges = {"1x1 float", "37x29 float --kernel 5x5",
                            "64x33 uchar --kernel 4x3 --turned --channels 3",
                            "131x40 float --stride 2x2 --boundary mirror",
                            "61x30x2 half --kernel 3x5 --dilation 2x1 --batch 2",
                            "65x20 double --kernel 1x7 --boundary wrap"},
                  .small = {"512x512 float --kernel 5x5", "512x512 float --stride 2x2"},
                  .usual = {"4096x4096 float --kernel 5x5", "4096x4096 float --stride 2x2"},
                  .large = {"8192x8192 float --kernel 5x5", "8192x8192 float --stride 2x2"}},
      // The largest window that tiles know.
      .programs = {{"4000x3000 uint8 --kernel 7x7 --stride 2x2 --channels 3", {"tiled"}}},
  };
}

}  // namespace smem::operations
