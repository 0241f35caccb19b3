// Stencils and heat over all ranks: the same bits as one device gives.
#include "support.hpp"

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/distributed/stencil.hpp>

#include <cstring>

namespace d = smem::distributed;

namespace {

/// One device of this rank, in a context of its own.
const smem::Context& one_device() {
  static const smem::Context context;
  return context;
}

template <class T>
std::size_t different(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return SIZE_MAX;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) ++count;
  }
  return count;
}

std::size_t cells_of(const smem::GridSize& size) { return size.width * size.height * size.depth; }

std::size_t slowest(const smem::GridSize& size) {
  return size.depth != 1 ? size.depth : size.height != 1 ? size.height : size.width;
}

std::vector<float> picture(const smem::GridSize& size) {
  std::vector<float> cells = test::numbers<float>(cells_of(size), 0, 1000);
  for (float& cell : cells)
    cell /= 7;
  return cells;
}

template <class T>
void check_stencil(const smem::GridSize& size, const std::vector<T>& cells, const smem::Stencil& stencil,
                   std::size_t steps, std::size_t steps_per_halo) {
  const smem::Context& context = one_device();
  smem::Array<T> now(context, cells), next(context, smem::Count{cells.size()});
  for (std::size_t step = 0; step < steps; ++step) {
    smem::stencil(context, now.grid(size), next.grid(size), stencil);
    std::swap(now, next);
  }
  const std::vector<T> wanted = now.to_host();
  for (const d::Layout& layout : test::layouts(slowest(size))) {
    d::Grid<T> in(test::session(), size, layout), out(test::session(), size, layout);
    in.write(cells);
    d::stencil(in, out, stencil, steps, {steps_per_halo, d::HaloOrder::edges_first});
    CHECK(different(out.to_host(), wanted) == 0);
    CHECK(different(in.to_host(), cells) == 0);
  }
}

}  // namespace

TEST_CASE("stencil: every boundary, several steps a halo, halos wider than blocks") {
  const smem::GridSize size{40, 23};
  const std::vector<float> cells = picture(size);
  const std::vector<double> weights = {0.1, 0.2, 0.05, 0.1, 0.1, 0.05, 0.15, 0.05, 0.2};
  for (const smem::Boundary boundary :
       {smem::Boundary::zero, smem::Boundary::constant, smem::Boundary::clamp, smem::Boundary::reflect,
        smem::Boundary::mirror, smem::Boundary::wrap}) {
    CAPTURE(static_cast<int>(boundary));
    const smem::Stencil stencil = smem::Stencil::box({1, 1, 0}, weights, {boundary, 3.0});
    check_stencil(size, cells, stencil, 5, 2);
  }
  check_stencil(size, cells, smem::Stencil::box({1, 1, 0}, weights), 0, 1);
  check_stencil(size, cells, smem::Stencil::box({1, 1, 0}, weights), 30, 30);
}

TEST_CASE("stencil: signals, volumes, bytes") {
  const std::vector<double> along = {0.25, 0.25};
  check_stencil<float>({4001}, picture({4001}), smem::Stencil::star(0.5, along), 4, 2);
  check_stencil<float>({9, 7, 11}, picture({9, 7, 11}),
                       smem::Stencil::star(0.1, {0.1, 0.2}, {0.1, 0.2}, {0.05, 0.05, 0.1, 0.1}), 3, 1);
  const std::vector<std::uint8_t> bytes = test::numbers<std::uint8_t>(40 * 23, 0, 255);
  check_stencil<std::uint8_t>({40, 23}, bytes, smem::Stencil::star(0.5, {0.125, 0.125}, {0.125, 0.125}), 3,
                              3);
}

TEST_CASE("stencil and heat: edges first or whole blocks, on large blocks") {
  const smem::GridSize size{16, 900};
  const std::vector<float> cells = picture(size);
  const smem::Stencil stencil = smem::Stencil::star(0.4, {0.1, 0.2}, {0.1, 0.2}, {}, {smem::Boundary::wrap});
  smem::Array<float> now(one_device(), cells), next(one_device(), smem::Count{cells.size()});
  const smem::Heat heat{.steps = 10, .dt = 0.2};
  smem::heat(one_device(), now.grid(size), next.grid(size), heat);
  const std::vector<float> heated = next.to_host();
  for (int step = 0; step < 10; ++step) {
    smem::stencil(one_device(), now.grid(size), next.grid(size), stencil);
    std::swap(now, next);
  }
  const std::vector<float> wanted = now.to_host();
  d::Grid<float> in(test::session(), size), out(test::session(), size);
  in.write(cells);
  for (const d::HaloOrder order :
       {d::HaloOrder::automatic, d::HaloOrder::edges_first, d::HaloOrder::whole_blocks}) {
    for (const std::size_t steps : {0, 1, 3}) {
      d::stencil(in, out, stencil, 10, {steps, order});
      CHECK(different(out.to_host(), wanted) == 0);
      d::heat(in, out, heat, {steps, order});
      CHECK(different(out.to_host(), heated) == 0);
    }
  }
}

TEST_CASE("heat: walls, dimensions, any number of steps a halo") {
  for (const smem::GridSize& size :
       {smem::GridSize{33, 29}, smem::GridSize{500}, smem::GridSize{7, 6, 13}, smem::GridSize{50, 2}}) {
    const std::vector<float> cells = picture(size);
    for (const smem::Walls walls : {smem::Walls::insulated, smem::Walls::fixed, smem::Walls::held}) {
      smem::Heat heat{.steps = 11, .dx = 1, .dy = 1.5, .dz = 2, .walls = walls, .wall_value = 20};
      heat.dt = 0.9 * smem::heat_time_step_limit(heat, size.depth != 1 ? 3 : size.height != 1 ? 2 : 1);
      smem::Array<float> before(one_device(), cells), after(one_device(), smem::Count{cells.size()});
      smem::heat(one_device(), before.grid(size), after.grid(size), heat);
      const std::vector<float> wanted = after.to_host();
      for (const d::Layout& layout : test::layouts(slowest(size))) {
        d::Grid<float> in(test::session(), size, layout), out(test::session(), size, layout);
        in.write(cells);
        for (const d::Halo& halo :
             {d::Halo{}, d::Halo{1, d::HaloOrder::edges_first}, d::Halo{4, d::HaloOrder::edges_first}}) {
          d::heat(in, out, heat, halo);
          CHECK(different(out.to_host(), wanted) == 0);
        }
      }
    }
  }
}

TEST_CASE("stencil and heat: refused calls") {
  const d::Session& session = test::session();
  d::Grid<float> in(session, {20, 10}), out(session, {20, 10}), other(session, {10, 20});
  const smem::Stencil stencil = smem::Stencil::star(0.5, {0.25, 0.25});
  CHECK(test::failure_of([&] { d::stencil(in, out, stencil); }).argument == "in");  // without values
  in.write(std::vector<float>(200, 1.0F));
  CHECK(test::failure_of([&] { d::stencil(in, in, stencil); }).argument == "out");
  CHECK(test::failure_of([&] { d::stencil(in, other, stencil); }).argument == "out");
  smem::Stencil leaves = stencil;
  leaves.edges.boundary = smem::Boundary::leave;
  CHECK(test::failure_of([&] { d::stencil(in, out, leaves); }).argument == "stencil.edges");
  smem::Stencil wraps = smem::Stencil::star(0.5, {}, {0.25, 0.25}, {}, {smem::Boundary::wrap});
  CHECK(test::failure_of([&] { d::stencil(in, out, wraps, 1, {std::size_t{1} << 40}); }).argument ==
        "halo.steps");
  CHECK(test::failure_of([&] { d::heat(in, out, {.steps = 3, .dt = 5}); }).argument != "");  // not stable
  smem::Array<float> grid(one_device(), smem::Count{200});
  CHECK(test::failure_of([&] {
          d::heat(in, out, {.steps = 1, .dt = 0.1, .source = grid.grid({20, 10})});
        }).argument == "heat");
  d::heat(in, out, {.steps = 3, .dt = 0.1});
  CHECK(different(out.to_host(), std::vector<float>(200, 1.0F)) == 0);
}
