// Attention by the matrix units of AMD and Intel, emulated (SMEM_CLAMP=matrix_unit=...): every unit, type,
// size of heads, option and tail against plain loops. On a device that has a unit, that one by its own
// instructions.
#include <smem/smem.hpp>

#include "support/attention_run.hpp"
#include "support/broken.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using smem::MatrixUnit;
using smem::Scalar;
using test::AttentionCase;
using test::BiasShape;
using test::Logits;

namespace {

using UnitSweep = test::CaseSweep<AttentionCase>;

constexpr std::array kUnitsOfHeads{MatrixUnit::mfma,       MatrixUnit::mfma_cdna3, MatrixUnit::wmma,
                                   MatrixUnit::wmma_rdna4, MatrixUnit::dpas8,      MatrixUnit::dpas16};

std::string clamp_for(MatrixUnit unit) { return "matrix_unit=" + std::string(smem::name_of(unit)); }

/// Whether all tiles run there.
bool has_room(const smem::Device& device) {
  return device.local_bytes >= 64 * 1024 && device.max_work_group >= 256 &&
         !test::is_broken(device, "attention", "matrix_units");
}

AttentionCase case_of(Scalar type, std::size_t queries, std::size_t keys, std::size_t head_size,
                      std::size_t value_size) {
  return test::case_of_variant("matrix_units", type, queries, keys, head_size, value_size);
}

/// Options, each in a case of its own, since each is a program.
std::vector<AttentionCase> cases_of_options() {
  std::vector<AttentionCase> all(9, case_of(Scalar::half, 70, 131, 24, 40));
  for (AttentionCase& c : all)
    c.lse = true;
  all[0].causal = true;  // with fewer keys than queries: some see none
  all[0].queries = 133;
  all[0].keys = 99;
  all[1].window = {.left = 17, .right = 9, .sinks = 5};
  all[1].causal = false;
  all[1].tokens_first = true;
  all[2].bias = BiasShape::full;
  all[2].float_bias = true;
  all[2].batch = 2;
  all[3].soft_cap = 2;
  all[3].slopes = all[3].sink_logits = true;
  all[3].heads = 4;
  // Behind the keys of sequences everything is NaN.
  all[4].batch = 4;
  all[4].lengths = {1, 131, 17, 0};
  all[5].lengths = {40, 200, 33, 0};
  all[5].batch = 4;
  all[5].page = 16;
  all[5].causal = all[5].tokens_first = true;
  all[5].heads = 4;
  all[6].query_offsets = {0, 1, 1, 40, 52, 70};
  all[6].key_offsets = {0, 30, 40, 40, 81, 131};
  all[6].causal = true;
  all[6].heads = 6;
  all[7].query_offsets = {3, 20, 60, 60, 1000};
  all[7].lengths = {100, 7, 131, 3};
  all[7].page = 7;
  all[7].gaps = true;
  all[8].bias = BiasShape::of_keys;
  all[8].gaps = all[8].slopes = true;
  all[8].window.left = 50;
  all[8].soft_cap = 3;
  all[8].scale = -0.5;
  return all;
}

}  // namespace

TEST_CASE("attention by matrix units: every unit, type and size of heads") {
  // The tiles are those of sizes up to 64, 128 and 256.
  constexpr std::pair<std::size_t, std::size_t> kSizes[] = {{1, 1},     {16, 33},   {64, 64},   {37, 5},
                                                            {128, 128}, {65, 31},   {3, 127},   {80, 100},
                                                            {200, 40},  {255, 129}, {256, 256}, {9, 250}};
  for (std::size_t u = 0; u < kUnitsOfHeads.size(); ++u) {
    const test::Variable clamp("SMEM_CLAMP", clamp_for(kUnitsOfHeads[u]));
    const smem::Context context;
    if (!has_room(context.device())) return;
    CAPTURE(smem::name_of(kUnitsOfHeads[u]));
    UnitSweep sweep(context);
    std::size_t asked = 0;
    // A program takes a compiler a second: units take turns at the sizes of each tile, and so do types.
    for (std::size_t i = u % 2; i < std::size(kSizes); i += 2) {
      const auto& [head, value] = kSizes[i];
      AttentionCase c =
          case_of((u / 2 + i / 2) % 2 == 0 ? Scalar::half : Scalar::bfloat16, 1, 1, head, value);
      if ((u + i) % 3 == 0) c.out = Scalar::float32;
      c.gaps = (u + i) % 4 == 1;
      c.tokens_first = i % 4 >= 2;
      c.lse = i % 3 == 0;
      for (const auto& [queries, keys] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 33}, {70, 131}}) {
        c.queries = queries;
        c.keys = keys;
        c.heads = queries == 5 ? 6 : 2;  // those that share keys are rows of one tile
        sweep.run(c);
        ++asked;
      }
    }
    CHECK(sweep.ran() == asked);
  }
}

TEST_CASE("attention by matrix units: masks, windows, biases, caps, lengths, pages and ragged batches") {
  for (std::size_t u = 0; u < kUnitsOfHeads.size(); ++u) {
    const test::Variable clamp("SMEM_CLAMP", clamp_for(kUnitsOfHeads[u]));
    const smem::Context context;
    if (!has_room(context.device())) return;
    CAPTURE(smem::name_of(kUnitsOfHeads[u]));
    UnitSweep sweep(context);
    std::size_t asked = 0, number = 0;
    for (AttentionCase c : cases_of_options()) {
      if ((u + number++) % 2 != 0) continue;
      if ((u / 2 + number) % 2 == 0) c.in = c.out = Scalar::bfloat16;
      sweep.run(c);
      ++asked;
    }
    CHECK(sweep.ran() == asked);
  }
}

TEST_CASE("attention by matrix units: logits that are equal, huge, growing, falling or no numbers") {
  for (const MatrixUnit unit : {MatrixUnit::mfma, MatrixUnit::wmma, MatrixUnit::dpas8}) {
    const test::Variable clamp("SMEM_CLAMP", clamp_for(unit));
    const smem::Context context;
    if (!has_room(context.device())) return;
    CAPTURE(smem::name_of(unit));
    UnitSweep sweep(context);
    AttentionCase c = case_of(Scalar::half, 9, 300, 16, 16);
    c.scale = 1;
    c.lse = true;
    for (const Logits logits :
         {Logits::equal, Logits::one_hot, Logits::huge, Logits::growing, Logits::falling, Logits::alternating,
          Logits::not_a_number, Logits::subnormal}) {
      c.logits = logits;
      sweep.run(c);
    }
    CHECK(sweep.ran() == 8);
  }
}

TEST_CASE("attention by matrix units: little local memory, and none") {
  for (const MatrixUnit unit : kUnitsOfHeads) {
    CAPTURE(smem::name_of(unit));
    const test::Variable clamp("SMEM_CLAMP", clamp_for(unit) + ",local=20K");
    const smem::Context context;
    if (context.device().max_work_group < 256 || context.device().local_bytes < 20 * 1024 ||
        test::is_broken(context.device(), "attention", "matrix_units"))
      return;
    UnitSweep sweep(context);
    AttentionCase c = case_of(Scalar::half, 21, 70, 40, 40);
    c.causal = true;
    sweep.run(c);
    CHECK(sweep.ran() == 1);
    const smem::Device& device = context.device();
    smem::AttentionProblem p{.in = Scalar::half, .out = Scalar::half, .queries = 21, .keys = 70};
    p.head_size = p.value_size = 40;
    const smem::Plan plan = smem::plan_attention(device, p, {.variant = "matrix_units"});
    CHECK(plan.local_bytes <= device.local_bytes);
    CHECK(plan.tile_rows < 64);
    c.in = c.out = Scalar::float32;
    sweep.run(c);
    CHECK(sweep.ran() == 0);
  }
}

TEST_CASE("small: attention by matrix units" * doctest::test_suite("small")) {
  // Tiles of 16 work-items, of which keys and values take turns in one place, and of 128, which have two.
  for (const char* clamped : {"matrix_unit=dpas8,local=12K", "matrix_unit=mfma,local=14K"}) {
    const test::Variable clamp("SMEM_CLAMP", clamped);
    const smem::Context context;
    const smem::Device& device = context.device();
    if (device.max_work_group < 256 || device.local_bytes < 12 * 1024 ||
        test::is_broken(device, "attention", "matrix_units"))
      continue;
    UnitSweep sweep(context);
    AttentionCase c = case_of(Scalar::half, 9, 37, 72, 16);
    if (device.matrix_unit == MatrixUnit::mfma) c.head_size = 32;
    c.causal = c.lse = true;
    c.heads = c.kv_heads = 1;
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}
