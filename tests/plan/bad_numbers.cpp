// Numbers that no plan function can take, of what no description of an operation says; the others are in
// operations.cpp.
#include <smem/error.hpp>
#include <smem/rates_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/transpose_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t kHostile[] = {0,
                                    1,
                                    std::size_t{1} << 31,
                                    std::size_t{1} << 32,
                                    (std::size_t{1} << 32) + 1,
                                    std::size_t{1} << 62,
                                    std::size_t{1} << 63,
                                    SIZE_MAX};

std::vector<smem::Device> devices() {
  return {test::target("cpu"), test::target("sm_90"), test::target("dg2-g10"),
          smem::clamp(test::target("gfx90a"), "local=1K")};
}

}  // namespace

TEST_CASE("bad input of plans: windows of stencils") {
  // Weights whose number wraps to a small one, and windows that begin anywhere.
  smem::StencilProblem wrapped = smem::stencil_problem(smem::Scalar::float32, {40, 30, 20}, {0, 0, 0});
  wrapped.window = {959245921, 921047187, 864882155};
  CHECK(test::failure_of([&] { smem::plan_stencil(test::target("cpu"), wrapped); }).argument == "weights");
  for (const std::ptrdiff_t first : {PTRDIFF_MIN, PTRDIFF_MAX}) {
    smem::StencilProblem away = smem::stencil_problem(smem::Scalar::float32, {40, 30, 20}, {1, 1, 0});
    away.first[0] = first;
    for (const smem::Device& device : devices())
      CHECK_THROWS_AS(smem::plan_stencil(device, away), smem::Error);
  }
}

TEST_CASE("bad input of plans: rates, layouts and functions of sizes") {
  for (const smem::Device& device : devices()) {
    for (const std::size_t number : kHostile) {
      try {
        const smem::Plan copy = smem::plan_rates(device, {smem::Rate::copy, number});
        CHECK(copy.groups() >= 1);
      } catch (const smem::Error&) {
      }
      const smem::Plan plan = smem::plan_rates(device, {smem::Rate::fp32, number});
      CHECK(plan.prediction.operations >= static_cast<double>(number));
      for (const std::size_t other : kHostile) {
        smem::Tile tile{number, other, 4, 32, {smem::Access::rows(other, true)}};
        for (const std::size_t work_items : {std::size_t{32}, number}) {
          tile.work_items = work_items;
          try {
            smem::infer_layout(device, tile);
          } catch (const smem::Error&) {
          }
        }
      }
      CHECK_NOTHROW(smem::Access::columns(number, false).first(3));
      CHECK_NOTHROW(smem::Access::diagonal(number, number, false).first(3));
      CHECK_NOTHROW(smem::Access::rows(32, true, number).first(3));
    }
  }
}

TEST_CASE("bad input of plans: kinds of layouts that there are not") {
  const smem::Device device = test::target("cpu");
  const auto refused = [](const auto& plan) { return test::failure_of(plan).argument; };
  smem::PlanOverrides fixed{.variant = "tiled"};
  fixed.layout.kind = static_cast<smem::LocalLayout::Kind>(99);
  CHECK(refused([&] { smem::plan_transpose(device, {4, 64, 64}, fixed); }) == "layout");
  CHECK(refused([&] {
          smem::infer_layout(device, {32, 32, 4, 32, {smem::Access::rows(32, true)}}, fixed.layout);
        }) == "layout.kind");
}
