// Plans of problems whose numbers overflow: each plan function refuses them with an Error or makes a plan
// whose numbers are those of 128-bit arithmetic; none divides by zero, loops for long or escapes with
// something else.
#include <smem/blur_plan.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/error.hpp>
#include <smem/flip_plan.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/heat_plan.hpp>
#include <smem/histogram_plan.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/pool_plan.hpp>
#include <smem/rates_plan.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/scan_plan.hpp>
#include <smem/select_plan.hpp>
#include <smem/separable_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/transpose_plan.hpp>

#include "plan/sizes.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kHostile[] = {0,
                                    1,
                                    std::size_t{1} << 31,
                                    std::size_t{1} << 32,
                                    (std::size_t{1} << 32) + 1,
                                    std::size_t{1} << 62,
                                    std::size_t{1} << 63,
                                    SIZE_MAX};

// Of pairs of fields: as many as take seconds.
constexpr std::size_t kOfPairs[] = {0, std::size_t{1} << 32, std::size_t{1} << 62};

/// The product, or the largest number where it does not fit 128 bits.
Wide product(std::initializer_list<std::size_t> sizes) {
  Wide all = 1;
  for (const std::size_t size : sizes)
    if (__builtin_mul_overflow(all, Wide{size}, &all)) return ~Wide{0};
  return all;
}

std::vector<smem::Device> devices() {
  return {test::target("cpu"), test::target("sm_90"), test::target("dg2-g10"),
          smem::clamp(test::target("gfx90a"), "local=1K")};
}

/// What a plan must be, whatever was asked for.
void check_plan(const smem::Device& device, const smem::Plan& plan) {
  CHECK(plan.scratch_bytes < std::size_t{1} << 62);
  CHECK(plan.scratch.size() <= smem::Plan::kMostScratch);
  for (const smem::Launch* launch : plan.launches()) {
    CHECK(launch->work_items() >= 1);
    CHECK(launch->work_items() <= std::max<std::size_t>(device.max_work_group, 1));
    CHECK(launch->local_bytes <= device.local_bytes);
    for (std::size_t d = 0; d < 3; ++d)
      CHECK(launch->global[d] % std::max<std::size_t>(launch->work_group[d], 1) == 0);
  }
}

/// A problem that plans are made for, its numbers, and how many elements its arrays have.
template <class Problem>
struct Subject {
  const char* name;
  Problem problem;
  std::vector<std::function<std::size_t&(Problem&)>> fields;
  std::vector<std::function<std::size_t&(Problem&)>> alone;  ///< which are not tried in pairs
  std::function<Wide(const Problem&)> elements;              ///< of the largest array
  std::function<smem::Plan(const smem::Device&, const Problem&, const smem::PlanOverrides&)> plan;
  std::vector<std::string_view> variants;
};

template <class Problem>
void try_one(const Subject<Problem>& subject, const smem::Device& device, const Problem& problem,
             const smem::PlanOverrides& fixed) {
  try {
    const smem::Plan plan = subject.plan(device, problem, fixed);
    check_plan(device, plan);
    CHECK(subject.elements(problem) <= smem::plan::kMostElements);
  } catch (const smem::Error&) {  // anything else escapes, and fails the test
  }
}

/// Each field by itself, then pairs of fields, then what a caller fixes by hand.
template <class Problem>
void sweep(const Subject<Problem>& subject) {
  INFO(subject.name);
  for (const smem::Device& device : devices()) {
    CAPTURE(device.name);
    CHECK_NOTHROW(subject.plan(device, subject.problem, {}));
    for (std::size_t i = 0; i < subject.fields.size(); ++i) {
      for (const std::size_t first : kHostile) {
        CAPTURE(i);
        CAPTURE(first);
        Problem one = subject.problem;
        subject.fields[i](one) = first;
        try_one(subject, device, one, {});
        for (const std::string_view variant : subject.variants)
          try_one(subject, device, one, {.variant = std::string(variant)});
        const bool in_pairs = device.name == "cpu" || device.name == "sm_90";
        for (std::size_t j = i + 1; in_pairs && j < subject.fields.size(); ++j) {
          for (const std::size_t second : kOfPairs) {
            CAPTURE(j);
            CAPTURE(second);
            Problem two = one;
            subject.fields[j](two) = second;
            try_one(subject, device, two, {});
          }
        }
      }
    }
    for (const auto& field : subject.alone) {
      for (const std::size_t number : kHostile) {
        CAPTURE(number);
        Problem one = subject.problem;
        field(one) = number;
        try_one(subject, device, one, {});
      }
    }
    for (const std::string_view variant : subject.variants) {
      for (const std::size_t number : kHostile) {
        CAPTURE(variant);
        CAPTURE(number);
        smem::PlanOverrides fixed{.variant = std::string(variant)};
        for (std::size_t smem::PlanOverrides::*field :
             {&smem::PlanOverrides::tile_rows, &smem::PlanOverrides::tile_cols,
              &smem::PlanOverrides::work_items}) {
          smem::PlanOverrides one = fixed;
          one.*field = number;
          try_one(subject, device, subject.problem, one);
        }
        fixed.tile_rows = fixed.tile_cols = number;
        try_one(subject, device, subject.problem, fixed);
        fixed = {.variant = std::string(variant)};
        fixed.layout.padding = number;
        try_one(subject, device, subject.problem, fixed);
        fixed.layout = {};
        fixed.layout.swizzle_mask = number;
        try_one(subject, device, subject.problem, fixed);
      }
    }
  }
}

}  // namespace

#define FIELD(member) [](auto& p) -> std::size_t& { return p.member; }

TEST_CASE("bad input of plans: transposes and flips") {
  using smem::TransposeProblem;
  const auto elements = [](const auto& p) { return product({p.rows, p.cols, p.batch}); };
  sweep<TransposeProblem>(
      {"transpose",
       {4, 100, 60, 2},
       {FIELD(element_bytes), FIELD(rows), FIELD(cols), FIELD(batch)},
       {FIELD(in_alignment), FIELD(out_alignment), FIELD(base_alignment)},
       elements,
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_transpose(d, p, fixed); },
       smem::transpose_variants()});
  using smem::FlipProblem;
  sweep<FlipProblem>(
      {"flip",
       {4, 100, 60, 2},
       {FIELD(element_bytes), FIELD(rows), FIELD(cols), FIELD(batch)},
       {},
       elements,
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_flip(d, p, fixed); },
       smem::flip_variants()});
}

TEST_CASE("bad input of plans: reductions, scans and selections") {
  const auto elements = [](const auto& p) { return product({p.rows, p.cols, p.batch}); };
  using smem::ReduceShape;
  for (const ReduceShape shape : {ReduceShape::vector, ReduceShape::rows, ReduceShape::columns}) {
    smem::ReduceProblem problem;
    problem.shape = shape;
    problem.rows = shape == ReduceShape::vector ? 1 : 70;
    problem.cols = 5000;
    sweep<smem::ReduceProblem>(
        {"reduce",
         problem,
         {FIELD(rows), FIELD(cols), FIELD(batch)},
         {FIELD(alignment)},
         elements,
         [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_reduce(d, p, fixed); },
         shape == ReduceShape::vector ? smem::reduce_variants() : std::vector<std::string_view>{"several"}});
  }
  using smem::ScanShape;
  for (const ScanShape shape : {ScanShape::vector, ScanShape::rows, ScanShape::columns}) {
    smem::ScanProblem problem;
    problem.shape = shape;
    problem.rows = shape == ScanShape::vector ? 1 : 70;
    problem.cols = 5000;
    sweep<smem::ScanProblem>(
        {"scan",
         problem,
         {FIELD(rows), FIELD(cols), FIELD(batch)},
         {FIELD(in_alignment), FIELD(out_alignment)},
         elements,
         [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_scan(d, p, fixed); },
         shape == ScanShape::vector ? smem::scan_variants()
                                    : std::vector<std::string_view>{"reduce_then_scan", "cpu"}});
  }
  for (const smem::SelectOp op : {smem::SelectOp::copy_if, smem::SelectOp::run_length_encode}) {
    smem::SelectProblem problem;
    problem.op = op;
    problem.predicate = "x > 0";
    problem.size = 5000;
    sweep<smem::SelectProblem>(
        {"select",
         problem,
         {FIELD(size)},
         {FIELD(in_alignment), FIELD(flags_alignment)},
         [](const auto& p) { return Wide{p.size}; },
         [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_select(d, p, fixed); },
         smem::select_variants()});
  }
}

TEST_CASE("bad input of plans: histograms") {
  smem::HistogramProblem problem;
  problem.rows = 3;
  problem.cols = 5000;
  sweep<smem::HistogramProblem>(
      {"histogram",
       problem,
       {FIELD(bins), FIELD(channels), FIELD(rows), FIELD(cols), FIELD(batch)},
       {FIELD(alignment)},
       [](const auto& p) {
         return std::max(product({p.rows, p.cols, p.batch}), product({p.bins, p.channels, p.batch}));
       },
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_histogram(d, p, fixed); },
       smem::histogram_variants()});
  sweep<smem::WeightedHistogramProblem>({"histogram_weighted",
                                         {problem},
                                         {FIELD(counts.bins), FIELD(counts.channels), FIELD(counts.rows),
                                          FIELD(counts.cols), FIELD(counts.batch)},
                                         {},
                                         [](const auto& p) {
                                           return std::max(
                                               product({p.counts.rows, p.counts.cols, p.counts.batch}),
                                               product({p.counts.bins, p.counts.batch}));
                                         },
                                         [](const auto& d, const auto& p, const auto& fixed) {
                                           return smem::plan_histogram_weighted(d, p, fixed);
                                         },
                                         smem::histogram_weighted_variants()});
}

TEST_CASE("bad input of plans: products") {
  sweep<smem::GemmProblem>(
      {"gemm",
       {.m = 60, .n = 70, .k = 3000},
       {FIELD(m), FIELD(n), FIELD(k), FIELD(batch)},
       {FIELD(a_alignment), FIELD(b_alignment), FIELD(c_alignment)},
       [](const auto& p) {
         return std::max({product({p.m, p.n, p.batch}), product({p.m, p.k}), product({p.k, p.n})});
       },
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_gemm(d, p, fixed); },
       {"naive", "tiled", "vector", "split_k", "stream_k", "cpu"}});
  smem::Conv2dProblem conv;
  conv.in_channels = conv.out_channels = 4;
  conv.width = conv.height = conv.out_width = conv.out_height = 20;
  conv.window_width = conv.window_height = 3;
  conv.pad_left = conv.pad_top = 1;
  sweep<smem::Conv2dProblem>(
      {"conv2d",
       conv,
       {FIELD(images), FIELD(in_channels), FIELD(width), FIELD(height), FIELD(out_channels),
        FIELD(window_width), FIELD(window_height), FIELD(out_width), FIELD(out_height), FIELD(stride_x),
        FIELD(stride_y), FIELD(dilation_x), FIELD(dilation_y), FIELD(pad_left), FIELD(pad_top),
        FIELD(groups)},
       {FIELD(in_alignment), FIELD(out_alignment), FIELD(weight_alignment)},
       [](const auto& p) {
         return std::max(product({p.images, p.in_channels, p.width, p.height}),
                         product({p.images, p.out_channels, p.out_width, p.out_height}));
       },
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_conv2d(d, p, fixed); },
       smem::conv2d_variants()});
}

TEST_CASE("bad input of plans: filters") {
  const auto elements = [](const auto& p) { return product({p.width, p.height, p.planes, p.channels}); };
  smem::SeparableProblem separable;
  separable.width = 100;
  separable.height = 40;
  separable.row_taps = separable.column_taps = 5;
  sweep<smem::SeparableProblem>(
      {"separable",
       separable,
       {FIELD(width), FIELD(height), FIELD(planes), FIELD(channels), FIELD(row_taps), FIELD(column_taps),
        FIELD(row_origin)},
       {FIELD(in_alignment), FIELD(out_alignment)},
       elements,
       [](const auto& d, const auto& p, const auto& fixed) {
         smem::Plan plan = smem::plan_separable(d, p, fixed);
         if (!plan.before.empty())
           CHECK(plan.scratch_bytes == 4 * product({p.width, p.height, p.planes, p.channels}));
         return plan;
       },
       smem::separable_variants()});
  sweep<smem::BoxProblem>(
      {"box_blur",
       smem::BoxProblem::of(separable, 20),
       {FIELD(grids.width), FIELD(grids.height), FIELD(grids.planes), FIELD(grids.channels),
        FIELD(grids.row_taps), FIELD(grids.column_taps)},
       {FIELD(grids.in_alignment)},
       [&](const auto& p) { return elements(p.grids); },
       [](const auto& d, const auto& p, const auto& fixed) {
         smem::Plan plan = smem::plan_box(d, p, fixed);
         const smem::SeparableProblem& g = p.grids;
         if (!plan.before.empty())
           CHECK(plan.scratch_bytes == 4 * product({g.width, g.height, g.planes, g.channels}));
         return plan;
       },
       smem::box_variants()});
  sweep<smem::WindowProblem>(
      {"median_blur",
       {separable},
       {FIELD(grids.width), FIELD(grids.height), FIELD(grids.planes), FIELD(grids.channels),
        FIELD(grids.row_taps), FIELD(grids.column_taps)},
       {},
       [&](const auto& p) { return elements(p.grids); },
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_window(d, p, fixed); },
       smem::window_variants()});
  smem::PoolProblem pool;
  pool.width = 100;
  pool.height = 40;
  sweep<smem::PoolProblem>(
      {"pool",
       pool,
       {FIELD(width), FIELD(height), FIELD(planes), FIELD(channels), FIELD(windows.width),
        FIELD(windows.height), FIELD(windows.stride_across), FIELD(windows.stride_down),
        FIELD(windows.pad_left), FIELD(windows.pad_right), FIELD(windows.pad_top), FIELD(windows.pad_bottom)},
       {FIELD(in_alignment), FIELD(out_alignment)},
       elements,
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_pool(d, p, fixed); },
       smem::pool_variants()});
  sweep<smem::GlobalPoolProblem>(
      {"global_pool",
       {.width = 100, .height = 40},
       {FIELD(width), FIELD(height), FIELD(planes), FIELD(channels)},
       {},
       elements,
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_global_pool(d, p, fixed); },
       {"parts"}});
  sweep<smem::MovingMeanProblem>(
      {"moving_mean",
       {.width = 1000, .rows = 3, .window = 9},
       {FIELD(width), FIELD(rows), FIELD(window)},
       {},
       [](const auto& p) {
         return product({p.width, p.rows});
       },
       [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_moving_mean(d, p, fixed); },
       smem::moving_mean_variants()});
}

TEST_CASE("bad input of plans: stencils") {
  for (const std::size_t deep : {0, 1}) {
    const auto problem = smem::stencil_problem(smem::Scalar::float32, {40, 30, 20}, {1, 1, deep});
    sweep<smem::StencilProblem>(
        {"stencil",
         problem,
         {FIELD(channels), FIELD(size[0]), FIELD(size[1]), FIELD(size[2]), FIELD(out_size[0]),
          FIELD(out_size[1]), FIELD(out_size[2]), FIELD(batch), FIELD(window[0]), FIELD(window[1]),
          FIELD(window[2]), FIELD(stride[0]), FIELD(stride[1]), FIELD(stride[2]), FIELD(dilation[0]),
          FIELD(dilation[1]), FIELD(dilation[2])},
         {FIELD(in_alignment), FIELD(out_alignment)},
         [](const auto& p) {
           return std::max(product({p.size[0], p.size[1], p.size[2], p.channels, p.batch}),
                           product({p.out_size[0], p.out_size[1], p.out_size[2], p.channels, p.batch}));
         },
         [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_stencil(d, p, fixed); },
         smem::stencil_variants()});
  }
  // Weights whose number wraps to a small one, and windows that begin anywhere.
  smem::StencilProblem wrapped = smem::stencil_problem(smem::Scalar::float32, {40, 30, 20}, {0, 0, 0});
  wrapped.window = {959245921, 921047187, 864882155};
  CHECK(test::failure_of([&] { smem::plan_stencil(test::target("cpu"), wrapped); }).argument == "weights");
  for (const std::ptrdiff_t first : {PTRDIFF_MIN, PTRDIFF_MAX}) {
    smem::StencilProblem away = smem::stencil_problem(smem::Scalar::float32, {40, 30, 20}, {1, 1, 0});
    away.first[0] = first;
    for (const smem::Device& device : devices())
      CHECK_THROWS_AS(smem::plan_stencil(device, away), smem::Error);
  }
}

TEST_CASE("bad input of plans: heat diffusion") {
  for (const std::size_t depth : {1, 20}) {
    smem::HeatProblem problem{.width = 100, .height = 40, .depth = depth};
    problem.steps = 10;
    sweep<smem::HeatProblem>(
        {"heat",
         problem,
         {FIELD(width), FIELD(height), FIELD(depth), FIELD(dimensions), FIELD(batch), FIELD(steps),
          FIELD(steps_per_pass)},
         {FIELD(alignment)},
         [](const auto& p) {
           return product({p.width, p.height, p.depth, p.batch});
         },
         [](const auto& d, const auto& p, const auto& fixed) { return smem::plan_heat(d, p, fixed); },
         smem::heat_variants()});
  }
}

TEST_CASE("bad input of plans: rates, layouts and functions of sizes") {
  for (const smem::Device& device : devices()) {
    for (const std::size_t number : kHostile) {
      try {
        check_plan(device, smem::plan_rates(device, {smem::Rate::copy, number}));
      } catch (const smem::Error&) {
      }
      const smem::Plan plan = smem::plan_rates(device, {smem::Rate::fp32, number});
      CHECK(plan.prediction.operations >= static_cast<double>(number));
      for (const std::size_t other : kHostile) {
        smem::Tile tile{number, other, 4, 32, {smem::Access::rows(other, true)}};
        for (const std::size_t work_items : {std::size_t{32}, number}) {
          tile.work_items = work_items;
          try {
            smem::infer_layout(device, tile);
          } catch (const smem::Error&) {
          }
        }
      }
      CHECK_NOTHROW(smem::Access::columns(number, false).first(3));
      CHECK_NOTHROW(smem::Access::diagonal(number, number, false).first(3));
      CHECK_NOTHROW(smem::Access::rows(32, true, number).first(3));
    }
  }
}

TEST_CASE("bad input of plans: values outside their enumeration are refused by plans") {
  const smem::Device device = test::target("cpu");
  const auto refused = [](const auto& plan) {
    const smem::ErrorDetails error = test::failure_of(plan);
    CHECK(error.operation != "name_of");
    CHECK(error.operation != "size_of");
    return error.argument;
  };
  constexpr auto kScalar = static_cast<smem::Scalar>(99);
  const auto each_scalar = [&](auto problem, const auto& plan, auto... members) {
    const auto one = [&](const char* argument, auto member) {
      auto bad = problem;
      member(bad) = kScalar;
      CHECK(refused([&] { plan(bad); }) == argument);
    };
    (one(members.first, members.second), ...);
  };
  const auto in = std::pair{"in", [](auto& p) -> smem::Scalar& { return p.in; }};
  const auto out = std::pair{"out", [](auto& p) -> smem::Scalar& { return p.out; }};
  const auto type = std::pair{"in", [](auto& p) -> smem::Scalar& { return p.type; }};

  smem::ReduceProblem reduce;
  const auto plan_reduce = [&](const auto& p) { smem::plan_reduce(device, p); };
  each_scalar(reduce, plan_reduce, in, out);
  reduce.shape = smem::ReduceShape::segments;
  each_scalar(reduce, plan_reduce, std::pair{"offsets", [](auto& p) -> smem::Scalar& { return p.bounds; }});
  reduce.shape = static_cast<smem::ReduceShape>(99);
  CHECK(refused([&] { plan_reduce(reduce); }) == "shape");
  reduce = {};
  reduce.reduction.op = static_cast<smem::ReduceOp>(99);
  CHECK(refused([&] { plan_reduce(reduce); }) == "reduction");
  reduce = {};
  reduce.reduction.mode = static_cast<smem::FloatMode>(-1);
  CHECK(refused([&] { plan_reduce(reduce); }) == "mode");

  smem::ScanProblem scan;
  const auto plan_scan = [&](const auto& p) { smem::plan_scan(device, p); };
  each_scalar(scan, plan_scan, in, out);
  scan.shape = smem::ScanShape::keys;
  each_scalar(scan, plan_scan, std::pair{"keys", [](auto& p) -> smem::Scalar& { return p.marks; }});
  scan.shape = static_cast<smem::ScanShape>(99);
  CHECK(refused([&] { plan_scan(scan); }) == "shape");
  scan = {};
  scan.operation.op = static_cast<smem::ReduceOp>(99);
  CHECK(refused([&] { plan_scan(scan); }) == "operation");
  scan = {};
  scan.operation.mode = static_cast<smem::FloatMode>(99);
  CHECK(refused([&] { plan_scan(scan); }) == "mode");

  smem::SelectProblem select;
  select.predicate = "x > 0";
  each_scalar(
      select, [&](const auto& p) { smem::plan_select(device, p); }, in);
  select.op = smem::SelectOp::copy_flagged;
  select.flags = kScalar;
  CHECK(refused([&] { smem::plan_select(device, select); }) == "flags");
  select.op = static_cast<smem::SelectOp>(99);
  CHECK(refused([&] { smem::plan_select(device, select); }) == "op");

  smem::HistogramProblem histogram;
  each_scalar(
      histogram, [&](const auto& p) { smem::plan_histogram(device, p); }, in, out);
  histogram.rule = static_cast<smem::BinRule>(99);
  CHECK(refused([&] { smem::plan_histogram(device, histogram); }) == "rule");
  CHECK(refused([&] { smem::even_bins(kScalar, 4, 0, 1); }) == "type");
  smem::WeightedHistogramProblem weighted;
  each_scalar(
      weighted, [&](const auto& p) { smem::plan_histogram_weighted(device, p); }, out,
      std::pair{"weights", [](auto& p) -> smem::Scalar& { return p.weights; }},
      std::pair{"in", [](auto& p) -> smem::Scalar& { return p.counts.in; }});

  const auto boundary = static_cast<smem::Boundary>(99);
  smem::SeparableProblem separable;
  each_scalar(
      separable, [&](const auto& p) { smem::plan_separable(device, p); }, in, out);
  separable.boundary = boundary;
  CHECK(refused([&] { smem::plan_separable(device, separable); }) == "boundary");
  smem::BoxProblem box = smem::BoxProblem::of({}, 20);
  box.grids.boundary = boundary;
  CHECK(refused([&] { smem::plan_box(device, box); }) == "boundary");
  smem::WindowProblem window;
  window.grids.row_taps = window.grids.column_taps = 3;
  window.op = static_cast<smem::WindowOp>(99);
  CHECK(refused([&] { smem::plan_window(device, window); }) == "op");
  window.op = smem::WindowOp::median;
  window.grids.boundary = boundary;
  CHECK(refused([&] { smem::plan_window(device, window); }) == "boundary");
  smem::StencilProblem stencil;
  each_scalar(
      stencil, [&](const auto& p) { smem::plan_stencil(device, p); }, type);
  stencil.boundary = boundary;
  CHECK(refused([&] { smem::plan_stencil(device, stencil); }) == "boundary");
  stencil = {};
  stencil.shape = static_cast<smem::StencilShape>(99);
  CHECK(refused([&] { smem::plan_stencil(device, stencil); }) == "shape");

  smem::PoolProblem pool;
  each_scalar(
      pool, [&](const auto& p) { smem::plan_pool(device, p); }, in, out);
  pool.op = static_cast<smem::PoolOp>(99);
  CHECK(refused([&] { smem::plan_pool(device, pool); }) == "op");
  each_scalar(
      smem::MovingMeanProblem{}, [&](const auto& p) { smem::plan_moving_mean(device, p); }, in, out);

  smem::HeatProblem heat;
  each_scalar(
      heat, [&](const auto& p) { smem::plan_heat(device, p); }, type);
  heat.walls = static_cast<smem::Walls>(99);
  CHECK(refused([&] { smem::plan_heat(device, heat); }) == "walls");
  heat = {};
  heat.mean = static_cast<smem::FaceMean>(99);
  CHECK(refused([&] { smem::plan_heat(device, heat); }) == "mean");
  smem::Conv2dProblem conv;
  each_scalar(
      conv, [&](const auto& p) { smem::plan_conv2d(device, p); }, type);
  conv.activation = static_cast<smem::Activation>(99);
  CHECK(refused([&] { smem::plan_conv2d(device, conv); }) == "activation");

  smem::PlanOverrides fixed{.variant = "tiled"};
  fixed.layout.kind = static_cast<smem::LocalLayout::Kind>(99);
  CHECK(refused([&] { smem::plan_transpose(device, {4, 64, 64}, fixed); }) == "layout");
  CHECK(refused([&] {
          smem::infer_layout(device, {32, 32, 4, 32, {smem::Access::rows(32, true)}}, fixed.layout);
        }) == "layout.kind");
}
