// Every operation uses the entry that a tuning file has for its problem.
#include <smem/smem.hpp>

#include "support/tuning_folder.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

constexpr std::size_t kCount = 5000;
using Floats = smem::Array<float>;
using smem::CallOptions, smem::Context;

/// Problems of kCount floats, each with an entry of its own.
class Entries {
 public:
  template <class Problem>
  void add(const Problem& problem, const smem::PlanOverrides& overrides) {
    smem::store_tuning(plain_.device(),
                       {{smem::tuning_class(problem), overrides, 1.5, 1e-4, "cpu", "2026-11-22"}});
  }

  /// Checks that a call which fixes nothing builds what one does that fixes the overrides, with the results
  /// of the shipped plan. `call(context, in, out, options)`, of results that every plan has to the bit.
  template <class Call>
  void check(const smem::PlanOverrides& overrides, const Call& call) const {
    CAPTURE(overrides.variant);
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      values[i] = static_cast<float>(i % 8) / 8;
    const auto fresh = [](const Context& context) {
      return Floats(context, std::vector<float>(kCount, -1.0F));
    };
    const Context context;
    const Floats in(context, values), out = fresh(context), again = fresh(context), shipped = fresh(plain_);
    call(context, in, out, CallOptions{});
    const std::vector<float> got = out.to_host();
    const std::size_t built = context.cache_statistics().built_from_source;
    call(context, in, again, CallOptions{.overrides = &overrides});
    CHECK(again.to_host() == got);
    CHECK(context.cache_statistics().built_from_source == built);
    call(plain_, Floats(plain_, values), shipped, CallOptions{});
    CHECK(shipped.to_host() == got);
  }

 private:
  const Context plain_;  // opened before there was an entry
};

}  // namespace

TEST_CASE("tuning: every operation on arrays uses its entry") {
  const test::TuningFolder folder;
  Entries entries;
  smem::ReduceProblem reduce;
  reduce.cols = kCount;
  entries.add(reduce, {.variant = "sequential"});
  smem::ReduceProblem matvec;
  matvec.reduction = smem::ReduceOp::dot;
  matvec.shape = smem::ReduceShape::rows;
  matvec.rows = 49, matvec.cols = 100;
  matvec.packed_alignment = 16;
  entries.add(matvec, {.variant = "several", .work_items = 16});
  smem::ScanProblem scan;
  scan.cols = kCount;
  entries.add(scan, {.variant = "blelloch"});
  smem::HistogramProblem histogram;
  histogram.cols = kCount;
  histogram.bins = 16;
  histogram.rule = smem::even_bins(smem::Scalar::float32, 16, 0, 1).rule;
  entries.add(histogram, {.variant = "global"});
  smem::WeightedHistogramProblem weighted{histogram};
  weighted.counts.cols = kCount / 2;
  entries.add(weighted, {.variant = "global"});
  smem::SelectProblem select;
  select.size = kCount - 1;
  entries.add(select, {.variant = "count_then_place", .work_items = 16});
  smem::GemmProblem gemm{.m = 50, .n = 100, .k = 50};
  gemm.a_alignment = 8;
  gemm.b_alignment = gemm.c_alignment = 16;
  entries.add(gemm, {.variant = "naive"});
  entries.add(smem::FlipProblem{4, 50, 100}, {.variant = "items"});

  entries.check({.variant = "sequential"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::reduce(c, in.vector(), out.vector(0, 1), smem::ReduceOp::sum, o);
                });
  entries.check({.variant = "several", .work_items = 16},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::matvec(c, in.matrix(49, 100), in.vector(4900, 100), out.vector(0, 49),
                               smem::FloatMode::reproducible, o);
                });
  entries.check({.variant = "blelloch"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::inclusive_scan(c, in.vector(), out.vector(), smem::ReduceOp::sum, o);
                });
  entries.check({.variant = "global"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  const smem::Vector counts(out.buffer()(), smem::Scalar::uint32, 16);
                  smem::histogram(c, in.vector(), counts, smem::Bins::even(16, 0, 1), o);
                });
  entries.check({.variant = "global"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::histogram_weighted(c, in.vector(0, kCount / 2), in.vector(kCount / 2, kCount / 2),
                                           out.vector(0, 16), smem::Bins::even(16, 0, 1), o);
                });
  entries.check({.variant = "count_then_place", .work_items = 16},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  const smem::Vector count(out.buffer()(), smem::Scalar::uint32, 1, kCount - 1);
                  smem::copy_if(c, in.vector(0, kCount - 1), out.vector(0, kCount - 1), count, "x > 0.5f", o);
                });
  entries.check({.variant = "naive"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::gemm(c, in.matrix(50, 50), in.matrix(50, 100), out.matrix(50, 100), {}, o);
                });
  entries.check({.variant = "items"},
                [](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::flip(c, in.matrix(50, 100), out.matrix(50, 100), smem::Flip::horizontal, o);
                });
}

TEST_CASE("tuning: every operation on grids uses its entry") {
  const test::TuningFolder folder;
  Entries entries;
  smem::HeatProblem heat;
  heat.width = 100;
  heat.height = 50;
  heat.steps = 2;
  heat.alignment = 16;
  entries.add(heat, {.variant = "tiled"});
  smem::StencilProblem stencil = smem::stencil_problem(smem::Scalar::float32, {100, 50, 1}, {1, 1, 0});
  stencil.boundary = smem::Boundary::clamp;
  entries.add(stencil, {.variant = "naive"});
  stencil.convolution = true;
  stencil.boundary = smem::Boundary::zero;
  entries.add(stencil, {.variant = "tiled", .work_items = 32});
  smem::SeparableProblem separable;
  separable.width = 100;
  separable.height = 50;
  separable.row_taps = separable.column_taps = 3;
  separable.boundary = smem::Boundary::clamp;
  entries.add(separable, {.variant = "naive"});
  smem::SeparableProblem grids;
  grids.width = 100;
  grids.height = 50;
  grids.row_taps = grids.column_taps = 3;
  grids.boundary = smem::Boundary::mirror;
  entries.add(smem::WindowProblem{grids, smem::WindowOp::median}, {.variant = "registers"});
  entries.add(smem::WindowProblem{grids, smem::WindowOp::gradient}, {.variant = "registers"});
  grids.row_taps = grids.column_taps = 33;
  entries.add(smem::BoxProblem{grids}, {.variant = "two_pass"});
  smem::PoolProblem pool;
  pool.width = 100;
  pool.height = 50;
  pool.out_alignment = 8;
  entries.add(pool, {.variant = "windows", .work_items = 16});
  smem::GlobalPoolProblem planes;
  planes.op = smem::PoolOp::average;
  planes.width = planes.height = 50;
  planes.planes = 2;
  entries.add(planes, {.variant = "parts", .work_items = 16});
  smem::Conv2dProblem conv2d;
  conv2d.in_channels = 2;
  conv2d.width = conv2d.height = conv2d.out_width = conv2d.out_height = 20;
  conv2d.out_channels = 3;
  conv2d.window.width = conv2d.window.height = 3;
  conv2d.weight_alignment = 8;
  entries.add(conv2d, {.variant = "naive"});
  const auto kType = smem::Scalar::float32;
  entries.add(smem::MovingMeanProblem{kType, kType, kCount, 1, 8}, {.variant = "blocks", .work_items = 16});

  const auto grid = [](const Floats& of, smem::GridSize size, std::size_t batch = 1, std::size_t offset = 0) {
    return smem::Grid(of.buffer()(), smem::Scalar::float32, size, {.offset = offset, .batch = batch});
  };
  const smem::GridSize flat{100, 50};
  const std::vector<double> weights{0.5, 0.25, 1, 0.125, 2, 0.5, 1, 1, 0.25};
  entries.check({.variant = "tiled"},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::heat(c, grid(in, flat), grid(out, flat), {.steps = 2, .dt = 0.125}, o);
                });
  entries.check(
      {.variant = "naive"}, [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
        const smem::Stencil box{.radius = {1, 1}, .weights = weights, .edges = {smem::Boundary::clamp}};
        smem::stencil(c, grid(in, flat), grid(out, flat), box, o);
      });
  entries.check({.variant = "tiled", .work_items = 32},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::convolve2d(c, grid(in, flat), grid(out, flat), {3, 3, weights}, {}, o);
                });
  entries.check({.variant = "naive"}, [&](const Context& c, const Floats& in, const Floats& out,
                                          const CallOptions& o) {
    const std::vector<double> taps{0.25, 0.5, 0.25};
    smem::separable(c, grid(in, flat), grid(out, flat), {taps, taps}, {.boundary = smem::Boundary::clamp}, o);
  });
  entries.check({.variant = "registers"},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::median_blur(c, grid(in, flat), grid(out, flat), 3, {}, o);
                });
  entries.check({.variant = "registers"},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::sobel(c, grid(in, flat), grid(out, flat), {smem::Gradient::magnitude, 3}, {}, o);
                });
  entries.check({.variant = "two_pass"},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::box_blur(c, grid(in, flat), grid(out, flat), 16, {}, o);
                });
  entries.check({.variant = "windows", .work_items = 16},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::max_pool2d(c, grid(in, flat), grid(out, {50, 25}), smem::Pooling::square(2), o);
                });
  entries.check({.variant = "parts", .work_items = 16},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::global_avg_pool(c, grid(in, {50, 50}, 2), grid(out, {1, 1}, 2), o);
                });
  entries.check({.variant = "naive"},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::conv2d(c, grid(in, {20, 20, 2}), grid(in, {3, 3, 2}, 3, 1000), grid(out, {20, 20, 3}),
                               smem::Conv2d::square(1, 1), o);
                });
  entries.check({.variant = "blocks", .work_items = 16},
                [&](const Context& c, const Floats& in, const Floats& out, const CallOptions& o) {
                  smem::moving_mean(c, grid(in, {kCount}), grid(out, {kCount}), 8, smem::MeanEnds::shrink, o);
                });
}
