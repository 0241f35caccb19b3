// Plans of attention.
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/attention_plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

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
    for (const std::size_t size : {88, 256}) {  // registers spill; the queries of two tiles do not fit
      p.head_size = p.value_size = size;
      CHECK(plan("sm_90").groups() == 4 * 16 * 32);
    }
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
  const double all = plan("sm_90").prediction.matrix_operations;
  CHECK(all == 16 * 2.0 * 4096 * 4096 * (128 + 128));
  p.right_limit = true;
  CHECK(plan("sm_90").prediction.matrix_operations < 0.51 * all);
}

TEST_CASE("attention: plans of matrix units for devices that are not here") {
  smem::AttentionProblem p{
      .heads = 16, .kv_heads = 16, .queries = 4096, .keys = 4096, .head_size = 128, .value_size = 128};
  const auto plan = [&](const smem::Device& device, const char* variant = "") {
    return smem::plan_attention(device, p, {.variant = variant});
  };
  const auto refusal = [&](const smem::Device& device) {
    return test::failure_of([&] { plan(device, "matrix_units"); }).got;
  };
  for (const char* name : {"gfx90a", "gfx942", "gfx1100", "gfx1201", "dg2-g10", "pvc"}) {
    CAPTURE(name);
    const smem::Device device = test::target(name);
    p.in = p.out = Scalar::float32;
    p.queries = 4096;
    CHECK(plan(device).variant == "tiled");
    CHECK(test::contains(refusal(device), "half and bfloat16"));
    for (const Scalar type : {Scalar::half, Scalar::bfloat16}) {
      p.in = p.out = type;
      for (const std::size_t size : {1, 33, 64, 80, 128, 129, 256}) {
        CAPTURE(size);
        p.head_size = size;
        p.value_size = 257 - size;
        CHECK(plan(device).variant == "matrix_units");
        p.value_size = size;
        const smem::Plan chosen = plan(device);
        CHECK(chosen.variant == "matrix_units");
        CHECK(chosen.local_bytes <= device.local_bytes);
        CHECK(test::contains(chosen.build_options(), "-DEMULATED_UNIT=0"));
        CHECK(chosen.evidence.starts_with("no measurement"));
        CHECK(plan(smem::clamp(device, "matrix_unit=none")).variant == "tiled");
      }
    }
    p.head_size = p.value_size = 128;
    CHECK(plan(device).tile_rows == 64);
    CHECK(plan(device).groups() == 64 * 16);
    // A few queries: keys are split, whatever the unit.
    p.queries = 4;
    CHECK(plan(device).variant == "split_keys");
    p.queries = 17;
    CHECK(plan(device).variant == "matrix_units");
    p.queries = 4096;
    // Vectors that begin anywhere.
    p.alignment = 2;
    CHECK(test::contains(plan(device).build_options(), "-DALIGNED=0"));
    p.alignment = 16;
    CHECK(test::contains(plan(device).build_options(), "-DALIGNED=1"));
    CHECK(test::contains(refusal(smem::clamp(device, "local=8K")), "8192 bytes of local memory"));
    CHECK(plan(smem::clamp(device, "local=8K")).variant != "matrix_units");
    // Emulated, by name only.
    const std::string unit = "matrix_unit=" + std::string(smem::name_of(device.matrix_unit));
    const smem::Device emulated = smem::clamp(test::target("gfx1030"), unit);
    CHECK(plan(emulated).variant == "tiled");
    CHECK(test::contains(plan(emulated, "matrix_units").build_options(), "-DEMULATED_UNIT=1"));
  }
  CHECK(test::contains(refusal(test::target("sm_90")), "AMD or Intel"));
}

TEST_CASE("attention: tiles of split_mma are whole where all run at once") {
  smem::AttentionProblem p{
      .heads = 32, .kv_heads = 8, .queries = 1, .keys = 1000, .head_size = 128, .value_size = 128};
  p.in = p.out = Scalar::half;
  const smem::Device device = test::target("sm_90");  // 64 units
  const auto plan_of = [&](std::size_t batch, const smem::PlanOverrides& fixed = {}) {
    p.batch = batch;
    smem::PlanOverrides all = fixed;
    all.variant = "split_mma";
    return smem::plan_attention(device, p, all);
  };
  // A unit's local memory has room for 3 groups of 4 warps, 4 of 3, and 5 of 2.
  const auto is_whole = [&](std::size_t batch, std::size_t work_items) {
    const smem::Plan plan = plan_of(batch);
    return plan.groups() == 8 * batch && plan.work_group[0] == work_items && plan.tile_cols == p.keys &&
           test::contains(plan.reason, "a group's own");
  };
  CHECK(is_whole(16, 128));
  CHECK(is_whole(24, 128));
  CHECK(is_whole(25, 96));
  CHECK(is_whole(33, 64));
  CHECK(is_whole(40, 64));
  // Fewer tiles than fill the device, more than two warps each can have at once, fixed ones, and tiles of
  // different lengths are split.
  for (const std::size_t batch : {std::size_t{15}, std::size_t{41}}) {
    CHECK(plan_of(batch).groups() == 3 * 64);
    CHECK(plan_of(batch).tile_cols == 128);
  }
  CHECK(plan_of(24, {.tile_cols = 256}).tile_cols == 256);
  CHECK(plan_of(25, {.work_items = 128}).tile_cols == 128);
  p.key_lengths = true;
  CHECK(plan_of(24).tile_cols == 128);
}

TEST_CASE("attention: tiles of wgmma follow sizes, windows and lengths") {
  smem::AttentionProblem p{.in = Scalar::half, .out = Scalar::half, .batch = 4, .heads = 16, .kv_heads = 16};
  p.queries = p.keys = 2048;
  const smem::Device device = test::target("sm_90");  // 64 units
  const auto keys_of = [&](std::size_t size) {
    p.head_size = p.value_size = size;
    const smem::Plan plan = smem::plan_attention(device, p);
    CHECK(plan.variant == "wgmma");
    CHECK(plan.local_bytes <= 227 * 1024);
    return plan.tile_cols;
  };
  CHECK(keys_of(64) == 96);  // 16 x 64 tiles of 128 rows, 11 x 64 of 192: as many waves of rows
  p.right_limit = true;
  CHECK(keys_of(64) == 128);
  p.right_limit = false;
  p.batch = 1;  // 4 waves of 128 rows, 3 of 192
  CHECK(keys_of(64) == 128);
  p.batch = 4;
  CHECK(keys_of(80) == 128);
  CHECK(keys_of(160) == 96);
  CHECK(keys_of(192) == 112);
  CHECK(keys_of(256) == 80);
  // Fewer keys beyond the last one.
  for (const auto& [keys, tile] :
       {std::pair<std::size_t, std::size_t>{77, 80}, {96, 96}, {197, 112}, {512, 128}, {513, 128}}) {
    p.keys = keys;
    CHECK(keys_of(64) == tile);
  }
  p.keys = 2048;
  // What leaves fewer registers; windows do not, but for small heads, whose small tiles are cheap.
  p.bias = true;
  CHECK(keys_of(64) == 128);
  CHECK(keys_of(128) == 128);
  CHECK(keys_of(160) == 64);
  p.keys = 197;
  CHECK(keys_of(64) == 128);  // a multiple of 32
  p.keys = 2048;
  p.right_limit = true;
  CHECK(keys_of(64) == 128);
  CHECK(keys_of(128) == 96);
  p.slopes = true;
  CHECK(keys_of(64) == 64);
  p.slopes = p.bias = false;
  p.soft_cap = true;
  CHECK(keys_of(128) == 112);
  p.right_limit = false;
  CHECK(keys_of(64) == 128);
  CHECK(keys_of(128) == 128);
  CHECK(keys_of(192) == 64);
  p.slopes = true;
  CHECK(keys_of(128) == 64);
  p.soft_cap = false;
  CHECK(keys_of(128) == 128);
  CHECK(keys_of(160) == 96);
  CHECK(keys_of(256) == 64);
  p.slopes = false;
  p.right_limit = p.left_limit = true;
  CHECK(keys_of(128) == 128);
  CHECK(keys_of(72) == 64);
  CHECK(keys_of(64) == 64);
}

TEST_CASE("attention: wgmma copies keys as boxes where they lie in order and tiles are worth their maps") {
  smem::AttentionProblem p{.in = Scalar::half, .out = Scalar::half, .batch = 4, .heads = 16, .kv_heads = 16};
  p.queries = p.keys = 2048;
  p.head_size = p.value_size = 128;
  const auto boxes = [&] {
    const smem::Plan plan = smem::plan_attention(test::target("sm_90"), p, {.variant = "wgmma"});
    CHECK((plan.scratch_bytes == plan.groups() * 256) == (plan.number("maps_area") == 1));
    CHECK(test::contains(plan.reason, "by tensor maps") == (plan.number("maps_area") == 1));
    return plan.number("maps_area") != 0;
  };
  CHECK(boxes());
  for (bool smem::AttentionProblem::*const option :
       {&smem::AttentionProblem::bias, &smem::AttentionProblem::ragged,
        &smem::AttentionProblem::key_lengths}) {
    p.*option = true;
    CHECK(!boxes());
    p.*option = false;
  }
  p.right_limit = p.soft_cap = true;
  CHECK(boxes());
  p.right_limit = p.soft_cap = false;
  p.keys = 128;
  CHECK(boxes());  // groups have many tiles
  p.queries = 16;
  CHECK(!boxes());
}

TEST_CASE("attention: few tiles of wgmma are smaller, or groups share their keys") {
  smem::AttentionProblem p{.in = Scalar::half, .out = Scalar::half, .heads = 32, .kv_heads = 8};
  p.head_size = p.value_size = 128;
  const smem::Device device = test::target("sm_90");  // 64 units
  const auto plan_of = [&](std::size_t queries, std::size_t keys) {
    p.queries = queries, p.keys = keys;
    const smem::Plan plan = smem::plan_attention(device, p, {.variant = "wgmma"});
    CHECK(plan.counters == (plan.number("parts") != 0));
    CHECK(plan.groups() == 8 * plan.number("tiles") * std::max<std::size_t>(plan.number("parts"), 1));
    return plan;
  };
  // Two warpgroups have 128 rows: here 32 queries.
  const smem::Plan shared = plan_of(64, 8192);
  CHECK(shared.tile_rows == 128);
  CHECK(shared.number("parts") == 4);
  CHECK(shared.scratch_bytes >= shared.groups() * 128 * (128 + 2) * sizeof(float));
  CHECK(test::contains(shared.reason, "4 groups share the keys of a tile"));
  // Few keys are not worth partial sums: smaller tiles give more groups.
  CHECK(plan_of(64, 500).tile_rows == 64);
  CHECK(plan_of(64, 500).number("parts") == 0);
  // At most 64 rows.
  CHECK(plan_of(16, 8192).tile_rows == 64);
  CHECK(plan_of(16, 8192).number("parts") == 8);
  CHECK(plan_of(16, 300).number("parts") == 0);
  // As many tiles as units, windows, and ragged batches.
  CHECK(plan_of(256, 8192).tile_rows == 128);
  CHECK(plan_of(256, 8192).number("parts") == 0);
  p.left_limit = true;
  CHECK(plan_of(64, 8192).number("parts") == 0);
  p.left_limit = false;
  p.ragged = true;
  CHECK(smem::plan_attention(device, p, {.variant = "wgmma"}).number("parts") == 0);
}
