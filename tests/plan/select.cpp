// Plans of selections for described devices: they fit, have reasons, and cut a vector into the
// same pieces whatever the size of a work-group.
#include <smem/select_plan.hpp>
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/selects.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>

using smem::Scalar;
using smem::SelectOp;
using test::target;

namespace {

smem::SelectProblem problem_for(SelectOp op, std::size_t size, Scalar in = Scalar::float32) {
  return test::problem_of({.op = op, .in = in, .size = size});
}

bool has_define(const smem::Plan& plan, const char* name) {
  for (const auto& [defined, value] : plan.defines) {
    if (defined == name) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("plan of select: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits :
         {"", "local=16K,work_group=64", "local=1K", "work_group=1", "forward_progress=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const SelectOp op : test::kSelectOps) {
        for (const Scalar type : {Scalar::int8, Scalar::half, Scalar::float32, Scalar::uint64}) {
          for (const std::size_t size :
               {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 22, std::size_t{1} << 33}) {
            const smem::SelectProblem problem = problem_for(op, size, type);
            const smem::Plan plan = smem::plan_select(device, problem);
            CAPTURE(plan.to_string());
            CHECK(plan.local_bytes <= device.local_bytes);
            CHECK(plan.work_items() <= device.max_work_group);
            CHECK(plan.global[0] % plan.work_group[0] == 0);
            CHECK(plan.global[0] > 0);
            CHECK(plan.alternatives.size() + 1 == smem::select_variants().size());
            CHECK(has_define(plan, "WIDE") == (size > 0xffffffff));
            for (const smem::Launch& first : plan.before) {
              CHECK(first.local_bytes <= device.local_bytes);
              CHECK(first.numbers == plan.numbers);
              CHECK(plan.scratch_bytes > 0);
            }
            // The parts make the whole, and none is empty.
            const std::size_t length = size;
            CHECK(plan.number("parts") * plan.number("piece") >= length);
            CHECK((plan.number("parts") - 1) * plan.number("piece") < length);
            // A driver that refuses a launch gets smaller work-groups over the same pieces.
            const smem::Device small = smem::clamp(device, "work_group=1");
            const smem::Plan smaller =
                smem::plan_select(small, problem, {.variant = std::string(plan.variant)});
            CHECK(smaller.numbers == plan.numbers);
            CHECK(smaller.scratch == plan.scratch);
          }
        }
      }
    }
  }
}

TEST_CASE("plan of select: what each kind of device chooses") {
  const std::size_t size = std::size_t{1} << 28;
  const smem::SelectProblem problem = problem_for(SelectOp::copy_if, size);
  const smem::Plan nvidia = smem::plan_select(target("sm_90"), problem);
  CHECK(nvidia.variant == "look_back");
  CHECK(nvidia.work_group[0] == 512);
  CHECK(nvidia.groups() == size / (512 * 32));
  CHECK(2 * nvidia.local_bytes < 227 * 1024);  // two groups share a multiprocessor
  CHECK(smem::plan_select(target("sm_75"), problem).local_bytes < 48 * 1024);
  CHECK(smem::plan_select(target("sm_75"), problem).work_group[0] == 512);
  CHECK(smem::plan_select(target("sm_90"), problem).before.empty());
  // Half of the elements; of a partition all.
  CHECK(nvidia.prediction.bytes_read == 4.0 * static_cast<double>(size));
  CHECK(nvidia.prediction.bytes_written == 2.0 * static_cast<double>(size));
  const smem::Plan partition = smem::plan_select(target("sm_90"), problem_for(SelectOp::partition, size));
  CHECK(partition.variant == "count_then_place");
  CHECK(partition.prediction.bytes_written == 4.0 * static_cast<double>(size));
  CHECK(smem::plan_select(target("sm_90"), problem_for(SelectOp::partition, size)).before.size() == 1);
  const smem::Plan reversed =
      smem::plan_select(target("sm_90"), problem_for(SelectOp::partition_reversed, size));
  CHECK(reversed.variant == "look_back");
  CHECK(reversed.before.empty());
  CHECK(reversed.prediction.bytes_written == 4.0 * static_cast<double>(size));
  const smem::Plan counted =
      smem::plan_select(target("sm_90"), problem_for(SelectOp::partition, size), {.variant = "look_back"});
  CHECK(counted.before.size() == 1);
  CHECK(counted.scratch[0].zeroed_bytes == counted.scratch[0].bytes);
  for (const char* name : {"gfx90a", "pvc"}) {
    CHECK(smem::plan_select(target(name), problem).variant == "count_then_place");
    CHECK(smem::plan_select(target(name), problem).before.size() == 1);
  }
  CHECK(smem::plan_select(target("cpu"), problem).variant == "cpu");
  smem::Device impatient = target("cpu");
  impatient.long_loops = false;
  CHECK(smem::plan_select(impatient, problem).variant == "count_then_place");
  // One part needs no first launch, but a partition must know where its others begin.
  CHECK(smem::plan_select(target("sm_90"), problem_for(SelectOp::unique, 100)).before.empty());
  CHECK(smem::plan_select(target("sm_90"), problem_for(SelectOp::partition, 100)).before.size() == 1);
}

TEST_CASE("plan of select: bytes are kept four to a word, where whole packs are read") {
  smem::SelectProblem bytes = problem_for(SelectOp::copy_if, std::size_t{1} << 28, Scalar::uint8);
  const smem::Plan packed = smem::plan_select(target("sm_90"), bytes);
  CHECK(has_define(packed, "PACKED"));
  CHECK(packed.items_per_work_item == 64);
  bytes.in_alignment = 1;
  CHECK_FALSE(has_define(smem::plan_select(target("sm_90"), bytes), "PACKED"));
  CHECK_FALSE(has_define(smem::plan_select(target("gfx90a"), bytes), "PACKED"));
  // A work-item has a bit for each element where no warp reads them.
  bytes.in_alignment = 16;
  CHECK(smem::plan_select(smem::clamp(target("sm_90"), "work_group=16"), bytes).items_per_work_item <= 32);
}

TEST_CASE("plan of select: run_length_encode keeps aligned tiles in local memory if groups make progress") {
  smem::SelectProblem runs = problem_for(SelectOp::run_length_encode, std::size_t{1} << 28);
  const smem::Device h200 = target("sm_90");
  const smem::Plan kept = smem::plan_select(h200, runs);
  CHECK(kept.variant == "look_back");
  CHECK(has_define(kept, "KEPT"));
  CHECK(has_define(kept, "FALLS_BACK"));
  CHECK(kept.tile_cols == 32 * kept.work_group[0]);
  // 48 warps share a multiprocessor.
  CHECK(1536 / kept.work_group[0] * (kept.local_bytes + 1024) <= 228 * 1024);
  CHECK_FALSE(has_define(smem::plan_select(target("sm_75"), runs), "KEPT"));
  CHECK_FALSE(has_define(smem::plan_select(target("gfx90a"), runs), "KEPT"));
  CHECK_FALSE(has_define(smem::plan_select(smem::clamp(h200, "poll_limit=0"), runs), "KEPT"));
  CHECK_FALSE(has_define(smem::plan_select(smem::clamp(h200, "local=48K"), runs), "KEPT"));  // read once
  CHECK_FALSE(has_define(smem::plan_select(h200, runs, {.variant = "count_then_place"}), "KEPT"));
  CHECK_FALSE(has_define(smem::plan_select(h200, problem_for(SelectOp::unique, runs.size)), "KEPT"));
  CHECK_FALSE(has_define(
      smem::plan_select(h200, runs, {.variant = "look_back", .tile_cols = 4096, .work_items = 256}), "KEPT"));
  runs.in_alignment = 4;
  CHECK_FALSE(has_define(smem::plan_select(h200, runs), "KEPT"));
  CHECK_FALSE(has_define(
      smem::plan_select(h200, problem_for(SelectOp::run_length_encode, std::size_t{1} << 33)), "KEPT"));
}

TEST_CASE("plan of select: one tile needs no other group, two tiles have one each") {
  const smem::Device device = target("sm_90");
  CHECK(smem::plan_select(device, problem_for(SelectOp::copy_if, 8192)).variant == "count_then_place");
  CHECK(smem::plan_select(device, problem_for(SelectOp::copy_if, 8193)).variant == "look_back");
}

TEST_CASE("plan of select: a tile of look_back can be fixed") {
  const smem::SelectProblem problem = problem_for(SelectOp::copy_if, std::size_t{1} << 28);
  const auto fixed = [&](std::size_t tile, std::size_t work_items) {
    return smem::plan_select(target("sm_90"), problem,
                             {.variant = "look_back", .tile_cols = tile, .work_items = work_items});
  };
  CHECK(fixed(4096, 256).items_per_work_item == 16);
  CHECK(fixed(4096, 256).groups() == (std::size_t{1} << 28) / 4096);
  for (const std::size_t tile : {std::size_t{100}, std::size_t{3 * 4096}, std::size_t{64 * 256}})
    CHECK(test::failure_of([&] { fixed(tile, 256); }).argument == "variant");
}

TEST_CASE("plan of select: what cannot be published in one pass is not") {
  const smem::Device device = target("sm_90");
  const auto refusal = [&](const smem::Device& on, const smem::SelectProblem& problem) {
    return test::failure_of([&] { smem::plan_select(on, problem, {.variant = "look_back"}); });
  };
  // The count of all, in 32 bits.
  CHECK(refusal(device, problem_for(SelectOp::partition, std::size_t{1} << 32)).argument == "variant");
  // A count and a place of 64 bits each.
  const smem::SelectProblem runs = problem_for(SelectOp::run_length_encode, std::size_t{1} << 32);
  CHECK(refusal(device, runs).argument == "variant");
  CHECK(smem::plan_select(device, runs).variant == "count_then_place");
  CHECK(smem::plan_select(device, problem_for(SelectOp::unique, std::size_t{1} << 32)).variant ==
        "look_back");
  const auto error = refusal(target("gfx90a"), problem_for(SelectOp::copy_if, 1 << 22));
  CHECK(error.argument == "variant");
  CHECK(test::contains(error.got, "cannot publish to each other"));
}
