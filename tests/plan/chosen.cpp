// What an H200 gets by its own measurements: sizes that smem tune found there, by operation.
#include <smem/smem.hpp>

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

using smem::Scalar;
using Sizes = std::array<std::size_t, 3>;

namespace {

const smem::Device h200 = test::target("sm_90");
constexpr std::size_t kMany = std::size_t{1} << 28;

/// The value of a macro of the kernel; 0: the plan does not define it.
long defines(const smem::Plan& plan, const char* name) {
  for (const auto& [defined, value] : plan.defines)
    if (defined == name) return value;
  return 0;
}

}  // namespace

TEST_CASE("plans of the H200: mirror images are made in vectors, by groups of 128") {
  smem::FlipProblem problem{.rows = 16384, .cols = 16384};
  CHECK(smem::plan_flip(h200, problem).variant == "vector");
  CHECK(smem::plan_flip(h200, problem).work_items() == 128);
  CHECK(smem::plan_flip(test::target("gfx90a"), problem).work_items() == 256);
  problem.element_bytes = 16;  // a vector of one element
  CHECK(smem::plan_flip(h200, problem).variant == "items");
}

TEST_CASE("plans of the H200: transposes of bytes fit edges") {
  smem::TransposeProblem problem;
  problem.element_bytes = 1;
  problem.rows = 1939393, problem.cols = 33;
  problem.in_alignment = problem.out_alignment = 1;
  problem.in_packed = problem.out_packed = true;
  CHECK(smem::plan_transpose(h200, problem).variant == "strips");
  problem.rows = 320, problem.cols = 200000;
  problem.in_alignment = problem.out_alignment = 64;
  CHECK(smem::plan_transpose(h200, problem).variant == "vector");
  CHECK(smem::plan_transpose(h200, problem).tile_rows == 128);
  CHECK(smem::plan_transpose(h200, problem).tile_cols == 256);
  problem.rows = problem.cols = 16384;
  CHECK(smem::plan_transpose(h200, problem).tile_rows == 256);
}

TEST_CASE("plans of the H200: bytes and halves have vectors from rows at 8 bytes on") {
  const auto variant = [](std::size_t bytes, std::size_t rows, std::size_t cols, std::size_t batch) {
    smem::TransposeProblem problem{.element_bytes = bytes, .rows = rows, .cols = cols, .batch = batch};
    problem.in_alignment = std::gcd(cols * bytes, std::size_t{64});
    problem.out_alignment = std::gcd(rows * bytes, std::size_t{64});
    problem.in_packed = problem.out_packed = true;
    return smem::plan_transpose(h200, problem).variant;
  };
  CHECK(variant(2, 300, 300, 200) == "vector");
  CHECK(variant(1, 3000, 4000, 1) == "vector");
  CHECK(variant(1, 6000, 8000, 1) == "vector");
  CHECK(variant(1, 16008, 16008, 1) == "skewed");  // more than the cache holds
  CHECK(variant(2, 2002, 3004, 1) == "skewed");    // at words of 4 bytes
  CHECK(variant(4, 300, 300, 100) == "skewed");
  // Batches whose runs are words, or of which skewed tiles are mostly empty.
  CHECK(variant(2, 502, 500, 80) == "strips");
  CHECK(variant(2, 502, 500, 1) == "skewed");  // few groups
  CHECK(variant(1, 301, 299, 300) == "strips");
  CHECK(variant(1, 481, 511, 300) == "skewed");  // full tiles
  CHECK(variant(4, 301, 299, 100) == "skewed");
  smem::TransposeProblem other{.element_bytes = 2, .rows = 300, .cols = 300, .batch = 200};
  other.in_alignment = other.out_alignment = 8;
  CHECK(smem::plan_transpose(test::target("gfx90a"), other).variant == "skewed");
}

TEST_CASE("plans of the H200: many results of one row are found by radix select") {
  smem::TopKProblem problem{.cols = 1000000, .k = 1000};
  CHECK(smem::plan_top_k(h200, problem).variant == "radix_select");
  problem.type = Scalar::half;
  CHECK(smem::plan_top_k(h200, problem).variant == "radix_select");
  problem.type = Scalar::float32;
  problem.k = 300;
  CHECK(smem::plan_top_k(h200, problem).variant == "delegates");
  problem.rows = 8;
  CHECK(smem::plan_top_k(h200, problem).variant == "delegates");
  problem.k = 1000;  // a group for each row, all at once
  CHECK(smem::plan_top_k(h200, problem).variant == "delegates");
  problem.rows = 1, problem.cols = 16000000;
  CHECK(smem::plan_top_k(h200, problem).variant == "delegates");
  problem.cols = 1000000;
  CHECK(smem::plan_top_k(test::target("gfx90a"), problem).variant == "delegates");
}

TEST_CASE("plans of the H200: long rows of short keys are sorted by passes in local memory") {
  const auto variant = [](Scalar keys, std::size_t rows, std::size_t cols, bool in_place = false) {
    smem::SortRowsProblem problem{.keys = keys, .rows = rows, .cols = cols};
    problem.end_bit = 8 * smem::size_of(keys);
    problem.in_place = in_place;
    return smem::plan_sort_rows(h200, problem).variant;
  };
  CHECK(variant(Scalar::uint8, 2000, 3000) == "tile");
  CHECK(variant(Scalar::uint8, 2000, 3000, true) == "tile");
  CHECK(variant(Scalar::half, 3000, 5000) == "tile");
  CHECK(variant(Scalar::half, 4096, 8192) == "keys_only");
  CHECK(variant(Scalar::uint8, 2000, 1000) == "keys_only");
  CHECK(variant(Scalar::float32, 10000, 1000) == "keys_only");
  CHECK(variant(Scalar::float32, 2000, 6000) == "keys_only");
}

TEST_CASE("plans of GPUs: mirror images of bytes move packs, and short rows through local memory") {
  smem::FlipProblem problem{.element_bytes = 1, .rows = 2133, .cols = 30000};
  CHECK(smem::plan_flip(h200, problem).variant == "packs");
  CHECK(smem::plan_flip(h200, problem).kernel_file == "flip/packs.cl");
  CHECK(smem::plan_flip(test::target("gfx90a"), problem).variant == "packs");
  problem.cols = 33;
  CHECK(smem::plan_flip(h200, problem).kernel_file == "flip/runs.cl");
  CHECK(smem::plan_flip(smem::clamp(h200, "local=0"), problem).kernel_file == "flip/packs.cl");
}

TEST_CASE("plans of the H200: each selection has work-groups of its own size") {
  const std::pair<smem::SelectOp, std::size_t> groups[] = {{smem::SelectOp::copy_if, 512},
                                                           {smem::SelectOp::copy_flagged, 1024},
                                                           {smem::SelectOp::unique, 512},
                                                           {smem::SelectOp::run_length_encode, 512},
                                                           {smem::SelectOp::partition, 64}};
  for (const auto& group : groups) {
    smem::SelectProblem problem{.op = group.first, .size = kMany};
    if (problem.op == smem::SelectOp::copy_if || problem.op == smem::SelectOp::partition)
      problem.predicate = "x > 0";
    CAPTURE(smem::name_of(problem.op));
    CHECK(smem::plan_select(h200, problem).work_items() == group.second);
    CHECK(smem::plan_select(test::target("gfx90a"), problem).work_items() == 256);
  }
}

TEST_CASE("plans of the H200: rows that fill a tile are scanned in registers") {
  smem::ScanProblem problem{.shape = smem::ScanShape::rows, .rows = 16384, .cols = 16384};
  CHECK(smem::plan_scan(h200, problem).variant == "look_back");
  problem.cols = 4096;
  CHECK(smem::plan_scan(h200, problem).variant != "look_back");
}

TEST_CASE("plans of the H200: weighted histograms have groups of 512") {
  smem::WeightedHistogramProblem problem;
  problem.counts.cols = std::size_t{1} << 27;
  problem.counts.in = Scalar::float32;
  problem.counts.bins = 256;
  CHECK(smem::plan_histogram_weighted(h200, problem).work_items() == 512);
  CHECK(smem::plan_histogram_weighted(test::target("gfx90a"), problem).work_items() == 256);
}

TEST_CASE("plans of the H200: wide boxes have larger groups than narrow ones") {
  smem::SeparableProblem image;
  image.width = image.height = 8192;
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 50)).work_items() == 512);
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 15)).work_items() < 512);
}

TEST_CASE("plans of the H200: boxes go in two passes where they are large, or grids are small") {
  smem::Device device = h200;
  device.compute_units = 132;
  device.cache_bytes = std::size_t{50} << 20;
  smem::SeparableProblem image;
  image.width = image.height = 8192;
  const auto plan_of = [&](std::size_t radius) {
    return smem::plan_box(device, smem::BoxProblem::of(image, radius));
  };
  CHECK(plan_of(50).variant == "march");
  CHECK(plan_of(200).variant == "two_pass");
  // Where rows stay in local memory, fewer work-items have more of them each.
  CHECK(plan_of(200).entry_point == "box_columns_kept");
  CHECK(plan_of(200).work_items() == 256);
  CHECK(plan_of(600).entry_point == "box_columns");
  // The rows of the largest boxes are read again.
  CHECK(plan_of(200).local_bytes > plan_of(600).local_bytes);
  image.width = image.height = 1024;
  CHECK(plan_of(50).variant == "two_pass");
  const smem::PlanOverrides group{.work_items = 512};
  CHECK(smem::plan_box(device, smem::BoxProblem::of(image, 50), group).variant == "march");
  CHECK(smem::plan_box(test::target("gfx90a"), smem::BoxProblem::of(image, 50)).variant == "march");
  image.in = image.out = Scalar::uint8;
  image.in_alignment = image.out_alignment = 64;
  CHECK(plan_of(50).variant == "two_pass");
  image.width = image.height = 8192;
  CHECK(plan_of(50).variant == "shuffle");
}

TEST_CASE("plans of the H200: boxes of bytes slide in large grids, and go by matrix units in small ones") {
  smem::SeparableProblem image{.in = Scalar::uint8, .out = Scalar::uint8};
  image.width = image.height = 8192;
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 24)).variant == "shuffle");
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 1)).variant == "shuffle");
  image.width = image.height = 2048;
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 1)).variant == "units");
  image.width = image.height = 512;
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 24)).variant == "units");
}

TEST_CASE(
    "plans of the H200: boxes of halves are weighted by separable()'s matrix units, and large ones slide") {
  smem::SeparableProblem image{.in = Scalar::half, .out = Scalar::half};
  image.width = image.height = 8192;
  const smem::Plan small = smem::plan_box(h200, smem::BoxProblem::of(image, 7));
  CHECK(small.variant == "separable");
  CHECK(small.kernel_file == "separable/units.cl");
  CHECK(smem::plan_box(h200, smem::BoxProblem::of(image, 20)).variant == "march");
}

TEST_CASE("plans of the H200: whole planes have as many work-items as they keep busy") {
  smem::GlobalPoolProblem problem;
  problem.op = smem::PoolOp::average;
  problem.width = problem.height = 56;
  problem.planes = 16384;
  CHECK(smem::plan_global_pool(h200, problem).work_items() == 64);
  problem.width = problem.height = 7;
  CHECK(smem::plan_global_pool(h200, problem).work_items() == 256);
  problem.width = problem.height = 4096;
  problem.planes = 1;
  CHECK(smem::plan_global_pool(h200, problem).work_items() == 256);
}

TEST_CASE("plans of the H200: groups of stencils are no wider than rows") {
  const auto group = [](Scalar type, std::size_t width) {
    return smem::plan_stencil(h200, smem::stencil_problem(type, {width, 8192, 1}, {1, 1, 0}),
                              {.variant = "rows"})
        .work_group;
  };
  CHECK(group(Scalar::float64, 8192) == Sizes{32, 4, 1});
  CHECK(group(Scalar::float32, 8192) == Sizes{32, 4, 1});
  CHECK(group(Scalar::float32, 40) == Sizes{16, 8, 1});
  CHECK(group(Scalar::float32, 1) == Sizes{1, 128, 1});
}

TEST_CASE("plans of the H100: packed arrays with a short side, and small matrices, move in runs") {
  smem::TransposeProblem problem{
      .rows = 1 << 20, .cols = 6, .out_alignment = 64, .in_packed = true, .out_packed = true};
  problem.in_alignment = 8;
  CHECK(smem::plan_transpose(h200, problem).variant == "strips");
  CHECK(smem::plan_transpose(test::target("gfx90a"), problem).variant == "naive");  // not measured there
  problem.in_packed = false;
  CHECK(smem::plan_transpose(h200, problem).variant == "naive");
  problem = {.rows = 16384, .cols = 16384, .in_packed = true, .out_packed = true};
  CHECK(smem::plan_transpose(h200, problem).variant == "vector");
  // One row or column is a copy, which an element a work-item makes as well where there are few.
  smem::Device device = h200;
  device.compute_units = 132;
  problem = {.rows = 1, .cols = 9000001, .in_packed = true, .out_packed = true};
  CHECK(smem::plan_transpose(device, problem).variant == "strips");
  problem = {.rows = 9000001, .cols = 1, .in_packed = true, .out_packed = true};
  CHECK(smem::plan_transpose(device, problem).variant == "strips");
  problem.rows = 60001;
  CHECK(smem::plan_transpose(device, problem).variant == "naive");
  problem = {.rows = 100,
             .cols = 77,
             .batch = 1000,
             .in_alignment = 4,
             .out_alignment = 16,
             .in_packed = true,
             .out_packed = true};
  const smem::Plan whole = smem::plan_transpose(h200, problem);
  CHECK(whole.variant == "strips");
  CHECK(whole.groups() == 1000);
}

TEST_CASE("plans of the H100: short scans and selections have smaller tiles, and statuses with epochs") {
  for (const auto& [size, group, epochs] : {Sizes{1000000, 256, 1}, Sizes{kMany, 512, 0}}) {
    const smem::Plan scan = smem::plan_scan(h200, {.cols = size});
    CHECK(scan.variant == "look_back");
    CHECK(scan.work_items() == group);
    CHECK(defines(scan, "EPOCHS") == static_cast<long>(epochs));
    CHECK((scan.scratch.at(0).statuses != 0) == (epochs != 0));
    const smem::Plan copies =
        smem::plan_select(h200, {.op = smem::SelectOp::copy_if, .size = size, .predicate = "x > 0"});
    CHECK(copies.work_items() == group);
    CHECK(defines(copies, "EPOCHS") == static_cast<long>(epochs));
  }
  // A status says whether a segment begins in its tile; the epoch is beside it.
  CHECK(defines(smem::plan_scan(h200, {.shape = smem::ScanShape::keys, .cols = 1000000}), "EPOCHS") == 1);
}

TEST_CASE(
    "plans for CPUs: floats are multiplied by vectors of 64 bytes where these are measured to be faster") {
  smem::Device cpu = test::target("cpu");
  smem::GemmProblem problem;
  problem.m = problem.n = problem.k = 1024;
  CHECK(cpu.vector_bytes == 64);
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 8);
  cpu.wide_vectors = true;
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 16);
  CHECK(smem::plan_gemm(cpu, problem).tile_cols % 64 == 0);
  problem.in = problem.out = Scalar::float64;
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 8);
  problem.in = Scalar::int8;
  problem.out = Scalar::int32;
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 16);
  CHECK(defines(smem::plan_gemm(cpu, problem), "DOT") == 0);
  cpu.avx_vnni = true;  // whose instructions take vectors of 32 bytes
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 8);
  CHECK(defines(smem::plan_gemm(cpu, problem), "DOT") == 2);
  cpu.avx512_vnni = true;
  CHECK(smem::plan_gemm(cpu, problem).vector_width == 16);
  CHECK(defines(smem::plan_gemm(cpu, problem), "DOT") == 1);
}

TEST_CASE("plans for CPUs: medians of integers take whole registers where vectors may be that long") {
  smem::Device cpu = test::target("cpu");
  CHECK(cpu.vector_bytes == 64);
  smem::WindowProblem problem;
  problem.grids.in = problem.grids.out = Scalar::uint8;
  problem.grids.width = problem.grids.height = 1000;
  problem.grids.row_taps = problem.grids.column_taps = 5;
  const auto lanes = [&](Scalar in, Scalar out) {
    problem.grids.in = in;
    problem.grids.out = out;
    return smem::plan_window(cpu, problem).vector_width;
  };
  CHECK(lanes(Scalar::uint8, Scalar::uint8) == 16);
  cpu.extended_vectors = true;
  CHECK(lanes(Scalar::uint8, Scalar::uint8) == 64);
  CHECK(lanes(Scalar::uint16, Scalar::uint16) == 32);
  CHECK(lanes(Scalar::uint8, Scalar::float32) == 16);
  CHECK(lanes(Scalar::half, Scalar::half) == 16);
  cpu.vector_bytes = 32;
  CHECK(lanes(Scalar::uint8, Scalar::uint8) == 32);
}

TEST_CASE("plans for Hopper: medians go by tiles where registers hold them, gradients down bands") {
  const smem::Device hopper = test::target("sm_90");
  smem::WindowProblem problem;
  problem.grids.width = problem.grids.height = 1000;
  for (const Scalar type : {Scalar::uint8, Scalar::uint16, Scalar::half, Scalar::float32, Scalar::float64}) {
    problem.grids.in = problem.grids.out = type;
    for (const std::size_t taps : {3, 5}) {
      problem.grids.row_taps = problem.grids.column_taps = taps;
      problem.op = smem::WindowOp::median;
      const bool spills = taps == 5 && type == Scalar::float64;
      CHECK(smem::plan_window(hopper, problem).variant == (spills ? "columns" : "tiles"));
      CHECK(smem::plan_window(hopper, problem).most_registers ==
            (taps == 5 && type == Scalar::uint8 ? 128 : 0));
      problem.op = smem::WindowOp::gradient;
      const bool few = taps == 3 && type == Scalar::float64;
      CHECK(smem::plan_window(hopper, problem).variant == (few ? "registers" : "march"));
    }
  }
}

TEST_CASE("plans for Hopper: several short rows of moving means, and tiles as long as rows") {
  const smem::Device hopper = test::target("sm_90");
  smem::MovingMeanProblem p{Scalar::uint16, Scalar::uint16, 122, 365788, 40};
  CHECK(smem::plan_moving_mean(hopper, p).variant == "short_rows");
  CHECK(smem::plan_moving_mean(hopper, p).tile_rows == 16);
  CHECK(smem::plan_moving_mean(hopper, p, {.variant = "tiled"}).items_per_work_item == 4);
  CHECK(smem::plan_moving_mean(hopper, {Scalar::half, Scalar::half, 1000, 30000, 101}).items_per_work_item ==
        9);
  p.window = 8;  // added up element by element
  CHECK(smem::plan_moving_mean(hopper, p).variant == "tiled");
  p.window = 40, p.width = 129;
  CHECK(smem::plan_moving_mean(hopper, p).variant == "tiled");
  p.width = 50, p.window = 12, p.in = p.out = Scalar::float64;
  CHECK(smem::plan_moving_mean(hopper, p).variant == "short_rows");
}

TEST_CASE("plans for Hopper: stars of doubles in registers, of which few rows have a halo") {
  smem::StencilProblem p{.type = Scalar::float64, .shape = smem::StencilShape::star};
  p.size = p.out_size = {4000, 4000, 1};
  p.window = {7, 7, 1};
  p.first = {-3, -3, 0};
  CHECK(smem::plan_stencil(test::target("sm_90"), p).variant == "rows");
  CHECK(smem::plan_stencil(test::target("sm_75"), p).variant == "tiled");
}

TEST_CASE(
    "plans for Hopper: short rows of top_k and of sorts by networks, short vectors searched by samples") {
  const smem::Device hopper = test::target("sm_90");
  const auto top_k = [&](std::size_t cols, std::size_t k) {
    smem::TopKProblem p;
    p.type = Scalar::float32;
    p.rows = 100000, p.cols = cols, p.k = k;
    return smem::plan_top_k(hopper, p).variant;
  };
  CHECK(top_k(64, 8) == "network");
  CHECK(top_k(128, 8) == "row_delegates");
  CHECK(top_k(128, 100) == "network");
  CHECK(top_k(256, 8) == "row_delegates");
  CHECK(top_k(256, 100) == "tile");
  CHECK(top_k(256, 40) == "registers");
  CHECK(smem::plan_sort_rows(hopper, {.keys = Scalar::float32, .rows = 1000, .cols = 8}).variant ==
        "network");
  CHECK(smem::plan_sort_rows(hopper, {.keys = Scalar::float32, .rows = 1000, .cols = 9}).variant ==
        "keys_only");
  const auto bounds = [&](std::size_t size, std::size_t count) {
    return smem::plan_bounds(hopper, {.keys = Scalar::float32, .size = size, .count = count}).variant;
  };
  CHECK(bounds(1000, 1000000) == "sampled");
  CHECK(bounds(1000, 100000) == "bisection");
  CHECK(bounds(65536, 1000000) == "bisection");
  CHECK(bounds(65536, 16000000) == "sampled");
  CHECK(bounds(1000000, 1000000) == "bisection");
}

TEST_CASE("plans for Hopper: flips of short rows by packs, histograms of small matrices by small groups") {
  const smem::Device hopper = test::target("sm_90");
  const auto flip = [&](std::size_t bytes, std::size_t cols) {
    return smem::plan_flip(hopper, {.element_bytes = bytes, .rows = 1000, .cols = cols}).variant;
  };
  CHECK(flip(4, 2) == "packs");
  CHECK(flip(4, 4) == "vector");
  CHECK(flip(8, 4) == "packs");
  CHECK(flip(8, 8) == "vector");
  smem::HistogramProblem p;
  p.in = Scalar::float32, p.rows = 1, p.cols = 256, p.batch = 1000, p.bins = 20;
  CHECK(smem::plan_histogram(hopper, p).work_items() == 64);
  p.in = Scalar::uint8, p.bins = 256;
  CHECK(smem::plan_histogram(hopper, p).variant == "local");
  p.batch = 1, p.cols = 1000000;
  CHECK(smem::plan_histogram(hopper, p).variant == "replicated");
}

TEST_CASE("plans for Hopper: padded windows of short rows of floats are pooled one by one") {
  const smem::Device hopper = test::target("sm_90");
  smem::PoolProblem p;
  p.pooling = smem::Pooling::square(3, 2, 1);
  p.in = p.out = Scalar::float32;
  p.width = p.height = 112, p.planes = 64;
  CHECK(smem::plan_pool(hopper, p).variant == "windows");
  p.op = smem::PoolOp::average;
  CHECK(smem::plan_pool(hopper, p).variant == "windows");  // 28 work-items a row
  p.width = 132;
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  p.op = smem::PoolOp::max, p.width = 1024;
  CHECK(smem::plan_pool(hopper, p).variant == "windows");
  p.width = 1026;
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  p.in = p.out = Scalar::half, p.width = 514, p.pooling = smem::Pooling::square(7, 2, 3);
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  p.width = 224, p.pooling = smem::Pooling::square(7, 2, 3);
  CHECK(smem::plan_pool(hopper, p).variant == "windows");
  p.in = p.out = Scalar::float32, p.pooling = smem::Pooling::square(3, 2, 1);
  p.width = 112, p.pooling = smem::Pooling::square(2);
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  // Windows that stay in the plane; halves that are read one by one.
  p.channels = 3;
  CHECK(smem::plan_pool(hopper, p).build_options().find("-DINSIDE=1") != std::string::npos);
  p.width = 113, p.pooling = smem::Pooling::square(3, 2, 1);
  CHECK(smem::plan_pool(hopper, p).build_options().find("-DINSIDE=1") == std::string::npos);
  p.channels = 1, p.in = p.out = Scalar::half, p.in_alignment = p.out_alignment = 2, p.width = 2001;
  CHECK(smem::plan_pool(hopper, p).variant == "vector");
  CHECK(smem::plan_pool(test::target("sm_75"), p).variant == "windows");
}

TEST_CASE("plans for CPUs: a short product is one work-group, and blocks are of as many rows as C suits") {
  const smem::Device cpu = test::target("cpu");
  smem::GemmProblem problem;
  problem.m = problem.n = problem.k = 32;
  CHECK(smem::plan_gemm(cpu, problem).groups() == 1);
  problem.m = problem.n = problem.k = 128;
  CHECK(smem::plan_gemm(cpu, problem).groups() > 1);
  problem.batch = 3;  // each is worth a group
  CHECK(smem::plan_gemm(cpu, problem).global[2] == 3);
  smem::Device wide = cpu;
  wide.wide_vectors = true;
  problem = {};
  problem.m = problem.n = problem.k = 480;
  CHECK(smem::plan_gemm(wide, problem).reason.find("12 x 32 at a time") != std::string::npos);
  problem.m = 16;
  CHECK(smem::plan_gemm(wide, problem).reason.find("8 x 32 at a time") != std::string::npos);
  // Blocks that leave fewest rows over: 18 of 17, not 24, and all of 20.
  for (const auto& [m, block] :
       {std::pair{17, "9 x 32 at a time"}, {20, "10 x 32 at a time"}, {5, "5 x 32 at a time"}}) {
    problem.m = static_cast<std::size_t>(m);
    CHECK(smem::plan_gemm(wide, problem).reason.find(block) != std::string::npos);
  }
  problem.m = 1;
  CHECK(smem::plan_gemm(wide, problem).reason.find("2 x 64 at a time in registers; it reads B") !=
        std::string::npos);
  problem.b_along_k = true;
  CHECK(smem::plan_gemm(wide, problem).reason.find("reads B") == std::string::npos);
}
