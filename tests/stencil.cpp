// Stencils: every variant, boundary, shape and type against plain loops.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"
#include "support/stencils.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using smem::StencilShape;
using test::StencilCase;

namespace {

constexpr Scalar kStencilTypes[] = {Scalar::float32, Scalar::uint8, Scalar::half, Scalar::uint16,
                                    Scalar::float64};

bool runs_stencil(const smem::Device& device, std::string_view variant) {
  return variant == "naive" || variant == "tiled" || variant == "rows" ||
         (variant == "cpu" && test::has_cpu_variant(device));
}

/// Whether it keeps something from plane to plane, and runs for windows of several planes alone.
bool goes_along_z(std::string_view variant) { return variant == "march" || variant == "planes"; }

/// Whether one reflection or repetition is enough: more are another program (tests/boundaries.cpp).
bool reaches(const StencilCase& c) {
  return c.radius.x <= smem::reach_of(c.boundary, c.size.width) &&
         c.radius.y <= smem::reach_of(c.boundary, c.size.height) &&
         c.radius.z <= smem::reach_of(c.boundary, c.size.depth);
}

/// Grids whose rows are aligned, and not; with and without gaps; one and several.
std::array<test::GridPlace, 4> places(std::size_t channels) {
  test::GridPlace packed, gaps, several, aligned;
  gaps.offset = 3, gaps.row_gap = 5, gaps.plane_gap = 7, gaps.tail = 2;
  several.batch = 3, several.row_gap = 1, several.grid_gap = 9, several.offset = 1;
  aligned.offset = 64;
  for (test::GridPlace* place : {&packed, &gaps, &several, &aligned})
    place->channels = channels;
  return {packed, gaps, several, aligned};
}

/// The case on grids of one to three dimensions, around and below the size of tiles, which lie in turns as
/// places() has them.
void on_grids(test::StencilSweep& sweep, StencilCase c, const std::vector<smem::GridSize>& sizes,
              bool with_aligned = true) {
  std::size_t turn = 0;
  for (const smem::GridSize& size : sizes) {
    c.size = size;
    if (!reaches(c)) continue;
    const auto all = places(c.in.channels);
    const std::size_t kinds = with_aligned ? 4 : 3;
    c.in = all.at(turn % kinds);
    c.out = all.at((turn / 4 + turn) % kinds);
    c.out.batch = c.in.batch;
    if (turn % kinds == 3) {  // whole vectors, rows aligned
      c.in.row_gap = c.out.row_gap = 64 - size.width * c.in.channels % 64;
      c.out.offset = 0;
    } else if (!with_aligned) {
      c.in.offset = 1;
    }
    sweep.run(c);
    ++turn;
  }
}

const std::vector<smem::GridSize> kFlat{{1, 2},  {37, 29}, {128, 9}, {64, 16}, {1, 67},
                                        {33, 8}, {7, 5},   {257, 3}, {5, 131}, {101, 103}};
const std::vector<smem::GridSize> kLine{{1, 1}, {2, 1}, {131, 1}, {9, 1}, {64, 1}, {2053, 1}};
const std::vector<smem::GridSize> kDeep{{1, 1, 1},  {5, 4, 3},    {33, 9, 17}, {4, 1, 7},
                                        {67, 3, 5}, {16, 16, 16}, {9, 2, 40}};

}  // namespace

TEST_CASE("stencil: every variant, boundary and shape") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const char* variant : {"naive", "tiled", "cpu"}) {  // one program serves all windows and boundaries
    for (const Boundary boundary : test::kBoundaries) {
      StencilCase c;
      c.variant = variant;
      c.boundary = boundary;
      for (const auto& [radius, shape] : {std::pair{smem::Radius{1, 1}, StencilShape::box},
                                          {smem::Radius{3, 2}, StencilShape::box},
                                          {smem::Radius{2, 3}, StencilShape::star},
                                          {smem::Radius{0, 4}, StencilShape::box},
                                          {smem::Radius{9, 0}, StencilShape::star}}) {
        c.radius = radius;
        c.shape = shape;
        on_grids(sweep, c, kFlat);
        on_grids(sweep, c, kLine);
      }
      for (const auto& [radius, shape] : {std::pair{smem::Radius{1, 1, 1}, StencilShape::box},
                                          {smem::Radius{2, 0, 3}, StencilShape::box},
                                          {smem::Radius{3, 1, 2}, StencilShape::star}}) {
        c.radius = radius;
        c.shape = shape;
        on_grids(sweep, c, kDeep);
      }
    }
    CHECK((sweep.ran() > 300) == runs_stencil(context.device(), variant));
  }
}

TEST_CASE("stencil: blocks, every boundary and type") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t turn = 0;
  for (const Boundary boundary : test::kBoundaries) {
    StencilCase c;
    c.variant = "blocks";
    c.boundary = boundary;
    // Rows of whole fours of weights, and all others; one program serves all windows and boundaries.
    constexpr smem::Radius kRadii[] = {{1, 1}, {3, 2}, {0, 4}, {7, 0}, {6, 5}};
    c.radius = kRadii[turn % 5];
    on_grids(sweep, c, {{130, 35}, {67, 33}, {4, 40}, {1, 1}});
    c.type = kStencilTypes[turn % 5];
    c.in.channels = c.out.channels = 1 + turn % 4;
    c.radius = {2, 3};
    on_grids(sweep, c, {{70, 37, 2}, {5, 3}}, false);
    ++turn;
  }
  CHECK(sweep.ran() > 30);
}

TEST_CASE("stencil: rows, every boundary") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const Boundary boundary : test::kBoundaries) {
    StencilCase c;
    c.variant = "rows";
    c.boundary = boundary;
    c.radius = {1, 1};
    // Each window, dimension and alignment is a program to compile; not all boundaries have them all.
    on_grids(sweep, c, kFlat, boundary == Boundary::constant || boundary == Boundary::leave);
    if (boundary == Boundary::leave || boundary == Boundary::wrap) {
      c.radius = {3, 2};
      on_grids(sweep, c, kFlat, false);
    }
    if (boundary == Boundary::zero || boundary == Boundary::leave) {
      c.radius = {6, 0};
      on_grids(sweep, c, kLine, false);
    }
    c.shape = StencilShape::star;
    c.radius = {2, 3};
    if (boundary == Boundary::mirror) on_grids(sweep, c, kFlat, false);
    c.radius = {1, 2};
    if (boundary == Boundary::reflect) on_grids(sweep, c, kDeep, false);
  }
  CHECK(sweep.ran() > 60);
}

TEST_CASE("stencil: rows of bytes by weights that int8 holds, every boundary and channels") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  struct Window {
    Boundary boundary;
    std::size_t channels;
    smem::Radius radius;
    StencilShape shape = StencilShape::box;
  };
  for (const Window& w : {Window{Boundary::constant, 1, {1, 1}},
                          {Boundary::wrap, 2, {1, 1}},
                          {Boundary::leave, 3, {1, 1}},
                          {Boundary::mirror, 4, {1, 1}},
                          {Boundary::reflect, 4, {1, 2}},
                          {Boundary::zero, 3, {0, 1}},
                          {Boundary::clamp, 2, {1, 0}},
                          {Boundary::clamp, 1, {1, 2}, StencilShape::star}}) {
    StencilCase c;
    c.type = smem::Scalar::uint8;
    c.variant = "rows";
    c.int8_weights = true;
    c.boundary = w.boundary, c.radius = w.radius, c.shape = w.shape;
    for (const smem::GridSize& size : kFlat) {
      c.size = size;
      if (!reaches(c)) continue;
      c.in = c.out = {.channels = w.channels};
      c.in.row_gap = 64 - size.width * w.channels % 64, c.out.row_gap = c.in.row_gap % 16 + 16;  // aligned
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() > 50);
}

TEST_CASE("stencil: march, every boundary") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const Boundary boundary : test::kBoundaries) {
    StencilCase c;
    if (boundary != Boundary::constant && boundary != Boundary::mirror && boundary != Boundary::leave &&
        boundary != Boundary::wrap)
      continue;
    c.variant = "march";
    c.boundary = boundary;
    c.shape =
        boundary == Boundary::mirror || boundary == Boundary::leave ? StencilShape::star : StencilShape::box;
    c.radius = {1, 1, 1};
    on_grids(sweep, c, kDeep);
    c.radius = {2, 0, 3};
    if (boundary == Boundary::constant) on_grids(sweep, c, kDeep);
  }
  CHECK(sweep.ran() > 15);
}

TEST_CASE("stencil: planes, every boundary") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t turn = 0;
  for (const Boundary boundary : test::kBoundaries) {
    StencilCase c;
    c.variant = "planes";
    c.boundary = boundary;
    c.shape = turn % 2 == 0 ? StencilShape::star : StencilShape::box;
    c.radius = {1, 1, 1};
    on_grids(sweep, c, kDeep);
    c.size = {64, 13, 11};  // whole vectors, aligned, most of them with all their neighbours
    c.in = c.out = {};
    sweep.run(c);
    if (boundary == Boundary::wrap || boundary == Boundary::leave) {
      c.shape = StencilShape::star;
      c.radius = {3, 2, 2};
      on_grids(sweep, c, kDeep, false);
    }
    if (boundary == Boundary::constant) {
      c.shape = StencilShape::box;
      c.radius = {2, 0, 3};
      on_grids(sweep, c, kDeep, false);
    }
    ++turn;
  }
  CHECK(sweep.ran() > 60);
}

TEST_CASE("stencil: planes of rows that begin anywhere, element by element") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [type, channels] :
       {std::pair{Scalar::float32, 1}, {Scalar::half, 1}, {Scalar::uint8, 3}, {Scalar::float64, 2}}) {
    StencilCase c;
    c.variant = "planes";
    c.tile_cols = 2;  // fewer than a vector has
    c.type = type;
    c.in.channels = c.out.channels = static_cast<std::size_t>(channels);
    c.boundary = test::kBoundaries[2 * turn % 7];
    c.shape = turn % 2 == 0 ? StencilShape::box : StencilShape::star;
    c.radius = {1, 1, 1};
    on_grids(sweep, c, {{51, 21, 11}, {7, 133, 5}, {3, 3, 1}});
    ++turn;
  }
  CHECK(sweep.ran() >= 10);
}

namespace {

/// Each is a program to compile: a number of channels for each type, of bytes several.
void every_type(
    const std::vector<std::pair<const char*, std::vector<std::pair<Scalar, std::size_t>>>>& cases) {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const auto& [variant, kinds] : cases) {
    for (const auto& [type, channels] : kinds) {
      StencilCase c;
      c.variant = variant;
      c.type = type;
      c.boundary = channels % 2 == 0 ? Boundary::constant : Boundary::reflect;
      c.radius = {2, 1, goes_along_z(c.variant) ? std::size_t{1} : 0};
      if (c.variant == "planes") c.shape = StencilShape::star;  // whose sums fit the registers of all types
      c.in.channels = c.out.channels = channels;
      on_grids(sweep, c, {{50, 21, 2}, {131, 9, 3}, {3, 3, 1}, {35, 6, 5}},
               type == Scalar::uint8 || c.variant == "cpu");
    }
    const bool runs = goes_along_z(variant) || runs_stencil(context.device(), variant);
    CHECK((sweep.ran() > 0) == runs);
  }
}

}  // namespace

TEST_CASE("stencil: every type and channels, on CPUs and by tiles") {
  every_type({{"naive", {{Scalar::float64, 3}, {Scalar::uint8, 4}}},
              {"tiled", {{Scalar::half, 2}, {Scalar::uint16, 3}}},
              {"march", {{Scalar::uint8, 2}}},
              {"cpu",
               {{Scalar::float64, 3},
                {Scalar::uint8, 1},
                {Scalar::uint8, 3},
                {Scalar::half, 2},
                {Scalar::uint16, 4}}}});
}

TEST_CASE("stencil: every type and channels, in registers") {
  every_type({{"rows",
               {{Scalar::float64, 3},
                {Scalar::uint8, 1},
                {Scalar::uint8, 3},
                {Scalar::uint8, 4},
                {Scalar::half, 1},
                {Scalar::uint16, 2}}}});
}

TEST_CASE("stencil: every type and channels, in registers along z") {
  every_type({{"planes",
               {{Scalar::float64, 3},
                {Scalar::uint8, 1},
                {Scalar::uint8, 4},
                {Scalar::half, 1},
                {Scalar::half, 2},
                {Scalar::uint16, 3}}}});
}

TEST_CASE("stencil: a caller's own expression") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const std::string_view variant : smem::stencil_variants()) {
    for (const smem::Radius& radius : {smem::Radius{2, 1, 0}, smem::Radius{1, 1, 2}}) {
      if ((variant == "naive" || variant == "tiled") && radius.z == 0) continue;
      StencilCase c;
      c.variant = variant;
      c.shape = StencilShape::expression;
      c.boundary = radius.z == 0 ? Boundary::clamp : Boundary::leave;
      c.radius = radius;
      on_grids(sweep, c, radius.z == 0 ? kFlat : kDeep, false);
      c.type = Scalar::uint8;
      c.in.channels = c.out.channels = 3;
      if (radius.z == 0 && (variant == "rows" || variant == "cpu")) on_grids(sweep, c, kFlat, false);
    }
    CHECK((sweep.ran() > 0) == (goes_along_z(variant) || runs_stencil(context.device(), variant)));
  }
}

TEST_CASE("stencil: windows larger than the grid, than a tile, and than local memory") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const char* variant : {"naive", "tiled", "blocks", "cpu", ""}) {
    StencilCase c;
    c.variant = variant;
    c.boundary = Boundary::clamp;
    c.radius = {13, 20};
    on_grids(sweep, c, {{3, 2}, {40, 31}});
    c.radius = {700, 0};
    on_grids(sweep, c, {{3, 2}, {2003, 1}, {1, 3}});
    c.shape = StencilShape::star;
    c.radius = {5, 5, 5};
    on_grids(sweep, c, {{3, 2, 4}, {12, 7, 13}});
    if (variant == std::string("tiled") || variant == std::string("blocks") || variant == std::string("cpu"))
      continue;
    c.shape = StencilShape::box;
    c.radius = {300000, 0};
    on_grids(sweep, c, {{5, 1}});
    c.radius = {150, 150};
    on_grids(sweep, c, {{5, 3}});
  }
  CHECK(sweep.ran() >= (context.device().long_loops ? 20 : 12));
}

TEST_CASE("stencil: nothing to do") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  StencilCase c;
  c.boundary = Boundary::wrap;
  c.radius = {1, 1};
  for (const smem::GridSize& size : {smem::GridSize{0, 5}, smem::GridSize{5, 0}, smem::GridSize{5, 5, 0}}) {
    c.size = size;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 3);
}

TEST_CASE("stencil: waits for the events it is given, and takes plans and overrides") {
  const smem::Context context;
  const smem::GridSize size{40, 30};
  const smem::Array<float> in(context, std::vector<float>(1200, 2.0F));
  const smem::Array<float> out(context, std::vector<float>(1200, 7.0F));
  const smem::Stencil mean = smem::Stencil::box({1, 1}, std::vector<double>(9, 0.125), {Boundary::clamp});
  cl::UserEvent gate(context.cl_context());
  const std::vector<cl::Event> events{gate};
  const cl::Event done = smem::stencil(context, in.grid(size), out.grid(size), mean, {.wait_for = events});
  CHECK(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);
  gate.setStatus(CL_COMPLETE);
  done.wait();
  CHECK(out.to_host() == std::vector<float>(1200, 2.25F));
  const smem::PlanOverrides fixed{.variant = "tiled", .work_items = 32};
  smem::StencilProblem problem = smem::stencil_problem(Scalar::float32, {40, 30, 1}, {1, 1, 0});
  problem.boundary = Boundary::clamp;
  problem.in_alignment = problem.out_alignment = 32;
  const smem::Plan plan = smem::plan_stencil(context.device(), problem, fixed);
  CHECK(plan.work_items() == 32);
  const std::vector<float> sevens(1200, 7.0F);
  smem::Array<float> again(context, sevens);
  smem::stencil(context, in.grid(size), again.grid(size), mean, {.plan = &plan});
  CHECK(again.to_host() == out.to_host());
  smem::Plan other = plan;
  other.work_group[0] = 64;
  CHECK(test::failure_of([&] {
          smem::stencil(context, in.grid(size), again.grid(size), mean, {.plan = &other});
        }).argument == "plan");
}
