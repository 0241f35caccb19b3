// Plans of reductions for described devices: they fit, have reasons, and give the same parts
// whatever the size of a work-group.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

using smem::ReduceOp;
using smem::ReduceShape;
using smem::Scalar;
using test::target;

namespace {

smem::ReduceProblem vector_of(std::size_t size, const smem::Reduction& reduction = ReduceOp::sum) {
  smem::ReduceProblem problem;
  problem.reduction = reduction;
  problem.cols = size;
  return problem;
}

bool has(const smem::Plan& plan, std::string_view define) {
  return std::any_of(plan.defines.begin(), plan.defines.end(),
                     [&](const auto& d) { return d.first == define; });
}

std::size_t number_of(const smem::Plan& plan, std::string_view define) {
  const auto at = std::find_if(plan.defines.begin(), plan.defines.end(),
                               [&](const auto& d) { return d.first == define; });
  REQUIRE(at != plan.defines.end());
  return static_cast<std::size_t>(at->second);
}

}  // namespace

TEST_CASE("plan of reduce: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=32K", "local=16K,work_group=64", "local=512", "work_group=1"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const ReduceShape shape :
           {ReduceShape::vector, ReduceShape::rows, ReduceShape::columns, ReduceShape::segments}) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmin, ReduceOp::norm}) {
          for (const std::size_t size : {1, 1000, 1 << 20}) {
            smem::ReduceProblem problem = vector_of(size, op);
            problem.shape = shape;
            problem.out = op == ReduceOp::argmin ? Scalar::uint64 : Scalar::float32;
            if (shape != ReduceShape::vector) problem.rows = 1000;
            const smem::Plan plan = smem::plan_reduce(device, problem);
            CAPTURE(plan.to_string());
            CHECK(plan.local_bytes <= device.local_bytes);
            CHECK(plan.work_items() <= device.max_work_group);
            CHECK(plan.global[0] % plan.work_group[0] == 0);
            CHECK(plan.global[0] > 0);
            CHECK((plan.after.empty() || plan.scratch_bytes > 0));
            for (const smem::Launch& finish : plan.after)
              CHECK(finish.local_bytes <= device.local_bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("plan reduce: a CPU's threads have one vector of accumulators for short rows") {
  const auto lanes_of = [](std::size_t cols, const smem::Reduction& reduction) {
    smem::ReduceProblem rows{
        .reduction = reduction, .shape = smem::ReduceShape::rows, .rows = 500000, .cols = cols};
    if (reduction.op == smem::ReduceOp::argmin) rows.out = smem::Scalar::uint32;
    return smem::plan_reduce(target("cpu"), rows).tile_cols;
  };
  CHECK(lanes_of(77, smem::ReduceOp::sum) == 16);
  CHECK(lanes_of(77, smem::ReduceOp::max) == 16);
  CHECK(lanes_of(77, smem::ReduceOp::minmax) == 16);
  CHECK(lanes_of(77, smem::ReduceOp::argmin) == 16);
  CHECK(lanes_of(5000, smem::ReduceOp::sum) == 64);
  CHECK(lanes_of(77, {smem::ReduceOp::sum, smem::FloatMode::compensated}) != 16);
  CHECK(lanes_of(77, smem::ReduceOp::norm) != 16);
  smem::Reduction in_order = smem::ReduceOp::sum;
  in_order.commutes = false;
  CHECK(lanes_of(77, in_order) == 1);
}

TEST_CASE("plan of reduce: what each kind of device chooses") {
  const smem::ReduceProblem problem = vector_of(std::size_t{1} << 28);
  const smem::Plan nvidia = smem::plan_reduce(target("sm_90"), problem);
  CHECK(nvidia.variant == "shuffle");
  CHECK(nvidia.vector_width == 4);
  CHECK(nvidia.work_group[0] == 256);
  // Eight groups for each of 64 units, whose last one to end combines all: work-groups can hand over there.
  CHECK(nvidia.global[0] == 64 * 8 * 256);
  CHECK(has(nvidia, "ONE_LAUNCH"));
  CHECK(nvidia.scratch_bytes == 64 * 8 * 4);
  CHECK(nvidia.after.empty());
  CHECK(nvidia.prediction.bytes() == doctest::Approx((1 << 30) + 4.0));
  // On AMD and Intel that is not known, so another launch follows.
  const smem::Plan amd = smem::plan_reduce(target("gfx90a"), problem);
  CHECK(amd.variant == "several");
  CHECK(!has(amd, "ONE_LAUNCH"));
  REQUIRE(amd.after.size() == 1);
  CHECK(amd.after[0].entry_point == "reduce_finish");
  CHECK(amd.after[0].global[0] == 256);
  const smem::Plan cpu = smem::plan_reduce(target("cpu"), problem);
  CHECK(cpu.variant == "cpu");
  CHECK(cpu.work_items() == 1);
  CHECK(cpu.global[0] == 32);
  smem::Device impatient = target("cpu");
  impatient.long_loops = false;
  CHECK(smem::plan_reduce(impatient, problem).variant == "several");
  CHECK(test::failure_of([&] { smem::plan_reduce(impatient, problem, {.variant = "cpu"}); }).argument ==
        "variant");
}

TEST_CASE("plan of reduce: many elements of segments are balanced where groups can hand over") {
  smem::ReduceProblem problem = vector_of(std::size_t{1} << 24);
  problem.shape = smem::ReduceShape::segments;
  problem.rows = 100000;
  const smem::Plan plan = smem::plan_reduce(target("sm_90"), problem);
  CHECK(plan.variant == "balanced");
  REQUIRE(plan.after.size() == 1);
  CHECK(plan.after[0].entry_point == "reduce_segment_parts");
  // Whatever ascending segments list has room.
  const std::size_t longest = number_of(plan, "LONGEST"), part = number_of(plan, "PART");
  CHECK(plan.number("room") > problem.cols / longest + problem.cols / part);
  CHECK(number_of(plan, "EDGES") >= plan.number("piece"));
  CHECK(smem::plan_reduce(target("gfx90a"), problem).variant == "several");
  CHECK(smem::plan_reduce(target("cpu"), problem).variant == "cpu");
  smem::ReduceProblem few = problem;
  few.cols = 10000;
  CHECK(smem::plan_reduce(target("sm_90"), few).variant == "several");
  problem.reduction.commutes = false;
  CHECK(smem::plan_reduce(target("sm_90"), problem).variant == "several");
}

TEST_CASE(
    "plan of reduce: parts do not depend on the work-group, so that a smaller one can follow a refusal") {
  for (const smem::Device& device : test::all_targets()) {
    const smem::ReduceProblem problem = vector_of(std::size_t{1} << 24);
    const smem::Plan plan = smem::plan_reduce(device, problem);
    smem::Device smaller = device;
    smaller.max_work_group = std::max<std::size_t>(1, plan.work_items() / 2);
    const smem::Plan next = smem::plan_reduce(smaller, problem);
    CHECK(next.scratch_bytes == plan.scratch_bytes);
    CHECK(next.work_items() <= smaller.max_work_group);
  }
}

TEST_CASE("plan of reduce: packs are as wide as the type and the alignment allow") {
  const smem::Device device = target("gfx90a");
  for (const auto& [type, width] :
       {std::pair{Scalar::int8, 16}, {Scalar::half, 8}, {Scalar::float32, 4}, {Scalar::float64, 2}}) {
    smem::ReduceProblem problem = vector_of(1 << 20, ReduceOp::max);
    problem.in = problem.out = type;
    CHECK(smem::plan_reduce(device, problem).vector_width == static_cast<std::size_t>(width));
    problem.alignment = smem::size_of(type);
    CHECK(smem::plan_reduce(device, problem).vector_width == 1);
  }
}

TEST_CASE("plan of reduce: a vector aligned as the rows is read by packs") {
  smem::ReduceProblem problem = vector_of(1 << 14, ReduceOp::dot);
  problem.shape = ReduceShape::rows;
  problem.rows = 1000;
  problem.in = Scalar::half;
  const smem::Device device = target("sm_90");
  CHECK_FALSE(has(smem::plan_reduce(device, problem), "OTHER_ALIGNED"));
  problem.other_alignment = 8;
  CHECK(has(smem::plan_reduce(device, problem), "OTHER_ALIGNED"));
  problem.alignment = 8;
  CHECK_FALSE(has(smem::plan_reduce(device, problem), "OTHER_ALIGNED"));
}

TEST_CASE("plan of reduce: on NVIDIA a warp has a row of a product, where rows are enough") {
  smem::Device device = target("sm_90");
  device.compute_units = 132;
  smem::ReduceProblem problem = vector_of(3001, ReduceOp::dot);
  problem.shape = ReduceShape::rows;
  problem.in = Scalar::half;
  problem.rows = 21326;
  const smem::Plan many = smem::plan_reduce(device, problem);
  CHECK(many.variant == "shuffle");
  CHECK(many.tile_rows == 8);
  CHECK(has(many, "REST"));
  problem.rows = 1000;
  CHECK(smem::plan_reduce(device, problem).variant == "several");
  problem.rows = 21326;
  problem.cols = 16384;
  CHECK(smem::plan_reduce(device, problem).variant == "several");
  problem.cols = 3001;
  CHECK(smem::plan_reduce(target("gfx942"), problem).variant == "several");
}

TEST_CASE("plan of reduce: short rows share a work-group, long ones have several") {
  const smem::Device device = target("sm_90");
  smem::ReduceProblem problem = vector_of(64);
  problem.shape = ReduceShape::rows;
  problem.rows = 100000;
  const smem::Plan narrow = smem::plan_reduce(device, problem);
  CHECK(narrow.tile_rows == 32);
  CHECK(narrow.scratch_bytes == 0);
  problem.rows = 2;
  problem.cols = 1 << 24;
  const smem::Plan wide = smem::plan_reduce(device, problem);
  CHECK(wide.tile_rows == 1);
  CHECK(wide.global[0] == 64 * 8 * 256);
}

TEST_CASE("plan of reduce: an error says why a variant does not run") {
  const auto why = [](const char* device, const smem::ReduceProblem& problem, const char* variant) {
    return test::failure_of([&] { smem::plan_reduce(target(device), problem, {.variant = variant}); }).got;
  };
  CHECK(test::contains(why("gfx90a", vector_of(1000), "shuffle"), "NVIDIA's shuffle instructions"));
  smem::ReduceProblem rows = vector_of(1000);
  rows.shape = ReduceShape::rows;
  rows.rows = 3;
  CHECK(test::contains(why("sm_75", rows, "sequential"), "whole vectors only"));
}

TEST_CASE("plan of reduce: sub-group functions and shuffles only where they are") {
  smem::Device intel = target("pvc");
  intel.sub_groups = false;
  const smem::ReduceProblem problem = vector_of(1 << 20);
  CHECK(test::failure_of([&] { smem::plan_reduce(intel, problem, {.variant = "sub_group"}); }).argument ==
        "variant");
  intel.sub_groups = true;
  CHECK(smem::plan_reduce(intel, problem, {.variant = "sub_group"}).language == "CL2.0");
  // There is none for NaNs to be left out by, nor for pairs.
  CHECK(test::failure_of([&] {
          smem::plan_reduce(intel, vector_of(9, ReduceOp::min), {.variant = "sub_group"});
        }).argument == "variant");
  CHECK(test::failure_of([&] {
          smem::plan_reduce(intel, vector_of(9, ReduceOp::minmax), {.variant = "sub_group"});
        }).argument == "variant");
  CHECK(test::failure_of([&] { smem::plan_reduce(intel, problem, {.variant = "shuffle"}); }).argument ==
        "variant");
  CHECK(has(smem::plan_reduce(target("sm_75"), problem, {.variant = "shuffle"}), "TEAM_REDUCTION"));
  CHECK(test::failure_of([&] { smem::plan_reduce(intel, problem, {.variant = "cpu"}); }).argument ==
        "variant");
  CHECK(test::failure_of([&] { smem::plan_reduce(intel, problem, {.variant = "nosuch"}); }).got ==
        "\"nosuch\"");
}

TEST_CASE("scalars: names, sizes, and half in both directions") {
  CHECK(smem::scalar_of<const signed char> == Scalar::int8);
  CHECK(smem::scalar_of<unsigned long long> == Scalar::uint64);
  CHECK(smem::size_of(Scalar::half) == 2);
  CHECK(smem::name_of(Scalar::uint16) == "uint16");
  CHECK(smem::opencl_name_of(Scalar::float64) == "double");
  // Every half becomes a float and the same half again; what lies between two goes to the nearer, ties to
  // even.
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    smem::half h;
    h.bits = static_cast<std::uint16_t>(bits);
    const float value = h;
    const bool is_nan = (bits & 0x7fff) > 0x7c00;
    const std::uint16_t back = smem::half(value).bits;
    wrong += is_nan ? (back & 0x7fff) <= 0x7c00 : back != bits;
    if ((bits & 0x7fff) >= 0x7bff) continue;
    smem::half next = h;
    ++next.bits;
    const float middle = (value + static_cast<float>(next)) / 2;
    wrong += smem::half(middle).bits != (bits % 2 == 0 ? h.bits : next.bits);
    wrong += smem::half(std::nextafter(middle, value)).bits != h.bits;
    wrong += smem::half(std::nextafter(middle, static_cast<float>(next))).bits != next.bits;
  }
  CHECK(wrong == 0);
  CHECK(smem::half(65519.0F).bits == 0x7bff);
  CHECK(smem::half(65520.0F).bits == 0x7c00);
  CHECK(smem::half(-1e30F).bits == 0xfc00);
}

TEST_CASE("plan of reduce: teams of short rows are parts of groups, whatever sub-groups a device claims") {
  smem::Device device = target("sm_90");
  device.sub_group_width = 1024;
  device.max_work_group = 64;
  device.max_work_items = {64, 64, 64};
  smem::ReduceProblem problem;
  problem.shape = ReduceShape::rows;
  problem.rows = 1000;
  problem.cols = 1000;
  problem.packed_alignment = 16;
  const smem::Plan plan = smem::plan_reduce(device, problem, {.variant = "short_rows"});
  CHECK(plan.work_items() == 64);
  CHECK(plan.tile_rows >= 1);
  const smem::SoftmaxProblem rows{.rows = 1000, .cols = 1000, .packed = true};
  CHECK(smem::plan_softmax(device, rows, {.variant = "short_rows"}).tile_rows >= 1);
}
