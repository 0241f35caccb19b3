// Blurs by Gaussian windows, and what blurs of all kinds refuse; those by boxes are in blur_boxes.cpp.
#include <smem/blur.hpp>
#include <smem/smem.hpp>

#include "support/blurs.hpp"
#include "support/broken.hpp"
#include "support/failure.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::always_runs;
using test::Blur;
using test::BlurCase;
using test::kBoundaries;

TEST_CASE("blur: weights of Gaussian windows") {
  using smem::gaussian_weights;
  CHECK(gaussian_weights({.size = 3}, Scalar::float32) == std::vector<double>{0.25, 0.5, 0.25});
  CHECK(gaussian_weights({.size = 5}, Scalar::float32) ==
        std::vector<double>{0.0625, 0.25, 0.375, 0.25, 0.0625});
  CHECK(gaussian_weights({.sigma = 2}, Scalar::float32).size() == 17);
  CHECK(gaussian_weights({.sigma = 2}, Scalar::uint8).size() == 13);
  for (const Scalar type : {Scalar::uint8, Scalar::float32}) {
    for (const auto& [size, sigma] : {std::pair{1, 1.0}, {5, 1.1}, {15, 2.6}, {31, 0.0}, {101, 30.0}}) {
      const auto w = gaussian_weights({static_cast<std::size_t>(size), sigma}, type);
      const double s = sigma > 0 ? sigma : 0.3 * ((size - 1) * 0.5 - 1) + 0.8;
      double sum = 0, exact = 0;
      for (int i = 0; i < size; ++i)
        exact += std::exp(-std::pow(i - (size - 1) / 2.0, 2) / (2 * s * s));
      for (int i = 0; i < size; ++i) {
        const double value = std::exp(-std::pow(i - (size - 1) / 2.0, 2) / (2 * s * s)) / exact;
        const bool middle = i == size / 2;
        CHECK(std::abs(w[static_cast<std::size_t>(i)] - value) <=
              (type == Scalar::uint8 ? (middle ? 2 : 1) / 256.0 : 1e-12));
        if (type == Scalar::uint8)
          CHECK(w[static_cast<std::size_t>(i)] * 256 == std::rint(w[static_cast<std::size_t>(i)] * 256));
        sum += w[static_cast<std::size_t>(i)];
      }
      CHECK(std::abs(sum - 1) < 1e-12);
    }
  }
}

TEST_CASE("blur: Gaussian, of bytes exact, and unsharp masks") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  for (const Blur blur : {Blur::gaussian, Blur::unsharp}) {
    for (const Scalar type : {Scalar::uint8, Scalar::float32, Scalar::uint16, Scalar::half}) {
      for (const std::size_t size : {5, 15}) {
        BlurCase c;
        c.blur = blur;
        c.grids.in = c.grids.out = type;
        c.grids.boundary = Boundary::mirror;
        c.grids.channels = type == Scalar::uint16 ? 3 : 1;
        c.grids.size = {150, 40};
        c.size = size;
        c.sigma = size == 5 ? 1.1 : 0;
        c.threshold = type == Scalar::uint8 ? 7 : 0.1;
        sweep.run(c);
      }
    }
  }
  for (const char* variant : {"tiled", "march", "two_pass", "naive"}) {
    BlurCase c;
    c.blur = variant == std::string("tiled") ? Blur::gaussian : Blur::unsharp;
    c.grids.in = c.grids.out = Scalar::uint8;
    c.grids.size = {70, 30};
    c.size = 3;
    c.variant = variant;
    c.threshold = 7;
    sweep.run(c);
    if (c.variant != "march") continue;
    // Half-way cases go up, in rows of whole vectors too.
    c.blur = Blur::gaussian;
    c.grids.size = {72, 30};
    sweep.run(c);
  }
  CHECK(sweep.ran() == 21);
}

TEST_CASE("blur: Gaussian of bytes by packed products") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  BlurCase c;
  c.blur = Blur::gaussian;
  c.variant = "packed";
  c.grids.in = Scalar::uint8;
  c.grids.value = 200;
  struct Window {
    Boundary boundary;
    std::size_t across, down, channels;
    double sigma;
    Scalar out;
  };
  std::size_t expected = 0;
  const bool is_refused = test::is_broken(context.device(), "separable", "packed");
  for (const Window& w : {Window{Boundary::mirror, 5, 5, 1, 0, Scalar::uint8},
                          {Boundary::constant, 15, 15, 1, 0, Scalar::uint8},
                          {Boundary::wrap, 3, 7, 1, 1.3, Scalar::float32},
                          {Boundary::leave, 9, 4 * 2 + 1, 1, 1.3, Scalar::uint8},
                          {Boundary::clamp, 5, 5, 3, 0, Scalar::uint8}}) {
    c.size = w.across, c.down_size = w.down, c.sigma = w.sigma;
    c.grids.boundary = w.boundary, c.grids.out = w.out, c.grids.channels = w.channels;
    c.grids.batch = w.channels == 3 ? 2 : 1;
    // With a middle that no edge touches; where all work-items are at both edges, and windows have many rows
    // beyond them; and with columns that fill no word.
    for (const auto& [width, height, aligned] :
         {std::tuple{260, 70, 0}, {24, 5, 0}, {37, 40, 4}, {61, 40, 8}}) {
      if (aligned != 0 && w.across != 5 && w.across != 9) continue;
      c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
      c.grids.aligned = static_cast<std::size_t>(aligned);
      sweep.run(c);
      if (!is_refused) ++expected;
    }
  }
  CHECK(sweep.ran() == expected);
  // A weight of 256 of 256 is no byte; a value beyond the edges may be none.
  const smem::Array<std::uint8_t> in(context, std::vector<std::uint8_t>(64)),
      out(context, std::vector<std::uint8_t>(64));
  const auto from = in.grid({8, 8}), to = out.grid({8, 8});
  const smem::CallOptions packed{.variant = "packed"};
  using test::failure_of;
  CHECK(failure_of([&] {
          smem::gaussian_blur(context, from, to, {.size = 3, .sigma = 0.01}, {}, packed);
        }).argument == "variant");
  CHECK(failure_of([&] {
          smem::gaussian_blur(context, from, to, {.size = 3}, {Boundary::constant, 0.5}, packed);
        }).argument == "variant");
  CHECK(failure_of([&] { smem::unsharp_mask(context, from, to, {}, {}, packed); }).argument == "variant");
}

TEST_CASE("blur: nothing to do") {
  const smem::Context context;
  const smem::Array<float> array(context, smem::Count{4});
  const auto none = array.grid({0, 4});
  CHECK(smem::gaussian_blur(context, none, none, {.size = 3})() != nullptr);
  CHECK(smem::box_blur(context, none, none, 50)() != nullptr);
  CHECK(smem::median_blur(context, none, none, 5)() != nullptr);
  CHECK(smem::sobel(context, none, none, {smem::Gradient::magnitude})() != nullptr);
}

TEST_CASE("bad input of blurs") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F));
  const std::vector<float> poison(100, 7.0F);
  const smem::Array<float> out(context, poison);
  const smem::Array<std::uint8_t> bytes(context, std::vector<std::uint8_t>(100));
  const auto from = in.grid({10, 10}), to = out.grid({10, 10});
  using test::failure_of;
  auto error = failure_of([&] { smem::gaussian_blur(context, from, to, {.size = 4}); });
  CHECK(error.operation == "gaussian_blur");
  CHECK(error.argument == "window");
  CHECK(error.expected == "an odd size");
  CHECK(error.got == "4");
  error = failure_of([&] { smem::gaussian_blur(context, from, to, {.size = 3, .sigma = -1}); });
  CHECK(error.expected == "a sigma of 0 or more");
  CHECK(failure_of([&] { smem::gaussian_blur(context, from, to, {}); }).got == "neither");
  CHECK(failure_of([&] { smem::gaussian_blur(context, from, to, {.sigma = NAN}); }).argument == "window");
  CHECK(failure_of([&] { smem::gaussian_blur(context, from, to, {.sigma = 1e9}); }).argument == "window");
  CHECK(failure_of([&] {
          smem::box_blur(context, from, to, 40000, {.boundary = Boundary::zero});
        }).argument == "radius");
  CHECK(
      failure_of([&] {
        smem::box_blur(context, bytes.grid({10, 10}), to, 1, {.boundary = Boundary::constant, .value = 0.5});
      }).argument == "value");
  CHECK(failure_of([&] { smem::median_blur(context, from, to, 4); }).argument == "size");
  CHECK(failure_of([&] { smem::sobel(context, from, to, {smem::Gradient::across, 7}); }).argument == "size");
  CHECK(failure_of([&] {
          smem::sobel(context, from, to, {smem::Gradient::magnitude, 7});
        }).argument == "size");
  CHECK(failure_of([&] { smem::unsharp_mask(context, from, to, {.amount = INFINITY}); }).argument ==
        "amount");
  CHECK(failure_of([&] { smem::unsharp_mask(context, from, to, {.threshold = -1}); }).argument ==
        "threshold");
  CHECK(failure_of([&] { smem::median_blur(context, from, from, 3); }).argument == "out");
  CHECK(failure_of([&] { smem::median_blur(context, from, out.grid({10, 9}), 3); }).argument == "out");
  CHECK(failure_of([&] { smem::median_blur(context, from, bytes.grid({10, 10}), 3); }).argument == "out");
  CHECK(failure_of([&] { smem::box_blur(context, from, to, 3, {}, {.variant = "nosuch"}); }).argument ==
        "variant");
  CHECK(out.to_host() == poison);
}
