// Convolutions of few channels by Hopper's matrix units ("wgmma_few"): every kind of tile against plain
// loops, where they run; and its strips, filters and places of k in local memory on any device, where the
// instruction is emulated.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using smem::Conv2d;
using smem::Conv2dProblem;
using smem::Plan;
using smem::Scalar;
using test::Conv2dCase;

namespace {

Conv2d strided(std::size_t x, std::size_t y, const smem::Padding& padding) {
  return {.stride = {x, y}, .padding = padding};
}

/// One column a piece or two, whole or with a last column alone, of one or two blocks of channels; odd and
/// even numbers of pieces; tails of rows and filters, and several blocks of filters.
std::vector<Conv2dCase> few_cases() {
  return {
      {Scalar::half, 2, 3, 37, 21, 64, 7, 7, Conv2d::square(2, 3)},
      {Scalar::half, 3, 4, 30, 19, 24, 6, 3, strided(2, 1, {2, 1, 2, 1})},
      {Scalar::half, 2, 16, 23, 14, 16, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 5, 1, 28, 28, 40, 5, 5, Conv2d::square(1, 2)},
      {Scalar::half, 2, 12, 33, 11, 130, 3, 3, strided(2, 2, {0, 0, 0, 0})},
      {Scalar::half, 1, 6, 40, 9, 72, 3, 2, strided(1, 2, {1, 0, 1, 1})},
      {Scalar::half, 2, 2, 45, 5, 8, 1, 1, Conv2d::square(2, 0)},
      {Scalar::half, 1, 3, 240, 3, 32, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 1, 8, 5, 6, 16, 3, 3, strided(1, 1, {9, 7, 8, 12})},
      {Scalar::half, 2, 32, 29, 10, 40, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 1, 26, 31, 12, 24, 3, 3, Conv2d::square(2, 1)},
      {Scalar::half, 2, 12, 14, 26, 40, 1, 4, strided(1, 4, {0, 0, 0, 2})},
      {Scalar::half, 1, 5, 17, 22, 24, 3, 5, strided(1, 3, {1, 2, 1, 1})},
      {Scalar::half, 1, 3, 19, 21, 16, 2, 2, strided(2, 4, {1, 0, 0, 1})},
  };
}

Conv2dProblem few_problem(const Conv2dCase& c) {
  Conv2dProblem p;
  p.type = p.out = c.type;
  p.images = c.images, p.in_channels = c.in_channels, p.out_channels = c.out_channels;
  p.width = c.width, p.height = c.height;
  p.window = {c.window_w, c.window_h};
  p.stride = c.how.stride, p.padding = c.how.padding;
  p.out_width = smem::convolved_size(c.width, c.window_w, p.stride.x, 1, p.padding.left, p.padding.right);
  p.out_height = smem::convolved_size(c.height, c.window_h, p.stride.y, 1, p.padding.top, p.padding.bottom);
  p.in_interleaved = c.in_interleaved, p.weights_interleaved = c.weights_interleaved,
  p.out_interleaved = true;
  p.in_alignment = c.in_interleaved ? c.in_channels * 2 & (~(c.in_channels * 2) + 1) : 2;
  return p;
}

/// The producer and the products of nvidia/conv2d/wgmma_few.cl, of the first strip and 64 filters:
/// descriptors are written to a list, and then read as wgmma does. Every sum of the strip is out(tile,
/// filter, column).
constexpr const char* kEmulated = R"(
#define ELEMENT_TYPE 2
#include "common/work_group.clh"
#include "gemm/numbers.clh"
#include "nvidia/conv2d_few_sizes.clh"
static inline ulong pieces_descriptor(uint at, uint next_piece, uint next_8) {
  return (ulong)(next_8 / 16) << 32 | (ulong)(next_piece / 16) << 16 | (ulong)(at / 16);
}
// The first number of the list is its length.
static inline void multiply_add(value* list, ulong a, ulong b) {
  value* const next = list + 1 + (uint)list[0] * 6;
  for (uint i = 0; i < 3; ++i) next[i] = (value)(a >> i * 16 & 0x3fff), next[3 + i] = (value)(b >> i * 16 & 0x3fff);
  list[0] += 1;
}
#include "nvidia/conv2d_few.clh"
static inline value factor(local const uint4* pieces, const value* from, uint row, uint k) {
  const uint at = (uint)from[0] + k / 8 * (uint)from[1] + row / 8 * (uint)from[2] + row % 8;
  return vload_half(at * 8 + k % 8, (local const half*)pieces);
}
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void strip(global const ushort* in, ulong in_pitch, ulong in_plane, global const ushort* weights, uint filter_size, uint filters,
           uint pad_left, uint pad_top, uint in_w, uint in_h, global float* out) {
  local uint4 all[(STAGE_BYTES + EVEN_PIECES * 1024) / 16 + TILE_N];
  const uint item = get_local_id(0), left = STAGE_BYTES, zeros = left + EVEN_PIECES * 1024;
  for (uint i = item; i < left / 16; i += 256) all[i] = (uint4)(0x7e007e00);  // NaN where nothing is laid
  for (uint i = item; i < TILE_N; i += 256) all[zeros / 16 + i] = (uint4)(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  const strip_source s = {in, in_pitch, in_plane, -(int)pad_left, in_w, in_h};
  if (item < PRODUCERS) fill_strip(all, &s, -(int)pad_top, item);
  const uint f = item % 64;
  lay_filters((local uint*)(all + left / 16), weights + (f < filters ? f : 0) * filter_size, f < filters, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint t = 0; t < TILES; ++t) {
    value list[1 + 6 * 33];
    list[0] = 0;
    multiply_windows(list, t * (ROWS * PITCH * 16), left, zeros);
    for (uint i = item; i < 64 * TILE_N; i += 256) {
      const uint row = i / TILE_N, column = i % TILE_N;
      float sum = 0;
      for (uint n = 0; n < (uint)list[0]; ++n)
        for (uint k = 0; k < 16; ++k) sum += factor(all, list + 1 + n * 6, row, k) * factor(all, list + 4 + n * 6, column, k);
      out[(t * 64 + row) * TILE_N + column] = sum;
    }
  }
}
)";

/// The number of a define; 0: it has none.
std::size_t few_define(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.defines, name, &std::pair<std::string, long>::first);
  return found == plan.defines.end() ? 0 : static_cast<std::size_t>(found->second);
}

/// Results of the first strip that are wrong. Some of the input are infinite, which no other result sees.
std::size_t wrong_results(const smem::Context& context, const Conv2dCase& c) {
  const Conv2dProblem p = few_problem(c);
  const Plan plan = smem::plan_conv2d(test::target("sm_90"), p, {.variant = "wgmma_few"});
  const std::size_t channels = p.in_channels, size = p.taps() * channels;
  std::vector<smem::half> in(p.width * p.height * channels), weights(p.out_channels * size);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = smem::half(i % 97 == 5 ? std::numeric_limits<float>::infinity()
                                   : static_cast<float>(i * 7919 % 9) - 4);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = smem::half(static_cast<float>(i * 104729 % 7) - 3);
  const std::size_t rows = few_define(plan, "ROWS"), tiles = few_define(plan, "TILES"),
                    columns = few_define(plan, "TILE_N"), pitch = few_define(plan, "PITCH");
  const smem::Array<smem::half> in_array(context, in), weight_array(context, weights);
  const smem::Array<float> out_array(context, std::vector<float>(tiles * 64 * columns, 77));
  const smem::Kernel kernel =
      context.build({.source = kEmulated, .entry_point = "strip", .defines = plan.defines});
  const auto n = [](std::size_t x) { return static_cast<cl_ulong>(x); };
  const auto u = [](std::size_t x) { return static_cast<cl_uint>(x); };
  kernel({.global = {256, 1, 1}, .work_group = {256, 1, 1}}, in_array,
         n(p.width * (c.in_interleaved ? channels : 1)), n(p.width * p.height), weight_array, u(size),
         u(p.out_channels), u(p.padding.left), u(p.padding.top), u(p.width), u(p.height), out_array);
  const std::vector<float> got = out_array.to_host();
  std::size_t wrong = 0;
  for (std::size_t y = 0; y < std::min(rows * tiles, p.out_height); ++y)
    for (std::size_t x = 0; x < p.out_width; ++x)
      for (std::size_t k = 0; k < std::min<std::size_t>(p.out_channels, 64); ++k) {
        float sum = 0;
        for (std::size_t tap = 0; tap < p.taps(); ++tap) {
          const std::size_t r = tap / p.window.width, s = tap % p.window.width;
          const std::size_t row = y * p.stride.y + r - p.padding.top,
                            col = x * p.stride.x + s - p.padding.left;
          if (row >= p.height || col >= p.width) continue;
          for (std::size_t i = 0; i < channels; ++i) {
            const std::size_t at = c.in_interleaved ? (row * p.width + col) * channels + i
                                                    : (i * p.height + row) * p.width + col,
                              of = c.weights_interleaved ? tap * channels + i : i * p.taps() + tap;
            sum += static_cast<float>(in[at]) * static_cast<float>(weights[k * size + of]);
          }
        }
        const std::size_t tile = y / rows, column = y % rows * pitch + x;
        const float is = got[(tile * 64 + k) * columns + column];
        wrong += is == sum || (std::isnan(is) && std::isnan(sum)) ? 0 : 1;
      }
  return wrong;
}

}  // namespace

TEST_CASE("conv2d of few channels: tiles of every kind are right") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t number = 0, asked = 0;
  for (Conv2dCase c : few_cases()) {
    c.variant = "wgmma_few";
    c.vary(number);
    ++number, ++asked;
    sweep.run(c);
    // The other layout of results, with gaps.
    c.out_interleaved = !c.out_interleaved;
    c.gaps = number % 2 == 0;
    ++asked;
    sweep.run(c);
  }
  if (context.device().retargeting) CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d of few channels: rows of several launches") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  // Rows of results that are not all as long; paddings beyond the first and from before the last of them.
  Conv2dCase wide{Scalar::half, 2, 3, 485, 5, 40, 3, 3, Conv2d::square(1, 1)};
  Conv2dCase far{Scalar::half, 1, 4, 260, 4, 24, 5, 3, Conv2d::square(1)};
  far.how.padding = {250, 1, 300, 1};
  for (Conv2dCase c : {wide, far, Conv2dCase{Scalar::half, 1, 16, 251, 6, 70, 3, 3, Conv2d::square(1, 1)},
                       Conv2dCase{Scalar::half, 2, 3, 999, 9, 17, 7, 7, Conv2d::square(2, 3)}}) {
    c.variant = "wgmma_few";
    c.vary(asked);
    c.out_interleaved = true;
    c.gaps = asked % 2 == 1;
    sweep.run(c);
    ++asked;
  }
  if (context.device().retargeting) CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d of few channels: strips and filters in local memory, the instruction emulated") {
  const smem::Context context;
  if (context.device().local_bytes < std::size_t{256} << 10) return;
  std::size_t number = 0;
  for (Conv2dCase c : few_cases()) {
    if (number++ % 2 == 0) c.interleave();
    CAPTURE(c.text());
    CHECK(wrong_results(context, c) == 0);
  }
}
