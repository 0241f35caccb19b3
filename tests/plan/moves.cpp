// Plans of moves by places, of searches and of appending to caches, for devices that are not here.
#include <smem/append_to_cache_plan.hpp>
#include <smem/bounds_plan.hpp>
#include <smem/gather_plan.hpp>

#include "support/failure.hpp"
#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>

using smem::BoundsOp;
using smem::GatherOp;
using smem::Scalar;
using test::define_of;
using test::target;

TEST_CASE("plan of gather: work-items of a row") {
  const auto team = [](GatherOp op, std::size_t bytes, std::size_t alignment) {
    const smem::GatherProblem problem{.op = op, .rows = 5000, .row_bytes = bytes, .alignment = alignment};
    const smem::Plan plan = smem::plan_gather(target("sm_90"), problem);
    CHECK(plan.variant == "teams");
    CHECK(plan.vector_width == alignment);
    CHECK(plan.tile_rows == 256 / static_cast<std::size_t>(define_of(plan, "TEAM")) * 4);
    CHECK(plan.groups() == (5000 + plan.tile_rows - 1) / plan.tile_rows);
    return define_of(plan, "TEAM");
  };
  // Few parts are read at once; of more the largest power of two below. Scatters write all at once.
  CHECK(team(GatherOp::gather, 4, 4) == 1);
  CHECK(team(GatherOp::gather, 12, 4) == 4);
  CHECK(team(GatherOp::gather, 16, 4) == 4);
  CHECK(team(GatherOp::gather, 20, 4) == 4);
  CHECK(team(GatherOp::gather, 28, 4) == 4);
  CHECK(team(GatherOp::gather, 32, 4) == 8);
  CHECK(team(GatherOp::scatter, 20, 4) == 8);
  CHECK(team(GatherOp::scatter, 32, 4) == 8);
  CHECK(team(GatherOp::scatter, 36, 4) == 16);
  CHECK(team(GatherOp::scatter, 4096, 16) == 32);
  CHECK(team(GatherOp::gather, 4096, 16) == 32);
}

TEST_CASE("plan of gather: a CPU's stretches of rows, and the bytes of places") {
  const smem::Device cpu = target("cpu");
  const auto plan_of = [&](std::size_t rows, std::size_t bytes, Scalar places) {
    return smem::plan_gather(cpu, {.places = places, .rows = rows, .row_bytes = bytes, .alignment = 4});
  };
  CHECK(plan_of(100, 4, Scalar::uint32).groups() == 1);
  CHECK(plan_of((1 << 16) * 2 - 1, 4, Scalar::uint32).groups() == 1);
  CHECK(plan_of((1 << 16) * 2, 4, Scalar::uint32).groups() == 2);
  CHECK(plan_of(std::size_t{1} << 28, 4, Scalar::uint32).groups() == 8 * cpu.compute_units);
  CHECK(plan_of(1000, 12, Scalar::uint64).prediction.bytes_written == 12000);
  CHECK(plan_of(1000, 12, Scalar::uint64).prediction.bytes_read == 20000);
  CHECK(plan_of(1000, 12, Scalar::uint32).prediction.bytes_read == 16000);
  const auto argument = [&](std::size_t bytes, std::size_t alignment) {
    const smem::GatherProblem problem{.rows = 1, .row_bytes = bytes, .alignment = alignment};
    return test::failure_of([&] { smem::plan_gather(cpu, problem); }).argument;
  };
  CHECK(smem::plan_gather(cpu, {.rows = 1, .row_bytes = 32, .alignment = 16}).vector_width == 16);
  for (const std::size_t alignment : {0, 3, 8, 32})
    CHECK(argument(96 + 4, alignment) == "alignment");
}

TEST_CASE("plan of bounds: limits of samples on Hopper, places, and is_sorted") {
  const smem::Device hopper = target("sm_90");
  const auto variant = [&](BoundsOp op, std::size_t size, std::size_t count) {
    return smem::plan_bounds(hopper, {.op = op, .keys = Scalar::float32, .size = size, .count = count})
        .variant;
  };
  const std::size_t few = std::size_t{1} << 17, many = std::size_t{1} << 21, longest = std::size_t{1} << 20;
  CHECK(variant(BoundsOp::lower_bound, 4096, few) == "sampled");
  CHECK(variant(BoundsOp::lower_bound, 4096, few - 1) == "bisection");
  CHECK(variant(BoundsOp::upper_bound, 4097, many) == "sampled");
  CHECK(variant(BoundsOp::upper_bound, 4097, many - 1) == "bisection");
  CHECK(variant(BoundsOp::lower_bound, longest, 8 * longest) == "sampled");
  CHECK(variant(BoundsOp::lower_bound, longest, 8 * longest - 1) == "bisection");
  CHECK(variant(BoundsOp::lower_bound, longest + 1, 64 * longest) == "bisection");
  CHECK(variant(BoundsOp::is_sorted, 4096, 4096) == "bisection");
  const std::size_t most = 0xffffffff;
  const auto plan = [&](BoundsOp op, std::size_t size, Scalar places) {
    return smem::plan_bounds(hopper, {.op = op, .places = places, .size = size, .count = 1});
  };
  for (const auto& [size, places] : {std::pair{most, Scalar::uint32}, std::pair{most + 1, Scalar::uint64}})
    CHECK(define_of(plan(BoundsOp::upper_bound, size, places), "UPPER") == 1);
  CHECK(define_of(plan(BoundsOp::is_sorted, most + 1, Scalar::uint32), "CHECK") == 1);
  for (const auto& [size, places] : {std::pair{most + 1, Scalar::uint32}, std::pair{most, Scalar::int32}})
    CHECK(test::failure_of([&] { plan(BoundsOp::lower_bound, size, places); }).argument == "places");
}

TEST_CASE("plan of append_to_cache: launches, packs of devices, and refusals") {
  smem::AppendToCacheProblem p{.type = Scalar::half,
                               .batch = 3,
                               .heads = 5,
                               .tokens = 700,
                               .head_size = 64,
                               .value_size = 32,
                               .rotated = 32};
  const auto plan = [&](const char* name) { return smem::plan_append_to_cache(target(name), p); };
  const std::size_t packs = (64 - 16 + 32) / 8;  // a pair of rotated elements is one work-item's
  CHECK(plan("sm_90").groups() == (3 * 5 * 700 * packs + 255) / 256);
  CHECK(plan("pvc").vector_width == 4);
  CHECK(plan("cpu").work_items() == 64);
  CHECK(plan("cpu").groups() == 8 * target("cpu").compute_units);
  CHECK(plan("sm_90").prediction.operations == 3.0 * 3 * 5 * 700 * 32);
  p.ragged = true;  // tokens are those of all sequences
  CHECK(plan("sm_90").groups() == (5 * 700 * packs + 255) / 256);
  const auto refused = [&] {
    return test::failure_of([&] { smem::plan_append_to_cache(target("sm_90"), p); }).argument;
  };
  p.rotated = 64;
  CHECK(define_of(plan("sm_90"), "ROTATED") == 64);
  for (const std::size_t rotated : {31, 66}) {
    p.rotated = rotated;
    CHECK(refused() == "rotated");
  }
  p.rotated = 0;
  p.tokens = (std::size_t{1} << 29) + 1;
  CHECK(refused() == "k");
}
