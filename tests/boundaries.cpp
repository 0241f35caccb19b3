// Windows larger than a grid: it is reflected and repeated as often as that takes.
#include <smem/smem.hpp>

#include "support/plain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using smem::Boundary;
using test::PlainGrid;

namespace {

/// A row `abc` as it goes on, ten to each side, and a row `a`: as scipy.ndimage and numpy.pad have it.
struct Continued {
  Boundary boundary;
  std::string_view three;
};
constexpr Continued kContinued[] = {{Boundary::reflect, "ccbaabccba|abc|cbaabccbaa"},
                                    {Boundary::mirror, "cbabcbabcb|abc|babcbabcba"},
                                    {Boundary::wrap, "cabcabcabc|abc|abcabcabca"}};
constexpr long kBefore = 10;

/// The element of a row of 1 or 3 at a place up to ten beyond.
std::size_t element_of(const Continued& row, long place, std::size_t extent) {
  if (extent == 1) return 0;
  const auto at = static_cast<std::size_t>(place + kBefore);
  const std::size_t bars = place < 0 ? 0 : place < 3 ? 1 : 2;
  return static_cast<std::size_t>(row.three[at + bars] - 'a');
}

/// Runs `call(in, out)` on grids of 1 and 3 cells and compares with the sum of `weight(i, j)` over the
/// window.
void check_small_grids(const smem::Context& context, const Continued& row, long radius,
                       const std::function<double(long i, long j)>& weight, const std::string& what,
                       const std::function<void(const smem::Grid& in, const smem::Grid& out)>& call) {
  for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{3, 1}, {1, 3}, {3, 3}, {1, 1}}) {
    std::vector<float> numbers(width * height);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(1 + i * i);
    const smem::Array<float> in(context, numbers), out(context, smem::Count{numbers.size()});
    CAPTURE(what);
    CAPTURE(width);
    CAPTURE(height);
    CAPTURE(smem::name_of(row.boundary));
    try {
      call(in.grid({width, height}), out.grid({width, height}));
    } catch (const smem::Error& error) {
      CHECK_MESSAGE(error.details().argument == "variant", error.what());
      continue;
    }
    const std::vector<float> got = out.to_host();
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        double sum = 0;
        for (long j = -radius; j <= radius; ++j) {
          for (long i = -radius; i <= radius; ++i) {
            const std::size_t at_x = element_of(row, static_cast<long>(x) + i, width),
                              at_y = element_of(row, static_cast<long>(y) + j, height);
            sum += weight(i, j) * static_cast<double>(numbers[at_y * width + at_x]);
          }
        }
        CHECK(static_cast<double>(got[y * width + x]) == doctest::Approx(sum).epsilon(1e-5));
      }
    }
  }
}

}  // namespace

TEST_CASE("boundaries: stencils larger than the grid") {
  const smem::Context context;
  constexpr long kRadius = 4;
  std::vector<double> weights(81);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<double>(i * i % 7);
  std::size_t turn = 0;
  for (const std::string_view variant : smem::stencil_variants()) {
    for (std::size_t n = 0; n < 3; ++n, ++turn) {
      // Those that compile their boundary do so once.
      if ((variant == "rows" || variant == "march" || variant == "planes") && n != turn / 3 % 3) continue;
      const Continued& row = kContinued[n];
      check_small_grids(
          context, row, kRadius,
          [&](long i, long j) { return weights[static_cast<std::size_t>((j + 4) * 9 + i + 4)]; },
          "stencil " + std::string(variant),
          [&](const smem::Grid& in, const smem::Grid& out) {
            smem::stencil(context, in, out, smem::Stencil::box({4, 4}, weights, {row.boundary}),
                          {.variant = std::string(variant)});
          });
    }
  }
}

TEST_CASE("boundaries: filters and blurs larger than the grid") {
  const smem::Context context;
  const std::vector<double> weights{1, -2, 3, 4, 5, 4, 3, 2, 1};
  std::size_t turn = 0;
  for (const std::string_view variant : smem::separable_variants()) {
    const Continued& row = kContinued[turn++ % 3];
    check_small_grids(
        context, row, 4,
        [&](long i, long j) {
          return weights[static_cast<std::size_t>(i + 4)] * weights[static_cast<std::size_t>(j + 4)];
        },
        "separable " + std::string(variant),
        [&](const smem::Grid& in, const smem::Grid& out) {
          smem::separable(context, in, out, {weights, weights}, {.boundary = row.boundary},
                          {.variant = std::string(variant)});
        });
  }
  for (const std::string_view variant : smem::box_variants()) {
    const Continued& row = kContinued[turn++ % 3];
    check_small_grids(
        context, row, 7, [](long, long) { return 1 / 225.0; }, "box " + std::string(variant),
        [&](const smem::Grid& in, const smem::Grid& out) {
          smem::box_blur(context, in, out, 7, {.boundary = row.boundary}, {.variant = std::string(variant)});
        });
  }
  for (const std::string_view variant : smem::window_variants()) {
    // A row of one cell: a window reads that cell alone.
    const smem::Array<float> in(context, std::vector<float>{5}), out(context, smem::Count{1});
    try {
      smem::median_blur(context, in.grid({1, 1}), out.grid({1, 1}), 5, {}, {.variant = std::string(variant)});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      continue;
    }
    CHECK(out.to_host()[0] == 5);
  }
}

TEST_CASE("boundaries: paddings larger than the grid") {
  const smem::Context context;
  for (const Continued& row : kContinued) {
    const smem::Array<float> in(context, std::vector<float>{1, 2, 4});
    const smem::Array<float> out(context, smem::Count{23});
    smem::Convolution how{.edges = {row.boundary}};
    how.padding = smem::Padding{.left = 10, .right = 10};
    smem::convolve2d(context, in.grid({3, 1}), out.grid({23, 1}), {1, 1, {1.0}}, how);
    const std::vector<float> got = out.to_host();
    for (std::size_t x = 0; x < 23; ++x)
      CHECK(got[x] == static_cast<float>(1U << element_of(row, static_cast<long>(x) - kBefore, 3)));
  }
}

TEST_CASE("boundaries: medians and slopes of grids smaller than their windows") {
  const smem::Context context;
  std::size_t turn = 0, ran = 0;
  for (const std::string_view variant : smem::window_variants()) {
    const std::string name(variant);
    const Continued& row = kContinued[turn++ % 3];
    CAPTURE(name);
    for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{3, 1}, {1, 3}, {3, 3}, {1, 1}}) {
      CAPTURE(width);
      CAPTURE(height);
      std::vector<float> numbers(width * height);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(i * 5 % 9);
      const smem::Array<float> in(context, numbers), out(context, smem::Count{numbers.size()});
      try {
        smem::median_blur(context, in.grid({width, height}), out.grid({width, height}), 5,
                          {.boundary = row.boundary}, {.variant = name});
      } catch (const smem::Error& error) {
        CHECK_MESSAGE(error.details().argument == "variant", error.what());
        continue;
      }
      ++ran;
      const std::vector<float> got = out.to_host();
      for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
          std::vector<float> window;
          for (long j = -2; j <= 2; ++j)
            for (long i = -2; i <= 2; ++i)
              window.push_back(numbers[element_of(row, static_cast<long>(y) + j, height) * width +
                                       element_of(row, static_cast<long>(x) + i, width)]);
          std::sort(window.begin(), window.end());
          CHECK(got[y * width + x] == window[12]);
        }
      }
    }
    const double smooth[] = {1, 4, 6, 4, 1}, slope[] = {-1, -2, 0, 2, 1};
    check_small_grids(
        context, row, 2, [&](long i, long j) { return slope[i + 2] * smooth[j + 2]; }, "slope " + name,
        [&](const smem::Grid& from, const smem::Grid& to) {
          smem::sobel(context, from, to, {smem::Gradient::across, 5}, {.boundary = row.boundary},
                      {.variant = name});
        });
  }
  CHECK(ran >= 4);
}
