// Which groups of "wgmma" add the parts of a tile together, and which tiles have registers to add them alone
// (host/plan/gemm_wgmma.cpp).
#include <smem/gemm_plan.hpp>

#include "plan/gemm_variants.hpp"
#include "plan/gemm_wgmma.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>

namespace nvidia = smem::plan::gemm::nvidia;
using smem::plan::gemm::Split;

namespace {

smem::GemmProblem product(smem::Scalar type, std::size_t k) {
  smem::GemmProblem problem{.m = 128, .n = 128, .k = k};
  problem.in = problem.out = type;
  return problem;
}

}  // namespace

TEST_CASE("plan of gemm: groups of wgmma share a join where each has one of 4 to 16 parts") {
  const smem::Device device = test::target("sm_90");
  // A step is 128 bytes along k, a part has two.
  const auto shares = [&](smem::Scalar type, std::size_t k, std::size_t parts, bool aligned = true) {
    return nvidia::shares_join(device, product(type, k),
                               {.parts = parts, .part_depth = 2, .aligned = aligned});
  };
  for (const auto& [type, part] :
       {std::pair{smem::Scalar::half, std::size_t{128}}, {smem::Scalar::float32, 64}}) {
    CHECK_FALSE(shares(type, 3 * part, 3));
    CHECK(shares(type, 3 * part + 1, 4));
    CHECK(shares(type, 16 * part, 16));
    CHECK_FALSE(shares(type, 16 * part + 1, 17));
    CHECK_FALSE(shares(type, 8 * part, 8, false));  // units that are parts of two tiles
    // No group waits for one that has not begun.
    CHECK(shares(type, 8 * part, device.compute_units));
    CHECK_FALSE(shares(type, 8 * part, device.compute_units + 1));
  }
}

TEST_CASE("plan of gemm: large tiles of wgmma have no registers for words across k and a join") {
  const smem::Device device = test::target("sm_90");
  smem::GemmProblem words = product(smem::Scalar::float32, 8192);
  words.a_along_k = false;
  const Split alone{.parts = 8, .part_depth = 2, .aligned = false},
      shared{.parts = 8, .part_depth = 32, .aligned = true};
  REQUIRE(nvidia::shares_join(device, words, shared));
  const auto lacks = [&](const smem::GemmProblem& problem, const Split& split, std::size_t consumers,
                         std::size_t tile_n, std::size_t registers) {
    nvidia::Wgmma tile{.of = {.consumers = consumers, .producers = 1, .tile_n = tile_n}};
    tile.joining_consumer_registers = registers;
    return nvidia::lacks_registers_to_join(device, problem, tile, split);
  };
  CHECK(lacks(words, alone, 2, 256, 232));
  CHECK_FALSE(lacks(words, alone, 2, 248, 232));
  CHECK(lacks(words, alone, 2, 160, 0));
  CHECK_FALSE(lacks(words, alone, 2, 152, 0));
  CHECK_FALSE(lacks(words, alone, 2, 160, 232));
  CHECK_FALSE(lacks(words, shared, 2, 256, 232));
  words.a_along_k = true;  // read where they lie
  CHECK_FALSE(lacks(words, alone, 2, 256, 232));
  CHECK_FALSE(lacks(product(smem::Scalar::half, 8192), alone, 2, 256, 232));
}
