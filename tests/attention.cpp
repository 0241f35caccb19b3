// Attention: every variant against plain loops.
#include <smem/smem.hpp>

#include "support/attention_run.hpp"
#include "support/broken.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/level.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using smem::Scalar;
using test::AttentionCase;
using test::BiasShape;
using test::Logits;

namespace {

using AttentionSweep = test::CaseSweep<AttentionCase>;

bool runs_here(const smem::Context& context, const AttentionCase& c) {
  const smem::Device& device = context.device();
  if (test::is_broken(device, "attention", c.variant)) return false;
  if (test::is_of_units(c.variant)) {
    const bool in_pieces = c.variant != "matrix_units";  // of 16 bytes
    if (in_pieces && (c.gaps || c.head_size % 8 != 0 || c.value_size % 8 != 0)) return false;
    smem::AttentionProblem one{
        .in = c.in, .out = c.out, .head_size = c.head_size, .value_size = c.value_size};
    one.heads = one.kv_heads = one.queries = one.keys = 1;
    try {
      smem::plan_attention(device, one, {.variant = c.variant});
    } catch (const smem::Error&) {
      return false;
    }
    return true;
  }
  return c.variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

/// Runs the case in every variant, and counts.
void run_all(AttentionSweep& sweep, AttentionCase c) {
  for (const std::string_view variant : smem::attention_variants()) {
    c.variant = variant;
    CAPTURE(variant);
    sweep.run(c);
    CHECK(sweep.ran() == (runs_here(sweep.context(), c) ? 1 : 0));
    if (!variant.starts_with("split") || !runs_here(sweep.context(), c)) continue;
    for (const std::size_t splits : {2, 7}) {
      c.chunk = std::max<std::size_t>((c.keys + splits - 1) / splits, 1);
      sweep.run(c);
    }
    CHECK(sweep.ran() == 2);
    c.chunk = 0;
  }
}

/// Runs the case in every variant, and in half too where there are matrix units, which multiply no float.
void run_all_and_units(AttentionSweep& sweep, AttentionCase c) {
  run_all(sweep, c);
  c.in = c.out = Scalar::half;
  for (const std::string_view variant : smem::attention_variants()) {
    c.variant = variant;
    if (!test::is_of_units(variant) || !runs_here(sweep.context(), c)) continue;
    CAPTURE(variant);
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}

}  // namespace

TEST_CASE("small: attention" * doctest::test_suite("small")) {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "attention", smem::attention_variants())) {
    CAPTURE(variant);
    AttentionCase c;
    c.variant = variant;
    c.heads = 4;
    c.queries = 17;
    c.keys = 70;
    c.head_size = c.value_size = 16;
    c.causal = c.lse = true;
    if (test::is_of_units(variant)) c.in = c.out = Scalar::half;
    if (variant.starts_with("split")) c.chunk = 30;
    sweep.run(c);
    CHECK(sweep.ran() == (runs_here(context, c) ? 1 : 0));
  }
}

TEST_CASE("attention: sizes around those of tiles, shared heads") {
  const smem::Context context;
  AttentionSweep sweep(context);
  const std::pair<std::size_t, std::size_t> kSizes[] = {{1, 1},    {2, 1},   {15, 17}, {33, 31},  {64, 65},
                                                        {63, 129}, {1, 193}, {7, 200}, {131, 96}, {200, 1}};
  for (const auto& [queries, keys] : kSizes) {
    AttentionCase c;
    c.batch = 2;
    c.heads = 6;
    c.kv_heads = queries % 2 == 0 ? 3 : 6;
    c.queries = queries;
    c.keys = keys;
    c.head_size = c.value_size = 40;
    c.lse = true;
    run_all(sweep, c);
    c.in = c.out = Scalar::half;
    if (context.device().type == smem::DeviceType::gpu) run_all(sweep, c);  // matrix units
  }
}

TEST_CASE("attention: sizes of heads") {
  const smem::Context context;
  AttentionSweep sweep(context);
  const std::pair<std::size_t, std::size_t> kSizes[] = {{1, 1}, {3, 130}, {96, 31}, {256, 256}};
  for (const auto& [head, value] : kSizes) {
    AttentionCase c;
    c.heads = 7;
    c.kv_heads = 1;
    c.queries = 12;
    c.keys = 70;
    c.head_size = head;
    c.value_size = value;
    c.scale = 0.25;
    c.tokens_first = head % 2 == 0;
    run_all(sweep, c);
  }
}

TEST_CASE("attention: types, strides and gaps") {
  const smem::Context context;
  AttentionSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::bfloat16, Scalar::float32}}) {
    AttentionCase c;
    c.in = in;
    c.out = out;
    c.batch = 2;
    c.heads = 4;
    c.queries = 37;
    c.keys = 75;
    c.head_size = 24;
    c.value_size = 20;
    c.gaps = turn % 2 == 0;
    c.tokens_first = turn / 2 % 2 == 0;
    c.causal = turn % 2 == 1;
    run_all(sweep, c);
    ++turn;
  }
}

TEST_CASE("attention: causal and windows, with fewer, as many and more keys than queries") {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const std::size_t keys : {40, 90, 161}) {
    AttentionCase c;
    c.heads = 4;
    c.queries = 90;
    c.keys = keys;
    c.head_size = c.value_size = 16;
    c.lse = c.causal = true;
    run_all_and_units(sweep, c);  // with 40 keys, 50 queries see none
    c.window = {.left = 0};
    run_all_and_units(sweep, c);
    c.window = {.left = 17, .sinks = 5};
    run_all_and_units(sweep, c);
    c.causal = false;
    c.window = {.left = 9, .right = 20};
    run_all_and_units(sweep, c);
    c.window = {.left = 1000, .right = 1000, .sinks = 3};
    run_all_and_units(sweep, c);
  }
}

TEST_CASE("attention: logits that are equal, huge, growing, falling, infinite or no numbers") {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const Logits logits : {Logits::equal, Logits::one_hot, Logits::huge, Logits::growing, Logits::falling,
                              Logits::alternating, Logits::not_a_number, Logits::subnormal, Logits::peaks}) {
    AttentionCase c;
    c.in = c.out = logits == Logits::huge || logits == Logits::one_hot || logits == Logits::peaks
                       ? Scalar::half
                       : Scalar::float32;
    c.queries = 9;
    c.keys = 300;
    c.head_size = c.value_size = 16;
    c.scale = 1;
    c.lse = true;
    c.logits = logits;
    run_all(sweep, c);
  }
  // With a negative scale, the least product is the largest logit; hidden keys stay hidden.
  AttentionCase c;
  c.in = c.out = Scalar::half;
  c.queries = c.keys = 70;
  c.head_size = c.value_size = 16;
  c.scale = -0.5;
  c.causal = c.lse = true;
  run_all(sweep, c);
}

TEST_CASE("attention: soft caps, biases, slopes and sink logits") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.batch = 2;
  c.heads = 6;
  c.queries = 21;
  c.keys = 140;
  c.head_size = c.value_size = 32;
  c.lse = true;
  AttentionCase capped = c;
  for (const double cap : {1e-3, 2.0, 1e4}) {
    capped.soft_cap = cap;
    run_all_and_units(sweep, capped);
  }
  AttentionCase biased = c;
  for (const BiasShape shape : {BiasShape::full, BiasShape::of_heads}) {
    biased.bias = shape;
    run_all_and_units(sweep, biased);
  }
  biased.in = biased.out = Scalar::half;
  biased.gaps = biased.float_bias = true;
  biased.bias = BiasShape::of_keys;
  run_all(sweep, biased);
  c.slopes = c.sink_logits = c.causal = true;
  c.kv_heads = 3;
  c.queries = 150;
  run_all_and_units(sweep, c);
  c.causal = false;
  c.soft_cap = 3;
  c.bias = BiasShape::full;
  c.window.left = 50;
  run_all_and_units(sweep, c);
}

TEST_CASE("attention: lengths of keys, behind which everything is NaN") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.heads = 4;
  c.queries = 3;
  c.keys = 170;
  c.batch = 4;
  c.head_size = c.value_size = 32;
  c.lse = true;
  c.lengths = {1, 170, 17, 0};
  run_all_and_units(sweep, c);
  c.lengths = {2, 1u << 31, 65, 128};
  run_all_and_units(sweep, c);
  // Pages, the last of which is not full; also of shared heads and half.
  c.causal = true;
  c.page = 16;
  c.lengths = {40, 170, 33, 0};
  c.kv_heads = 2;
  run_all_and_units(sweep, c);
  c.in = Scalar::half;
  c.tokens_first = c.gaps = true;
  c.page = 7;
  run_all(sweep, c);
}

TEST_CASE("attention: ragged batches") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.heads = 4;
  c.queries = 150;
  c.keys = 220;
  c.head_size = c.value_size = 24;
  c.lse = true;
  c.query_offsets = {0, 1, 1, 90, 107, 150};
  c.key_offsets = {0, 130, 140, 140, 181, 220};
  c.causal = true;
  c.kv_heads = 2;
  c.tokens_first = true;
  run_all_and_units(sweep, c);
  // Tokens of no sequence, and offsets beyond the views.
  c.query_offsets = {3, 20, 60, 60, 1000, 4000000000u};
  c.key_offsets = {10, 20, 100, 215, 300, 4000000000u};
  run_all_and_units(sweep, c);
  // Queries of various numbers, and pages.
  c.query_offsets = {0, 5, 5, 60, 150};
  c.key_offsets = {};
  c.page = 32;
  c.lengths = {100, 7, 220, 3};
  run_all_and_units(sweep, c);
}

TEST_CASE("clamped: attention on smaller devices") {
  for (const char* limits : {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4",
                             "work_group=1,compute_units=1", "prefetch_builtin=0"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    AttentionSweep sweep(context);
    AttentionCase c;
    c.heads = 4;
    c.kv_heads = 2;
    c.queries = 5;
    c.keys = 130;
    c.head_size = c.value_size = 40;
    c.causal = c.lse = true;
    for (const char* variant : {"", "naive", "tiled", "split_keys"}) {
      CAPTURE(variant);
      c.variant = variant;
      c.chunk = c.variant == "split_keys" ? 30 : 0;
      sweep.run(c);
      const bool always = c.variant.empty() || c.variant == "naive";
      CHECK((sweep.ran() == 1 || !always));
    }
  }
}

TEST_CASE(
    "attention on CPUs: vectors of 16, 32 and 64 bytes, strips of fewer keys, heads that are no whole "
    "vectors") {
  for (const char* limits : {"vector=16", "vector=32", "vector=64"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    if (!test::has_cpu_variant(context.device())) return;
    AttentionSweep sweep(context);
    for (const Scalar type : {Scalar::float32, Scalar::half}) {
      AttentionCase c;
      c.variant = "cpu";
      c.in = c.out = type;
      c.heads = c.kv_heads = 2;
      c.queries = 13;
      c.keys = 203;
      c.head_size = type == Scalar::half ? 64 : 43;
      c.value_size = 40;
      sweep.run(c);
    }
    CHECK(sweep.ran() == 2);
  }
}

TEST_CASE("random: attention") {
  const smem::Context context;
  test::run_random("attention", 313, [&](test::Random& random) -> test::RandomCase {
    AttentionCase drawn;
    drawn.variant = test::some_variant(random, smem::attention_variants());
    drawn.in = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16});
    drawn.out = drawn.in != Scalar::float32 && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.head_size = random.chance(2) ? 8 * random.between(1, 16) : random.between(1, 256);
    drawn.value_size = random.chance(2) ? drawn.head_size : random.between(1, 128);
    drawn.causal = random.chance(2);
    if (random.chance(3)) {
      drawn.window.left = random.between(0, 60);
      drawn.window.sinks = random.chance(2) ? random.between(1, 9) : 0;
    }
    if (!drawn.causal && random.chance(4)) drawn.window.right = random.between(0, 60);
    drawn.soft_cap = random.chance(4) ? 3 : 0;
    drawn.slopes = random.chance(4);
    drawn.sink_logits = random.chance(4);
    drawn.lse = random.chance(2);
    drawn.gaps = random.chance(3);
    drawn.tokens_first = random.chance(2);
    const std::size_t sequences =
        random.between(0, 3);  // 0, 1: as many tokens; 2: of other lengths; 3: ragged
    const bool pages = sequences >= 2 && random.chance(2);
    if (sequences != 3) drawn.bias = static_cast<BiasShape>(random.chance(2) ? 0 : random.between(0, 3));
    drawn.float_bias = drawn.in == Scalar::float32 || random.chance(2);
    return [=, &context](test::Random& more, std::string& text) {
      AttentionCase c = drawn;
      c.kv_heads = more.between(1, 3);
      c.heads = c.kv_heads * more.between(1, 3);
      c.queries = more.between(1, more.chance(2) ? 6 : 90);
      c.keys = more.between(1, more.chance(2) ? 40 : 250);
      c.batch = sequences == 3 ? 1 : more.between(1, 3);
      c.logits = more.chance(2) ? Logits::usual : static_cast<Logits>(more.between(0, 9));
      // What is added to logits of 10^10 vanishes in float.
      if (c.logits == Logits::huge) c.bias = BiasShape::none, c.slopes = false;
      if (pages) c.page = more.between(1, 40);
      const std::size_t count = sequences == 3 ? more.between(1, 4) : c.batch;
      const auto offsets = [&](std::size_t tokens) {
        std::vector<std::uint32_t> all{0};
        for (std::size_t s = 0; s < count; ++s)
          all.push_back(all.back() + static_cast<std::uint32_t>(more.between(0, 2 * tokens / count)));
        return all;
      };
      if (sequences == 3) c.query_offsets = offsets(c.queries);
      if (sequences == 3 && !pages) c.key_offsets = offsets(c.keys);
      if (sequences == 2 || pages)
        for (std::size_t s = 0; s < count; ++s)
          c.lengths.push_back(static_cast<std::uint32_t>(more.between(0, c.keys + 2)));
      text = c.text();
      return test::run(context, c, more);
    };
  });
}
