// conv2d, described.
#include "operations/activations.hpp"
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"

#include "formatted.hpp"

#include <smem/conv2d.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace smem::operations {

namespace {

/// Where element i of a plane of images is, of `channels` that are planes or interleaved.
std::size_t place_of(std::size_t plane, std::size_t i, std::size_t cells, std::size_t channels,
                     bool interleaved) {
  if (!interleaved) return plane * cells + i;
  return (plane / channels * cells + i) * channels + plane % channels;
}

/// Whole numbers, which float holds, plane by plane.
std::vector<float> numbers(const HostArray& from, std::size_t cells, std::size_t channels, bool interleaved) {
  std::vector<float> to(from.size());
  for_each_in_parallel(to.size(), [&](std::size_t i) {
    to[i] = static_cast<float>(from.number(place_of(i / cells, i % cells, cells, channels, interleaved)));
  });
  return to;
}

/// Adds what one weight, of row r and column s of its window, adds to a plane of results.
void add_weight(const Conv2dProblem& p, std::size_t r, std::size_t s, double weight, const float* in,
                double* sums) {
  for (std::size_t y = 0; y < p.out_height; ++y) {
    const std::size_t row = y * p.stride.y + r * p.dilation.y - p.padding.top;  // wraps above the first
    if (row >= p.height) continue;
    for (std::size_t x = 0; x < p.out_width; ++x) {
      const std::size_t col = x * p.stride.x + s * p.dilation.x - p.padding.left;
      if (col < p.width) sums[y * p.out_width + x] += weight * static_cast<double>(in[row * p.width + col]);
    }
  }
}

void convolve(const Conv2dProblem& p, const HostArrays& arrays) {
  const std::vector<float> in = numbers(arrays.in[0], p.width * p.height, p.in_channels, p.in_interleaved);
  const std::vector<float> weights =
      numbers(arrays.in[1], p.taps(), p.group_channels(), p.weights_interleaved);
  in_parallel(p.images * p.out_channels, [&](std::size_t begin, std::size_t end) {
    std::vector<double> sums(p.plane_results());
    for (std::size_t plane = begin; plane < end; ++plane) {
      const std::size_t n = plane / p.out_channels, k = plane % p.out_channels;
      const std::size_t first = n * p.in_channels + k / p.group_filters() * p.group_channels();
      std::fill(sums.begin(), sums.end(), p.bias ? arrays.in[2].number(k) : 0.0);
      for (std::size_t i = 0; i < p.depth(); ++i) {
        const std::size_t c = i / p.taps(), r = i % p.taps() / p.window.width, s = i % p.window.width;
        add_weight(p, r, s, static_cast<double>(weights[k * p.depth() + i]),
                   in.data() + (first + c) * p.width * p.height, sums.data());
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        arrays.out[0].set(place_of(plane, i, sums.size(), p.out_channels, p.out_interleaved),
                          activated(p.activation, sums[i]));
      }
    }
  });
}

// Of F(4 x 4, 3 x 3): |A^T| (|G| |g| |G^T| * |B^T| |d| |B|) |A| of ones, at most; and roundings on the way of
// a number through both transforms, beside those of the sums.
constexpr double kWinogradGrowth = 564, kWinogradSteps = 30;

Conv2dProblem read_problem(const Words& words) {
  Conv2dProblem p;
  p.type = words.scalar("type");
  const Scalar sums = p.type == Scalar::int8      ? Scalar::int32
                      : p.type == Scalar::float64 ? p.type
                                                  : Scalar::float32;
  p.out = words.text("out") == "sums" || p.type == Scalar::int8 ? sums : p.type;
  const GridSize plane = plane_of(words);
  p.images = words.number("batch");
  p.in_channels = words.number("channels"), p.out_channels = words.number("filters");
  p.width = plane.width, p.height = plane.height;
  p.window.width = p.window.height = words.number("window");
  p.stride.x = p.stride.y = words.number("stride");
  p.dilation.x = p.dilation.y = words.number("dilation");
  p.groups = words.number("groups");
  p.bias = words.flag("bias");
  p.activation = activation_of(words);
  p.winograd = words.enumerator<Winograd>("winograd");
  const bool keeps = words.text("padding") == "same";
  const std::size_t around = (p.window.width - 1) * p.dilation.x;
  const std::size_t before = keeps ? around - around / 2 : words.number("padding");
  const std::size_t after = keeps ? around / 2 : before;
  p.padding = {before, before, after, after};
  p.out_width = convolved_size(p.width, p.window.width, p.stride.x, p.dilation.x, before, after);
  p.out_height = convolved_size(p.height, p.window.height, p.stride.y, p.dilation.y, before, after);
  if (words.flag("interleaved")) {
    p.in_interleaved = p.in_channels > 1;
    p.weights_interleaved = p.groups > 0 && p.group_channels() > 1;
    p.out_interleaved = p.out_channels > 1;
  }
  const auto alignment = [&](std::size_t channels, std::size_t cells, bool interleaved, Scalar type) {
    return interleaved ? packed_alignment(p.images * cells, channels * size_of(type))
                       : packed_alignment(p.images * channels, cells * size_of(type));
  };
  p.in_alignment = alignment(p.in_channels, p.width * p.height, p.in_interleaved, p.type);
  p.row_alignment =
      packed_alignment(detail::size_product(p.images, p.in_interleaved ? 1 : p.in_channels, p.height),
                       detail::size_product(p.width, p.in_interleaved ? p.in_channels : 1, size_of(p.type)));
  p.out_alignment = alignment(p.out_channels, p.plane_results(), p.out_interleaved, p.out);
  p.weight_alignment = packed_alignment(p.out_channels, p.depth() * size_of(p.type));
  return p;
}

std::string text_of(const Conv2dProblem& p) {
  return formatted("{}{} x {} x {} {}{}{}, {} of {} x {} / {}{}{}{}",
                   p.images == 1 ? "" : formatted("{} x ", p.images), p.in_channels, p.height, p.width,
                   name_of(p.type),
                   p.out == p.type || p.type == Scalar::int8 ? "" : formatted(" to {}", name_of(p.out)),
                   p.in_interleaved ? " interleaved" : "", p.out_channels, p.window.height, p.window.width,
                   p.stride.x, p.groups > 1 ? formatted(", {} groups", p.groups) : "",
                   p.dilation.x > 1 ? formatted(", dilation {}", p.dilation.x) : "",
                   p.winograd == Winograd::none ? "" : formatted(", Winograd's {}", name_of(p.winograd)));
}

/// Sums of products are exact but for Winograd's; results are rounded, and GELU is within some units in the
/// last place.
void set_tolerance(Case& made, const Conv2dProblem& p, const Fill& fill) {
  made.relative = p.out == Scalar::half ? 0x1p-10 : p.out == Scalar::bfloat16 ? 0x1p-7 : 0;
  if (p.activation == Activation::gelu) {
    made.relative = std::max(made.relative, p.type == Scalar::float64 ? 0x1p-44 : 0x1p-21);
    made.absolute = p.out == Scalar::half ? 0x1p-24 : 0x1p-126;
  }
  if (p.winograd == Winograd::f4x4) {  // 2 x 2 of small whole numbers is exact
    const auto channels = static_cast<double>(p.groups > 0 ? p.group_channels() : 0);
    made.absolute = std::max(made.absolute, kWinogradGrowth * fill.most * fill.most * channels *
                                                (channels + kWinogradSteps) * 0x1p-24);
  }
}

cl::Event call_conv2d(const Conv2dProblem& p, const Context& context, const CallArrays& arrays,
                      const CallOptions& options) {
  Conv2d convolution{.stride = p.stride, .dilation = p.dilation, .padding = p.padding, .groups = p.groups};
  if (p.bias) convolution.bias = arrays.in[2].vector();
  convolution.activation = p.activation;
  convolution.winograd = p.winograd;
  const auto grid = [](const PlacedArray& array, const GridSize& size, bool interleaved, std::size_t batch) {
    return interleaved ? grid_of(array, {size.width, size.height}, batch, size.depth)
                       : grid_of(array, size, batch);
  };
  return conv2d(context, grid(arrays.in[0], {p.width, p.height, p.in_channels}, p.in_interleaved, p.images),
                grid(arrays.in[1], {p.window.width, p.window.height, p.group_channels()},
                     p.weights_interleaved, p.out_channels),
                grid(arrays.out[0], {p.out_width, p.out_height, p.out_channels}, p.out_interleaved, p.images),
                convolution, options);
}

Case read_conv2d(const Words& words) {
  const Conv2dProblem p = read_problem(words);
  Case made = case_of(text_of(p), p, plan_conv2d);
  // Sums are exact, also in the range of half.
  const Fill small{.most = p.type == Scalar::int8 ? 127U : 3U, .negative = true};
  made.in = {{"in", p.type, detail::size_product(p.images, p.in_channels, p.width, p.height), small},
             {"weights", p.type, detail::size_product(p.out_channels, p.depth()), small}};
  if (p.bias) made.in.push_back({"bias", p.out, p.out_channels, small});
  const std::size_t results = detail::size_product(p.images, p.out_channels, p.plane_results());
  made.out = {{"out", p.out, results}};
  made.operations = 2 * static_cast<double>(results) * static_cast<double>(p.depth());
  set_tolerance(made, p, small);
  made.call = [p](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return call_conv2d(p, context, arrays, options);
  };
  made.reference = [=](const HostArrays& arrays) { convolve(p, arrays); };
  return made;
}

/// Layers of ResNet-50 and MobileNet, of 64 images.
std::vector<Sample> large_layers() {
  return {"56x56 float --channels 64 --filters 64 --batch 64 --winograd 4x4",
          "56x56 float --channels 64 --filters 64 --batch 64",
          "224x224 float --channels 3 --filters 64 --window 7 --stride 2 --batch 64",
          "56x56 float --channels 64 --filters 256 --window 1 --batch 64",
          "28x28 float --channels 128 --filters 128 --batch 64",
          "14x14 float --channels 256 --filters 256 --batch 64",
          "56x56 float --channels 256 --filters 512 --window 1 --stride 2 --batch 64",
          "7x7 float --channels 512 --filters 512 --batch 64",
          "112x112 float --channels 16 --filters 16 --batch 64",
          "112x112 float --channels 32 --filters 32 --groups 32 --batch 64",
          "14x14 float --channels 256 --filters 256 --window 5 --groups 256 --batch 64",
          "28x28 float --channels 128 --filters 128 --batch 64 --winograd 4x4",
          "14x14 float --channels 256 --filters 256 --batch 64 --winograd 4x4",
          "56x56 half --channels 64 --filters 64 --batch 64",
          "224x224 half --channels 3 --filters 64 --window 7 --stride 2 --batch 64",
          "56x56 half --channels 64 --filters 256 --window 1 --batch 64",
          "28x28 half --channels 128 --filters 128 --batch 64",
          "14x14 half --channels 256 --filters 256 --batch 64",
          "56x56 half --channels 256 --filters 512 --window 1 --stride 2 --batch 64",
          "7x7 half --channels 512 --filters 512 --batch 64",
          "112x112 half --channels 16 --filters 16 --batch 64",
          "112x112 half --channels 32 --filters 32 --groups 32 --batch 64",
          "14x14 half --channels 256 --filters 256 --window 5 --groups 256 --batch 64",
          "56x56 bfloat16 --channels 64 --filters 64 --batch 64",
          "224x224 bfloat16 --channels 3 --filters 64 --window 7 --stride 2 --batch 64",
          "56x56 bfloat16 --channels 64 --filters 256 --window 1 --batch 64",
          "28x28 bfloat16 --channels 128 --filters 128 --batch 64",
          "14x14 bfloat16 --channels 256 --filters 256 --batch 64",
          "56x56 bfloat16 --channels 256 --filters 512 --window 1 --stride 2 --batch 64",
          "7x7 bfloat16 --channels 512 --filters 512 --batch 64",
          "112x112 bfloat16 --channels 16 --filters 16 --batch 64",
          "112x112 bfloat16 --channels 32 --filters 32 --groups 32 --batch 64",
          "14x14 bfloat16 --channels 256 --filters 256 --window 5 --groups 256 --batch 64",
          "56x56 int8 --channels 64 --filters 64 --batch 64",
          "224x224 int8 --channels 3 --filters 64 --window 7 --stride 2 --batch 64",
          "56x56 int8 --channels 64 --filters 256 --window 1 --batch 64",
          "28x28 int8 --channels 128 --filters 128 --batch 64",
          "14x14 int8 --channels 256 --filters 256 --batch 64",
          "56x56 int8 --channels 256 --filters 512 --window 1 --stride 2 --batch 64",
          "7x7 int8 --channels 512 --filters 512 --batch 64",
          "112x112 int8 --channels 16 --filters 16 --batch 64",
          "112x112 int8 --channels 32 --filters 32 --groups 32 --batch 64",
          "14x14 int8 --channels 256 --filters 256 --window 5 --groups 256 --batch 64"};
}

std::vector<Programs> conv2d_programs() {
  const std::vector<std::string> generic{"naive", "direct", "implicit", "gemm"};
  const std::string layer = "56x56 float --channels 64 --batch 8",
                    halves = "56x56 half --channels 64 --batch 8";
  return {
      {layer + " --filters 64", generic},
      // Tiles, packs and windows of "implicit".
      {"7x7 float --channels 512 --filters 512 --batch 8", {"implicit"}, "in_alignment=64 out_alignment=4"},
      {"224x224 float --channels 3 --filters 128 --batch 64 --window 7",
       {"implicit"},
       "out_alignment=4 weight_alignment=4"},
      {layer + " --filters 32", {"implicit"}},
      {halves + " --filters 64 --activation gelu", generic},
      {halves + " --filters 64 --groups 64", {"direct", "depthwise"}, "weight_alignment=64"},
      {halves + " --filters 64 --groups 64 --window 5 --activation gelu", {"depthwise"}},
      {layer + " --filters 64 --groups 64 --window 5 --stride 2", {"depthwise"}},
      {"56x56 double --channels 64 --filters 64 --groups 64", {"depthwise"}},
      {layer + " --filters 64 --winograd 4x4", {"winograd_2x2", "winograd_4x4"}},
      {layer + " --filters 64 --winograd 4x4 --interleaved --activation gelu",
       {"winograd_2x2", "winograd_4x4"}},
      {"55x55 float --channels 64 --filters 64 --winograd 4x4 --activation gelu",
       {"winograd_2x2", "winograd_4x4"}},
      // Tiles, pieces and layouts of matrix units, and copies to them.
      {halves + " --filters 64 --interleaved", {"implicit", "mma", "wgmma", "wgmma_halo"}},
      {halves + " --filters 64 --activation gelu", {"mma", "wgmma", "wgmma_halo"}},
      {halves + " --filters 16 --interleaved --activation gelu --bias", {"mma", "wgmma", "wgmma_halo"}},
      {"7x7 half --channels 512 --filters 512 --batch 64", {"mma", "wgmma", "wgmma_halo"}},
      {"28x28 half --channels 128 --filters 256 --batch 64 --interleaved", {"mma", "wgmma"}},
      {"224x224 half --channels 3 --filters 64 --batch 64 --window 7 --stride 2",
       {"mma", "wgmma", "wgmma_few"}},
      {"224x224 half --channels 3 --filters 64 --batch 64 --window 7 --stride 2 --interleaved",
       {"wgmma_few"}},
      {"112x112 bfloat16 --channels 16 --filters 24 --batch 64 --interleaved --out sums", {"wgmma_few"}},
      {"112x112 half --channels 16 --filters 96 --batch 64 --stride 2 --interleaved --activation gelu",
       {"wgmma_few"}},
      {"28x28 half --channels 128 --filters 256 --batch 64 --interleaved --out sums",
       {"mma", "wgmma", "wgmma_halo"}},
      {"28x28 bfloat16 --channels 128 --filters 256 --batch 64 --interleaved",
       {"mma", "wgmma", "wgmma_halo"}},
      {"56x56 bfloat16 --channels 64 --filters 64 --batch 8 --activation gelu",
       {"direct", "implicit", "mma"}},
      {"56x56 bfloat16 --channels 64 --filters 64 --groups 64", {"depthwise"}},
      {"28x28 int8 --channels 128 --filters 256 --batch 64 --interleaved --bias", {"mma", "wgmma"}},
      {"7x7 int8 --channels 512 --filters 512 --batch 64", {"mma", "wgmma", "implicit", "gemm"}},
      {"56x56 int8 --channels 64 --filters 64 --batch 64 --interleaved", {"mma", "wgmma"}},
      {"56x56 int8 --channels 16 --filters 16 --batch 64", {"mma", "wgmma", "direct"}},
      {"224x224 int8 --channels 3 --filters 64 --batch 64 --window 7 --stride 2", {"mma", "wgmma"}},
      {"56x56 int8 --channels 64 --filters 64 --groups 64", {"depthwise"}},
      {"56x56 int8 --channels 64 --filters 64 --groups 64 --interleaved", {"depthwise"}},
      {halves + " --filters 64 --groups 64 --interleaved", {"depthwise"}},
      {halves + " --filters 64 --groups 64 --stride 2 --interleaved --activation gelu", {"depthwise"}},
      {"56x56 bfloat16 --channels 62 --filters 62 --groups 62 --interleaved --out sums", {"depthwise"}},
      {"56x56 double --channels 64 --filters 64 --groups 64 --interleaved", {"depthwise"}},
      {"112x112 half --channels 64 --filters 64 --groups 64 --stride 2 --batch 64 --interleaved",
       {"depthwise"}},
      {"112x112 float --channels 64 --filters 64 --groups 64 --stride 2 --batch 64 --interleaved --bias",
       {"depthwise"}},
      {"14x14 half --channels 256 --filters 256 --groups 256 --window 5 --batch 64 --interleaved",
       {"depthwise"}},
      {"14x14 float --channels 96 --filters 96 --groups 96 --window 7 --interleaved --activation gelu",
       {"depthwise"}},
      {"28x28 int8 --channels 63 --filters 63 --groups 63 --window 5 --stride 2 --interleaved",
       {"depthwise"}},
      // Windows by tensor maps: tiles that several groups share, merged groups of channels.
      {"14x14 half --channels 256 --filters 256 --interleaved --bias", {"wgmma"}},
      {"7x7 int8 --channels 512 --filters 512 --activation relu", {"wgmma"}},
      {"56x56 half --channels 128 --filters 128 --groups 32 --batch 64 --interleaved --activation relu",
       {"wgmma"}},
      {"56x56 bfloat16 --channels 128 --filters 128 --groups 8 --batch 64 --activation gelu", {"wgmma"}},
      {"14x14 int8 --channels 256 --filters 256 --groups 16 --interleaved", {"wgmma"}},
      {halves + " --filters 64 --interleaved", {"matrix_units"}},
      {"224x224 half --channels 3 --filters 64 --batch 8 --window 7 --stride 2 --activation gelu",
       {"matrix_units"}},
      {"28x28 bfloat16 --channels 128 --filters 256 --batch 64 --interleaved", {"matrix_units"}},
      {"7x7 int8 --channels 512 --filters 512 --batch 64", {"matrix_units"}},
      {"56x56 int8 --channels 64 --filters 16 --batch 8 --interleaved --bias", {"matrix_units"}},
      {"56x56 double --channels 64 --filters 64 --batch 8", {"direct", "implicit"}}};
}

std::vector<WordRule> conv2d_words() {
  return {plane_rule("Cells of a plane of the input"),
          type_rule(WordKind::choice, "Type of input and filters", "float",
                    {"half", "bfloat16", "int8", "float32", "float64", "float", "double", "char"}),
          choice_rule("out",
                      "Type of bias and output: that of the input, of int8 int32; or, for half and bfloat16, "
                      "that of the sums, float",
                      {"usual", "sums"}),
          number_rule("channels", "Channels of the input", "1"),
          number_rule("filters", "Channels of the output", "1"),
          number_rule("batch", "Number of images", "1"),
          number_rule("window", "Rows and columns of a filter", "3"),
          number_rule("stride", "Distance from one window to the next", "1"),
          number_rule("dilation", "Distance from one weight to the next", "1"),
          or_zero(number_rule(
              "padding", "Padding on all sides; default: such that a stride of 1 keeps the size", "same")),
          number_rule("groups", "Groups of channels", "1"),
          flag_rule("interleaved", "Channels side by side in each cell, not planes (NHWC)"),
          flag_rule("bias", "Add a bias for each filter"),
          activation_rule("Activation of the sum and its bias"),
          choice_rule("winograd", "Largest tiles of Winograd's minimal filtering that are allowed",
                      names_to(Winograd::f4x4))};
}

}  // namespace

Operation conv2d_operation() {
  return {
      .name = "conv2d",
      .summary = "Convolution layers of networks",
      .steps = {{"naive", "one result a work-item, all operands from global memory"},
                {"direct", "input and weights in local memory, results in registers"},
                {"implicit", "a matrix product; its right factor is gathered from the input tile by tile"},
                {"depthwise", "a filter for each channel: rows of the input pass through registers"},
                {"cpu", "a thread's rows and channels in vector registers"},
                {"gemm", "windows copied to temporary memory (im2col), then a matrix product"},
                {"winograd_2x2",
                 "tiles of 2 x 2 results by Winograd's minimal filtering: 4 products a result"},
                {"winograd_4x4", "tiles of 4 x 4 results: 2.25 products a result"},
                {"mma", "a matrix product on NVIDIA's matrix units, gathered tile by tile"},
                {"wgmma", "the same on Hopper's, by warps that gather and warps that multiply"},
                {"wgmma_halo",
                 "a tile of cells with its halo in local memory, which every weight reads where it lies"},
                {"wgmma_few",
                 "strips of few channels in local memory, which overlapping windows read where they lie"},
                {"matrix_units", "the same on AMD's and Intel's, by fragments of sub-groups"}},
      .words = conv2d_words(),
      .read = read_conv2d,
      // Layers of ResNet-50 and MobileNet; the first for the ladder, with all variants.
      .samples =
          {.edges =
               {"1 float", "19x13 float --channels 6 --filters 10 --stride 2 --groups 2 --batch 2",
                "17x9 half --channels 5 --filters 33 --window 1 --bias --activation relu",
                "30x7 double --channels 3 --filters 4 --window 5 --padding 1 --dilation 2 --activation gelu",
                "33x20 float --channels 4 --filters 4 --groups 4 --window 2",
                "12x12 float --channels 16 --filters 40 --padding 0 --activation gelu",
                "19x13 float --channels 6 --filters 10 --stride 2 --groups 2 --batch 2 --interleaved",
                "13x9 half --channels 16 --filters 24 --batch 2 --bias --interleaved",
                "19x13 bfloat16 --channels 6 --filters 10 --stride 2 --groups 2 --batch 2 --bias",
                "9x14 bfloat16 --channels 16 --filters 12 --out sums --interleaved --activation gelu",
                "17x9 int8 --channels 5 --filters 33 --window 1 --bias --activation relu",
                "19x13 int8 --channels 32 --filters 20 --stride 2 --groups 2 --batch 2 --bias --interleaved",
                "30x7 int8 --channels 4 --filters 4 --groups 4 --padding 1 --dilation 2",
                "33x20 half --channels 4 --filters 4 --groups 4 --window 2 --out sums",
                "21x13 half --channels 24 --filters 24 --groups 24 --stride 2 --batch 2 --bias --interleaved",
                "19x13 float --channels 6 --filters 10 --groups 2 --batch 2 --winograd 4x4 --bias",
                "13x9 float --channels 17 --filters 24 --batch 2 --interleaved --winograd 4x4",
                "10x23 float --channels 3 --filters 5 --padding 0 --winograd 2x2 --activation gelu"},
           .small = {"14x14 float --channels 64 --filters 64", "56x56 float --channels 64 --filters 64",
                     "28x28 float --channels 32 --filters 32 --groups 32"},
           .usual = {"56x56 float --channels 64 --filters 64 --winograd 4x4",
                     "56x56 float --channels 64 --filters 64",
                     "224x224 float --channels 3 --filters 64 --window 7 --stride 2",
                     "56x56 float --channels 64 --filters 256 --window 1",
                     "28x28 float --channels 128 --filters 128", "14x14 float --channels 256 --filters 256",
                     "56x56 float --channels 256 --filters 512 --window 1 --stride 2",
                     "7x7 float --channels 512 --filters 512", "112x112 float --channels 16 --filters 16",
                     "112x112 float --channels 32 --filters 32 --groups 32",
                     "14x14 float --channels 256 --filters 256 --window 5 --groups 256",
                     "28x28 float --channels 128 --filters 128 --winograd 4x4",
                     "14x14 float --channels 256 --filters 256 --winograd 4x4"},
           .large = large_layers()},
      .programs = conv2d_programs(),
  };
}

}  // namespace smem::operations
