// Classes of problems for tuning: which problems share a choice.
#include <smem/blur_plan.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/flip_plan.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/heat_plan.hpp>
#include <smem/histogram_plan.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/pool_plan.hpp>
#include <smem/scan_plan.hpp>
#include <smem/select_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/transpose_plan.hpp>
#include <smem/tuning_plan.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

smem::TuningClass class_of(std::size_t rows, std::size_t cols, std::size_t alignment = 64) {
  return smem::tuning_class(smem::TransposeProblem{
      .element_bytes = 4, .rows = rows, .cols = cols, .in_alignment = alignment, .out_alignment = 64});
}

}  // namespace

TEST_CASE("tuning: classes are near within a factor of two of each size") {
  CHECK(smem::distance(class_of(4096, 4096), class_of(4096, 4096)) == 0);
  CHECK(smem::distance(class_of(4096, 4096), class_of(8192, 4096)) == doctest::Approx(1));
  CHECK(smem::distance(class_of(4096, 4096), class_of(2048, 8192)) == doctest::Approx(2));
  CHECK(smem::distance(class_of(4096, 4096), class_of(8193, 4096)) < 0);
  CHECK(smem::distance(class_of(4096, 4096), class_of(2047, 4096)) < 0);
  CHECK(smem::distance(class_of(4096, 0), class_of(4096, 4096)) < 0);
  CHECK(smem::distance(class_of(4096, 4096), class_of(4096, 4096, 16)) == 0);
  CHECK(smem::distance(class_of(4096, 4096), class_of(4096, 4096, 4)) < 0);  // another kind
  smem::TuningClass other = class_of(4096, 4096);
  other.extents.pop_back();
  CHECK(smem::distance(class_of(4096, 4096), other) < 0);
}

TEST_CASE("tuning: a class in words") {
  CHECK(class_of(4096, 100).to_string() == "transpose: element_bytes 4, rows 4096, cols 100, batch 1");
  const smem::TuningEntry entry{class_of(4096, 100), {.variant = "cpu"}, 1.124, 1e-3, "vector", "2026-11-22"};
  CHECK(entry.evidence() ==
        "tuned on this device: 1.12 times the shipped plan, vector, at rows 4096, cols 100, batch 1; "
        "2026-11-22");
}

TEST_CASE("tuning: what a caller wrote in OpenCL C is not tuned") {
  smem::ReduceProblem reduce;
  CHECK(smem::tuning_class(reduce).operation == "reduce");
  reduce.reduction = smem::Reduction::custom("a", "0");
  CHECK(smem::tuning_class(reduce).operation.empty());
  smem::ScanProblem scan;
  CHECK(smem::tuning_class(scan).operation == "scan");
  scan.operation = smem::Reduction::custom("a", "0");
  CHECK(smem::tuning_class(scan).operation.empty());
  CHECK(smem::tuning_class(smem::GemmProblem{.expression = "x"}).operation.empty());
  CHECK(smem::tuning_class(smem::StencilProblem{.expression = "C"}).operation.empty());
  smem::HeatProblem heat;
  heat.width = 10;
  CHECK(smem::tuning_class(heat).operation == "heat");
  heat.in_place = true;
  CHECK(smem::tuning_class(heat).operation.empty());
}

TEST_CASE("tuning: what changes the best plan changes the class") {
  smem::StencilProblem star;
  star.shape = smem::StencilShape::star;
  CHECK(smem::tuning_class(star) != smem::tuning_class(smem::StencilProblem{}));
  smem::StencilProblem wide;
  wide.window = {5, 1, 1};
  CHECK(smem::tuning_class(wide) != smem::tuning_class(smem::StencilProblem{}));
  CHECK(smem::tuning_class(smem::GemmProblem{.b_along_k = true}) != smem::tuning_class(smem::GemmProblem{}));
  CHECK(smem::tuning_class(smem::FlipProblem{.reverse_cols = false}) !=
        smem::tuning_class(smem::FlipProblem{}));
  smem::SeparableProblem taps;
  taps.row_taps = 5;
  CHECK(smem::tuning_class(taps) != smem::tuning_class(smem::SeparableProblem{}));
  smem::HistogramProblem bins;
  bins.bins = 1024;
  CHECK(smem::distance(smem::tuning_class(bins), smem::tuning_class(smem::HistogramProblem{})) < 0);
}

TEST_CASE("tuning: classes of selections, pooling, convolutions and means") {
  using smem::tuning_class;
  const auto apart = [](const smem::TuningClass& a, const smem::TuningClass& b) {
    return smem::distance(a, b) < 0;
  };
  smem::SelectProblem select{.size = 4096, .predicate = "x > 0"}, other = select;
  other.predicate = "x < 7";
  CHECK(smem::distance(tuning_class(select), tuning_class(other)) == 0);  // any predicate
  other.op = smem::SelectOp::partition;
  CHECK(apart(tuning_class(select), tuning_class(other)));
  other.op = smem::SelectOp::copy_flagged;
  smem::SelectProblem wide = other;
  wide.flags = smem::Scalar::uint32;
  CHECK(apart(tuning_class(wide), tuning_class(other)));

  smem::PoolProblem pool{.width = 64, .height = 64}, padded = pool;
  padded.pooling = smem::Pooling::square(2, 2, 1);
  CHECK(apart(tuning_class(pool), tuning_class(padded)));
  CHECK(apart(tuning_class(pool), tuning_class(smem::GlobalPoolProblem{.width = 64, .height = 64})));

  smem::Conv2dProblem conv{.in_channels = 32, .width = 56, .height = 56, .out_channels = 32};
  smem::Conv2dProblem biased = conv, depthwise = conv, grouped = conv;
  biased.bias = true;
  biased.activation = smem::Activation::relu;
  CHECK(tuning_class(conv) == tuning_class(biased));
  depthwise.groups = 32;
  grouped.groups = 4;
  CHECK(apart(tuning_class(conv), tuning_class(grouped)));
  CHECK(apart(tuning_class(depthwise), tuning_class(grouped)));
  smem::Conv2dProblem fewer = depthwise;
  fewer.in_channels = fewer.out_channels = fewer.groups = 16;
  CHECK(smem::distance(tuning_class(depthwise), tuning_class(fewer)) == doctest::Approx(3));

  const auto type = smem::Scalar::float32;
  const smem::MovingMeanProblem mean{type, type, 4096, 1, 100};
  CHECK(smem::distance(tuning_class(mean), tuning_class(smem::MovingMeanProblem{type, type, 4096, 1, 200})) ==
        doctest::Approx(1));
  CHECK(apart(tuning_class(mean), tuning_class(smem::MovingMeanProblem{type, type, 4096, 1, 201})));
  smem::WeightedHistogramProblem weighted;
  CHECK(apart(tuning_class(weighted), tuning_class(weighted.counts)));
}
