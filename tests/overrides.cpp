// Tile, work-group and layout fixed by hand: the results stay right, and what contradicts itself is refused.
#include <smem/flip_plan.hpp>
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"
#include "support/transposed.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using Kind = smem::LocalLayout::Kind;

constexpr std::size_t kFixedRows = 130, kFixedCols = 200;

bool runs_fixed(const smem::Context& context, const smem::PlanOverrides& fixed) {
  return test::transposes(context, kFixedRows, kFixedCols, {.overrides = &fixed});
}

std::string refused_field(const smem::Device& device, const smem::PlanOverrides& fixed) {
  smem::TransposeProblem problem;
  problem.rows = kFixedRows;
  problem.cols = kFixedCols;
  const auto error = test::failure_of([&] { smem::plan_transpose(device, problem, fixed); });
  return error.argument;
}

}  // namespace

TEST_CASE("overrides: every layout of every tile gives the right result") {
  const smem::Context context;
  for (const std::size_t tile : {4, 16, 32, 64}) {
    for (const std::size_t step : {1, 4}) {
      CAPTURE(tile);
      CAPTURE(step);
      const auto fixed = [&](const char* variant, const smem::LayoutChoice& layout) {
        return smem::PlanOverrides{variant, tile, tile, tile * step, layout};
      };
      if (tile * step > context.device().max_work_group) continue;
      CHECK(runs_fixed(context, fixed("tiled", {})));
      for (const std::size_t padding : {1, 2, 7})
        CHECK(runs_fixed(context, fixed("padded", {.padding = padding})));
      for (const std::size_t mask : {1, 3})
        CHECK(runs_fixed(context, fixed("swizzled", {.swizzle_mask = mask})));
      CHECK(runs_fixed(context, fixed("swizzled", {.kind = Kind::swizzled, .swizzle_mask = tile - 1})));
    }
  }
  for (const char* layout : {"plain", "padded:1", "padded:3", "swizzled:1", "swizzled"}) {
    CAPTURE(layout);
    CHECK(runs_fixed(context, {"vector", 32, 64, 64, smem::parse_layout(layout)}));
    CHECK(runs_fixed(context, {"vector", 64, 16, 32, smem::parse_layout(layout)}));
  }
}

TEST_CASE("overrides: the plan has what was fixed, and comes again from itself") {
  const smem::Device device = test::targets::nvidia("sm_90", 227 * 1024);
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 4096;
  const smem::PlanOverrides fixed{"vector", 128, 32, 128, {.padding = 3}};
  const smem::Plan plan = smem::plan_transpose(device, problem, fixed);
  CHECK(plan.tile_rows == 128);
  CHECK(plan.tile_cols == 32);
  CHECK(plan.work_items() == 128);
  CHECK(plan.layout.stride == plan.layout.cols + 3);
  CHECK(plan.overrides == fixed);
  CHECK(smem::plan_transpose(device, problem, plan.overrides) == plan);
  // Without a variant, the plan's own choice has it.
  const smem::Plan chosen = smem::plan_transpose(device, problem, {.layout = {.kind = Kind::swizzled}});
  CHECK(chosen.variant == "vector");
  CHECK(chosen.layout.kind == Kind::swizzled);
}

TEST_CASE("overrides: what cannot be is refused by the name of the field") {
  const smem::Device device = test::targets::nvidia("sm_90", 227 * 1024);
  CHECK(refused_field(device, {"tiled", 32, 16}) == "tile_cols");
  CHECK(refused_field(device, {"tiled", 24}) == "tile_rows");
  CHECK(refused_field(device, {"tiled", 128}) == "tile_rows");
  CHECK(refused_field(device, {"vector", 0, 2048}) == "tile_cols");
  CHECK(refused_field(device, {"vector", 1024, 1024}) == "tile_rows");  // larger than any local memory
  CHECK(refused_field(device, {"tiled", 32, 0, 48}) == "work_items");
  CHECK(refused_field(device, {"tiled", 32, 0, 2048}) == "work_items");
  CHECK(refused_field(device, {"vector", 8, 8, 1024}) == "tile_rows");  // more work-items than blocks
  CHECK(refused_field(device, {"naive", 32}) == "tile_rows");
  CHECK(refused_field(device, {"naive", 0, 32}) == "tile_cols");
  CHECK(refused_field(device, {"skewed", 0, 0, 64}) == "work_items");
  CHECK(refused_field(device, {"naive", 0, 0, 0, {.padding = 1}}) == "layout");
  CHECK(refused_field(device, {"tiled", 0, 0, 0, {.padding = 1}}) == "layout.padding");
  CHECK(refused_field(device, {"tiled", 0, 0, 0, {.kind = Kind::padded}}) == "layout");
  CHECK(refused_field(device, {"padded", 0, 0, 0, {.kind = Kind::padded, .swizzle_mask = 1}}) ==
        "layout.swizzle_mask");
  CHECK(refused_field(device, {"swizzled", 0, 0, 0, {.swizzle_mask = 5}}) == "layout.swizzle_mask");
  CHECK(refused_field(device, {"fastest"}) == "variant");
  // What was fixed does not shrink.
  const smem::Device small = smem::clamp(device, "local=1K");
  CHECK(refused_field(small, {"tiled", 32}) == "tile_rows");
  CHECK(refused_field(small, {"padded", 0, 0, 0, {.padding = 1000}}) == "layout");
  const auto error = test::failure_of([&] {
    smem::plan_transpose(small, {.rows = 100, .cols = 100},
                         smem::PlanOverrides{.variant = "tiled", .tile_rows = 32});
  });
  CHECK(test::contains(error.expected, "1024 bytes of local memory"));
  CHECK(test::contains(error.got, "4096 bytes"));

  smem::FlipProblem flip{4, kFixedRows, kFixedCols};
  const auto flip_field = [&](const smem::PlanOverrides& fixed) {
    return test::failure_of([&] { smem::plan_flip(device, flip, fixed); }).argument;
  };
  CHECK(flip_field({.tile_rows = 2}) == "tile_rows");
  CHECK(flip_field({.tile_cols = 2}) == "tile_cols");
  CHECK(flip_field({.work_items = 3}) == "work_items");
  CHECK(flip_field({.work_items = 4096}) == "work_items");
  CHECK(flip_field({.layout = {.padding = 1}}) == "layout");
  CHECK(smem::plan_flip(device, flip, smem::PlanOverrides{.work_items = 64}).work_items() == 64);
}

TEST_CASE("overrides: contradictory options of a call are refused") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(6)), out(context, std::vector<float>(6, 7.0F));
  const smem::PlanOverrides fixed{.variant = "naive"};
  const smem::Plan plan = smem::plan_transpose(
      context.device(), {.rows = 2, .cols = 3, .in_alignment = 4, .out_alignment = 8}, {.variant = "naive"});
  const auto field = [&](const smem::CallOptions& options) {
    return test::failure_of([&] { smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), options); })
        .argument;
  };
  CHECK(field({.plan = &plan, .overrides = &fixed}) == "overrides");
  CHECK(field({.variant = "tiled", .plan = &plan}) == "variant");
  CHECK(field({.variant = "tiled", .overrides = &fixed}) == "overrides.variant");
  CHECK(out.to_host() == std::vector<float>(6, 7.0F));
  smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), {.variant = "naive", .plan = &plan});
  smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), {.variant = "naive", .overrides = &fixed});
  CHECK(out.to_host() == std::vector<float>(6));
}
