// Wrong calls of a stencil: refused before anything is enqueued, with a message that says what
// and why.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using smem::Stencil;
using test::contains;
using test::failure_of;

namespace {

/// Two grids of 10 x 10 floats, and a check that nothing was written.
struct Grids {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(100, 77);
  smem::Array<float> in{context, std::vector<float>(100, 0.5F)};
  smem::Array<float> out{context, poison};

  ~Grids() { CHECK(out.to_host() == poison); }

  smem::ErrorDetails fail(const Stencil& what, const smem::CallOptions& options = {}) const {
    return failure_of([&] { smem::stencil(context, in.grid({10, 10}), out.grid({10, 10}), what, options); });
  }
};

const std::vector<double> kNineWeights(9, 0.1);

}  // namespace

TEST_CASE("bad input of stencil: weights and radius") {
  const Grids g;
  auto error = g.fail(Stencil::box({1, 1}, std::vector<double>(8)));
  CHECK(error.operation == "stencil");
  CHECK(error.argument == "weights");
  CHECK(error.expected == "9: one for each cell of a box of radius 1, 1, 0");
  CHECK(error.got == "8");
  Stencil star = Stencil::star(1, {2, 3}, {4, 5});
  CHECK(star.radius == smem::Radius{1, 1, 0});
  CHECK(star.weights == std::vector<double>{4, 2, 1, 3, 5});
  star.weights.pop_back();
  CHECK(g.fail(star).argument == "weights");
  CHECK(failure_of([] { Stencil::star(1, {2, 3, 4}); }).argument == "along_x");
  CHECK(g.fail(Stencil::box({std::size_t{1} << 60, 0}, {})).argument == "radius");
}

TEST_CASE("bad input of stencil: expressions") {
  const Grids g;
  CHECK(g.fail(Stencil::of("", {1, 1})).argument == "expression");
  for (const char* text : {"AT(-2, 0, 0)", "AT(0, 0, 1)", "AT(C, 0, 0)", "C +", "unknown_function(C)"}) {
    const auto error = g.fail(Stencil::of(text, {1, 1}));
    CHECK(error.argument == "expression");
    CHECK(contains(error.expected, "OpenCL C"));
    CHECK(contains(error.got, text));
    CHECK_MESSAGE(error.build_log.starts_with(std::string("expression.cl:1: ") + text + "\n"),
                  error.build_log);
  }
  Stencil both = Stencil::box({1, 1}, kNineWeights);
  both.expression = "C";
  CHECK(g.fail(both).argument == "expression");
  both.shape = smem::StencilShape::expression;
  CHECK(g.fail(both).argument == "weights");
}

TEST_CASE("bad input of stencil: grids and options") {
  const Grids g;
  const Stencil mean = Stencil::box({1, 1}, kNineWeights);
  const auto fail = [&](const smem::Grid& in, const smem::Grid& out) {
    return failure_of([&] { smem::stencil(g.context, in, out, mean); });
  };
  const smem::Grid in = g.in.grid({10, 10}), out = g.out.grid({10, 10});
  CHECK(fail(in, g.out.grid({10, 9})).argument == "out");
  CHECK(fail(g.in.grid({10, 11}), g.out.grid({10, 11})).argument == "in");
  CHECK(fail(in, in).argument == "out");
  smem::Grid bytes = out;
  bytes.type = smem::Scalar::uint8;
  CHECK(fail(in, bytes).argument == "out");
  smem::Grid ints_in = in, ints_out = out;
  ints_in.type = ints_out.type = smem::Scalar::int32;
  auto error = fail(ints_in, ints_out);
  CHECK(error.argument == "in");
  CHECK(error.got == "int32");
  CHECK(fail(g.in.grid({2, 10}, {.channels = 5}), g.out.grid({2, 10}, {.channels = 5})).argument == "in");
  CHECK(g.fail(mean, {.variant = "nosuch"}).argument == "variant");
  CHECK(g.fail(mean, {.variant = "march"}).argument == "variant");
  const smem::PlanOverrides fixed{.variant = "tiled", .tile_rows = 8};
  CHECK(g.fail(mean, {.overrides = &fixed}).argument == "tile_rows");
  const smem::PlanOverrides odd{.variant = "tiled", .work_items = 48};
  CHECK(g.fail(mean, {.overrides = &odd}).argument == "work_items");
  const smem::Context other;
  const smem::Array<float> foreign(other, smem::Count{100});
  CHECK(fail(foreign.grid({10, 10}), out).argument == "in");
}
