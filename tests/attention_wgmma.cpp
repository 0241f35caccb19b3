// Attention by Hopper's matrix units against plain loops: every width of an instruction, tiles that a window
// hides in part or not at all, and groups that share the keys of a tile. Elsewhere nothing of it runs.
#include <smem/smem.hpp>

#include "support/attention_run.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

using smem::Scalar;
using test::AttentionCase;

namespace {

using WgmmaSweep = test::CaseSweep<AttentionCase>;

AttentionCase wgmma_case(Scalar type, std::size_t queries, std::size_t keys, std::size_t head_size,
                         std::size_t value_size) {
  AttentionCase c = test::case_of_variant("wgmma", type, queries, keys, head_size, value_size);
  c.lse = true;
  return c;
}

bool has_wgmma(const smem::Context& context) { return context.device().retargeting; }

/// The plan of a case without lists.
smem::Plan plan_of_wgmma(const smem::Context& context, const AttentionCase& c) {
  smem::AttentionProblem p{.in = c.in, .out = c.out, .batch = c.batch, .heads = c.heads};
  p.kv_heads = c.kv_heads;
  p.queries = c.queries;
  p.keys = c.keys;
  p.head_size = c.head_size;
  p.value_size = c.value_size;
  p.right_limit = c.causal;
  p.lse = c.lse;
  return smem::plan_attention(context.device(), p, {.variant = c.variant});
}

/// Every other one of bfloat16, causal, or with tokens first.
void heads_are_right(std::initializer_list<std::pair<std::size_t, std::size_t>> sizes) {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  std::size_t number = 0;
  for (const auto& [head, value] : sizes) {
    AttentionCase c = wgmma_case(number % 2 == 0 ? Scalar::half : Scalar::bfloat16, 140, 300, head, value);
    c.causal = number % 3 == 1;
    c.tokens_first = number % 4 >= 2;
    ++number;
    sweep.run(c);
  }
  CHECK(sweep.ran() == sizes.size());
}

void windows_are_right(std::size_t size) {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  for (const std::size_t left : {0, 1, 63, 64, 200, 391, 500}) {
    AttentionCase c = wgmma_case(Scalar::half, 300, 700, size, size);
    c.heads = 4;
    c.kv_heads = left % 2 == 0 ? 4 : 1;
    c.causal = left % 3 != 0;
    c.window.left = left;
    c.window.sinks = left == 200 ? 70 : 0;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 7);
}

void parts_are_right(std::size_t size) {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  // One warpgroup multiplies, then two; causal, the last groups have all keys, and the first ones fewer.
  for (const auto& [queries, keys] :
       {std::pair<std::size_t, std::size_t>{5, 3000}, {64, 2049}, {65, 2000}, {150, 2500}}) {
    AttentionCase c = wgmma_case(Scalar::half, queries, keys, size, size);
    c.causal = queries % 5 != 0;
    c.sink_logits = queries == 65;
    c.heads = queries % 2 == 0 ? 2 : 6;
    CHECK(plan_of_wgmma(context, c).number("parts") > 1);
    sweep.run(c);
    if (queries == 5) sweep.run(c);  // the counters are zero again
  }
  CHECK(sweep.ran() == 5);
}

// Rows of biases that begin at multiples of 16 bytes and that do not, keys that fill tiles and that do not,
// some of them hidden by the bias, and rows without any.
void biases_are_right(Scalar type, std::size_t size) {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  for (const std::size_t keys : {256, 300, 333}) {
    AttentionCase c = wgmma_case(type, 150, keys, size, size);
    c.heads = 4;
    c.bias = test::BiasShape::full;
    sweep.run(c);
    c.bias = test::BiasShape::of_heads;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 6);
}

// Products of which a cap makes numbers on both sides of its steep part, in tiles of 128 keys and of 64.
void capped_logits_are_right(std::size_t size) {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  for (const double cap : {0.1, 2.0, 30.0, 1e4}) {
    AttentionCase c = wgmma_case(Scalar::half, 150, 300, size, size);
    c.soft_cap = cap;
    c.scale = cap == 30 ? 1 : 0;
    sweep.run(c);
  }
  AttentionCase c = wgmma_case(Scalar::half, 150, 300, size, size);
  c.soft_cap = 20;
  for (const test::Logits logits : {test::Logits::growing, test::Logits::huge, test::Logits::not_a_number}) {
    c.logits = logits;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 7);
}

}  // namespace

TEST_CASE("attention by wgmma: sizes of heads and values up to 112") {
  heads_are_right({{16, 64}, {64, 72}, {72, 80}, {88, 96}, {104, 112}, {80, 40}, {112, 88}});
}
TEST_CASE("attention by wgmma: sizes of heads and values beyond 112") {
  heads_are_right(
      {{120, 128}, {128, 104}, {144, 144}, {160, 160}, {192, 128}, {176, 192}, {200, 200}, {256, 256}});
}

TEST_CASE("attention by wgmma: tiles of 80, 96, 112 and 128 keys") {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  for (const auto& [keys, tile] : {std::pair<std::size_t, std::size_t>{77, 80},
                                   {80, 80},
                                   {81, 96},
                                   {100, 112},
                                   {197, 112},
                                   {250, 128}}) {
    AttentionCase c = wgmma_case(Scalar::half, 200, keys, keys % 2 == 0 ? 64 : 128, 64);
    c.causal = keys % 2 == 1;
    CHECK(plan_of_wgmma(context, c).tile_cols == tile);
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}

TEST_CASE("attention by wgmma: three warpgroups that multiply") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=3");  // 6 tiles of 128 rows, 3 of 192
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  for (const std::size_t size : {64, 40}) {
    AttentionCase c = wgmma_case(Scalar::bfloat16, 130, 1100, size, 64);
    c.heads = 6;
    c.kv_heads = 3;
    c.queries = 65;
    c.lse = size == 40;
    CHECK(plan_of_wgmma(context, c).tile_rows == 192);
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}

// Keys of a tile that are not there, elements of a box that are not, heads that share keys, all layouts,
// groups that take turns at tiles and that do not.
TEST_CASE("attention by wgmma: keys and values as boxes of tensor maps") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=3");  // else groups would share keys
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  std::size_t number = 0;
  for (const auto& [head, value] :
       {std::pair<std::size_t, std::size_t>{64, 64}, {80, 40}, {128, 128}, {192, 256}}) {
    AttentionCase c =
        wgmma_case(number % 2 == 0 ? Scalar::half : Scalar::bfloat16, 140, 2100 + number, head, value);
    c.batch = c.kv_heads = 2;
    c.heads = 4;
    c.tokens_first = number >= 2;
    ++number;
    for (const bool causal : {false, true}) {
      c.causal = causal;
      CHECK(plan_of_wgmma(context, c).number("maps_area") == 1);
      sweep.run(c);
    }
    c.window.left = 150;
    c.window.sinks = 5;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 12);
}

// Windows that hide a part of a tile, or none of it.
TEST_CASE("attention by wgmma: windows, heads of 64") { windows_are_right(64); }
TEST_CASE("attention by wgmma: windows, heads of 80") { windows_are_right(80); }
TEST_CASE("attention by wgmma: windows, heads of 128") { windows_are_right(128); }

TEST_CASE("attention by wgmma: groups share keys, heads of 64") { parts_are_right(64); }
TEST_CASE("attention by wgmma: groups share keys, heads of 80") { parts_are_right(80); }
TEST_CASE("attention by wgmma: groups share keys, heads of 128") { parts_are_right(128); }
TEST_CASE("attention by wgmma: groups share keys, heads of 256") { parts_are_right(256); }

TEST_CASE("attention by wgmma: groups share keys that few rows see") {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  const auto parts = [&](const AttentionCase& c) { return plan_of_wgmma(context, c).number("parts"); };
  // Sequences without keys, or whose keys are in the first part only; pages.
  AttentionCase c = wgmma_case(Scalar::bfloat16, 30, 3000, 128, 128);
  c.batch = 4;
  c.lengths = {3000, 0, 1, 1500};
  CHECK(parts(c) > 1);
  sweep.run(c);
  c.page = 16;
  c.causal = true;
  sweep.run(c);
  // Rows that see no key.
  c = wgmma_case(Scalar::half, 3000, 2500, 64, 64);
  c.causal = true;
  c.heads = c.kv_heads = 1;
  CHECK(parts(c) > 1);
  sweep.run(c);
  // Logits that grow and fall from part to part.
  c = wgmma_case(Scalar::half, 70, 4000, 64, 64);
  c.scale = 1;
  for (const test::Logits logits : {test::Logits::growing, test::Logits::falling, test::Logits::alternating,
                                    test::Logits::one_hot, test::Logits::huge}) {
    c.logits = logits;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 8);
}

TEST_CASE("attention by wgmma: biases, heads of 64") { biases_are_right(Scalar::bfloat16, 64); }
TEST_CASE("attention by wgmma: biases, heads of 128") { biases_are_right(Scalar::half, 128); }
TEST_CASE("attention by wgmma: biases, heads of 256") { biases_are_right(Scalar::half, 256); }

TEST_CASE("attention by wgmma: caps, heads of 64") { capped_logits_are_right(64); }
TEST_CASE("attention by wgmma: caps, heads of 200") { capped_logits_are_right(200); }

TEST_CASE("attention by wgmma: slopes, alone and with a cap and a bias") {
  const smem::Context context;
  if (!has_wgmma(context)) return;
  WgmmaSweep sweep(context);
  AttentionCase c = wgmma_case(Scalar::half, 150, 333, 128, 128);
  c.heads = 4;
  c.slopes = true;
  sweep.run(c);  // keys before a query's own, and behind it
  c.soft_cap = 3;
  c.bias = test::BiasShape::full;
  c.window.left = 100;
  sweep.run(c);
  c.float_bias = c.causal = true;
  sweep.run(c);
  CHECK(sweep.ran() == 3);
}
