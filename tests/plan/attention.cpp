// Plans of attention.
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/attention_plan.hpp>

#include <doctest/doctest.h>

using smem::Scalar;

TEST_CASE("attention: plans for devices that are not here") {
  smem::AttentionProblem p{
      .heads = 16, .kv_heads = 16, .queries = 4096, .keys = 4096, .head_size = 128, .value_size = 128};
  const auto plan = [&](const char* target, const char* variant = "") {
    return smem::plan_attention(test::target(target), p, {.variant = variant});
  };
  CHECK(plan("sm_90").variant == "tiled");
  CHECK(plan("gfx90a").variant == "tiled");
  CHECK(plan("cpu").variant == "cpu");
  CHECK(plan("sm_90").groups() == 64 * 16);
  const auto refusal = [&](const char* target) { return test::failure_of([&] { plan(target, "mma"); }).got; };
  CHECK(test::contains(refusal("sm_90"), "half and bfloat16"));
  p.in = p.out = Scalar::half;
  CHECK(plan("sm_90").variant == "wgmma");
  CHECK(plan("sm_90").groups() == 32 * 16);
  CHECK(plan("sm_90", "mma").groups() == 64 * 16);
  // What bounds it: at heads of 64, products would take as long as exponentials.
  CHECK(test::contains(plan("sm_90").reason, "multiplications bound it, exponentials take 50 %"));
  p.head_size = p.value_size = 32;
  CHECK(test::contains(plan("sm_90").reason, "exponentials bound it, multiplications take 50 %"));
  p.soft_cap = true;
  CHECK(test::contains(plan("sm_90").reason, "exponentials bound it, multiplications take 17 %"));
  p.soft_cap = false;
  p.head_size = p.value_size = 128;
  smem::Device old = test::target("sm_90");
  old.retargeting = false;
  CHECK(smem::plan_attention(old, p).variant == "mma");
  CHECK(test::contains(refusal("sm_75"), "sm_80"));
  CHECK(test::contains(refusal("gfx90a"), "sm_80"));
  p.alignment = 8;
  CHECK(test::contains(refusal("sm_90"), "16 bytes"));
  p.alignment = 16;
  // Of short sequences groups take turns at tiles, where the queries of two of them fit.
  p.queries = p.keys = 512;
  p.batch = 32;
  for (const bool causal : {false, true}) {
    p.right_limit = causal;
    CHECK(plan("sm_90").groups() == 64);
    CHECK(test::contains(plan("sm_90").reason, "the next tile's queries come"));
    p.queries = 513;  // causal: the first one sees no key
    CHECK(plan("sm_90").groups() == (causal ? 5 * 16 * 32 : 64));
    p.queries = 512;
    p.head_size = p.value_size = 256;
    CHECK(plan("sm_90").groups() == 4 * 16 * 32);
    p.head_size = p.value_size = 96;
    CHECK(plan("sm_90").groups() == 4 * 16 * 32);
    p.head_size = p.value_size = 128;
  }
  p.right_limit = false;
  p.queries = p.keys = 4096;
  p.batch = 1;
  // Heads that share keys are rows of one tile.
  p.kv_heads = 4;
  p.queries = 1;
  CHECK(plan("sm_90", "tiled").groups() == 4);
  // Causal is half of the work.
  p.queries = p.keys;
  const double all = plan("sm_90").prediction.operations;
  p.right_limit = true;
  CHECK(plan("sm_90").prediction.operations < 0.51 * all);
}
