// Plans of scans for described devices: they fit, have reasons, and cut a row into the same
// pieces whatever the size of a work-group.
#include <smem/error.hpp>
#include <smem/scan_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

using smem::ReduceOp;
using smem::Scalar;
using smem::ScanShape;
using test::target;

namespace {

smem::ScanProblem scan_of(std::size_t size) {
  smem::ScanProblem problem;
  problem.cols = size;
  return problem;
}

}  // namespace

TEST_CASE("plan of scan: a CPU's threads scan short rows of numbers in the same vectors") {
  const auto is_short = [](std::size_t cols, ReduceOp op, Scalar type = Scalar::float32,
                           ScanShape shape = ScanShape::rows) {
    smem::ScanProblem problem = scan_of(cols);
    problem.shape = shape;
    problem.rows = 50000;
    problem.operation = op;
    problem.in = problem.out = type;
    const smem::Plan plan = smem::plan_scan(target("cpu"), problem);
    return std::any_of(plan.defines.begin(), plan.defines.end(),
                       [](const auto& one) { return one.first == "SHORT_ROWS"; });
  };
  CHECK(is_short(3, ReduceOp::sum));
  CHECK(is_short(64, ReduceOp::max));
  CHECK_FALSE(is_short(65, ReduceOp::max));
  CHECK(is_short(65, ReduceOp::sum, Scalar::half));
  CHECK_FALSE(is_short(3000, ReduceOp::sum, Scalar::half));
  CHECK_FALSE(is_short(3, ReduceOp::any, Scalar::uint8));
  CHECK_FALSE(is_short(3, ReduceOp::sum, Scalar::float32, ScanShape::columns));
}

TEST_CASE("plan of scan: a CPU's threads scan few columns of numbers in the same vectors") {
  const auto is_narrow = [](std::size_t cols, ReduceOp op, const char* device = "cpu") {
    smem::ScanProblem problem = scan_of(cols);
    problem.shape = ScanShape::columns;
    problem.rows = 50000;
    problem.operation = op;
    problem.in = problem.out = Scalar::uint8;
    const smem::Plan plan = smem::plan_scan(target(device), problem);
    const auto has = [](const smem::Launch& launch) {
      return std::any_of(launch.defines.begin(), launch.defines.end(),
                         [](const auto& one) { return one.first == "NARROW"; });
    };
    for (const smem::Launch& first : plan.before)
      CHECK(has(first) == has(plan));
    return has(plan);
  };
  CHECK(is_narrow(1, ReduceOp::sum));
  CHECK(is_narrow(15, ReduceOp::max));
  CHECK_FALSE(is_narrow(16, ReduceOp::max));
  CHECK_FALSE(is_narrow(2, ReduceOp::any));
  CHECK_FALSE(is_narrow(2, ReduceOp::sum, "sm_90"));
}

TEST_CASE("plan of scan: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits :
         {"", "local=16K,work_group=64", "local=512", "work_group=1", "forward_progress=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const ScanShape shape :
           {ScanShape::vector, ScanShape::rows, ScanShape::columns, ScanShape::segments, ScanShape::keys}) {
        for (const Scalar type : {Scalar::int8, Scalar::float32, Scalar::uint64}) {
          for (const std::size_t size : {1, 1000, 1 << 22}) {
            smem::ScanProblem problem = scan_of(size);
            problem.shape = shape;
            problem.in = problem.out = type;
            if (shape == ScanShape::rows || shape == ScanShape::columns) problem.rows = 1000;
            const smem::Plan plan = smem::plan_scan(device, problem);
            CAPTURE(plan.to_string());
            CHECK(plan.local_bytes <= device.local_bytes);
            CHECK(plan.work_items() <= device.max_work_group);
            CHECK(plan.global[0] % plan.work_group[0] == 0);
            CHECK(plan.global[0] > 0);
            CHECK(plan.alternatives.size() + 1 == smem::scan_variants().size());
            for (const smem::Launch& first : plan.before) {
              CHECK(first.local_bytes <= device.local_bytes);
              CHECK(first.numbers == plan.numbers);
              CHECK(plan.scratch_bytes > 0);
            }
            // The parts make the whole, and none is empty.
            const std::size_t length = shape == ScanShape::columns ? problem.rows : size;
            CHECK(plan.number("parts") * plan.number("piece") >= length);
            CHECK((plan.number("parts") - 1) * plan.number("piece") < length);
            // A driver that refuses a launch gets smaller work-groups over the same pieces.
            const smem::Device small = smem::clamp(device, "work_group=1");
            const smem::Plan smaller =
                smem::plan_scan(small, problem, {.variant = std::string(plan.variant)});
            CHECK(smaller.numbers == plan.numbers);
            CHECK(smaller.scratch == plan.scratch);
          }
        }
      }
    }
  }
}

TEST_CASE("plan of scan: what each kind of device chooses") {
  const smem::ScanProblem problem = scan_of(std::size_t{1} << 28);
  const smem::Plan nvidia = smem::plan_scan(target("sm_90"), problem);
  CHECK(nvidia.variant == "look_back");
  CHECK(nvidia.work_group[0] == 512);
  CHECK(nvidia.groups() == (std::size_t{1} << 28) / (512 * 32));
  CHECK(nvidia.local_bytes < 1024);  // warps keep their elements in registers
  smem::ScanProblem segments = problem;
  segments.shape = smem::ScanShape::segments;
  segments.marks = smem::Scalar::uint32;
  for (const smem::ScanShape shape : {smem::ScanShape::segments, smem::ScanShape::keys}) {
    segments.shape = shape;
    const smem::Plan plan = smem::plan_scan(target("sm_90"), segments);
    CHECK(plan.local_bytes < 2048);  // of segments a bit an element
    CHECK(plan.tile_cols == 256 * 16);
    CHECK(smem::plan_scan(target("gfx90a"), segments).layout.load_degree() == 1);
  }
  CHECK(nvidia.prediction.bytes() == 8.0 * (std::size_t{1} << 28));
  CHECK(smem::plan_scan(target("sm_90"), problem).before.empty());
  for (const char* name : {"gfx90a", "pvc"}) {
    CHECK(smem::plan_scan(target(name), problem).variant == "reduce_then_scan");
    CHECK(smem::plan_scan(target(name), problem).before.size() == 1);
  }
  CHECK(smem::plan_scan(smem::clamp(target("sm_90"), "forward_progress=0"), problem).variant ==
        "reduce_then_scan");
  CHECK(smem::plan_scan(target("cpu"), problem).variant == "cpu");
  smem::Device impatient = target("cpu");
  impatient.long_loops = false;
  CHECK(smem::plan_scan(impatient, problem).variant == "reduce_then_scan");
  // Many short rows share work-groups, and need no second launch.
  smem::ScanProblem rows = scan_of(100);
  rows.shape = ScanShape::rows;
  rows.rows = 100000;
  const smem::Plan plan = smem::plan_scan(target("sm_90"), rows);
  CHECK(plan.variant == "reduce_then_scan");
  CHECK(plan.tile_rows == 512 / 16);
  CHECK(smem::plan_scan(target("sm_90"), rows).before.empty());
}

TEST_CASE(
    "plan of scan: integers and segments on NVIDIA GPUs wait for groups that are known to go on, and all "
    "others fall back") {
  const auto falls_back = [](const smem::Device& device, smem::Scalar type,
                             ScanShape shape = ScanShape::vector) {
    smem::ScanProblem problem;
    problem.in = problem.out = type;
    problem.shape = shape;
    problem.cols = 1 << 24;
    const smem::Plan plan = smem::plan_scan(device, problem, {.variant = "look_back"});
    return std::find(plan.defines.begin(), plan.defines.end(),
                     std::pair<std::string, long>{"FALLS_BACK", 0}) == plan.defines.end();
  };
  const smem::Device device = target("sm_90");
  CHECK_FALSE(falls_back(device, smem::Scalar::int32));
  CHECK_FALSE(falls_back(device, smem::Scalar::uint64));
  CHECK(falls_back(device, smem::Scalar::float32));
  CHECK_FALSE(falls_back(device, smem::Scalar::float32, ScanShape::keys));
  CHECK_FALSE(falls_back(device, smem::Scalar::float64, ScanShape::segments));
  // Nothing is waited for without a limit where groups may stop, start in any order, or a limit is set.
  for (const char* limits : {"forward_progress=0", "ordered_start=0", "poll_limit=1", "work_group=16"})
    for (const ScanShape shape : {ScanShape::vector, ScanShape::keys})
      CHECK(falls_back(smem::clamp(device, limits), smem::Scalar::int32, shape));
}

TEST_CASE("plan of scan: narrow integers stay as they are read, in tiles of long vectors on NVIDIA GPUs") {
  const auto words_of = [](const char* device, smem::ScanProblem problem) {
    const smem::Plan plan = smem::plan_scan(target(device), problem);
    for (const auto& [name, value] : plan.defines)
      if (name == "NARROW_WORDS") return value;
    return 0L;
  };
  smem::ScanProblem problem = scan_of((std::size_t{1} << 23) + 1);
  for (const Scalar type : {Scalar::int8, Scalar::uint8, Scalar::int16, Scalar::uint16}) {
    problem.in = problem.out = type;
    CHECK(words_of("sm_90", problem) == 16);
    CHECK(words_of("gfx90a", problem) == 0);
  }
  CHECK(smem::plan_scan(target("sm_90"), problem).items_per_work_item == 32);
  const auto is_usual = [&](const auto& change) {
    smem::ScanProblem other = problem;
    change(other);
    CHECK(words_of("sm_90", other) == 0);
  };
  is_usual([](auto& p) { p.cols = 1 << 23; });
  is_usual([](auto& p) { p.in = p.out = Scalar::half; });
  is_usual([](auto& p) { p.out = Scalar::uint8, p.operation = ReduceOp::any; });
  is_usual([](auto& p) { p.in_alignment = 2; });
  is_usual([](auto& p) { p.out_alignment = 8; });
  is_usual([](auto& p) { p.shape = ScanShape::keys; });
  is_usual([](auto& p) { p.shape = ScanShape::rows, p.rows = 2; });
  is_usual([](auto& p) { p.operation = smem::Reduction::custom("a | b", "0"); });
}

TEST_CASE("plan of scan: whole rows fill a tile of those without gaps") {
  smem::ScanProblem problem = scan_of(301);
  problem.shape = ScanShape::rows;
  problem.rows = 1000;
  problem.packed_alignment = 16;
  const smem::Device device = target("sm_90");
  const smem::Plan plan = smem::plan_scan(device, problem);
  CHECK(plan.variant == "short_rows");
  CHECK(plan.number("piece") == 24 * 301);  // 27 rows fit, but 24 keep the alignment of every tile
  CHECK(plan.number("piece") <= plan.tile_cols * plan.tile_rows);
  CHECK(plan.vector_width == 4);
  // Small elements go to registers, wherever a tile begins, behind those before it in its first pack.
  problem.in = problem.out = smem::Scalar::half;
  problem.cols = 2047;
  const smem::Plan halves = smem::plan_scan(device, problem);
  CHECK(halves.number("piece") == 3 * 2047);
  CHECK(halves.vector_width == 8);
  problem.in = problem.out = smem::Scalar::float32;
  problem.cols = 301;
  problem.packed_alignment = 0;
  CHECK(smem::plan_scan(device, problem).variant != "short_rows");
  for (const std::size_t cols : {0, 1 << 20}) {  // nothing, and more than a tile
    problem.cols = cols;
    problem.packed_alignment = 16;
    const auto error = test::failure_of(
        [&] { static_cast<void>(smem::plan_scan(device, problem, {.variant = "short_rows"})); });
    CHECK(error.argument == "variant");
  }
}

TEST_CASE("plan of scan: look-back needs a way to publish, and no forward progress") {
  CHECK_FALSE(smem::Device().forward_progress);
  const smem::Device stopping = smem::clamp(target("sm_90"), "forward_progress=0");
  CHECK(smem::plan_scan(stopping, scan_of(1 << 22), {.variant = "look_back"}).variant == "look_back");
  const auto error = test::failure_of(
      [&] { smem::plan_scan(target("gfx90a"), scan_of(std::size_t{1} << 28), {.variant = "look_back"}); });
  CHECK(error.argument == "variant");
  CHECK(test::contains(error.got, "cannot publish to each other"));
}
