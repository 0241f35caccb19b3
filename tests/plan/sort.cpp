// Plans of sorts for devices that are not here: launches, passes, tiles and scratch memory.
#include <smem/explain.hpp>
#include <smem/sort_plan.hpp>
#include <smem/sort_rows_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using smem::Scalar;
using smem::SortPayload;
using smem::SortProblem;

namespace {

SortProblem sort_of(Scalar keys, std::size_t size) {
  SortProblem problem;
  problem.keys = keys;
  problem.size = size;
  problem.end_bit = 8 * smem::size_of(keys);
  return problem;
}

}  // namespace

TEST_CASE("sort: the plan is the whole call") {
  const smem::Device hopper = test::target("sm_90");
  SortProblem problem = sort_of(Scalar::uint32, std::size_t{1} << 27);
  smem::Plan plan = smem::plan_sort(hopper, problem);
  CHECK(plan.variant == "onesweep");
  // One launch counts and schedules, where groups can publish to each other.
  CHECK(plan.before.size() == 1);
  CHECK(plan.counters);
  CHECK(plan.scratch.back().zeroed_bytes == 0);
  const smem::Plan apart = smem::plan_sort(test::target("gfx90a"), problem, {.variant = "onesweep"});
  CHECK(apart.before.size() == 2);
  CHECK(apart.scratch.back().zeroed_bytes == apart.scratch.back().bytes);
  CHECK(plan.repeats == 4);
  CHECK(test::contains(plan.reason, "4 passes of 8 bits"));
  CHECK(test::contains(plan.reason, "decoupled look-back"));
  CHECK(test::contains(plan.reason, "ranks by the lanes of a warp that match"));
  CHECK(test::contains(smem::plan_sort(test::target("gfx90a"), problem).reason,
                       "ranks by matches of 32 work-items in local memory"));
  CHECK(static_cast<double>(plan.scratch_bytes) <= 1.05 * 4 * static_cast<double>(problem.size));
  problem.payload = SortPayload::values;
  problem.value_bytes = 4;
  plan = smem::plan_sort(hopper, problem);
  CHECK(static_cast<double>(plan.scratch_bytes) <= 1.05 * 8 * static_cast<double>(problem.size));
  // Values of 4 bytes are copied ahead, where local memory holds them beside the keys.
  CHECK(plan.tile_cols == 384 * 23);
  CHECK(plan.local_bytes > 384 * 23 * 10);
  CHECK(test::contains(plan.reason, "values are copied meanwhile"));
  CHECK(plan.build_options().find("-DAHEAD=1") != std::string::npos);
  // 1024 work-items would take more than there is.
  CHECK(smem::plan_sort(hopper, problem, {.work_items = 1024}).tile_cols == 1024 * 19);
  CHECK(smem::plan_sort(hopper, problem, {.variant = "three_launches"}).tile_cols == 384 * 19);
  problem.value_bytes = 2;
  CHECK(smem::plan_sort(hopper, problem).build_options().find("-DAHEAD=1") == std::string::npos);
  problem.value_bytes = 8;
  CHECK(smem::plan_sort(hopper, problem).tile_cols == 384 * 18);
  problem.keys = Scalar::uint64;
  CHECK(smem::plan_sort(hopper, problem).tile_cols == 384 * 15);
  CHECK(smem::plan_sort(hopper, problem).build_options().find("-DAHEAD=1") == std::string::npos);
  problem.keys = Scalar::uint32;
  problem.value_bytes = 4;
  problem.in_place = true;
  problem.end_bit = 24;
  CHECK(smem::plan_sort(hopper, problem).repeats == 4);  // an even number, of fewer bits each
  CHECK(smem::plan_sort(hopper, problem).number("digit_bits") == 6);
  problem = sort_of(Scalar::uint8, std::size_t{1} << 33);
  plan = smem::plan_sort(hopper, problem);
  CHECK(plan.variant == "onesweep");
  CHECK(plan.repeats == 1);
  CHECK(plan.build_options().find("-DWIDE=1") != std::string::npos);
  CHECK(plan.scratch[0].bytes == 0);  // one pass needs no second array
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float32, 2000)).variant == "one_row");
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float32, 12000)).entry_point == "sort_rows_tile");
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float32, 16000)).variant == "onesweep");
  CHECK(smem::plan_sort(test::target("sm_75"), sort_of(Scalar::float32, 2000)).variant == "bitonic");
  // The order of doubles takes registers, so that their tiles are others than those of integers.
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::uint64, std::size_t{1} << 26)).tile_cols == 384 * 20);
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float64, std::size_t{1} << 26)).tile_cols == 384 * 20);
  smem::Device device = hopper;
  device.forward_progress = false;
  plan = smem::plan_sort(device, sort_of(Scalar::float64, std::size_t{1} << 20));
  CHECK(plan.variant == "three_launches");
  CHECK(plan.rounds == 8);
  CHECK(plan.alternatives.size() == 6);
  for (const smem::Alternative& other : plan.alternatives)
    CHECK_FALSE(other.why_not.empty());
  // Few keys: smaller tiles, so that more of the device is busy; or the caller's.
  const SortProblem few = sort_of(Scalar::uint32, std::size_t{1} << 16);
  CHECK(smem::plan_sort(hopper, few).number("parts") > 9);
  CHECK(smem::plan_sort(hopper, few, {.variant = "onesweep", .tile_cols = 384 * 7}).tile_cols == 384 * 7);
  CHECK(test::contains(test::failure_of([&] {
                         smem::plan_sort(hopper, few, {.variant = "onesweep", .tile_cols = 384 * 7 + 1});
                       }).got,
                       "a multiple of the group's work-items"));
  // A pass for the tiles, and one for each bit of their number.
  const smem::Plan merge = smem::plan_sort(hopper, few, {.variant = "merge"});
  CHECK(merge.tile_cols == 256 * 17);
  CHECK(merge.number("passes") == 5);
  REQUIRE(merge.after.size() == 1);
  CHECK(merge.after[0].repeats == 4);
  // Twice the passes, and counts of 16 digits instead of 256 of each tile.
  const smem::Plan four =
      smem::plan_sort(hopper, sort_of(Scalar::uint32, std::size_t{1} << 20), {.variant = "four_bits"});
  CHECK(four.rounds == 8);
  CHECK(four.number("digit_bits") == 4);
  CHECK(four.tile_cols == 256 * 8);
  CHECK(four.scratch.back().bytes == (four.number("parts") + 1) * 16 * sizeof(std::uint32_t));
}

TEST_CASE("sort: a CPU's threads gather keys in lines where its cache holds less than both arrays") {
  smem::Device cpu = test::target("cpu");
  cpu.cache_bytes = std::size_t{8} << 20;
  const auto line_of = [&](std::size_t size) {
    const smem::Plan plan = smem::plan_sort(cpu, sort_of(Scalar::uint32, size));
    CHECK(plan.variant == "cpu");
    return plan.build_options().find("-DLINE=16") != std::string::npos ? 16 : 0;
  };
  CHECK(line_of(1000) == 0);
  CHECK(line_of(std::size_t{1} << 20) == 0);
  CHECK(line_of((std::size_t{1} << 20) + 1) == 16);
  cpu.cache_bytes = 0;        // the driver does not say
  CHECK(line_of(1000) == 0);  // one thread
  CHECK(line_of(300000) == 16);
}

TEST_CASE("sort: ranks by ballots where a device has them, in sub-groups of its size") {
  const SortProblem problem = sort_of(Scalar::uint32, std::size_t{1} << 24);
  const auto has = [](const smem::Launch& launch, const char* option) {
    return test::contains(launch.build_options() + " ", std::string(option) + " ");
  };
  const auto matches_of_32 = [&](const smem::Device& device) {
    const smem::Plan plan = smem::plan_sort(device, problem);
    return test::contains(plan.reason, "ranks by matches of 32 work-items in local memory") &&
           !test::contains(plan.build_options(), "BALLOTS") && plan.language == "CL1.2";
  };
  // From a facts file, too.
  const smem::Device pvc = smem::device_from_json(smem::to_json(test::target("pvc")));
  CHECK(pvc.ballot_width == 16);
  for (const char* variant : {"three_launches", "four_bits", "onesweep"}) {
    CAPTURE(variant);
    const smem::Plan plan = smem::plan_sort(pvc, problem, {.variant = variant});
    CHECK(test::contains(plan.reason, "ranks by ballots of sub-groups of 16"));
    CHECK(test::contains(smem::explain(plan, pvc), "sub-groups of 16"));
    for (const char* option : {"-DBALLOTS=1", "-DLANES=16", "-DINTEL_SUB_GROUP=16", "-cl-std=CL2.0"})
      CHECK(has(plan, option));
    for (const smem::Launch& before : plan.before)
      CHECK_FALSE(has(before, "-DBALLOTS=1"));
  }
  // Half the counters that sub-groups of 8 have; without words to match in.
  const auto local_bytes = [&](const char* limits) {
    return smem::plan_sort(smem::clamp(pvc, limits), problem).local_bytes;
  };
  CHECK(local_bytes("ballots=8") - local_bytes("ballots=16") == std::size_t{16} * 256 * 4);
  CHECK(local_bytes("ballots=0") - local_bytes("ballots=32") >= std::size_t{8} * 256 * 8);
  CHECK(matches_of_32(smem::clamp(pvc, "ballots=0")));
  // Masks have 64 bits. Sizes that no mask has, and kernels without sub-group functions, take no ballots.
  CHECK(test::contains(smem::plan_sort(smem::clamp(pvc, "ballots=64"), problem).reason, "sub-groups of 64"));
  smem::Device device = pvc;
  for (const std::size_t lanes : {1, 24, 128}) {
    device.ballot_width = lanes;
    CHECK(matches_of_32(device));
  }
  device = pvc;
  device.sub_groups = false;
  CHECK(matches_of_32(device));
  // Sub-groups are whole: smaller groups match in local memory.
  for (const std::size_t group : {8, 16, 32}) {
    const smem::Plan plan = smem::plan_sort(pvc, problem, {.variant = "three_launches", .work_items = group});
    CHECK(plan.work_group[0] == group);
    CHECK(has(plan, "-DBALLOTS=1") == (group >= 16));
    CHECK(has(plan, "-DLANES=8") == (group == 8));
  }

  // AMD's have none, unless the platform has the extension; NVIDIA's warps have their own instructions.
  CHECK(matches_of_32(test::target("gfx90a")));
  smem::Device amd = test::target("gfx90a");
  amd.sub_groups = true;
  amd.ballot_width = 64;
  CHECK(test::contains(smem::plan_sort(amd, problem).reason, "ranks by ballots of sub-groups of 64"));
  smem::Device nvidia = test::target("sm_90");
  const std::string without = smem::explain_json(smem::plan_sort(nvidia, problem), nvidia);
  nvidia.sub_groups = true;
  nvidia.ballot_width = 32;
  CHECK(smem::explain_json(smem::plan_sort(nvidia, problem), nvidia) == without);
}

TEST_CASE("sort_rows: a row in local memory is ranked by ballots, in sub-groups of one size") {
  smem::SortRowsProblem problem;
  problem.keys = Scalar::uint32;
  problem.rows = 100;
  problem.cols = 1000;
  problem.end_bit = 32;
  for (const char* variant : {"tile", "radix"}) {
    CAPTURE(variant);
    smem::Device pvc = test::target("pvc");
    pvc.ballot_width = 32;
    const std::string options = smem::plan_sort_rows(pvc, problem, {.variant = variant}).build_options();
    CHECK(test::contains(options, "-DBALLOTS=1"));
    CHECK(test::contains(options, "-DINTEL_SUB_GROUP=32"));
    CHECK_FALSE(test::contains(options, "-DINTEL_SUB_GROUP=16"));
    CHECK_FALSE(test::contains(
        smem::plan_sort_rows(test::target("gfx90a"), problem, {.variant = variant}).build_options(),
        "BALLOTS"));
  }
}
