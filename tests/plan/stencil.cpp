// Plans of stencils for described devices: they fit, and have reasons.
#include <smem/error.hpp>
#include <smem/stencil_plan.hpp>

#include "support/failure.hpp"
#include "support/fits.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

using smem::Scalar;
using test::target;

namespace {

using Sizes = std::array<std::size_t, 3>;

/// What the plan defines as `name`; 0: nothing.
long defined(const smem::Plan& plan, const std::string& name) {
  for (const auto& [key, value] : plan.defines)
    if (key == name) return value;
  return 0;
}

}  // namespace

TEST_CASE("plan of stencil: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Scalar type : {Scalar::uint8, Scalar::half, Scalar::float32}) {
        for (const Sizes& size :
             {Sizes{1, 1, 1}, Sizes{std::size_t{1} << 33, 1, 1}, Sizes{3, std::size_t{1} << 33, 1},
              Sizes{4096, 4096, 1}, Sizes{256, 256, 256}}) {
          for (const Sizes& radius : {Sizes{0, 0, 0}, Sizes{1, 1, 0}, Sizes{7, 7, 0}, Sizes{1, 1, 1},
                                      Sizes{100, 100, 100}, Sizes{100000, 0, 0}}) {
            const smem::StencilProblem problem = smem::stencil_problem(type, size, radius, 3);
            for (const std::string_view variant :
                 {"", "naive", "tiled", "blocks", "rows", "units", "march", "planes", "cpu"}) {
              try {
                const smem::Plan plan =
                    smem::plan_stencil(device, problem, {.variant = std::string(variant)});
                test::check_fits(device, plan, variant, smem::stencil_variants().size());
              } catch (const smem::Error& error) {
                test::check_refused_variant(error, variant);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("plan of stencil: what each kind of device and window gets") {
  const smem::Device h200 = target("sm_90");
  CHECK(
      smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {1, 1, 0})).variant ==
      "rows");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {2, 2, 0}))
            .items_per_work_item == 32);
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::uint8, {8192, 8192, 1}, {1, 1, 0}, 4))
            .vector_width == 16);
  CHECK(
      smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {512, 512, 512}, {1, 1, 1})).variant ==
      "planes");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {20, 20, 0}))
            .variant == "blocks");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {512, 512, 1}, {500, 500, 0}))
            .variant == "naive");
  const smem::Plan blocks = smem::plan_stencil(
      h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {7, 7, 0}), {.variant = "blocks"});
  CHECK(blocks.items_per_work_item == 32);
  CHECK(blocks.local_bytes == (8192 + 256) * 4);
  CHECK(defined(blocks, "INTEL_SUB_GROUP") == 0);
  // Its compiler keeps sums in registers where sub-groups are half as wide.
  const smem::Plan on_intel =
      smem::plan_stencil(target("pvc"), smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {7, 7, 0}),
                         {.variant = "blocks"});
  CHECK(defined(on_intel, "INTEL_SUB_GROUP") == 16);
  // Weights that int8 holds, from 5 x 5 on.
  smem::StencilProblem bytes = smem::stencil_problem(Scalar::uint8, {8192, 8192, 1}, {2, 2, 0}, 4);
  CHECK(smem::plan_stencil(h200, bytes).variant == "rows");
  bytes.int8_weights = true;
  CHECK(smem::plan_stencil(h200, bytes).variant == "units");
  CHECK(smem::plan_stencil(target("gfx942"), bytes).variant != "units");
  bytes.window = {3, 3, 1}, bytes.first = {-1, -1, 0};
  CHECK(smem::plan_stencil(h200, bytes).variant == "rows");
  // Three columns of such weights are summed by dot products.
  CHECK(defined(smem::plan_stencil(h200, bytes), "BYTE_SUMS") == 1);
  CHECK(defined(smem::plan_stencil(h200, bytes), "TURNS") == 4);
  CHECK(defined(smem::plan_stencil(target("gfx942"), bytes), "BYTE_SUMS") == 0);
  bytes.int8_weights = false;
  CHECK(defined(smem::plan_stencil(h200, bytes), "BYTE_SUMS") == 0);
  CHECK(defined(smem::plan_stencil(h200, bytes), "TURNS") == 8);
  // Halves with any weights, from 7 x 7 on.
  smem::StencilProblem halves = smem::stencil_problem(Scalar::half, {8192, 8192, 1}, {3, 3, 0});
  CHECK(smem::plan_stencil(h200, halves).variant == "units");
  CHECK(defined(smem::plan_stencil(h200, halves), "ELEMENT_BYTES") == 2);
  CHECK(smem::plan_stencil(h200, halves).most_registers == 112);
  CHECK(smem::plan_stencil(h200, halves).number("band") == 64);
  halves.window = {5, 5, 1}, halves.first = {-2, -2, 0};
  CHECK(smem::plan_stencil(h200, halves).variant == "rows");
  smem::StencilProblem strided = smem::stencil_problem(Scalar::float32, {512, 512, 1}, {1, 1, 0});
  strided.stride = {2, 2, 1};
  strided.out_size = {256, 256, 1};
  CHECK(smem::plan_stencil(h200, strided).variant == "tiled");
}

TEST_CASE("plan of stencil: volumes are made in registers where their windows fit") {
  const smem::Device h200 = target("sm_90");
  const auto star = [](std::size_t radius) {
    smem::StencilProblem problem =
        smem::stencil_problem(Scalar::float32, {512, 512, 512}, {radius, radius, radius});
    problem.shape = smem::StencilShape::star;
    return problem;
  };
  const smem::Plan plan = smem::plan_stencil(h200, star(1));
  CHECK(plan.variant == "planes");
  CHECK(defined(plan, "STEPS") == 6);
  CHECK(defined(plan, "PACKED") == 1);
  CHECK(plan.items_per_work_item == 32);
  CHECK(plan.tile_rows == 2 * 4 * 4);
  CHECK(plan.tile_cols == 128);
  smem::StencilProblem bytes = star(1);
  bytes.type = Scalar::uint8;
  CHECK(smem::plan_stencil(h200, bytes).tile_rows == 4 * 4);
  // Fewer rows, then planes, for a larger window, and what does not fit at all goes through local memory.
  CHECK(defined(smem::plan_stencil(h200, star(2)), "ROWS") == 2);
  CHECK(defined(smem::plan_stencil(h200, star(3)), "ROWS") == 0);
  CHECK(defined(smem::plan_stencil(h200, star(4)), "STEPS") == 4 + 8);
  const auto box = [](std::size_t radius) {
    return smem::stencil_problem(Scalar::float32, {512, 512, 512}, {radius, radius, radius});
  };
  CHECK(defined(smem::plan_stencil(h200, box(1)), "STEPS") == 6 + 2);
  CHECK(defined(smem::plan_stencil(h200, box(2)), "STEPS") == 2 + 4);
  CHECK(defined(smem::plan_stencil(h200, box(1)), "ROWS") == 0);
  CHECK(smem::plan_stencil(h200, box(3)).variant == "march");
  CHECK(smem::plan_stencil(h200, star(5)).variant == "march");
  CHECK(smem::plan_stencil(h200, star(6)).variant == "march");
  // Where rows begin anywhere, element by element.
  smem::StencilProblem odd = smem::stencil_problem(Scalar::half, {303, 303, 303}, {1, 1, 1});
  CHECK(defined(smem::plan_stencil(h200, odd), "PACK") == 1);
  CHECK(defined(smem::plan_stencil(h200, odd), "ROWS") == 4);
  odd = smem::stencil_problem(Scalar::half, {303, 303, 303}, {2, 1, 1});
  CHECK(defined(smem::plan_stencil(h200, odd), "PACK") == 8);
  odd = smem::stencil_problem(Scalar::half, {303, 303, 1}, {1, 1, 0});
  CHECK(defined(smem::plan_stencil(h200, odd), "PACK") == 1);
  odd = smem::stencil_problem(Scalar::float32, {303, 303, 1}, {1, 1, 0});
  CHECK(defined(smem::plan_stencil(h200, odd), "PACK") == 4);
  // What is fixed by hand: elements along x, rows of all planes, work-items.
  const smem::Plan fixed = smem::plan_stencil(
      h200, star(1), {.variant = "planes", .tile_rows = 8 * 2 * 3, .tile_cols = 64, .work_items = 128});
  CHECK(defined(fixed, "STEPS") == 3 + 2);
  CHECK(fixed.work_group == Sizes{16, 8, 1});
  CHECK(fixed.tile_rows == 48);
  CHECK(fixed.tile_cols == 64);
  const auto refused = [&](const smem::PlanOverrides& overrides) {
    return test::failure_of([&] { smem::plan_stencil(h200, star(1), overrides); }).argument;
  };
  CHECK(refused({.variant = "planes", .tile_cols = 6}) == "tile_cols");
  CHECK(refused({.variant = "planes", .tile_cols = 12}) == "tile_cols");
  CHECK(refused({.variant = "planes", .tile_rows = 6}) == "tile_rows");
  CHECK(refused({.variant = "planes", .tile_rows = 4000}) == "tile_rows");
  CHECK(refused({.variant = "march", .tile_rows = 16}) == "tile_rows");
  CHECK(refused({.tile_rows = 16}) == "tile_rows");
}

TEST_CASE(
    "plan of stencil: NVIDIA's devices read small elements in words, and bytes in turns where there is "
    "much") {
  const auto plan_of = [](const char* device, Scalar type, std::size_t edge, std::size_t radius) {
    return smem::plan_stencil(target(device),
                              smem::stencil_problem(type, {edge, edge, 1}, {radius, radius, 0}, 4),
                              {.variant = "rows"});
  };
  const smem::Plan large = plan_of("sm_90", Scalar::uint8, 8192, 1);
  CHECK(defined(large, "NVIDIA_BYTES") == 1);
  CHECK(defined(large, "STEPS") == 6);
  CHECK(defined(large, "TURNS") == 8);
  CHECK(large.items_per_work_item == 16 * (6 * 8 - 2));
  CHECK(large.work_group == Sizes{64, 1, 1});
  smem::StencilProblem cells = smem::stencil_problem(Scalar::uint8, {8192, 8192, 1}, {1, 1, 0}, 4);
  cells.int8_weights = true;
  CHECK(smem::plan_stencil(target("sm_90"), cells, {.variant = "rows"}).items_per_work_item == 16 * 16);
  // Fewer turns, or none, where not all units would have work; and none where a sum waits for many rows.
  CHECK(defined(plan_of("sm_90", Scalar::uint8, 2048, 1), "TURNS") == 2);
  CHECK(defined(plan_of("sm_90", Scalar::uint8, 256, 1), "TURNS") == 0);
  CHECK(defined(plan_of("sm_90", Scalar::uint8, 8192, 2), "TURNS") == 0);
  CHECK(defined(plan_of("sm_90", Scalar::uint8, 8192, 2), "NVIDIA_BYTES") == 1);
  CHECK(defined(plan_of("sm_90", Scalar::half, 8192, 1), "NVIDIA_HALVES") == 1);
  CHECK(defined(plan_of("sm_75", Scalar::half, 8192, 1), "NVIDIA_HALVES") == 0);
  for (const char* other : {"gfx942", "gfx1100"}) {
    CHECK(defined(plan_of(other, Scalar::uint8, 8192, 1), "TURNS") == 0);
    CHECK(defined(plan_of(other, Scalar::uint8, 8192, 1), "NVIDIA_BYTES") == 0);
  }
  // Rows that begin anywhere are read byte by byte.
  smem::StencilProblem odd = smem::stencil_problem(Scalar::uint8, {8191, 8191, 1}, {1, 1, 0}, 1);
  odd.in_alignment = odd.out_alignment = 1;
  CHECK(defined(smem::plan_stencil(target("sm_90"), odd, {.variant = "rows"}), "NVIDIA_BYTES") == 0);
}
