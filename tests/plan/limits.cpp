// What limits of plans keep from kernels that would go wrong there, and choices around a limit.
#include <smem/conv2d_plan.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/pool_plan.hpp>
#include <smem/scan_plan.hpp>
#include <smem/softmax_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/top_k_plan.hpp>

#include "support/conv2d_layers.hpp"
#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

using smem::Scalar;
using test::define_of;
using test::plan_problem_of;
using test::target;

namespace {

smem::Device of_132_units() {
  smem::Device device = target("sm_90");
  device.compute_units = 132;
  return device;
}

}  // namespace

TEST_CASE("plan of gemm: rows of C and of epilogues at once, where a tile's registers hold them") {
  const auto finishes = [](std::size_t rows, std::size_t cols) {
    smem::GemmProblem problem = plan_problem_of(4096, 4096, 4096, Scalar::half);
    problem.reads_c = true;
    const smem::Plan plan =
        smem::plan_gemm(of_132_units(), problem, {.variant = "wgmma", .tile_rows = rows, .tile_cols = cols});
    CHECK((plan.tile_rows == rows && plan.tile_cols == cols));
    return define_of(plan, "FINISHES_ROWS") == 1;
  };
  CHECK(finishes(128, 256));
  CHECK(finishes(128, 320));
  CHECK(finishes(192, 192));
  CHECK(!finishes(192, 256));
  CHECK(!finishes(128, 240));
  CHECK(!finishes(256, 128));
}

TEST_CASE("plan of gemm: results leave by boxes in rows of multiples of 16 bytes alone") {
  const auto boxes = [](std::size_t n, std::size_t alignment) {
    smem::GemmProblem problem = plan_problem_of(15520, n, 240);
    problem.tf32 = problem.a_along_k = problem.b_along_k = true;
    problem.c_alignment = alignment;
    return define_of(smem::plan_gemm(of_132_units(), problem, {.variant = "wgmma"}), "BOXES_OF_WARP") > 0;
  };
  CHECK(boxes(3168, 64));
  CHECK(!boxes(3168, 8));
  CHECK(!boxes(3166, 16));  // rows that begin there and end elsewhere
}

TEST_CASE("plan of gemm: groups of lists that read C have no more registers than a multiprocessor") {
  smem::GemmProblem problem = plan_problem_of(512, 512, 512, Scalar::half);
  problem.batch = 100;
  problem.listed = problem.reads_c = true;
  problem.list_alignment = 16;
  for (const std::size_t cols : {192, 208, 256}) {
    const smem::Plan plan =
        smem::plan_gemm(of_132_units(), problem, {.variant = "wgmma", .tile_rows = 128, .tile_cols = cols});
    const long producer = define_of(plan, "PRODUCER_REGISTERS"),
               consumer = define_of(plan, "CONSUMER_REGISTERS");
    CAPTURE(cols);
    CHECK(128 * (define_of(plan, "PRODUCERS") * producer + define_of(plan, "CONSUMERS") * consumer) <= 65536);
    CHECK((producer >= 88) == (cols > 192));  // which hold a list's offsets
  }
}

TEST_CASE("plan of gemm: products of one tile are no others") {
  const auto one_tile = [](std::size_t m, std::size_t n) {
    smem::GemmProblem problem = plan_problem_of(m, n, 256, Scalar::half);
    problem.batch = 1000;
    return define_of(
        smem::plan_gemm(of_132_units(), problem, {.variant = "wgmma", .tile_rows = 128, .tile_cols = 128}),
        "ONE_TILE");
  };
  CHECK(one_tile(128, 128) == 1);
  CHECK(one_tile(100, 70) == 1);
  CHECK(one_tile(136, 128) == 0);
  CHECK(one_tile(128, 136) == 0);
}

TEST_CASE("plan of gemm: dot products on CPUs where their lines fit local memory, and sums are long") {
  smem::Device cpu = target("cpu");
  smem::GemmProblem problem = plan_problem_of(4, 4096, 4096);
  problem.a_along_k = problem.b_along_k = true;
  const auto is_dots = [&] { return smem::plan_gemm(cpu, problem, {}).entry_point == "gemm_dots"; };
  CHECK(is_dots());
  problem.k = 4;
  CHECK(!is_dots());
  problem.k = 4096;
  const std::size_t bytes = smem::plan_gemm(cpu, problem, {}).local_bytes;
  cpu.local_bytes = bytes;
  CHECK(is_dots());
  cpu.local_bytes = bytes - 1;
  CHECK(!is_dots());
}

TEST_CASE("plan of moving_mean: sums of integers have 64 bits where 32 do not hold a window") {
  const auto has_wide_sums = [](Scalar type, std::size_t window) {
    smem::MovingMeanProblem problem;
    problem.in = type;
    problem.out = Scalar::float32;
    problem.width = std::size_t{1} << 28;
    problem.window = window;
    const smem::Plan plan = smem::plan_moving_mean(of_132_units(), problem, {.variant = "naive"});
    return std::any_of(plan.text_defines.begin(), plan.text_defines.end(),
                       [](const auto& define) { return define.first == "SUM" && define.second == "ulong"; });
  };
  CHECK(!has_wide_sums(Scalar::uint16, 65537));  // 65537 * 65535 = 2^32 - 1
  CHECK(has_wide_sums(Scalar::uint16, 65539));
  CHECK(!has_wide_sums(Scalar::uint8, 16843009));  // 16843009 * 255 = 2^32 - 1
  CHECK(has_wide_sums(Scalar::uint8, 16843011));
}

TEST_CASE("plan of scan: packs of keys are read where keys begin at their multiples") {
  smem::ScanProblem problem;
  problem.shape = smem::ScanShape::keys;
  problem.cols = 1 << 24;
  problem.marks = Scalar::uint32;
  const auto pack = [&] { return define_of(smem::plan_scan(of_132_units(), problem, {}), "MARK_PACK"); };
  problem.in_alignment = problem.out_alignment = problem.marks_alignment = 16;
  CHECK(pack() > 1);
  problem.marks_alignment = 4;
  CHECK(pack() == 1);
}

TEST_CASE("plan of conv2d: windows of interleaved channels have packs that results begin at") {
  smem::Conv2dProblem p = test::layer(64, 64, 112, 64, 3, 64);
  p.type = p.out = Scalar::half;
  p.in_interleaved = p.out_interleaved = true;
  p.in_alignment = p.out_alignment = 16;
  p.stride = {2, 2};
  p.out_width = p.out_height = 56;
  const auto pack = [&] {
    const smem::Plan plan = smem::plan_conv2d(of_132_units(), p);
    CHECK(plan.entry_point == "conv2d_depthwise_windows");
    return plan.vector_width;
  };
  CHECK(pack() == 4);
  p.out_alignment = 4;
  CHECK(pack() == 2);
  p.out_alignment = 16;
  p.in_alignment = 2;
  CHECK(pack() == 1);
  // For sm_75 ptxas spills.
  p.in_alignment = 16;
  const auto kernel = [&](const char* device, std::size_t cols) {
    return smem::plan_conv2d(target(device), p, {.variant = "depthwise", .tile_cols = cols}).entry_point;
  };
  CHECK(kernel("sm_86", 0) == "conv2d_depthwise_windows");
  CHECK(kernel("sm_75", 0) != "conv2d_depthwise_windows");
}

TEST_CASE("plan of conv2d: depthwise planes share groups while their cells fit, and groups are left") {
  const auto plan_of = [](std::size_t images, std::size_t edge, std::size_t stride = 1) {
    smem::Conv2dProblem p = test::layer(images, 256, edge, 256, 3, 256);
    p.type = p.out = Scalar::half;
    p.stride = {stride, stride};
    p.out_width = p.out_height = edge / stride;
    const smem::Plan plan = smem::plan_conv2d(of_132_units(), p);
    CHECK(plan.entry_point == "conv2d_depthwise_planes");
    return plan;
  };
  CHECK(plan_of(64, 14).number("block_k") == 16);
  CHECK(plan_of(256, 14, 2).number("block_k") == 32);  // 64 planes would have 31 KB
  CHECK(plan_of(4, 14).number("block_k") == 1);        // 512 groups of two planes are less than four rounds
  // Of the rows that leave the fewest places of the last ones empty, the most.
  constexpr std::pair<std::size_t, long> kRows[] = {{14, 7}, {10, 5}, {18, 6}, {22, 8}};
  for (const auto& [edge, rows] : kRows)
    CHECK(define_of(plan_of(64, edge), "EACH_Y") == rows);
}

TEST_CASE("plan of gemm: consumers take turns at batches of many tiles alone") {
  const auto takes_turns = [](std::size_t batch) {
    smem::GemmProblem problem = plan_problem_of(64, 64, 256, Scalar::half);
    problem.out = Scalar::half;
    problem.batch = batch;
    return define_of(smem::plan_gemm(of_132_units(), problem,
                                     {.variant = "wgmma", .tile_rows = 64, .tile_cols = 64}),
                     "PINGPONG") == 1;
  };
  CHECK(takes_turns(std::size_t{4} * 132));
  CHECK(!takes_turns(std::size_t{4} * 132 - 1));
}

TEST_CASE("plan of softmax: rows of bfloat16, of which local memory holds two, stay in sections") {
  smem::SoftmaxProblem problem;
  problem.rows = 4096;
  problem.cols = 50257;
  const auto kernel = [&](Scalar type) {
    problem.in = problem.out = type;
    return smem::plan_softmax(of_132_units(), problem).entry_point;
  };
  CHECK(kernel(Scalar::half) == "softmax_persistent_rings");
  CHECK(kernel(Scalar::bfloat16) == "softmax_persistent");
  problem.cols = 100003;
  CHECK(kernel(Scalar::bfloat16) == "softmax_persistent_rings");
}

TEST_CASE("plans for Hopper: pools of single bytes have short spans") {
  smem::PoolProblem bytes;
  bytes.in = bytes.out = Scalar::uint8;
  bytes.width = bytes.height = 4001;
  bytes.pooling = smem::Pooling::square(2, 2);
  const auto results = [&](std::size_t alignment) {
    bytes.in_alignment = alignment;
    return define_of(smem::plan_pool(of_132_units(), bytes, {.variant = "vector"}), "RESULTS");
  };
  CHECK(results(1) * 2 <= 16);
  CHECK(results(16) * 2 > 16);
}

TEST_CASE("plans for Hopper: the shortest rows of top_k are sorted by a network") {
  smem::TopKProblem problem;
  problem.rows = 1000000;
  const auto variant = [&](std::size_t cols) {
    problem.cols = cols;
    return smem::plan_top_k(of_132_units(), problem).variant;
  };
  problem.k = 1;
  for (const std::size_t cols : {16, 33, 64})
    CHECK(variant(cols) == "network");
  CHECK(variant(96) == "row_delegates");
  CHECK(variant(1000) != "network");
}

TEST_CASE("plans of stencils: tiles that know their window count planes in 32 bits, and fill the device") {
  smem::StencilProblem problem;
  problem.shape = smem::StencilShape::box;
  problem.size = problem.out_size = {4096, 4096, 1};
  problem.window = {3, 3, 1};
  problem.first = {-1, -1, 0};
  const auto results = [&] {
    const smem::Plan plan = smem::plan_stencil(of_132_units(), problem, {.variant = "tiled"});
    CHECK(define_of(plan, "EACH") == (define_of(plan, "WINDOW_X") == 3 ? plan.items_per_work_item : 0));
    return define_of(plan, "EACH");
  };
  CHECK(results() == 4);
  problem.size = problem.out_size = {256, 256, 1};
  CHECK(results() == 1);
  problem.size = problem.out_size = {16, 16, 1};
  problem.batch = (std::size_t{1} << 31) - 1;
  CHECK(results() > 0);
  ++problem.batch;
  CHECK(results() == 0);
}
