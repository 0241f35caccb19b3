// Variants that a driver breaks: plans without them, refusals with the reason, facts and clamps.
#include <smem/explain.hpp>
#include <smem/smem.hpp>

#include "plan/broken.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using smem::Device;
using smem::Plan;
using smem::PlanOverrides;
using smem::Scalar;

/// An operation's plan for a usual problem.
struct Case {
  const char* operation;  ///< as BrokenVariant names it
  std::string type;
  std::vector<std::string_view> variants;
  Plan (*plan)(const Device&, const PlanOverrides&);
};

smem::SeparableProblem image() {
  smem::SeparableProblem problem;
  problem.width = 640;
  problem.height = 480;
  problem.row_taps = problem.column_taps = 3;
  return problem;
}

std::vector<Case> cases() {
  return {
      {"transpose", "4 B", smem::transpose_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_transpose(d, {.element_bytes = 4, .rows = 1000, .cols = 1000}, o);
       }},
      {"flip", "4 B", smem::flip_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_flip(d, {.element_bytes = 4, .rows = 1000, .cols = 1000}, o);
       }},
      {"reduce", "float32", smem::reduce_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_reduce(d, {.cols = std::size_t{1} << 22}, o);
       }},
      {"scan", "float32", smem::scan_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_scan(d, {.cols = std::size_t{1} << 22}, o);
       }},
      {"select", "float32", smem::select_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::SelectProblem problem;
         problem.size = std::size_t{1} << 22;
         problem.predicate = "x < 0.5f";
         return smem::plan_select(d, problem, o);
       }},
      {"histogram", "float32", smem::histogram_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::HistogramProblem problem;
         problem.cols = std::size_t{1} << 22;
         problem.bins = 256;
         return smem::plan_histogram(d, problem, o);
       }},
      {"histogram_weighted", "float32", smem::histogram_weighted_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::WeightedHistogramProblem problem;
         problem.counts.cols = std::size_t{1} << 22;
         problem.counts.bins = 256;
         return smem::plan_histogram_weighted(d, problem, o);
       }},
      {"gemm", "float32", smem::gemm_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_gemm(d, {.m = 512, .n = 512, .k = 512}, o);
       }},
      {"heat", "float32", smem::heat_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::HeatProblem problem;
         problem.width = 640;
         problem.height = 480;
         problem.steps = 8;
         return smem::plan_heat(d, problem, o);
       }},
      {"stencil", "float32", smem::stencil_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_stencil(d, smem::stencil_problem(Scalar::float32, {640, 480, 1}, {1, 1, 0}, 1), o);
       }},
      {"separable", "float32", smem::separable_variants(),
       [](const Device& d, const PlanOverrides& o) { return smem::plan_separable(d, image(), o); }},
      {"box_blur", "float32", smem::box_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_box(d, smem::BoxProblem::of(image(), {20, 20}), o);
       }},
      {"median_blur", "float32", smem::window_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_window(d, {image(), smem::WindowOp::median}, o);
       }},
      {"pool", "float32", smem::pool_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::PoolProblem problem;
         problem.width = 640;
         problem.height = 480;
         problem.pooling = smem::Pooling::square(2);
         return smem::plan_pool(d, problem, o);
       }},
      {"conv2d", "float32", smem::conv2d_variants(),
       [](const Device& d, const PlanOverrides& o) {
         smem::Conv2dProblem problem;
         problem.in_channels = problem.out_channels = 64;
         problem.width = problem.height = problem.out_width = problem.out_height = 56;
         problem.window.width = problem.window.height = 1;
         return smem::plan_conv2d(d, problem, o);
       }},
      {"moving_mean", "float32", smem::moving_mean_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_moving_mean(d, {.width = 1 << 20, .window = 101}, o);
       }},
      {"norm", "float32", smem::norm_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_norm(d, {.rows = 1024, .cols = 1024}, o);
       }},
      {"rotary", "float32", smem::rotary_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_rotary(d, {.rows = 1024, .heads = 8, .head_size = 64, .rotated = 64}, o);
       }},
      {"softmax", "float32", smem::softmax_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_softmax(d, {.rows = 1024, .cols = 1024}, o);
       }},
      {"reduce_by_key", "float32", smem::reduce_by_key_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_reduce_by_key(d, {.size = 1 << 20}, o);
       }},
      {"softmax_columns", "float32", smem::softmax_columns_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_softmax_columns(d, {.rows = 1024, .cols = 1024}, o);
       }},
      {"norm_columns", "float32", smem::norm_columns_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_norm_columns(d, {.rows = 1024, .cols = 1024}, o);
       }},
      {"top_k", "float32", smem::top_k_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_top_k(d, {.rows = 16, .cols = 4096, .k = 8}, o);
       }},
      {"complex_gemm", "float32", smem::complex_gemm_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_complex_gemm(d, {.m = 512, .n = 512, .k = 512}, o);
       }},
      {"append_to_cache", "float32", smem::append_to_cache_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_append_to_cache(
             d, {.batch = 4, .heads = 4, .tokens = 64, .head_size = 64, .value_size = 64}, o);
       }},
      {"sort_rows", "float32", smem::sort_rows_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_sort_rows(d, {.rows = 16, .cols = 200}, o);
       }},
      {"sort_segments", "float32", smem::sort_segments_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_sort_segments(d, {.size = 4096, .segments = 9}, o);
       }},
      {"gather", "uint32", smem::gather_variants(),
       [](const Device& d, const PlanOverrides& o) { return smem::plan_gather(d, {.rows = 4096}, o); }},
      {"merge", "uint32", smem::merge_variants(),
       [](const Device& d, const PlanOverrides& o) { return smem::plan_merge(d, {.size = 4096}, o); }},
      {"sort_by", "float", smem::sort_by_variants(),
       [](const Device& d, const PlanOverrides& o) { return smem::plan_sort_by(d, {.size = 4096}, o); }},
      {"attention", "float32", smem::attention_variants(),
       [](const Device& d, const PlanOverrides& o) {
         return smem::plan_attention(
             d, {.heads = 4, .kv_heads = 4, .queries = 256, .keys = 256, .head_size = 64, .value_size = 64},
             o);
       }},
  };
}

const char* const kReason = "driver 1.2 computes something else";

}  // namespace

TEST_CASE("broken variants: no plan has one, a caller's choice is refused, and the reason is told") {
  for (const Device& whole : {test::targets::cpu(), test::targets::nvidia("sm_90", 227 * 1024)}) {
    for (const Case& c : cases()) {
      CAPTURE(c.operation);
      CAPTURE(whole.name);
      const Plan usual = c.plan(whole, {});
      CHECK(usual.in_place_of.empty());
      Device device = whole;
      std::vector<std::string> broken;
      // One variant after the other, until none is left.
      for (;;) {
        std::string failed;
        Plan plan;
        try {
          plan = c.plan(device, {});
        } catch (const smem::Error& error) {
          REQUIRE(!broken.empty());
          CHECK(error.details().argument == "variant");
          CHECK(test::contains(error.details().got, kReason));
          break;
        }
        // A small box is separable()'s.
        if (plan.operation == "separable" && c.operation != plan.operation) plan.variant = plan.operation;
        CAPTURE(plan.variant);
        for (const std::string& one : broken) {
          CHECK(plan.variant != one);
          bool told = false;
          for (const smem::Alternative& other : plan.alternatives)
            told = told || (other.variant == one && other.why_not == kReason);
          CHECK(told);
        }
        if (broken.empty()) {
          CHECK(plan == usual);
        } else {
          CHECK(plan.in_place_of == usual.variant);
          CHECK(test::contains(smem::explain(plan, device), kReason));
          CHECK(plan.overrides == PlanOverrides{});
          CHECK(plan.alternatives.size() + 1 == c.variants.size());
        }
        const auto error = test::failure_of([&] {
          Device without = device;
          without.broken.push_back({c.operation, plan.variant, c.type, kReason});
          c.plan(without, {.variant = plan.variant});
        });
        CHECK(error.argument == "variant");
        CHECK(test::contains(error.got, kReason));
        broken.push_back(plan.variant);
        device.broken.push_back({c.operation, plan.variant, "", kReason});
        REQUIRE(broken.size() <= c.variants.size());
      }
      // Another type, or another operation, is not concerned.
      Device other = whole;
      other.broken = {{c.operation, usual.variant, "no such type", kReason},
                      {"none", usual.variant, "", kReason}};
      CHECK(c.plan(other, {}) == usual);
    }
  }
}

TEST_CASE("broken variants: launches beside the main one follow it") {
  Device device = test::targets::nvidia("sm_90", 227 * 1024);
  const smem::ScanProblem scan{.cols = std::size_t{1} << 24};
  REQUIRE(smem::plan_scan(device, scan).variant == "look_back");
  CHECK(smem::plan_scan(device, scan).before.empty());
  device.broken = {{"scan", "look_back", "float32", kReason}, {"separable", "cpu", "", kReason}};
  CHECK(smem::plan_scan(device, scan).variant == "reduce_then_scan");
  CHECK(smem::plan_scan(device, scan).before.size() == 1);
}

TEST_CASE("broken variants: clamps and facts name them") {
  const Device whole = test::targets::cpu();
  const Device clamped = smem::clamp(whole, "broken=gemm/async,compute_units=1,broken=scan/cpu/half");
  REQUIRE(clamped.broken.size() == 2);
  CHECK(clamped.broken[0].operation == "gemm");
  CHECK(clamped.broken[0].variant == "async");
  CHECK(clamped.broken[0].type.empty());
  CHECK(clamped.broken[1].type == "half");
  CHECK(!clamped.broken[1].reason.empty());
  CHECK(clamped.compute_units == 1);
  CHECK(smem::device_from_json(smem::to_json(clamped)) == clamped);
  for (const char* text :
       {"broken=", "broken=gemm", "broken=gemm/", "broken=/async", "broken=a/b/", "broken=a/b/c/d"}) {
    CAPTURE(text);
    CHECK(test::failure_of([&] { smem::clamp(whole, text); }).got == std::string("\"") + text + "\"");
  }
  const auto wrong = [](const char* text) {
    return test::failure_of([&] { smem::device_from_json(text); }).argument;
  };
  CHECK(wrong(R"({"broken": 1})") == "broken");
  CHECK(wrong(R"({"broken": [1]})") == "broken[0]");
  CHECK(wrong(R"({"broken": [{"operation": "gemm"}]})") == "broken[0].variant");
  CHECK(wrong(R"({"broken": [{"operation": "gemm", "variant": "async", "why": "x"}]})") == "broken[0].why");
  CHECK(wrong(R"({"broken": [{"operation": 1, "variant": "async"}]})") == "broken[0].operation");
}
