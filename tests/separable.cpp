// Separable filters: every variant, type and boundary against plain loops.
#include <smem/smem.hpp>

#include "support/boundaries.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"
#include "support/separables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::kBoundaries;
using test::SeparableCase;

namespace {

/// "packed" and "units" run blurs of bytes alone: tests/blur.cpp, tests/blur_units.cpp.
bool runs_separable(const smem::Device& device, std::string_view variant) {
  return variant != "packed" && variant != "units" && (variant != "cpu" || test::has_cpu_variant(device));
}

/// The largest odd window that one reflection or repetition of `extent` cells serves: larger ones are another
/// program (tests/boundaries.cpp).
std::size_t window_for(Boundary boundary, std::size_t extent, std::size_t wanted) {
  const std::size_t reach = smem::reach_of(boundary, extent);
  return std::min(wanted, reach > wanted ? wanted : 2 * reach + 1);
}

}  // namespace

TEST_CASE("separable: every variant and boundary, smaller and larger than windows and tiles") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  for (const std::string_view variant : smem::separable_variants()) {
    for (const Boundary boundary : kBoundaries) {
      // Each is a program to compile: those without tiles have the same lines for all of them.
      const bool plain = variant == "naive" || variant == "two_pass";
      if (plain && boundary != Boundary::constant && boundary != Boundary::leave) continue;
      SeparableCase c;
      c.variant = variant;
      c.grids.boundary = boundary;
      c.grids.value = 0.75;
      // A program for each window, over which PoCL's compiler is slow.
      const bool march = variant == "march";
      if (march && boundary != Boundary::zero && boundary != Boundary::constant &&
          boundary != Boundary::mirror && boundary != Boundary::leave)
        continue;
      bool gaps = false;
      std::size_t expected = 0;
      for (const auto& [width, height] :
           {std::pair{1, 1}, {2, 3}, {17, 5}, {63, 33}, {64, 32}, {65, 1}, {131, 67}, {600, 29}}) {
        if (plain && width > 17 && width < 131) continue;  // other groups, which are other programs
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
        c.grids.gaps = gaps = !gaps;
        c.row_taps = window_for(boundary, c.grids.size.width, 7);
        c.column_taps = window_for(boundary, c.grids.size.height, 5);
        if (march && c.row_taps * c.column_taps != 35 && width != 1) continue;
        ++expected;
        sweep.run(c);
      }
      CHECK((sweep.ran() == expected) == runs_separable(context.device(), variant));
    }
  }
}

TEST_CASE("separable: every type, channels, planes and batches") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  std::size_t turn = 0;
  for (const std::string_view variant : smem::separable_variants()) {
    for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::uint8},
                                  {Scalar::uint8, Scalar::int16},
                                  {Scalar::uint16, Scalar::uint16},
                                  {Scalar::half, Scalar::half},
                                  {Scalar::half, Scalar::float32},
                                  {Scalar::float64, Scalar::float64},
                                  {Scalar::uint8, Scalar::float32}}) {
      if (variant == "march" && turn % 2 == 0) {
        ++turn;
        continue;
      }
      SeparableCase c;
      c.variant = variant;
      c.grids.in = in;
      c.grids.out = out;
      c.grids.boundary = turn % 2 == 0 ? Boundary::mirror : Boundary::constant;
      c.grids.value = 100;
      c.grids.channels = 1 + turn % 4;
      c.grids.batch = 1 + turn % 3;
      c.grids.size = {101, 23, 1 + turn % 2};
      c.grids.gaps = turn % 2 == 0;
      c.row_taps = 5;
      c.column_taps = 4;
      sweep.run(c);
      c.grids.size = {20, 61, 2};
      c.row_taps = 8;
      c.column_taps = 11;
      c.column_origin = turn % 11;
      sweep.run(c);
      ++turn;
    }
    CHECK((sweep.ran() >= 6) == runs_separable(context.device(), variant));
  }
}

TEST_CASE("separable: windows of every size and origin") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  for (const std::string_view variant : smem::separable_variants()) {
    for (const auto& [row, column] :
         {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 2}, {15, 15}, {31, 16}, {101, 3}, {3, 101}}) {
      if (variant == "march" && row * column != 9 && row != 15 && row != 2) continue;
      SeparableCase c;
      c.variant = variant;
      c.grids.size = {150, 120};
      c.grids.boundary = Boundary::wrap;
      c.row_taps = static_cast<std::size_t>(row);
      c.column_taps = static_cast<std::size_t>(column);
      sweep.run(c);
      c.grids.gaps = true;
      c.row_origin = 0;
      c.column_origin = c.column_taps - 1;
      sweep.run(c);
    }
    if (runs_separable(context.device(), variant)) CHECK(sweep.ran() >= 7);
  }
}

TEST_CASE("separable: the middle of a large plane, which needs no questions about edges") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  std::size_t taps = 5;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::uint8, Scalar::uint8},
                                {Scalar::uint16, Scalar::uint16},
                                {Scalar::uint8, Scalar::int16},
                                {Scalar::half, Scalar::half}}) {
    SeparableCase c;
    c.variant = "march";
    c.grids.in = in;
    c.grids.out = out;
    // Rows of whole vectors, and of edges on both sides of two strips.
    c.grids.size = {1040, 75};
    c.grids.boundary = taps % 2 == 0 ? Boundary::constant : Boundary::mirror;
    c.grids.value = 100.25;
    c.row_taps = taps;
    c.column_taps = taps == 7 ? 9 : 5;
    sweep.run(c);
    ++taps;
    if (in != Scalar::float32) continue;
    c.grids.gaps = true;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 6);
}

TEST_CASE(
    "separable: two passes of rows of several groups, and of more weights than local memory has values for") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  for (const std::size_t channels : {1, 3, 4}) {
    SeparableCase c;
    c.variant = "two_pass";
    c.grids.in = c.grids.out = channels == 3 ? Scalar::uint8 : Scalar::float32;
    c.grids.channels = channels;
    c.grids.size = {2100 / channels, 70};
    c.grids.boundary = channels == 1   ? Boundary::mirror
                       : channels == 3 ? Boundary::leave
                                       : Boundary::constant;
    c.grids.value = 3;
    c.row_taps = 67, c.column_taps = 33;
    c.row_origin = 20;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 3);
}

TEST_CASE("separable: the plan's own choice, also for windows that no tile holds") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  SeparableCase c;
  c.grids.boundary = Boundary::clamp;
  for (const auto& [width, height, row, column] : {std::tuple{1000, 3, 3, 3},
                                                   {64, 5, 4000, 1},
                                                   {7, 9, 1, 4000},
                                                   {2, 2, 999, 999},
                                                   {20011, 1, 21, 1},
                                                   {1, 20011, 1, 21}}) {
    c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    c.row_taps = static_cast<std::size_t>(row);
    c.column_taps = static_cast<std::size_t>(column);
    sweep.run(c);
  }
  CHECK(sweep.ran() == 6);
}

// Just more than the cache holds, in rows that begin anywhere in a cache line. The weights copy the input.
template <class T>
void check_past_the_cache(const smem::Context& context) {
  const std::size_t width = 4099, height = context.device().cache_bytes / sizeof(T) / width + 2;
  if (context.device().type != smem::DeviceType::cpu || height > 40000) return;
  std::vector<T> host(width * height);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<T>(i * 7 % 251);
  const smem::Array<T> in(context, host);
  const smem::Array<T> out(context, std::vector<T>(host.size(), T{255}));
  const std::vector<double> weights{0, 1, 0};
  smem::separable(context, in.grid({width, height}), out.grid({width, height}), {weights, weights},
                  {.boundary = Boundary::clamp});
  const std::vector<T> got = out.to_host();  // many, which CHECK would print
  CHECK(std::mismatch(got.begin(), got.end(), host.begin()).first - got.begin() ==
        static_cast<std::ptrdiff_t>(host.size()));
}

TEST_CASE("separable: results that go past the cache") {
  const smem::Context context;
  check_past_the_cache<float>(context);
  check_past_the_cache<std::uint8_t>(context);
  check_past_the_cache<std::uint16_t>(context);
}

TEST_CASE("separable: infinity and NaN stay in their windows") {
  const smem::Context context;
  const std::size_t n = 70;
  std::vector<float> host(n * n, 1.0F);
  host[35 * n + 20] = std::numeric_limits<float>::infinity();
  host[10 * n + 60] = std::numeric_limits<float>::quiet_NaN();
  const smem::Array<float> in(context, host);
  const std::vector<double> weights{0.25, 0.5, 0.25};
  for (const std::string_view variant : smem::separable_variants()) {
    if (!runs_separable(context.device(), variant)) continue;
    const smem::Array<float> out(context, smem::Count{n * n});
    smem::separable(context, in.grid({n, n}), out.grid({n, n}), {weights, weights},
                    {.boundary = Boundary::mirror}, {.variant = variant});
    const std::vector<float> got = out.to_host();
    std::size_t strange = 0;
    for (const float v : got)
      strange += v == 1.0F ? 0 : 1;
    CHECK(strange == 18);
  }
}

TEST_CASE("separable: nothing to do") {
  const smem::Context context;
  const smem::Array<float> array(context, smem::Count{4});
  const std::vector<double> weights{1.0};
  const std::vector<double> wide(9, 1.0);
  CHECK(smem::separable(context, array.grid({0, 4}), array.grid({0, 4}), {weights, weights})() != nullptr);
  CHECK(smem::separable(context, array.grid({4, 0}), array.grid({4, 0}), {weights, weights})() != nullptr);
  const smem::Array<float> out(context, std::vector<float>(4, 7.0F));
  smem::separable(context, array.grid({4}), out.grid({4}), {wide, weights}, {.boundary = Boundary::leave});
  CHECK(out.to_host() == std::vector<float>(4, 7.0F));
}

TEST_CASE("bad input of separable") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F));
  const std::vector<float> poison(100, 7.0F);
  const smem::Array<float> out(context, poison);
  const auto from = in.grid({10, 10}), to = out.grid({10, 10});
  const std::vector<double> none, three(3, 1.0), too_long(4001, 1.0);
  using test::failure_of;
  auto error = failure_of([&] { smem::separable(context, from, to, {none, three}); });
  CHECK(error.operation == "separable");
  CHECK(error.argument == "row_weights");
  CHECK(error.expected == "1 to 4000 weights");
  CHECK(failure_of([&] { smem::separable(context, from, to, {three, none}); }).argument == "column_weights");
  CHECK(failure_of([&] { smem::separable(context, from, to, {too_long, three}); }).got == "4001");
  error = failure_of([&] { smem::separable(context, from, to, {three, three, 3}); });
  CHECK(error.argument == "row_origin");
  CHECK(error.got == "number 3");
  CHECK(failure_of([&] {
          smem::separable(context, from, out.grid({9, 10}), {three, three});
        }).argument == "out");
  CHECK(failure_of([&] {
          smem::separable(context, from, out.grid({10, 10}, {.offset = 1}), {three, three});
        }).argument == "out");
  CHECK(failure_of([&] { smem::separable(context, from, from, {three, three}); }).argument == "out");
  const smem::CallOptions unknown{.variant = "nosuch"};
  CHECK(failure_of([&] {
          smem::separable(context, from, to, {three, three}, {}, unknown);
        }).argument == "variant");
  CHECK(out.to_host() == poison);
}
