// Heat diffusion: every variant, wall, dimension and type against plain loops; energy, order and limits.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/heats.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

using smem::FaceMean;
using smem::Grid;
using smem::GridSize;
using smem::Heat;
using smem::Scalar;
using smem::Walls;
using test::HeatCase;

namespace {

constexpr Walls kWalls[] = {Walls::insulated, Walls::fixed, Walls::held};

/// One cell, smaller than a halo, smaller than a tile, primes, more than a tile; in some walls lie in the
/// halo of tiles that touch no other; the last one has several tiles inside, away from all walls.
std::vector<GridSize> sizes_of(std::size_t dimensions) {
  if (dimensions == 1) return {{1}, {2}, {7}, {16}, {17}, {101}, {1031}, {5003}};
  if (dimensions == 2) return {{1, 2}, {3, 5}, {16, 4}, {17, 33}, {132, 2}, {1, 67}, {241, 61}};
  return {{1, 1, 2},    {2, 3, 5},   {16, 5, 3},   {1, 17, 9},  {33, 1, 7},
          {37, 19, 11}, {67, 33, 7}, {100, 33, 5}, {165, 90, 4}};
}

/// The sizes with one program: all others are arguments of kernels.
void every_size(test::HeatSweep& sweep, HeatCase c, std::size_t dimensions) {
  std::size_t turn = 0;
  for (const GridSize& size : sizes_of(dimensions)) {
    c.size = size;
    c.offset = turn % 3;
    c.gap = turn % 4;
    c.batch = 1 + turn % 2;
    c.shared = turn % 4 == 1;
    c.in_place = turn % 3 == 2;
    sweep.run(c);
    ++turn;
  }
}

/// Of the variants that make any number of dimensions.
bool runs_heat(const smem::Device& device, std::string_view variant) {
  return (variant != "cpu" || test::has_cpu_variant(device)) && !test::breaks_heat(device, variant);
}

}  // namespace

TEST_CASE("heat: every variant, in every dimension, between every kind of walls") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (std::size_t dimensions = 1; dimensions <= 3; ++dimensions) {
    for (const std::string_view variant : smem::heat_variants()) {
      for (const Walls walls : kWalls) {
        // Each is a program to compile: every kernel between all walls in one number of dimensions, between
        // one kind in the others.
        const bool local = variant == "tiled" || variant == "blocked";
        if (dimensions != (local ? 2U : 3U) && walls != kWalls[dimensions]) continue;
        HeatCase c;
        c.variant = variant;
        c.walls = walls;
        c.steps = variant == "blocked" || variant == "march" || variant == "cpu" ? 4 : 1;
        c.steps_per_pass = c.steps / 2;
        every_size(sweep, c, dimensions);
      }
      const bool none = test::breaks_heat(context.device(), variant) ||
                        (dimensions == 1 && (variant == "vector" || variant == "march")) ||
                        (dimensions == 3 && (variant == "tiled" || variant == "blocked")) ||
                        (variant == "cpu" && !test::has_cpu_variant(context.device()));
      CHECK((sweep.ran() > 0) != none);
    }
  }
}

TEST_CASE("heat: conductivities and sources of cells") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const auto& [dimensions, variant, mean] :
       {std::tuple<std::size_t, const char*, FaceMean>{3, "naive", FaceMean::harmonic},
        {2, "blocked", FaceMean::arithmetic},
        {3, "vector", FaceMean::harmonic},
        {3, "cpu", FaceMean::arithmetic},
        {2, "cpu", FaceMean::harmonic},
        {1, "cpu", FaceMean::harmonic}}) {
    HeatCase c;
    c.variant = variant;
    c.variable = c.source = true;
    c.mean = mean;
    c.walls = mean == FaceMean::harmonic ? Walls::fixed : Walls::insulated;
    c.steps = 3;
    every_size(sweep, c, dimensions);
    CHECK((sweep.ran() > 0) == runs_heat(context.device(), variant));
  }
  HeatCase c;  // sources of a pipeline
  c.variant = "march";
  c.source = true;
  c.steps = 5;
  c.steps_per_pass = 2;
  every_size(sweep, c, 3);
  CHECK((sweep.ran() > 0) == runs_heat(context.device(), c.variant));
}

TEST_CASE("heat on CPUs: results that go past the cache, in rows that begin and end anywhere") {
  const test::Variable clamp("SMEM_CLAMP", "cache=64");
  const smem::Context context;
  if (runs_heat(context.device(), "cpu")) {
    const smem::HeatProblem problem{.width = 32, .height = 5, .depth = 3};
    CHECK(test::contains(smem::plan_heat(context.device(), problem, {.variant = "cpu"}).build_options(),
                         "-DSTREAMING=1"));
  }
  test::HeatSweep sweep(context);
  for (const Scalar type : {Scalar::float32, Scalar::float64, Scalar::half}) {
    for (const std::size_t steps : {1, 2}) {
      HeatCase c;
      c.variant = "cpu";
      c.type = type;
      c.walls = steps == 1 ? Walls::insulated : Walls::fixed;
      c.steps = steps;
      every_size(sweep, c, 3);
      for (const std::size_t width : {32, 64, 80, 96}) {  // ends that are aligned
        for (const std::size_t offset : {0, 16, 3}) {
          c.size = {width, 5, 3};
          c.offset = offset;
          c.gap = 0;
          sweep.run(c);
        }
      }
    }
  }
  CHECK((sweep.ran() > 0) == runs_heat(context.device(), "cpu"));
}

TEST_CASE("heat: float64") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const auto& [dimensions, variant] : {std::pair<std::size_t, const char*>{2, "naive"},
                                            {2, "blocked"},
                                            {3, "vector"},
                                            {3, "march"},
                                            {3, "cpu"},
                                            {1, "cpu"}}) {
    HeatCase c;
    c.type = Scalar::float64;
    c.variant = variant;
    c.walls = dimensions == 3 ? Walls::fixed : Walls::insulated;
    c.steps = 3;
    every_size(sweep, c, dimensions);
  }
  CHECK((sweep.ran() > 0) == context.device().fp64);
}

TEST_CASE("heat: half is rounded once a pass, in every variant") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const auto& [dimensions, variant, walls] :
       {std::tuple<std::size_t, const char*, Walls>{1, "naive", Walls::insulated},
        {2, "tiled", Walls::held},
        {1, "blocked", Walls::fixed},
        {3, "vector", Walls::fixed},
        {2, "march", Walls::held},
        {1, "cpu", Walls::insulated},
        {3, "cpu", Walls::held}}) {
    HeatCase c;
    c.type = Scalar::half;
    c.variant = variant;
    c.walls = walls;
    const bool several = c.variant == "blocked" || c.variant == "march" || c.variant == "cpu";
    // The last pass makes one less, but where the kernel would be another one.
    c.steps = c.variant == "march" ? 4 : several ? 5 : 2;
    c.steps_per_pass = several ? 2 : 1;
    every_size(sweep, c, dimensions);
    CHECK((sweep.ran() > 0) == runs_heat(context.device(), variant));
  }
}

TEST_CASE("heat: half, with conductivities and sources") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const auto& [dimensions, variant, mean] :
       {std::tuple<std::size_t, const char*, FaceMean>{3, "naive", FaceMean::arithmetic},
        {2, "blocked", FaceMean::harmonic},
        {3, "vector", FaceMean::arithmetic},
        {2, "cpu", FaceMean::arithmetic},
        {3, "cpu", FaceMean::harmonic}}) {
    HeatCase c;
    c.type = Scalar::half;
    c.variant = variant;
    c.variable = c.source = true;
    c.mean = mean;
    c.walls = mean == FaceMean::harmonic ? Walls::fixed : Walls::insulated;
    c.steps = 3;
    every_size(sweep, c, dimensions);
    CHECK((sweep.ran() > 0) == runs_heat(context.device(), variant));
  }
  HeatCase c;
  c.type = Scalar::half;
  c.variant = "march";
  c.walls = Walls::fixed;
  c.source = true;
  c.steps = 4;
  c.steps_per_pass = 2;
  every_size(sweep, c, 3);
  CHECK((sweep.ran() > 0) == runs_heat(context.device(), c.variant));
}

TEST_CASE("heat: of half, changes below half a unit vanish with each pass") {
  const smem::Context context;
  constexpr std::size_t kCells = 64;
  std::vector<smem::half> start(kCells, smem::half(1.0F));
  start[20] = smem::half(1.0F + 0x1p-10F);  // the next number
  const smem::Array<smem::half> in(context, start);
  const auto after = [&](std::size_t steps_per_pass) {
    const smem::Array<smem::half> out(context, smem::Count{kCells});
    Heat heat{.steps = 40, .dt = 0.2};
    heat.steps_per_pass = steps_per_pass;
    smem::heat(context, smem::GridView<const smem::half>(in.buffer(), {kCells}),
               smem::GridView<smem::half>(out.buffer(), {kCells}), heat,
               {.variant = steps_per_pass == 1 ? "naive" : "blocked"});
    return out.to_host()[20].bits;
  };
  CHECK(after(1) == start[20].bits);
  CHECK(after(8) == start[0].bits);
}

TEST_CASE("heat: any number of steps, as the plan chooses, in place or not") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const bool in_place : {false, true}) {
    for (const GridSize& size : {GridSize{9001}, GridSize{67, 45}, GridSize{31, 17, 23}}) {
      for (const std::size_t steps : {0, 1, 2, 5, 7, 16, 33}) {
        HeatCase c;
        c.size = size;
        c.steps = steps;
        c.in_place = in_place;
        c.walls = Walls::fixed;
        c.gap = 1;
        sweep.run(c);
      }
    }
  }
  // What has one row or plane can have more dimensions.
  for (const std::size_t dimensions : {1, 2, 3}) {
    HeatCase c;
    c.size = {50};
    c.dimensions = dimensions;
    c.steps = 3;
    c.walls = Walls::fixed;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2 * 3 * 7 + 3);
}

TEST_CASE("heat: the same bits in every variant, whatever the steps of a pass") {
  const smem::Context context;
  test::Random random(8);
  for (const GridSize& size : {GridSize{3001}, GridSize{211, 97}, GridSize{71, 53, 39}}) {
    std::vector<float> start(size.width * size.height * size.depth);
    for (float& cell : start)
      cell = static_cast<float>(random.next() >> 40);
    const smem::Array<float> in(context, start);
    const auto after = [&](const char* variant, std::size_t steps_per_pass) -> std::vector<float> {
      const smem::Array<float> out(context, smem::Count{start.size()});
      Heat heat{.steps = 6, .dt = 0.15, .dz = 1.5};
      heat.steps_per_pass = steps_per_pass;
      try {
        smem::heat(context, smem::GridView<const float>(in.buffer(), size),
                   smem::GridView<float>(out.buffer(), size), heat, {.variant = variant});
      } catch (const smem::Error& error) {
        if (error.details().argument != "variant" && error.details().argument != "steps_per_pass") throw;
        return {};
      }
      return out.to_host();
    };
    const std::vector<float> expected = after("naive", 1);
    std::size_t compared = 0;
    for (const std::string_view variant : smem::heat_variants()) {
      for (const std::size_t steps : {1, 2, 3, 4, 6}) {
        if (steps > 3 && variant == "march") continue;  // a program each
        const std::vector<float> got = after(std::string(variant).c_str(), steps);
        if (got.empty()) continue;
        ++compared;
        CAPTURE(variant);
        CAPTURE(steps);
        CHECK(got == expected);
      }
    }
    CHECK(compared >= 5);
  }
}

TEST_CASE("heat: insulated walls keep the energy") {
  const smem::Context context;
  test::Random random(9);
  const GridSize size{61, 47, 29};
  const std::size_t cells = size.width * size.height * size.depth;
  std::vector<float> start(cells), k(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    start[i] = static_cast<float>(random.next() >> 40) * 0x1p-24F;
    k[i] = random.chance(5) ? 0.001F : 1.0F;
  }
  const auto energy = [](const std::vector<float>& u) { return std::accumulate(u.begin(), u.end(), 0.0); };
  const smem::Array<float> in(context, start), conductivities(context, k);
  for (const bool variable : {false, true}) {
    for (const FaceMean mean : {FaceMean::harmonic, FaceMean::arithmetic}) {
      const smem::Array<float> out(context, smem::Count{cells});
      Heat heat{.steps = 100, .dt = 0.15};
      heat.mean = mean;
      heat.max_conductivity = 1;
      if (variable) heat.conductivities = smem::GridView<float>(conductivities.buffer(), size);
      smem::heat(context, smem::GridView<const float>(in.buffer(), size),
                 smem::GridView<float>(out.buffer(), size), heat);
      const std::vector<float> after = out.to_host();
      // Roundings are as often up as down: 100 steps, each cell off by 2^-25 of its value.
      CHECK(std::abs(energy(after) - energy(start)) < 5e-7 * energy(start));
      const auto [least, most] = std::minmax_element(after.begin(), after.end());
      const auto [least_before, most_before] = std::minmax_element(start.begin(), start.end());
      CHECK(*least >= *least_before);
      CHECK(*most <= *most_before);
    }
  }
}

TEST_CASE("heat: converges at second order to the analytic solution") {
  const smem::Context context;
  if (!context.device().fp64) return;
  // u = exp(-d pi^2 t) * the product of sin(pi x), zero at the walls, which lie one spacing beyond the cells.
  constexpr double kPi = std::numbers::pi, kTime = 0.02;
  for (const std::size_t dimensions : {1, 2, 3}) {
    double last = 0;
    for (const std::size_t cells : {7, 15, 31}) {
      const double d = 1.0 / static_cast<double>(cells + 1);
      const GridSize size{cells, dimensions > 1 ? cells : 1, dimensions > 2 ? cells : 1};
      std::vector<double> start;
      for (std::size_t i = 0; i < size.width * size.height * size.depth; ++i) {
        double value = 1;
        std::size_t rest = i;
        for (std::size_t axis = 0; axis < dimensions; ++axis, rest /= cells)
          value *= std::sin(kPi * d * static_cast<double>(rest % cells + 1));
        start.push_back(value);
      }
      Heat heat{.dx = d, .dy = d, .dz = d, .walls = Walls::fixed};
      // Steps of a quarter of the spacing's square, whole in number.
      heat.steps = static_cast<std::size_t>(std::ceil(kTime / (0.1 * d * d)));
      heat.dt = kTime / static_cast<double>(heat.steps);
      const smem::Array<double> in(context, start), out(context, smem::Count{start.size()});
      smem::heat(context, smem::GridView<double>(in.buffer(), size),
                 smem::GridView<double>(out.buffer(), size), heat);
      const std::vector<double> got = out.to_host();
      const double decay = std::exp(-static_cast<double>(dimensions) * kPi * kPi * kTime);
      double error = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        error = std::max(error, std::abs(got[i] - decay * start[i]));
      CAPTURE(dimensions);
      CAPTURE(cells);
      if (last > 0) {
        CHECK(last / error > 3.6);
        CHECK(last / error < 4.5);
      }
      last = error;
    }
  }
}

TEST_CASE("heat: what cannot be is refused, and nothing is written") {
  const smem::Context context;
  const GridSize size{8, 6};
  const std::vector<float> before(60, 3);
  const smem::Array<float> in(context, std::vector<float>(60, 1)), out(context, before);
  const smem::GridView<const float> from(in.buffer(), size);
  const smem::GridView<float> to(out.buffer(), size);
  const auto refused = [&](const Heat& heat, const smem::CallOptions& options = {}) {
    return test::failure_of([&] { smem::heat(context, from, to, heat, options); });
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto unstable = refused({.dt = 0.26});
  CHECK(unstable.argument == "dt");
  CHECK(test::contains(unstable.expected, "at most 0.25"));
  CHECK(test::contains(unstable.got, "0.26"));
  CHECK(refused({.dt = 0.5, .dx = 1, .dy = 1, .conductivity = 0.6}).argument == "dt");
  CHECK(refused({.dt = kNan}).argument == "dt");
  CHECK(refused({.dt = -0.1}).argument == "dt");
  CHECK(refused({.dt = std::numeric_limits<double>::infinity()}).argument == "dt");
  CHECK(refused({.dt = 0.1, .dx = -1}).argument == "dx");
  CHECK(refused({.dt = 0.1, .dy = 0}).argument == "dy");
  CHECK(refused({.dt = 0.1, .dz = kNan}).argument == "dz");
  CHECK(refused({.dt = 0.1, .conductivity = -1}).argument == "conductivity");
  CHECK(refused({.dt = 0.1, .walls = Walls::fixed, .wall_value = kNan}).argument == "wall_value");
  CHECK(refused({.dt = 0.1, .dimensions = 4}).argument == "dimensions");
  CHECK(refused({.dt = 0.1, .dimensions = 1}).argument == "dimensions");
  CHECK(refused({.dt = 0.1}, {.variant = "nosuch"}).argument == "variant");
  const smem::PlanOverrides layout{.work_items = 32};
  CHECK(refused({.dt = 0.1}, {.overrides = &layout}).argument == "work_items");
  Heat heat{.dt = 0.1};
  heat.steps = 8;
  heat.steps_per_pass = 2;
  heat.conductivities = from;
  CHECK(refused(heat).argument == "max_conductivity");
  heat.max_conductivity = 3;
  CHECK(refused(heat).argument == "dt");
  heat.max_conductivity = 1;
  heat.conductivities.size.height = 5;
  CHECK(refused(heat).argument == "conductivities");
  heat.conductivities.size.height = 6;
  heat.conductivities.batch = 2;
  CHECK(refused(heat).argument == "conductivities");
  heat.conductivities = to;  // which is written
  CHECK(refused(heat).argument == "out");
  heat.conductivities = {};
  heat.source = smem::GridView<double>(in.buffer(), size);
  CHECK(refused(heat).argument == "source");
  const auto refused_out = [&](const Grid& result) {
    return test::failure_of([&] { smem::heat(context, from, result, Heat{.dt = 0.1}); }).argument;
  };
  CHECK(refused_out(smem::GridView<float>(out.buffer(), {6, 8})) == "out");
  CHECK(refused_out(smem::GridView<float>(out.buffer(), size, {.offset = 20})) == "out");
  CHECK(refused_out(smem::GridView<float>(in.buffer(), size, {.offset = 8})) == "out");
  CHECK(refused_out(smem::GridView<double>(out.buffer(), size)) == "out");
  CHECK(test::failure_of([&] {
          const smem::GridView<int> whole(in.buffer(), size);
          smem::heat(context, static_cast<const Grid&>(whole), static_cast<const Grid&>(whole),
                     Heat{.dt = 0.1});
        }).argument == "in");
  CHECK(refused_out(smem::GridView<smem::half>(out.buffer(), size)) == "out");
  CHECK(test::failure_of([&] {
          const smem::GridView<smem::half> a(in.buffer(), size), b(out.buffer(), size);
          smem::heat(context, a, b, Heat{.dt = 0.26});
        }).argument == "dt");
  CHECK(out.to_host() == before);
  // The limit itself is stable.
  smem::heat(context, from, to, Heat{.dt = smem::heat_time_step_limit({}, 2)});
  CHECK(out.to_host()[0] == 1);
  // Nothing is nothing to do.
  smem::heat(context, smem::GridView<float>(in.buffer(), {0, 4}), smem::GridView<float>(out.buffer(), {0, 4}),
             Heat{.dt = 0.1});
}

TEST_CASE("heat: overrides, plans and events") {
  const smem::Context context;
  const GridSize size{300, 40};
  const smem::Array<float> in(context, std::vector<float>(12000, 2)), out(context, std::vector<float>(12000));
  const smem::GridView<const float> from(in.buffer(), size);
  const smem::GridView<float> to(out.buffer(), size);
  const Heat heat{.steps = 3, .dt = 0.2};
  if (test::breaks_heat(context.device(), "march")) {
    MESSAGE("skipped: the driver breaks the variant with tiles to fix");
    return;
  }
  const smem::PlanOverrides fixed{.variant = "march", .tile_cols = 64};
  smem::HeatProblem problem{.width = 300, .height = 40, .steps = 3};
  problem.alignment = 16;
  smem::heat(context, from, to, heat, {.overrides = &fixed});
  CHECK(out.to_host()[11999] == 2);
  problem.alignment = 16;  // of rows of 300 floats
  const smem::Plan plan = smem::plan_heat(context.device(), problem, fixed);
  CHECK(plan.tile_cols == 64);
  smem::heat(context, from, to, heat, {.plan = &plan});
  smem::Plan other = plan;
  other.tile_cols = 4;
  CHECK(test::failure_of([&] { smem::heat(context, from, to, heat, {.plan = &other}); }).argument == "plan");

  cl::UserEvent gate(context.cl_context());
  const std::vector<cl::Event> events{gate};
  const cl::Event done = smem::heat(context, from, to, heat, {.wait_for = events});
  CHECK(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);
  gate.setStatus(CL_COMPLETE);
  done.wait();
}
