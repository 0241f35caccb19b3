/// Runs one convolution of many channels, and compares every byte of the output buffer with what plain loops
/// give.
#pragma once

#include "support/filters.hpp"

namespace test {

/// The type of results, unless a case asks for another one.
inline smem::Scalar usual_result(smem::Scalar type) {
  return type == smem::Scalar::int8 ? smem::Scalar::int32 : type;
}

struct Conv2dCase {
  smem::Scalar type = smem::Scalar::float32;
  std::size_t images = 1, in_channels = 1, width = 1, height = 1, out_channels = 1, window_w = 1,
              window_h = 1;
  smem::Conv2d how = {};  ///< whose bias is made by the run
  bool bias = false;
  bool gaps = false, gaps_in_rows = false;  ///< after planes and images; and after rows, too
  std::size_t gap = 1;                      ///< elements that gaps and offsets are multiples of
  /// Channels of a cell follow each other; of gaps, images and rows have them.
  bool in_interleaved = false, weights_interleaved = false, out_interleaved = false;
  std::string variant = {};
  bool to_sums = false;                      ///< results of half and bfloat16 are float
  std::size_t tile_rows = 0, tile_cols = 0;  ///< fixed; 0: the plan's

  smem::Scalar out() const {
    return to_sums && type != smem::Scalar::int8 ? smem::Scalar::float32 : usual_result(type);
  }
  Tested tested() const { return {"conv2d", variant, std::string(smem::name_of(type))}; }
  std::string text() const {
    const smem::Padding& p = how.padding;
    return fmt::format(
        "conv2d {} to {} of {} x {} x {} x {} with {} filters of {} x {}, stride {} {}, dilation {} {}, "
        "padding {} "
        "{} {} {}, {} groups{}, {}{}{}{}{}{}, Winograd's {}, variant \"{}\", tile {} x {}; SMEM_SEED={}",
        name_of(type), name_of(out()), images, in_channels, height, width, out_channels, window_h, window_w,
        how.stride.y, how.stride.x, how.dilation.y, how.dilation.x, p.left, p.top, p.right, p.bottom,
        how.groups, bias ? ", bias" : "", smem::name_of(how.activation), gaps ? ", gaps" : "",
        gaps_in_rows ? " also after rows" : "", in_interleaved ? ", interleaved input" : "",
        weights_interleaved ? ", interleaved filters" : "", out_interleaved ? ", interleaved output" : "",
        smem::name_of(how.winograd), variant, tile_rows, tile_cols, seed());
  }
  /// Types, layouts and epilogues by the number of a case, of half and bfloat16.
  void vary(std::size_t number) {
    if (number % 3 == 1) type = smem::Scalar::bfloat16;
    if (number % 2 == 0) interleave();
    bias = number % 4 < 2;
    if (number % 4 == 1) how.activation = smem::Activation::relu;
    if (number % 5 == 4) how.activation = smem::Activation::gelu;
    to_sums = number % 5 == 2;
  }
  void interleave() { in_interleaved = weights_interleaved = out_interleaved = true; }
  smem::GridLayout layout(const smem::GridSize& size, std::size_t batch, std::size_t more,
                          std::size_t interleaved) const {
    smem::GridLayout layout{.channels = interleaved, .batch = batch};
    if (!gaps) return layout;
    layout.offset = (3 + more) * gap;
    layout.pitch = size.width * interleaved + (gaps_in_rows ? (5 + more) * gap : 0);
    layout.plane = size.height * layout.pitch + 2 * gap;
    layout.batch_stride = size.depth * layout.plane + 9 * gap;
    return layout;
  }
};

/// A grid of a case: its bytes, poisoned but for the elements.
struct Conv2dGrid {
  smem::Grid grid;
  std::vector<unsigned char> bytes;

  Conv2dGrid(smem::Scalar type, const smem::GridSize& size, const smem::GridLayout& layout,
             Random* random = nullptr)
      : grid(nullptr, type, size, layout),
        bytes(std::max<std::size_t>((span_of(grid) + 7) * smem::size_of(type), 1), 0xff) {
    if (random == nullptr) return;
    each_element(grid, [&](std::size_t at, std::size_t, std::size_t, std::size_t, std::size_t) {
      encode(type, random_pixel(type, *random), bytes.data() + at * smem::size_of(type));
    });
  }
  std::size_t place(std::size_t x, std::size_t y, std::size_t channel, std::size_t image) const {
    const std::size_t in_cell = grid.channels > 1 ? 1 : grid.plane;
    return grid.offset + image * grid.batch_stride + channel * in_cell + y * grid.pitch + x * grid.channels;
  }
  double at(std::size_t x, std::size_t y, std::size_t channel, std::size_t image) const {
    return decode(*grid.type.scalar, bytes.data() + place(x, y, channel, image) * grid.type.bytes);
  }
};

/// One result and its tolerance.
inline Wanted convolved(const Conv2dCase& c, const Conv2dGrid& in, const Conv2dGrid& weights, double bias,
                        std::size_t n, std::size_t k, std::size_t y, std::size_t x) {
  const std::size_t channels = c.in_channels / c.how.groups,
                    first = k / (c.out_channels / c.how.groups) * channels;
  double sum = bias, magnitude = std::abs(bias);
  for (std::size_t r = 0; r < c.window_h; ++r) {
    for (std::size_t s = 0; s < c.window_w; ++s) {
      // Unsigned: what is before the plane wraps to far beyond it.
      const std::size_t row = y * c.how.stride.y + r * c.how.dilation.y - c.how.padding.top;
      const std::size_t col = x * c.how.stride.x + s * c.how.dilation.x - c.how.padding.left;
      if (row >= c.height || col >= c.width) continue;
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const double product = in.at(col, row, first + channel, n) * weights.at(s, r, channel, k);
        sum += product;
        magnitude += std::abs(product);
      }
    }
  }
  const double terms = static_cast<double>(channels * c.window_w * c.window_h + 3);
  double error = terms * (c.type == smem::Scalar::float64 ? 0x1p-53 : 0x1p-24) * magnitude;
  if (c.type == smem::Scalar::int8) error = 0;
  if (c.how.winograd != smem::Winograd::none) {
    // |A^T| (|G| |g| |G^T| * |B^T| |d| |B|) |A| of numbers of at most 1, and roundings on the way of each:
    // those of the sums, and at most 30 of the transforms, the bias and the epilogue.
    const double growth = c.how.winograd == smem::Winograd::f2x2 ? 64 : 564,
                 count = static_cast<double>(channels);
    error = std::max(error, growth * count * (count + 30) * 0x1p-24);
  }
  if (c.how.activation == smem::Activation::relu) return {std::max(sum, 0.0), error};
  if (c.how.activation == smem::Activation::gelu) {
    // Its slope is less than 1.2, and erf() of float is good to some units of 1.
    error = 1.2 * error + (c.type == smem::Scalar::float64 ? 1e-14 : 1e-6) * (1 + std::abs(sum));
    return {sum * 0.5 * (1 + std::erf(sum / std::sqrt(2.0))), error};
  }
  return {sum, error};
}

/// Whether every device runs a variant, of any groups and windows.
inline bool is_portable_conv2d(std::string_view variant) {
  return variant != "cpu" && variant != "depthwise" && !variant.ends_with("mma") &&
         !variant.starts_with("wgmma") && variant != "matrix_units" && !variant.starts_with("winograd");
}

inline Outcome run(const smem::Context& context, Conv2dCase c, Random& random) {
  if (c.type == smem::Scalar::float64 && !context.device().fp64) return without_fp64();
  const std::size_t depth = c.in_channels / c.how.groups;
  const std::size_t in_cell = c.in_interleaved ? c.in_channels : 1,
                    weight_cell = c.weights_interleaved ? depth : 1,
                    out_cell = c.out_interleaved ? c.out_channels : 1;
  const smem::GridSize size{c.width, c.height, c.in_channels / in_cell};
  const smem::Padding& p = c.how.padding;
  const smem::GridSize out_size{
      smem::convolved_size(c.width, c.window_w, c.how.stride.x, c.how.dilation.x, p.left, p.right),
      smem::convolved_size(c.height, c.window_h, c.how.stride.y, c.how.dilation.y, p.top, p.bottom),
      c.out_channels / out_cell};
  const smem::GridSize filter{c.window_w, c.window_h, depth / weight_cell};
  Conv2dGrid in(c.type, size, c.layout(size, c.images, 0, in_cell), &random);
  smem::GridLayout apart{.channels = weight_cell, .batch = c.out_channels};
  if (c.gaps) apart.offset = 5, apart.batch_stride = filter.width * filter.height * depth + 3;
  Conv2dGrid weights(c.type, filter, apart, &random),
      bias(c.out(), {c.out_channels}, {.offset = c.gaps ? 2U : 0U}, &random);
  Conv2dGrid out(c.out(), out_size, c.layout(out_size, c.images, 4, out_cell));
  out.bytes = random.bytes(out.bytes.size());
  const std::vector<unsigned char> poison = out.bytes;
  const smem::Array<unsigned char> in_array(context, in.bytes), weight_array(context, weights.bytes),
      bias_array(context, bias.bytes), out_array(context, out.bytes);
  in.grid.buffer = in_array.buffer()();
  weights.grid.buffer = weight_array.buffer()();
  out.grid.buffer = out_array.buffer()();
  if (c.bias) c.how.bias = smem::Vector(bias_array.buffer()(), c.out(), c.out_channels, bias.grid.offset);
  try {
    const smem::PlanOverrides fixed{.tile_rows = c.tile_rows, .tile_cols = c.tile_cols};
    const cl::Event ended =
        smem::conv2d(context, in.grid, weights.grid, out.grid, c.how,
                     {.variant = c.variant, .overrides = c.tile_rows + c.tile_cols > 0 ? &fixed : nullptr});
    if (ended() == nullptr) return {false, "the call returned no event"};
    ended.wait();  // the queue may be out of order
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (out_array.to_host() != poison) return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  out.bytes = out_array.to_host();
  const std::size_t bytes = smem::size_of(c.out());
  std::string fault;
  each_element(
      out.grid, [&](std::size_t at, std::size_t x, std::size_t y, std::size_t cell, std::size_t plane) {
        if (!fault.empty()) return;
        const std::size_t planes = c.out_channels / out_cell, n = plane / planes, k = plane % planes + cell;
        const Wanted wanted = convolved(c, in, weights, c.bias ? bias.at(k, 0, 0, 0) : 0, n, k, y, x);
        const double got = decode(c.out(), out.bytes.data() + at * bytes);
        if (!is_close(c.out(), got, wanted)) {
          fault = fmt::format("({}, {}) of channel {} of image {} is {}, expected {}, off by at most {:.3g}",
                              x, y, k, n, got, wanted.value, wanted.error);
        }
        std::memcpy(out.bytes.data() + at * bytes, poison.data() + at * bytes, bytes);
      });
  if (!fault.empty()) return {false, fault};
  if (out.bytes != poison) return {false, "the output buffer has changed where nothing is to be written"};
  if (in_array.to_host() != in.bytes || weight_array.to_host() != weights.bytes)
    return {false, "an input has changed"};
  return {};
}

using Conv2dSweep = CaseSweep<Conv2dCase>;

}  // namespace test
