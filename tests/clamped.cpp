// The same operations on smaller devices: SMEM_CLAMP takes local memory and work-items away, so that a run on
// a CPU shows that a plan would fit a small GPU.
#include <smem/smem.hpp>

#include "plan/driver_faults.hpp"
#include "support/blurs.hpp"
#include "support/conv2ds.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/gemms.hpp"
#include "support/heats.hpp"
#include "support/histograms.hpp"
#include "support/moving_means.hpp"
#include "support/pools.hpp"
#include "support/reduce_sweep.hpp"
#include "support/scans.hpp"
#include "support/selects.hpp"
#include "support/separables.hpp"
#include "support/stencils.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using test::Operation;

namespace {

void on_a_smaller_device(const char* limits, std::size_t local_bytes, std::size_t work_group) {
  const test::Variable clamp("SMEM_CLAMP", limits);
  const smem::Context context;
  REQUIRE(context.device().local_bytes <= local_bytes);
  REQUIRE(context.device().max_work_group <= work_group);
  test::Sweep sweep(context, 3);
  for (const Operation operation :
       {Operation::transpose, Operation::in_place, Operation::rotate_90, Operation::rotate_180}) {
    for (std::string_view variant : test::variants_of(operation)) {
      if (operation == Operation::rotate_90 && variant != "naive") variant = "";  // the plan's own choice
      for (const std::size_t element_bytes : {1, 4, 16}) {
        for (const auto& [rows, cols] : {test::Shape{100, 131}, {33, 1}, {67, 67}}) {
          test::Case c{operation, std::string(variant), element_bytes, rows, cols, {}, {}};
          if (operation == Operation::in_place) c.cols = c.rows;
          const smem::Matrix in(nullptr, smem::ElementType::of_bytes(element_bytes), c.rows, c.cols);
          const smem::Matrix out(nullptr, smem::ElementType::of_bytes(element_bytes), c.out_rows(),
                                 c.out_cols());
          try {
            const smem::Plan plan = test::plan_of(context, c, in, out);
            CHECK(plan.local_bytes <= local_bytes);
            CHECK(plan.work_items() <= work_group);
          } catch (const smem::Error&) {  // the sweep reports it
          }
          test::run_layouts(sweep, c);
        }
      }
      if (variant == "naive" || variant.empty() || !test::is_turn(operation)) CHECK(sweep.ran() > 0);
    }
  }
}

constexpr std::size_t kAny = ~std::size_t{0};

}  // namespace

TEST_CASE("clamped: transposes in 32 KiB of local memory") {
  on_a_smaller_device("local=32K", 32 * 1024, kAny);
}
TEST_CASE("clamped: transposes in 16 KiB of local memory") {
  on_a_smaller_device("local=16K", 16 * 1024, kAny);
}
TEST_CASE("clamped: transposes in 512 bytes of local memory") { on_a_smaller_device("local=512", 512, kAny); }
TEST_CASE("clamped: transposes with work-groups of 256") { on_a_smaller_device("work_group=256", kAny, 256); }
TEST_CASE("clamped: transposes with work-groups of 64") { on_a_smaller_device("work_group=64", kAny, 64); }
TEST_CASE("clamped: transposes with work-groups of 32") { on_a_smaller_device("work_group=32", kAny, 32); }
TEST_CASE("clamped: transposes with work-groups of 1") { on_a_smaller_device("work_group=1", kAny, 1); }
TEST_CASE("clamped: transposes with sub-groups of 8") { on_a_smaller_device("sub_group=8", kAny, kAny); }
TEST_CASE("clamped: transposes with sub-groups of 16") { on_a_smaller_device("sub_group=16", kAny, kAny); }
TEST_CASE("clamped: transposes with sub-groups of 32") { on_a_smaller_device("sub_group=32", kAny, kAny); }
TEST_CASE("clamped: transposes with sub-groups of 64") { on_a_smaller_device("sub_group=64", kAny, kAny); }
TEST_CASE("clamped: transposes without fp64") { on_a_smaller_device("fp64=0", kAny, kAny); }
TEST_CASE("clamped: transposes on a small GPU") {
  on_a_smaller_device("local=32K,work_group=64", 32 * 1024, 64);
}

TEST_CASE("clamped: reductions on smaller devices") {
  for (const char* limits :
       {"local=512", "work_group=64", "work_group=1", "local=4K,work_group=32,compute_units=1"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::ReduceSweep sweep(context);
    // What a driver breaks in small work-groups is refused there, by the plan and by the call.
    const bool has_faults = !smem::plan::known_launch_faults(context.device()).empty();
    std::size_t refused = 0;
    for (const smem::ReduceOp op : {smem::ReduceOp::sum, smem::ReduceOp::norm}) {
      for (const char* variant : {"sequential", "several", "cpu"}) {
        if (variant == std::string("cpu") && !test::has_cpu_variant(context.device())) continue;
        test::ReduceCase c;
        c.reduction = op;
        c.variant = variant;
        c.layout.extent.offset = 1;
        for (const std::size_t size : {1, 513, 70001}) {
          c.cols = size;
          CHECK(smem::plan_reduce(context.device(), test::problem_of(c), {.variant = std::string(variant)})
                    .local_bytes <= context.device().local_bytes);
          sweep.run(c);
        }
        if (variant == std::string("sequential")) continue;
        for (const smem::ReduceShape shape : {smem::ReduceShape::rows, smem::ReduceShape::columns}) {
          test::ReduceCase m = c;
          m.shape = shape;
          m.rows = 301;
          m.cols = 67;
          m.layout = test::strided(m.rows, m.cols, 2);
          refused += has_faults && !test::has_plan(context.device(), m);
          sweep.run(m);
        }
      }
    }
    const bool cpu = test::has_cpu_variant(context.device());
    CHECK(refused <= 2);  // of columns
    CHECK(sweep.ran() + refused == 2 * (cpu ? 3 * 3 + 2 * 2 : 2 * 3 + 2));
  }
}

TEST_CASE("clamped: histograms on smaller devices") {
  for (const char* limits : {"local=512", "work_group=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::HistogramSweep sweep(context);
    for (const char* variant : {"local", "cached", "cpu"}) {
      if (variant == std::string("cpu") && !test::has_cpu_variant(context.device())) continue;
      for (const std::size_t bins : {200, 8000}) {  // in one pass, and in several
        test::HistogramCase c;
        c.variant = variant;
        c.bins = bins;
        c.layout.extent.offset = 1;
        c.cols = 20001;
        c.spread = bins == 200 ? test::Spread::zipf : test::Spread::uniform;
        smem::HistogramProblem problem;
        problem.bins = bins;
        problem.cols = c.cols;
        CHECK(
            smem::plan_histogram(context.device(), problem, {.variant = std::string(variant)}).local_bytes <=
            context.device().local_bytes);
        sweep.run(c);
      }
    }
    CHECK(sweep.ran() == (test::has_cpu_variant(context.device()) ? 6 : 4));
  }
}

TEST_CASE("clamped: scans on smaller devices") {
  for (const char* limits : {"local=512", "work_group=4,compute_units=1"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::ScanSweep sweep(context);
    for (const char* variant : {"reduce_then_scan", "look_back"}) {
      test::ScanCase c;
      c.operation = test::affine();
      c.in = smem::Scalar::uint32;
      c.variant = variant;
      if (variant == std::string("look_back") && !context.device().forward_progress) continue;
      for (const std::size_t size : {1, 513, 70001}) {
        c.cols = size;
        sweep.run(c);
        CHECK(smem::plan_scan(context.device(), test::problem_of(c), {.variant = std::string(variant)})
                  .local_bytes <= context.device().local_bytes);
      }
    }
    CHECK(sweep.ran() == (context.device().forward_progress ? 6 : 3));
  }
}

TEST_CASE("clamped: selections on smaller devices") {
  for (const char* limits : {"local=512", "work_group=4,compute_units=1"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::SelectSweep sweep(context);
    const std::pair<const char*, smem::SelectOp> calls[] = {
        {"count_then_place", smem::SelectOp::run_length_encode},
        {"look_back", smem::SelectOp::run_length_encode},
        {"look_back", smem::SelectOp::partition},
        {"look_back", smem::SelectOp::partition_reversed}};
    for (const auto& [variant, op] : calls) {
      test::SelectCase c;
      c.op = op;
      c.in = smem::Scalar::uint32;
      c.variant = variant;
      if (variant == std::string("look_back") && !context.device().forward_progress) continue;
      for (const std::size_t size : {1, 513, 70001}) {
        c.size = size;
        sweep.run(c);
        CHECK(smem::plan_select(context.device(), test::problem_of(c), {.variant = std::string(variant)})
                  .local_bytes <= context.device().local_bytes);
      }
    }
    CHECK(sweep.ran() == (context.device().forward_progress ? 12 : 3));
  }
}

TEST_CASE("clamped: products of matrices on smaller devices") {
  const std::vector<const char*> on_a_small_gpu{"rectangular", "registers_2d", "async", ""};
  const std::vector<const char*> on_a_tiny_one{"tiled", "double_buffered"}, alone{"two_level"};
  for (const auto& [limits, variants] : {std::pair{"local=32K,work_group=64", on_a_small_gpu},
                                         {"local=512,work_group=16", on_a_tiny_one},
                                         {"work_group=1", alone}}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::GemmSweep sweep(context);
    for (const char* variant : variants) {
      test::GemmCase c;
      c.variant = variant;
      c.m = 33;
      c.n = 20;
      c.k = 41;
      c.transpose_b = true;
      sweep.run(c);  // which checks the plan's sizes
    }
    CHECK(sweep.ran() == variants.size());
  }
  // Few results of many parts each: several work-items add the parts of a result.
  const smem::Context context;
  test::GemmSweep sweep(context);
  test::GemmCase c;
  c.variant = "split_k";
  c.m = 17;
  c.n = 21;
  c.k = 9001;
  c.bias = 1;
  const smem::Plan parts = smem::plan_gemm(context.device(), test::problem_of(c), {.variant = "split_k"});
  REQUIRE(parts.after.size() == 1);
  CHECK(parts.after[0].work_group[2] > 1);
  sweep.run(c);
  c.batch = 3;
  sweep.run(c);
  CHECK(sweep.ran() == 2);
}

TEST_CASE("clamped: heat on smaller devices") {
  for (const char* limits : {"local=512", "local=4K,work_group=32", "work_group=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::HeatSweep sweep(context);
    for (const char* variant : {"blocked", "march", "vector", "cpu", ""}) {
      for (const smem::GridSize& size : {smem::GridSize{41, 23}, smem::GridSize{21, 13, 9}}) {
        test::HeatCase c;
        c.size = size;
        c.variant = variant;
        c.walls = smem::Walls::fixed;
        c.steps = 3;
        if (size.depth > 1 && std::string(variant).empty()) c.type = smem::Scalar::half;
        sweep.run(c);
        try {
          const smem::Plan plan =
              smem::plan_heat(context.device(), c.problem(), {.variant = std::string(variant)});
          CHECK(plan.local_bytes <= context.device().local_bytes);
          CHECK(plan.work_items() <= context.device().max_work_group);
        } catch (const smem::Error& error) {
          CHECK(error.details().argument == "variant");
        }
      }
    }
    CHECK(sweep.ran() >= (test::has_cpu_variant(context.device()) ? 5 : 3));
  }
}

TEST_CASE("clamped: filters and pooling on smaller devices") {
  for (const char* limits : {"local=512,work_group=16", "work_group=1", "local=0"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    const bool none = context.device().local_bytes == 0;
    test::SeparableSweep sweep(context);
    test::BlurSweep blurs(context);
    test::PoolSweep pools(context);
    for (const char* variant : {"", "tiled", "march"}) {
      test::SeparableCase c;
      c.variant = variant;
      c.grids.boundary = smem::Boundary::clamp;
      c.grids.size = {61, 17};
      sweep.run(c);
      if (c.variant.empty() || !none) CHECK((sweep.ran() == 1 || c.variant == "march"));
      test::BlurCase b;
      b.variant = variant == std::string("tiled") ? "two_pass" : variant;
      b.grids.boundary = smem::Boundary::clamp;
      b.grids.size = {61, 40};
      b.size = variant == std::string("march") ? 3 : 17;
      blurs.run(b);
      if (b.variant != "march") CHECK(blurs.ran() == 1);
    }
    test::PoolCase p;
    p.global = true;
    p.op = smem::PoolOp::average;
    p.grids.size = {61, 40};
    p.grids.channels = 4;
    pools.run(p);
    smem::GlobalPoolProblem whole;
    whole.width = whole.height = 100;
    CHECK(smem::plan_global_pool(context.device(), whole).local_bytes <= context.device().local_bytes);
    CHECK(smem::plan_separable(context.device(), test::problem_of(test::SeparableCase{})).local_bytes <=
          context.device().local_bytes);
  }
}

TEST_CASE("clamped: convolutions of many channels and moving means on smaller devices") {
  for (const char* limits : {"local=512,work_group=16", "work_group=1", "local=0"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    const std::size_t local = context.device().local_bytes;
    test::Conv2dSweep sweep(context);
    test::MovingMeanSweep means(context);
    for (const char* variant : {"", "direct"}) {
      if (variant[0] == 0 && local == 512) continue;  // as with nothing, but for the tiles
      test::Conv2dCase c{smem::Scalar::float32, 1, 5, 23, 9, 11, 3, 3, smem::Conv2d::square(1, 1)};
      c.variant = variant;
      sweep.run(c);
      CHECK((sweep.ran() == 1 || (local == 0 && c.variant == "direct")));
    }
    for (const char* variant : {"", "tiled", "blocks"}) {
      if (variant[0] == 0 && local != 0) continue;
      test::MovingMeanCase m;
      m.variant = variant;
      m.window = 3;
      m.grids.size = {301, 2};
      means.run(m);
      CHECK((means.ran() == 1 || (local == 0 && !m.variant.empty())));
    }
    smem::Conv2dProblem p;
    p.in_channels = p.out_channels = 64;
    p.width = p.height = p.out_width = p.out_height = 56;
    p.window.width = p.window.height = 3, p.padding.left = p.padding.top = 1;
    const smem::Plan plan = smem::plan_conv2d(context.device(), p);
    CHECK(plan.local_bytes <= local);
    CHECK(plan.work_items() <= context.device().max_work_group);
    CHECK(smem::plan_moving_mean(context.device(), {.width = 5000, .window = 999}).local_bytes <= local);
  }
}

TEST_CASE("clamped: stencils on smaller devices") {
  for (const char* limits : {"local=512", "work_group=1", "local=2K,work_group=32"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::StencilSweep sweep(context);
    for (const char* variant : {"tiled", "march", "planes", "rows", "cpu", ""}) {
      test::StencilCase c;
      c.variant = variant;
      c.boundary = smem::Boundary::clamp;
      c.shape = smem::StencilShape::star;
      c.radius = {1, 1, 1};
      c.size = {37, 9, 5};
      sweep.run(c);  // refused where nothing fits
      smem::StencilProblem problem = smem::stencil_problem(c.type, {37, 9, 5}, {1, 1, 1});
      problem.shape = c.shape;
      const smem::Plan plan = smem::plan_stencil(context.device(), problem);
      CHECK(plan.local_bytes <= context.device().local_bytes);
      CHECK(plan.work_items() <= context.device().max_work_group);
    }
    CHECK(sweep.ran() >= 3);
  }
}

TEST_CASE("clamped: transposes without local memory are naive and right") {
  const test::Variable clamp("SMEM_CLAMP", "local=0");
  const smem::Context context;
  CHECK(context.device().local_bytes == 0);
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 50;
  const smem::Plan plan = smem::plan_transpose(context.device(), problem);
  CHECK(plan.variant == "naive");
  CHECK(test::contains(plan.reason, "no tile fits 0 bytes"));
  test::Sweep sweep(context);
  sweep.run({Operation::transpose, "", 4, 50, 50, {}, {}});
  sweep.run({Operation::in_place, "", 4, 50, 50, {}, {}});
  CHECK(sweep.ran() == 2);
}

TEST_CASE("clamped: a malformed SMEM_CLAMP is an error of the context") {
  const test::Variable clamp("SMEM_CLAMP", "local=much");
  const auto error = test::failure_of([] { smem::Context context; });
  CHECK(error.argument == "SMEM_CLAMP");
  CHECK(error.got == "\"local=much\"");
  CHECK_THROWS_AS(smem::devices(), smem::Error);
}
