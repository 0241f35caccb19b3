// What plans for Hopper choose for shapes whose times are in the policies' comments.
#include <smem/smem.hpp>

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

using smem::Scalar;

TEST_CASE("plans for Hopper: pools of windows that overlap make several results, one below the other") {
  const smem::Device hopper = test::target("sm_90");
  smem::PoolProblem p;
  p.in = p.out = Scalar::float32;
  p.width = 4000, p.height = 3000;
  p.pooling = smem::Pooling::square(3, 1, 1);
  const smem::Plan plan = smem::plan_pool(hopper, p);
  CHECK(plan.variant == "windows");
  CHECK(plan.number("band") == 8);
  p.pooling = smem::Pooling::square(2, 2, 0);
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  p.in_alignment = 4;  // single elements
  CHECK(smem::plan_pool(hopper, p).variant == "windows");
  p.in_alignment = 16;
  p.in = p.out = Scalar::half;
  p.pooling = smem::Pooling::square(3, 1, 1);
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  // Small planes: bands of seven rows, and as many planes as fill a group.
  p.width = p.height = 14, p.planes = 100000;
  const smem::Plan small = smem::plan_pool(hopper, p, {.variant = "windows"});
  CHECK(small.number("band") == 7);
  CHECK(small.work_group == std::array<std::size_t, 3>{16, 2, 8});
  p.planes = 10;  // few results
  CHECK(smem::plan_pool(hopper, p, {.variant = "windows"}).number("band") == 1);
  // Planes of one column: a group has no more of them than the device takes along z.
  p.width = 3, p.planes = 1000000;
  p.pooling = smem::Pooling::square(3, 1, 0);
  const smem::Plan thin = smem::plan_pool(hopper, p, {.variant = "windows"});
  CHECK(thin.number("band") == 6);
  CHECK(thin.work_group == std::array<std::size_t, 3>{1, 4, 64});
}

TEST_CASE("plans for Hopper: rows of doubles in registers, and short rows of whole packs in tiles") {
  const smem::Device hopper = test::target("sm_90");
  smem::SoftmaxProblem rows;
  rows.in = rows.out = Scalar::float64;
  rows.rows = 4000, rows.cols = 5000;
  CHECK(smem::plan_softmax(hopper, rows).variant == "shuffle");
  rows.cols = 16384;
  CHECK(smem::plan_softmax(hopper, rows).variant == "ahead");
  smem::NormProblem norm;
  norm.in = norm.out = Scalar::half;
  norm.rows = 1000000, norm.cols = 32, norm.packed = true;
  CHECK(smem::plan_norm(hopper, norm).variant == "short_rows");
  norm.cols = 64;
  CHECK(smem::plan_norm(hopper, norm).variant == "shuffle");
}

TEST_CASE("plans for Hopper: softmax of halves by two warps where one would have four packs") {
  const smem::Device hopper = test::target("sm_90");
  const auto plan_of = [&](std::size_t cols, Scalar type = Scalar::half, std::size_t alignment = 16) {
    smem::SoftmaxProblem rows;
    rows.in = rows.out = type;
    rows.rows = 8192, rows.cols = cols, rows.row_alignment = alignment;
    return smem::plan_softmax(hopper, rows);
  };
  const smem::Plan split = plan_of(1000);
  CHECK(split.variant == "shuffle");
  CHECK(split.work_items() == 128);
  CHECK(split.tile_rows == 2);
  CHECK(split.items_per_work_item == 16);
  const smem::Device narrow = smem::clamp(hopper, "work_group=64");  // has no group of two such rows
  CHECK(smem::plan_softmax(narrow, {.in = Scalar::half, .out = Scalar::half, .rows = 8192, .cols = 1000})
            .work_items() <= 64);
  CHECK(split.groups() == 4096);
  CHECK(plan_of(952).items_per_work_item == 32);   // 119 packs
  CHECK(plan_of(768).items_per_work_item == 24);   // three packs of one warp
  CHECK(plan_of(2000).items_per_work_item == 32);  // four of two warps
  CHECK(plan_of(1000, Scalar::bfloat16).items_per_work_item == 32);
  CHECK(plan_of(1001, Scalar::half, 2).items_per_work_item == 32);  // rows begin anywhere
}

TEST_CASE("plans for Hopper: long rows with weights alone are shared by teams") {
  const smem::Device hopper = test::target("sm_90");
  smem::NormProblem norm;
  norm.in = norm.out = norm.weights = Scalar::float32;
  norm.rows = 500, norm.cols = 100000, norm.weight = true;
  CHECK(smem::plan_norm(hopper, norm).variant == "persistent");
  norm.weight = false;
  CHECK(smem::plan_norm(hopper, norm).variant != "persistent");
}

TEST_CASE("plans for Hopper: columns that local memory holds go in one launch, halves by the cache") {
  const smem::Device hopper = test::target("sm_90");
  smem::SoftmaxColumnsProblem p;
  p.in = p.out = Scalar::float32;
  p.rows = 512, p.cols = 2000;
  CHECK(smem::plan_softmax_columns(hopper, p).variant == "tiled");
  p.rows = 100000, p.cols = 30;
  CHECK(smem::plan_softmax_columns(hopper, p).variant == "split");
  p.in = p.out = Scalar::half;
  p.rows = 768, p.cols = 5000;
  CHECK(smem::plan_softmax_columns(hopper, p).variant == "online");
  p.cols = 100000;  // more than the cache holds
  CHECK(smem::plan_softmax_columns(hopper, p).variant == "tiled");
}

TEST_CASE("plans for Hopper: batches of small matrices are transposed in place as runs") {
  const smem::Device hopper = test::target("sm_90");
  smem::TransposeProblem p;
  p.element_bytes = 4, p.batch = 1000, p.in_place = p.in_packed = p.out_packed = true;
  for (const auto& [side, variant] :
       {std::pair<std::size_t, const char*>{32, "strips"}, {96, "strips"}, {128, "vector"}}) {
    p.rows = p.cols = side;
    CHECK(smem::plan_transpose(hopper, p).variant == variant);
  }
}

TEST_CASE("plans of stencils: tiles of small flat boxes know their window where that was measured") {
  smem::StencilProblem p{.type = Scalar::float32, .shape = smem::StencilShape::box};
  p.size = {4000, 4000, 1};
  p.out_size = {800, 800, 1};
  p.window = {3, 3, 1};
  p.stride = {5, 5, 1};  // more than those of "rows"
  p.first = {-1, -1, 0};
  const auto knows_window = [&](const char* target) {
    const smem::Plan plan = smem::plan_stencil(test::target(target), p);
    CHECK(plan.variant == "tiled");
    return plan.build_options().find("-DSTRIDE_X=5") != std::string::npos;
  };
  CHECK(knows_window("sm_90"));
  CHECK_FALSE(knows_window("sm_75"));
  p.window = {7, 7, 1};
  p.channels = 3;
  CHECK(knows_window("sm_90"));
  p.channels = 4;
  CHECK_FALSE(knows_window("sm_90"));
}

TEST_CASE("plans of stencils: tiles of known windows have no more rows than the grid needs") {
  smem::StencilProblem p{.type = Scalar::float32, .shape = smem::StencilShape::box};
  p.size = {4000, 40, 1};
  p.out_size = {800, 40, 1};
  p.batch = 1000;
  p.window = {3, 3, 1};
  p.stride = {5, 1, 1};
  p.first = {-1, -1, 0};
  const auto rows_each = [&] {
    return smem::plan_stencil(test::target("sm_90"), p, {.variant = "tiled"}).items_per_work_item;
  };
  CHECK(rows_each() == 4);
  p.size[1] = p.out_size[1] = 16;
  CHECK(rows_each() == 2);
  p.size[1] = p.out_size[1] = 3;
  CHECK(rows_each() == 1);
}
