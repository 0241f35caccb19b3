// Attention that splits keys: any number of splits, and what its plans are.
#include <smem/smem.hpp>

#include "plan/sizes.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using smem::HeadsShape;
using smem::Scalar;

namespace {

/// `after`: launches after the main one, which combine partial sums.
void splits_are_right(const smem::Context& context, std::size_t after) {
  constexpr std::size_t kKeys = 700, kSize = 24;
  const HeadsShape queries{2, 6, 1, kSize}, keys{2, 2, kKeys, kSize};
  test::Random random(11);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> all(count);
    for (float& x : all)
      x = static_cast<float>(random.between(0, 127)) / 32 - 2;
    return smem::Array<float>(context, all);
  };
  const smem::Array<float> q = numbers(12 * kSize), k = numbers(4 * kKeys * kSize),
                           v = numbers(4 * kKeys * kSize);
  const smem::Array<std::uint32_t> lengths(context, std::vector<std::uint32_t>{kKeys, 9});
  const auto attend = [&](const smem::PlanOverrides& fixed) {
    const std::vector<float> poison(12 * kSize, NAN);
    const smem::Array<float> out(context, poison), lse(context, std::vector<float>(12, NAN));
    smem::attention(context, smem::HeadsView<const float>(q.buffer(), queries),
                    smem::HeadsView<const float>(k.buffer(), keys),
                    smem::HeadsView<const float>(v.buffer(), keys),
                    smem::HeadsView<float>(out.buffer(), queries), lse.vector(),
                    {.key_lengths = lengths.vector()}, {.overrides = &fixed});
    std::vector<float> got = out.to_host();
    const std::vector<float> sums = lse.to_host();
    got.insert(got.end(), sums.begin(), sums.end());
    return got;
  };
  const std::vector<float> wanted = attend({.variant = "naive"});
  const smem::AttentionProblem problem{.batch = 2,
                                       .heads = 6,
                                       .kv_heads = 2,
                                       .queries = 1,
                                       .keys = kKeys,
                                       .head_size = kSize,
                                       .value_size = kSize,
                                       .lse = true,
                                       .key_lengths = true};
  // Several groups have parts of the longer sequence.
  if (context.device().type == smem::DeviceType::cpu) {
    const smem::PlanOverrides fixed{.variant = "split_keys", .tile_cols = 42};
    CHECK(smem::plan_attention(context.device(), problem, fixed).groups() >= 16);
    CHECK(smem::plan_attention(context.device(), problem, fixed).after.size() == after);
  }
  for (std::size_t splits = 1; splits <= 17; ++splits) {
    CAPTURE(splits);
    const smem::PlanOverrides fixed{.variant = "split_keys", .tile_cols = (kKeys + splits - 1) / splits};
    const std::vector<float> got = attend(fixed);
    CHECK(got == attend(fixed));
    float most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      most = std::isfinite(got[i]) ? std::max(most, std::abs(got[i] - wanted[i])) : INFINITY;
    CHECK(most < 4e-6F);
  }
}

/// Sequences of these lengths, of half, in chunks of 16 keys: a group may share its first tile with those
/// before it, its last one with those behind it, and have whole ones between.
void shares_are_right(const smem::Context& context, const char* variant, std::size_t heads,
                      std::size_t kv_heads, const std::vector<std::uint32_t>& lengths) {
  CAPTURE(variant);
  const std::size_t most = *std::max_element(lengths.begin(), lengths.end());
  constexpr std::size_t kSize = 64;
  const HeadsShape queries{lengths.size(), heads, 1, kSize}, keys{lengths.size(), kv_heads, most, kSize};
  test::Random random(12);
  const auto numbers = [&](const HeadsShape& shape) {
    std::vector<smem::half> all(shape.batch * shape.heads * shape.tokens * shape.size);
    for (smem::half& x : all)
      x = smem::half(static_cast<float>(random.between(0, 127)) / 32 - 2);
    return smem::Array<smem::half>(context, all);
  };
  const smem::Array<smem::half> q = numbers(queries), k = numbers(keys), v = numbers(keys);
  const smem::Array<std::uint32_t> all_lengths(context, lengths);
  const auto attend = [&](const smem::PlanOverrides& fixed) {
    const std::size_t rows = lengths.size() * heads;
    const smem::Array<float> out(context, std::vector<float>(rows * kSize, NAN)),
        lse(context, std::vector<float>(rows, NAN));
    smem::attention(context, smem::HeadsView<const smem::half>(q.buffer(), queries),
                    smem::HeadsView<const smem::half>(k.buffer(), keys),
                    smem::HeadsView<const smem::half>(v.buffer(), keys),
                    smem::HeadsView<float>(out.buffer(), queries), lse.vector(),
                    {.key_lengths = all_lengths.vector()}, {.overrides = &fixed});
    std::vector<float> got = out.to_host();
    const std::vector<float> sums = lse.to_host();
    got.insert(got.end(), sums.begin(), sums.end());
    return got;
  };
  const smem::PlanOverrides fixed{.variant = variant, .tile_cols = 16};
  const std::vector<float> wanted = attend({.variant = "naive"}), got = attend(fixed);
  CHECK(got == attend(fixed));
  float apart = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted[i]) {  // both may be -inf
      apart = std::isfinite(got[i]) ? std::max(apart, std::abs(got[i] - wanted[i])) : INFINITY;
    }
  CHECK(apart < 2e-3F);  // of split_mma, weights are halves
}

}  // namespace

TEST_CASE("attention: tiles that many groups share, and groups that have many tiles") {
  const smem::Context context;
  for (const char* variant : {"split_keys", "split_mma"}) {
    const bool has_units =
        smem::plan::is_nvidia_gpu(context.device()) && smem::plan::compute_capability(context.device()) >= 80;
    if (variant == std::string_view("split_mma") && !has_units) continue;
    shares_are_right(context, variant, 3, 1, {9001});
    shares_are_right(context, variant, 1, 1, {0, 4000});
    shares_are_right(context, variant, 4, 2, {700, 1, 16, 0, 33, 1500, 17, 90, 2, 250, 40, 900});
  }
}

TEST_CASE("attention: any number of splits of the keys, with the same bits twice") {
  const smem::Context context;
  splits_are_right(context, smem::plan::device_fence(context.device()) != 0 ? 0 : 1);
}

TEST_CASE("attention: splits of the keys where groups cannot hand data to each other") {
  const test::Variable clamp("SMEM_CLAMP", "prefetch_builtin=0");
  splits_are_right(smem::Context(), 1);
}

TEST_CASE("attention: plans that split keys") {
  smem::AttentionProblem p{.in = Scalar::half,
                           .out = Scalar::half,
                           .batch = 4,
                           .heads = 32,
                           .kv_heads = 8,
                           .queries = 1,
                           .keys = 8192,
                           .head_size = 128,
                           .value_size = 128};
  const auto plan = [&](const char* target, const smem::PlanOverrides& fixed = {}) {
    return smem::plan_attention(test::target(target), p, fixed);
  };
  // Groups for every unit, whatever the number of sequences, and heads that share keys in one tile.
  const smem::Plan nvidia = plan("sm_90");
  CHECK(nvidia.variant == "split_mma");
  CHECK(nvidia.tile_rows == 4);
  CHECK(nvidia.vector_width == 8);
  CHECK(nvidia.counters);
  CHECK(test::contains(nvidia.reason, "reads bound it"));
  CHECK(nvidia.after.empty());
  // Of fewer tiles, groups are larger, so that fewer partial sums are combined; unless lengths differ.
  p.batch = 1;
  CHECK(plan("sm_90").groups() == test::target("sm_90").compute_units);
  CHECK(plan("sm_90").work_items() == 2 * nvidia.work_items());
  p.key_lengths = true;
  CHECK(plan("sm_90").groups() == nvidia.groups());
  p.key_lengths = false;
  CHECK(nvidia.groups() % test::target("sm_90").compute_units == 0);
  // Where work-groups cannot exchange data in a launch, another launch combines.
  CHECK(plan("gfx90a").variant == "split_keys");
  CHECK(plan("gfx90a").after.size() == 1);
  // No more groups than chunks.
  CHECK(plan("sm_90", {.variant = "split_keys", .tile_cols = 8192}).groups() == 8);
  CHECK(plan("sm_90", {.variant = "split_keys", .tile_cols = 4096}).groups() == 16);
  CHECK(plan("sm_90", {.variant = "split_keys", .work_items = 256}).work_items() == 256);
  const auto refused = [&](const smem::PlanOverrides& fixed) {
    return test::failure_of([&] { plan("sm_90", fixed); }).argument;
  };
  CHECK(plan("sm_90", {.variant = "split_mma", .tile_cols = 8192}).groups() == 8);
  CHECK(plan("sm_90", {.variant = "split_mma", .work_items = 256}).work_items() == 256);
  CHECK(refused({.variant = "split_keys", .tile_rows = 2}) == "variant");
  CHECK(refused({.variant = "split_mma", .tile_rows = 2}) == "variant");
  CHECK(refused({.variant = "tiled", .tile_cols = 64}) == "tile_cols");
  CHECK(refused({.variant = "tiled", .work_items = 512}) == "work_items");
  // Many sequences of many keys, many queries, and few keys, are for others.
  p.batch = 64;
  CHECK(plan("sm_90").variant == "wgmma");
  p.head_size = p.value_size = 64;
  CHECK(plan("sm_90").variant == "split_mma");
  p.head_size = p.value_size = 128;
  p.keys = 1000;
  CHECK(plan("sm_90").variant == "split_mma");
  p.keys = 8192;
  p.batch = 1;
  CHECK(plan("cpu").variant == "cpu");
  // Without matrix units, or with numbers that they do not multiply.
  p.in = p.out = Scalar::float32;
  CHECK(plan("sm_90").variant == "split_keys");
  p.in = p.out = Scalar::half;
  p.alignment = 8;
  CHECK(plan("sm_90").variant == "split_keys");
  p.alignment = 16;
  CHECK(plan("sm_75").variant == "split_keys");
  p.keys = 64;
  CHECK(plan("sm_90").variant == "wgmma");
  p.keys = 8192;
  p.queries = 8192;
  CHECK(plan("sm_90").variant == "wgmma");
}
