// What is wrong with a grid is refused by each operation that takes one, by the argument's name, and nothing
// is written.
#include <smem/grid.hpp>
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

using smem::Grid;
using smem::GridSize;

TEST_CASE("grids: what is wrong is refused, and nothing is written") {
  const smem::Context context, other;
  const std::vector<float> poison(4000, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(4000, 1.0F)), out(context, poison),
      foreign(other, poison);
  const GridSize size{12, 10, 2};
  struct OnGrids {
    const char* name;
    std::function<void(const Grid&, const Grid&)> call;
  };
  const std::vector<double> nine(9, 1), three(3, 1);
  const OnGrids operations[] = {
      {"stencil",
       [&](const Grid& a, const Grid& b) {
         smem::stencil(context, a, b, smem::Stencil::box({1, 1}, nine));
       }},
      {"convolve2d",
       [&](const Grid& a, const Grid& b) {
         smem::convolve2d(context, a, b, {3, 3, nine}, {.separable = smem::Separable::never});
       }},
      {"separable",
       [&](const Grid& a, const Grid& b) {
         smem::separable(context, a, b, {three, three});
       }},
      {"gaussian_blur",
       [&](const Grid& a, const Grid& b) {
         smem::gaussian_blur(context, a, b, smem::Gaussian{3, 1.0});
       }},
      {"box_blur",
       [&](const Grid& a, const Grid& b) {
         smem::box_blur(context, a, b, smem::BoxRadius{1, 1});
       }},
      {"median_blur", [&](const Grid& a, const Grid& b) { smem::median_blur(context, a, b, 3); }},
      {"max_pool2d",
       [&](const Grid& a, const Grid& b) { smem::max_pool2d(context, a, b, smem::Pooling::square(1, 1)); }},
      {"moving_mean", [&](const Grid& a, const Grid& b) { smem::moving_mean(context, a, b, 3); }},
  };
  for (const OnGrids& operation : operations) {
    CAPTURE(operation.name);
    const auto refused = [&](const Grid& a, const Grid& b) {
      const auto error = test::failure_of([&] { operation.call(a, b); });
      CHECK(error.operation == operation.name);
      return error.argument;
    };
    const Grid from = in.grid(size, {.batch = 3}), to = out.grid(size, {.batch = 3});
    // Rows, planes and grids that share elements; inputs may, of a batch.
    CHECK(refused(in.grid(size, {.pitch = 11, .batch = 3}), to) == "in");
    CHECK(refused(from, out.grid(size, {.pitch = 11, .batch = 3})) == "out");
    CHECK(refused(in.grid(size, {.plane = 119, .batch = 3}), to) == "in");
    CHECK(refused(from, out.grid(size, {.plane = 119, .batch = 3})) == "out");
    CHECK(refused(from, out.grid(size, {.batch = 3, .batch_stride = 239})) == "out");
    // Buffers that are too short, not there, or another context's.
    CHECK(refused(in.grid(size, {.offset = 4000 - 719, .batch = 3}), to) == "in");
    CHECK(refused(from, out.grid(size, {.offset = 4000 - 719, .batch = 3})) == "out");
    CHECK(refused(in.grid(size, {.batch = 3, .batch_stride = ~std::size_t{0} / 2}), to) == "in");
    Grid none = from;
    none.buffer = nullptr;
    CHECK(refused(none, to) == "in");
    none = to;
    none.buffer = nullptr;
    CHECK(refused(from, none) == "out");
    CHECK(refused(foreign.grid(size, {.batch = 3}), to) == "in");
    CHECK(refused(from, foreign.grid(size, {.batch = 3})) == "out");
    // 2^64 elements, which a product of sizes would make none.
    const GridSize wide{std::size_t{1} << 62, 1, 1};
    CHECK_FALSE(refused(Grid(in.buffer()(), smem::Scalar::float32, wide, {.channels = 4}),
                        Grid(out.buffer()(), smem::Scalar::float32, wide, {.channels = 4}))
                    .empty());
    // Results that overlap the input: all of it, and one element of it.
    CHECK(refused(from, from) == "out");
    CHECK(refused(in.grid(size, {.batch = 3}), in.grid(size, {.offset = 719, .batch = 3})) == "out");
    CHECK(refused(in.grid(size, {.offset = 719, .batch = 3}), in.grid(size, {.batch = 3})) == "out");
  }
  CHECK(out.to_host() == poison);
  CHECK(foreign.to_host() == poison);
  CHECK(in.to_host() == std::vector<float>(4000, 1.0F));
}
