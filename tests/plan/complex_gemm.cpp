// Plans for products of complex matrices on devices that are not here.
#include <smem/complex_gemm_plan.hpp>
#include <smem/explain.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include "plan/sizes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using smem::ComplexGemmProblem;
using smem::Scalar;

namespace {

/// NVIDIA's own variants have a type of parts each.
bool has_variant(const smem::Device& device, Scalar part, std::string_view variant) {
  if (variant != "multistage" && variant != "mma") return true;
  if ((variant == "mma") != (part == Scalar::float64)) return false;
  return device.type == smem::DeviceType::cpu ||
         (smem::plan::is_nvidia_gpu(device) && smem::plan::compute_capability(device) >= 80);
}

}  // namespace

TEST_CASE("plan of complex_gemm: every variant fits every device") {
  for (const smem::Device& device : test::all_targets())
    for (const Scalar part : {Scalar::float32, Scalar::float64})
      for (const std::size_t edge : {1, 40, 1000}) {
        CAPTURE(device.name);
        if (part == Scalar::float64 && !device.fp64) continue;
        for (const bool along_k : {false, true}) {
          const ComplexGemmProblem p{.m = edge,
                                     .n = edge + 1,
                                     .k = edge + 2,
                                     .part = part,
                                     .a_along_k = along_k,
                                     .b_along_k = along_k};
          for (const std::string_view variant : smem::complex_gemm_variants()) {
            CAPTURE(variant);
            if (!has_variant(device, part, variant)) {
              CHECK_THROWS_AS(smem::plan_complex_gemm(device, p, {.variant = std::string(variant)}),
                              smem::Error);
              continue;
            }
            const smem::Plan plan = smem::plan_complex_gemm(device, p, {.variant = std::string(variant)});
            CHECK(plan.operation == "complex_gemm");
            CHECK(plan.variant == variant);
            for (const smem::Launch* launch : plan.launches()) {
              CHECK(launch->local_bytes <= device.local_bytes);
              CHECK(launch->work_items() <= device.max_work_group);
            }
          }
          const smem::Plan chosen = smem::plan_complex_gemm(device, p);
          CHECK(test::contains(chosen.evidence, "measure"));
          CHECK(chosen.alternatives.size() == smem::complex_gemm_variants().size() - 1);
        }
      }
}

TEST_CASE("plan of complex_gemm: a large product is one real product, whose launches are shown") {
  const smem::Device device = test::target("sm_90");
  ComplexGemmProblem p{
      .m = 4096, .n = 4096, .k = 4096, .a_along_k = false, .reads_c = true, .complex_beta = true};
  const smem::Plan plan = smem::plan_complex_gemm(device, p);
  CHECK(plan.variant == "gemm");
  const auto has = [&](std::string_view operation, std::string_view entry) {
    return std::any_of(plan.before.begin(), plan.before.end(), [&](const smem::Launch& launch) {
      return launch.operation == operation && launch.entry_point.starts_with(entry);
    });
  };
  CHECK(has("complex_gemm", "complex_gemm_expand"));
  CHECK(has("complex_gemm", "complex_gemm_scale"));
  CHECK(has("transpose", "transpose"));
  const std::string text = smem::explain(plan);
  CHECK(test::contains(text, "4096 x 8192"));
  CHECK(test::contains(text, "[[re, im], [-im, re]]"));
  CHECK(plan.prediction.operations == 8.0 * 4096 * 4096 * 4096);
  // The main launch is the real product's.
  const smem::Plan real =
      smem::plan_gemm(device, {.m = 4096, .n = 8192, .k = 2 * plan.number("depth"), .reads_c = true});
  CHECK(plan.entry_point == real.entry_point);
  CHECK(plan.defines == real.defines);
  p.a_along_k = true;
  p.complex_beta = false;
  const std::vector<smem::Launch> before = smem::plan_complex_gemm(device, p).before;
  REQUIRE(before.size() == 1 + real.before.size());  // the real product may have factors packed
  CHECK(before.front().entry_point.starts_with("complex_gemm_expand"));
  // Before sm_80 a real product is worth its launches where there is much to multiply.
  const smem::Device older = test::target("sm_75");
  CHECK(smem::plan_complex_gemm(older, {.m = 8, .n = 8, .k = 8}).variant == "registers");
  CHECK(smem::plan_complex_gemm(older, {.m = 384, .n = 384, .k = 384}).variant == "gemm");
  p.k = 0;
  CHECK(smem::plan_complex_gemm(device, p).variant == "naive");
}

TEST_CASE("plan of complex_gemm: NVIDIA's own variants, by the model of their time") {
  smem::Device h200 = test::target("sm_90");
  h200.compute_units = 132;
  const auto plan = [&](std::size_t m, std::size_t n, std::size_t k, Scalar part, std::size_t batch = 1) {
    return smem::plan_complex_gemm(h200, {.m = m, .n = n, .k = k, .batch = batch, .part = part});
  };
  for (const std::size_t edge : {16, 64, 256})
    for (const std::size_t batch : {1, 2000}) {
      CHECK(plan(edge, edge, edge, Scalar::float32, batch).variant == "multistage");
      CHECK(plan(edge, edge, edge, Scalar::float64, batch).variant == "mma");
    }
  CHECK(plan(1024, 1024, 1024, Scalar::float32).variant == "multistage");
  // Of doubles a real product has the larger tiles.
  CHECK(plan(2048, 2048, 2048, Scalar::float64).variant == "gemm");
  const smem::Plan parts = plan(128, 128, 16384, Scalar::float32);
  CHECK(parts.variant == "multistage");
  CHECK(parts.number("parts") > 4);
  CHECK(parts.number("parts") * parts.number("part_depth") >= 16384);
  CHECK(parts.counters);
  CHECK(test::contains(parts.reason, "parts of"));
  for (const smem::Alternative& other : parts.alternatives)
    if (other.variant == "gemm") CHECK(test::contains(other.why_not, "by the model"));
  CHECK(plan(64, 64, 0, Scalar::float32).variant == "naive");
}

TEST_CASE("plan of complex_gemm: slices bound temporary memory") {
  smem::Device device = test::target("sm_90");
  constexpr std::size_t kMost = std::size_t{256} << 20;
  for (const std::size_t allocation : {std::size_t{1} << 40, std::size_t{100} << 20, std::size_t{1} << 20})
    for (const auto& [m, n, k, batch] : {std::array<std::size_t, 4>{16384, 16384, 16384, 1},
                                         {100, 100, 1 << 22, 1},
                                         {64, 64, 64, 1 << 20},
                                         {3000, 1 << 20, 40, 1},
                                         {2000, 2000, 2000, 7}})
      for (const unsigned bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
        CAPTURE(allocation);
        CAPTURE(k);
        CAPTURE(bits);
        device.max_allocation = allocation;
        const ComplexGemmProblem p{.m = m,
                                   .n = n,
                                   .k = k,
                                   .batch = batch,
                                   .a_along_k = (bits & 1) != 0,
                                   .one_a = batch > 1 && (bits & 2) != 0,
                                   .one_b = batch > 1 && (bits & 4) != 0};
        smem::Plan plan;
        try {
          plan = smem::plan_complex_gemm(device, p, {.variant = "gemm"});
        } catch (const smem::Error& error) {  // a row of a wide B
          CHECK(allocation == std::size_t{1} << 20);
          CHECK(n == 1 << 20);
          CHECK(test::contains(error.details().got, "more than a buffer"));
          continue;
        }
        const std::size_t bytes = plan.scratch.back().bytes;
        CHECK(std::bit_ceil(bytes) <= allocation);
        CHECK(bytes <= kMost);
        const std::size_t products = plan.number("products"), depth = plan.number("depth");
        CHECK((products == 1 || depth == k));
        CHECK((depth == k || depth < 32 || depth % 32 == 0));
        CHECK(products * depth > 0);
        const std::size_t of_b = 4 * n * depth * 4 * (p.one_b ? 1 : products),
                          of_a = p.a_along_k ? 0 : 2 * m * depth * 4 * (p.one_a ? 1 : products);
        CHECK(bytes >= of_a + of_b);
        CHECK(plan.number("expanded") == of_b);
        CHECK(plan.rounds == ((batch + products - 1) / products) * ((k + depth - 1) / depth));
      }
}
