// Plans of sorts for devices that are not here: launches, passes, tiles and scratch memory.
#include <smem/sort_plan.hpp>

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
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float32, 2000)).variant == "bitonic");
  // The order of doubles takes registers, so that their tiles are others than those of integers.
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::uint64, std::size_t{1} << 26)).tile_cols == 384 * 20);
  CHECK(smem::plan_sort(hopper, sort_of(Scalar::float64, std::size_t{1} << 26)).tile_cols == 384 * 20);
  smem::Device device = hopper;
  device.forward_progress = false;
  plan = smem::plan_sort(device, sort_of(Scalar::float64, std::size_t{1} << 20));
  CHECK(plan.variant == "three_launches");
  CHECK(plan.rounds == 8);
  CHECK(plan.alternatives.size() == 5);
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
  CHECK(merge.after.size() == 4);
  // Twice the passes, and counts of 16 digits instead of 256 of each tile.
  const smem::Plan four =
      smem::plan_sort(hopper, sort_of(Scalar::uint32, std::size_t{1} << 20), {.variant = "four_bits"});
  CHECK(four.rounds == 8);
  CHECK(four.number("digit_bits") == 4);
  CHECK(four.tile_cols == 256 * 8);
  CHECK(four.scratch.back().bytes == (four.number("parts") + 1) * 16 * sizeof(std::uint32_t));
}
