// Plans of products by the matrix units of Hopper, for described devices.
#include <smem/error.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

using smem::Scalar;
using test::copies_boxes;
using test::define_of;
using test::plan_problem_of;
using test::target;

TEST_CASE("plan of gemm: boxes are copied where they are worth their maps") {
  const smem::Device hopper = target("sm_90");
  const auto copies = [&](smem::GemmProblem problem, std::size_t alignment = 64) {
    problem.a_alignment = alignment;
    return copies_boxes(smem::plan_gemm(hopper, problem, {.variant = "wgmma"}));
  };
  for (const std::size_t bytes : {1, 2, 4}) {
    const Scalar type = bytes == 1 ? Scalar::int8 : bytes == 2 ? Scalar::half : Scalar::float32;
    smem::GemmProblem large = plan_problem_of(4096, 4096, 4096, type);
    large.a_along_k = large.b_along_k = large.tf32 = true;
    CHECK(copies(large));
    large.batch = 2;
    CHECK(copies(large));
    large.k = large.n = 64;  // whose maps are not worth while in a batch
    large.batch = 1000;
    CHECK(!copies(large));
  }
  CHECK(!copies(plan_problem_of(1424, 12912, 16, Scalar::half)));
  CHECK(!copies(plan_problem_of(3136, 2048, 192, Scalar::half)));
  CHECK(copies(plan_problem_of(3136, 2048, 256, Scalar::half)));  // four steps of a tile
  smem::GemmProblem loose = plan_problem_of(300, 300, 11000, Scalar::half);
  CHECK(copies(loose));
  CHECK(!copies(loose, 2));  // too small to pack
  // Tiles of which a second factor across k has whole blocks of 64 columns.
  smem::GemmProblem odd = plan_problem_of(304, 1968, 1776, Scalar::half);
  odd.b_along_k = true;
  const smem::PlanOverrides fixed{.variant = "wgmma", .tile_rows = 64, .tile_cols = 96};
  const std::size_t along = smem::plan_gemm(hopper, odd, fixed).local_bytes;
  odd.b_along_k = false;
  CHECK(smem::plan_gemm(hopper, odd, fixed).local_bytes == along + 8 * 32 * 128);
}

TEST_CASE("plan of gemm: groups are at the same k of factors that the cache does not hold") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto depth = [&](std::size_t k) {
    return smem::plan_gemm(hopper, plan_problem_of(1024, 1200, k, Scalar::half),
                           {.variant = "wgmma", .tile_rows = 128, .tile_cols = 128})
        .number("part_depth");
  };
  CHECK(depth(4096) == 39);  // 80 tiles of 64 steps for 132 units
  const std::size_t beyond = depth(8192);
  CHECK((beyond == 0 || 8192 / 64 % beyond == 0 || 8192 / 64 / beyond == 2));  // whole tiles, or equal parts
  // Of a factor that streams, also where the other one stays in the cache.
  smem::GemmProblem streams = plan_problem_of(6912, 160, 9216, Scalar::half);
  streams.a_along_k = false;
  streams.b_along_k = true;
  const smem::PlanOverrides fixed{.variant = "wgmma", .tile_rows = 128, .tile_cols = 160};
  CHECK(smem::plan_gemm(hopper, streams, fixed).number("part_depth") == 72);  // half of a tile's steps
}

TEST_CASE("plan of gemm: tiles of unaligned rows") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto planned = [&](std::size_t m, std::size_t n, std::size_t k) {
    smem::GemmProblem problem = plan_problem_of(m, n, k, Scalar::half);
    problem.a_alignment = problem.b_alignment = problem.c_alignment = 2;
    return smem::plan_gemm(hopper, problem, {.variant = "wgmma"});
  };
  smem::Plan plan = planned(59, 9076, 467);
  CHECK(plan.tile_rows == 64);
  CHECK(define_of(plan, "LOOSE_BATCH") == 2);  // of 64 rows two producers have two rounds each
  plan = planned(311, 3887, 687);
  CHECK(plan.tile_rows == 128);
  CHECK(define_of(plan, "LOOSE_BATCH") == 0);
}

TEST_CASE("plan of gemm: a group of wgmma has the registers of one multiprocessor, also of lists") {
  const smem::Device hopper = target("sm_90");
  for (const std::size_t alignment : {2, 64}) {
    for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{128, 256}, {64, 256}, {128, 128}}) {
      if (alignment == 2 && rows == 64) continue;  // there is no such tile
      smem::GemmProblem problem = plan_problem_of(1000, 1000, 1000, Scalar::half);
      problem.batch = 9;
      problem.listed = problem.reads_c = true;
      problem.a_alignment = problem.b_alignment = 2;
      problem.c_alignment = 4;
      problem.list_alignment = alignment;
      const smem::Plan plan =
          smem::plan_gemm(hopper, problem, {.variant = "wgmma", .tile_rows = rows, .tile_cols = cols});
      CHECK(define_of(plan, "LOOSE") == (alignment == 2 ? 1 : 0));
      // Consumers wait for registers that producers give back; for more than there are they wait forever.
      CHECK(128 * (define_of(plan, "PRODUCERS") * define_of(plan, "PRODUCER_REGISTERS") +
                   define_of(plan, "CONSUMERS") * define_of(plan, "CONSUMER_REGISTERS")) <=
            65536);
    }
  }
}

TEST_CASE("plan of gemm: batches by wgmma as measured on an H200") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto number = [&](const smem::GemmProblem& problem, const char* name) {
    const smem::Plan plan = smem::plan_gemm(hopper, problem);
    CHECK(plan.variant == "wgmma");
    return define_of(plan, name);
  };
  // Consumers take turns where each has several tiles, boxes copy the factors, and results have 16 bits.
  smem::GemmProblem small = plan_problem_of(64, 64, 64, Scalar::half);
  small.out = Scalar::half;
  small.batch = 10000;
  CHECK(number(small, "PINGPONG") == 1);
  CHECK(number(small, "CONSUMERS") == 3);
  CHECK(number(small, "STAGES") == 12);
  CHECK(number(small, "TENSOR") == 1);
  smem::GemmProblem other = small;
  other.out = Scalar::float32;
  CHECK(number(other, "PINGPONG") == 0);
  other = small;
  other.batch = 300;
  CHECK(number(other, "PINGPONG") == 0);
  // A list of aligned rows takes turns too; of few products pieces, and not boxes; unaligned rows tiles that
  // copy them in another way.
  other = small;
  other.listed = true;
  other.a_alignment = other.b_alignment = other.c_alignment = 2;
  CHECK(number(other, "PINGPONG") == 1);
  CHECK(number(other, "CONSUMERS") == 3);
  other.batch = 1000;
  CHECK(number(other, "PINGPONG") == 0);
  CHECK(number(other, "TENSOR") == 0);
  // Of 256 columns that read C they would spill.
  other.batch = 10000;
  other.n = 256;
  for (const auto& [cols, reads_c] : {std::pair<std::size_t, bool>{256, false}, {256, true}, {224, true}}) {
    other.reads_c = reads_c;
    const smem::Plan plan =
        smem::plan_gemm(hopper, other, {.variant = "wgmma", .tile_rows = 64, .tile_cols = cols});
    CHECK(define_of(plan, "PINGPONG") == (cols == 256 && reads_c ? 0 : 1));
  }
  other = small;
  other.listed = true;
  other.a_alignment = other.b_alignment = other.c_alignment = 2;
  CHECK(number(other, "LOOSE") == 0);
  CHECK(number(other, "C_VECTOR") == 8);
  other.m = other.n = other.k = 512;
  other.batch = 128;
  CHECK(number(other, "TENSOR") == 1);
  // A single product's results of 4 bytes leave by boxes, whose map does not know where a list has C.
  smem::GemmProblem one = plan_problem_of(4096, 4096, 512, Scalar::half);
  CHECK(number(one, "BOXES_OF_WARP") > 0);
  one.listed = true;
  CHECK(number(one, "TENSOR") == 1);
  CHECK(number(one, "BOXES_OF_WARP") == 0);
  // Of a list, whose matrices may begin anywhere, these spill.
  for (const auto& [rows, cols] :
       {std::pair<std::size_t, std::size_t>{256, 128}, {192, 144}, {192, 256}, {128, 288}, {128, 320}}) {
    CHECK_THROWS_AS(smem::plan_gemm(hopper, one, {.variant = "wgmma", .tile_rows = rows, .tile_cols = cols}),
                    smem::Error);
  }
  other = small;
  other.listed = true;
  other.a_alignment = other.b_alignment = other.c_alignment = 2;
  other.list_alignment = 8;
  CHECK(smem::plan_gemm(hopper, other).variant != "wgmma");
  // A second factor of TF32 across k is the first one where factors are exchanged.
  smem::GemmProblem words = plan_problem_of(192, 192, 192);
  words.tf32 = true;
  words.batch = 300;
  CHECK(number(words, "EXCHANGED") == 1);
  // Four warpgroups read what an epilogue needs one after the other.
  smem::GemmProblem large = plan_problem_of(4096, 4096, 4096, Scalar::half);
  large.out = Scalar::half;
  large.b_along_k = large.reads_c = true;
  CHECK(number(large, "CONSUMERS") < 4);
}

TEST_CASE("plan of gemm: tiles of wgmma by what is measured on an H200") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  // 272 columns are one tile, of two instructions.
  smem::GemmProblem tall = plan_problem_of(14992, 272, 6224, Scalar::half);
  tall.out = Scalar::half;
  tall.a_along_k = false;
  smem::Plan plan = smem::plan_gemm(hopper, tall);
  CHECK(plan.tile_rows == 128);
  CHECK(plan.tile_cols == 288);
  CHECK(define_of(plan, "MMA_N") == 192);
  CHECK(define_of(plan, "MMA_REST") == 96);
  CHECK(plan.local_bytes <= std::size_t{227} << 10);
  // 160 rows are one tile where they are columns of instructions.
  smem::GemmProblem wide = plan_problem_of(160, 16176, 1008, Scalar::half);
  wide.out = Scalar::half;
  wide.a_along_k = false;
  plan = smem::plan_gemm(hopper, wide);
  CHECK(plan.tile_rows == 160);
  CHECK(plan.tile_cols == 128);
  CHECK(define_of(plan, "EXCHANGED") == 1);
  CHECK(define_of(plan, "A_ALONG_K") == 0);
  CHECK(define_of(plan, "TILE_N") == 160);
  CHECK(plan.groups() == 127);
  const auto is_exchanged = [&](const smem::GemmProblem& problem) {
    return define_of(smem::plan_gemm(hopper, problem), "EXCHANGED") == 1;
  };
  wide.b_along_k = true;  // which is then the first factor's
  CHECK(define_of(smem::plan_gemm(hopper, wide), "A_ALONG_K") == 1);
  wide.b_along_k = false;
  for (bool smem::GemmProblem::*const field : {&smem::GemmProblem::epilogue, &smem::GemmProblem::reads_c}) {
    wide.*field = true;
    CHECK(!is_exchanged(wide));
    wide.*field = false;
  }
  wide.c_alignment = 8;
  CHECK(!is_exchanged(wide));
  wide.c_alignment = 64;
  wide.batch = 2;
  CHECK(is_exchanged(wide));
  // Two rounds instead of three; and a group's copies are fewer for each product.
  smem::GemmProblem deep = plan_problem_of(12192, 560, 576, Scalar::half);
  deep.out = Scalar::half;
  plan = smem::plan_gemm(hopper, deep);
  CHECK(plan.tile_rows * plan.tile_cols == 192 * 144);
  CHECK(std::count(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{"READS_C", 0}) ==
        1);
  deep.reads_c = true;
  plan = smem::plan_gemm(hopper, deep);
  CHECK(std::count(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{"READS_C", 0}) ==
        0);
  // 130 tiles are one round.
  deep = plan_problem_of(2080, 1808, 15696, Scalar::half);
  deep.out = Scalar::half;
  deep.a_along_k = false;
  plan = smem::plan_gemm(hopper, deep);
  CHECK(plan.tile_rows * plan.tile_cols == 192 * 160);
  CHECK(plan.groups() <= 132);
  // 192 x 256 has the fewest copies.
  deep = plan_problem_of(11040, 400, 15952, Scalar::half);
  deep.out = Scalar::half;
  deep.a_along_k = false;
  plan = smem::plan_gemm(hopper, deep);
  CHECK(plan.tile_rows * plan.tile_cols == 192 * 256);
  CHECK(plan.local_bytes <= std::size_t{227} << 10);
  // All groups of a tile add its parts.
  smem::GemmProblem few = plan_problem_of(384, 656, 12576, Scalar::half);
  few.a_along_k = false;
  few.b_along_k = true;
  CHECK(define_of(smem::plan_gemm(hopper, few), "SHARED_JOIN") == 1);
  // Lines of 128 bytes of a factor that the cache does not hold take longer.
  smem::GemmProblem streamed = plan_problem_of(3360, 160, 7648, Scalar::half);
  streamed.out = Scalar::half;
  streamed.a_along_k = false;
  streamed.b_along_k = true;
  plan = smem::plan_gemm(hopper, streamed);
  CHECK(plan.tile_rows == 128);
  // Boxes whose rows begin at whole lines of the cache: in tiles of 144 columns across k few do.
  smem::GemmProblem lines = plan_problem_of(4736, 224, 3264, Scalar::half);
  lines.out = Scalar::half;
  lines.a_along_k = false;
  plan = smem::plan_gemm(hopper, lines);
  CHECK(plan.tile_rows == 192);
  CHECK(plan.tile_cols == 64);
  // Where there are as many units as fit, each tile begins one.
  const auto has_aligned = [](const smem::Plan& of) {
    return std::any_of(of.defines.begin(), of.defines.end(),
                       [](const auto& d) { return d.first == "ALIGNED_UNITS"; });
  };
  plan = smem::plan_gemm(hopper, plan_problem_of(272, 1104, 10432, Scalar::half),
                         {.variant = "wgmma", .tile_rows = 64, .tile_cols = 256});
  CHECK(has_aligned(plan));
  CHECK(plan.groups() == 25 * 5);
}

namespace {

bool defines_as(const smem::Launch& launch, const char* name, long value) {
  return std::count(launch.defines.begin(), launch.defines.end(),
                    std::pair<std::string, long>{name, value}) == 1;
}

}  // namespace

TEST_CASE("plan of gemm: factors of int8 and TF32 are turned for wgmma") {
  for (const Scalar type : {Scalar::int8, Scalar::float32}) {
    const bool of_words = type == Scalar::float32;  // of which A may lie across k
    smem::GemmProblem problem = plan_problem_of(1000, 2000, 3000, type);
    problem.tf32 = true;
    problem.a_along_k = false;
    problem.b_along_k = true;
    problem.a_alignment = of_words ? 4 : 64;
    const smem::Plan plan = smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"});
    REQUIRE(plan.before.size() == 1);
    CHECK(plan.before[0].kernel_file == "nvidia/gemm/turn.cl");
    CHECK(defines_as(plan.before[0], "A_TURNED", 1));
    CHECK(defines_as(plan, "A_ALONG_K", 1));
    CHECK(plan.number("packed_a_pitch") >= 3000);
    CHECK(plan.number("packed_a_pitch") * smem::size_of(type) % 128 == 0);
    CHECK(plan.number("packed_b_pitch") == 0);
    // A block of 128 lines by 128 bytes for each group.
    CHECK(plan.before[0].groups() == 8 * ((3000 * smem::size_of(type) + 127) / 128));
    problem.a_alignment = 64;
    problem.a_along_k = true;
    CHECK(smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"}).before.empty());
    problem.b_alignment = 4;
    CHECK(smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"}).number("packed_b_pitch") >= 3000);
    problem.batch = 2;  // which is not packed
    CHECK(test::failure_of([&] {
            smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"});
          }).argument == "variant");
  }
}

TEST_CASE("plan of gemm: wgmma of TF32 takes one factor across k") {
  const smem::Device hopper = target("sm_90");
  smem::GemmProblem problem = plan_problem_of(1000, 2000, 3000);
  problem.tf32 = true;
  const auto planned = [&] { return smem::plan_gemm(hopper, problem, {.variant = "wgmma"}); };
  problem.a_along_k = false;
  problem.b_along_k = true;
  CHECK(planned().before.empty());
  CHECK(defines_as(planned(), "A_ALONG_K", 0));
  CHECK(defines_as(planned(), "EXCHANGED", 1) == false);
  problem.batch = 3;
  CHECK(defines_as(planned(), "A_ALONG_K", 0));
  problem.batch = 1;
  // Of a second one, C's columns are the rows of tiles.
  problem.a_along_k = true;
  problem.b_along_k = false;
  CHECK(planned().before.empty());
  CHECK(defines_as(planned(), "EXCHANGED", 1));
  problem.reads_c = true;
  CHECK(planned().before.size() == 1);
  CHECK(planned().number("packed_b_pitch") >= 3000);
  problem.reads_c = false;
  // Of two, one is turned: the smaller one, where the other may have either place.
  problem.a_along_k = false;
  CHECK(planned().before.size() == 1);
  CHECK(planned().number("packed_a_pitch") >= 3000);
  CHECK(planned().number("packed_b_pitch") == 0);
  problem.m = 4000;
  CHECK(planned().number("packed_a_pitch") == 0);
  CHECK(planned().number("packed_b_pitch") >= 3000);
}

TEST_CASE("plan of gemm: TF32 with a factor across k by what is measured on an H200") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto planned = [&](std::size_t m, std::size_t n, std::size_t k, bool a_along_k, bool b_along_k) {
    smem::GemmProblem problem = plan_problem_of(m, n, k);
    problem.tf32 = true;
    problem.a_along_k = a_along_k;
    problem.b_along_k = b_along_k;
    return smem::plan_gemm(hopper, problem);
  };
  // Products of row-major matrices, and of two turned ones, need no launch before them.
  for (const smem::Plan& plan : {planned(112, 9392, 1072, true, false), planned(2160, 752, 2288, false, true),
                                 planned(4096, 4096, 4096, true, false)}) {
    CHECK(plan.variant == "wgmma");
    CHECK(plan.before.empty());
  }
  // A factor that only memory bounds streams as fast to "mma", which needs no launch before it.
  CHECK(planned(32, 2384, 9536, false, false).variant == "mma");
  CHECK(planned(48, 5120, 5120, false, false).variant == "mma");
  // Of words, another reading of what the cache does not hold costs little.
  const smem::Plan deep = planned(272, 4720, 9872, false, false);
  CHECK(deep.variant == "wgmma");
  CHECK(deep.tile_rows == 96);
  CHECK(deep.before.size() == 1);
}

TEST_CASE("plan of gemm: tiles of mma of rows that begin anywhere, and of words and bytes across k") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto unaligned = [](smem::GemmProblem problem, std::size_t factors, std::size_t results) {
    problem.a_alignment = problem.b_alignment = factors;
    problem.c_alignment = results;
    return problem;
  };
  const auto runs = [&](const smem::GemmProblem& problem, std::size_t rows, std::size_t cols) {
    try {
      smem::plan_gemm(hopper, problem, {.variant = "mma", .tile_rows = rows, .tile_cols = cols});
      return true;
    } catch (const smem::Error&) {
      return false;
    }
  };
  // Words across k lie in rows of 32, halves in blocks of 64.
  smem::GemmProblem words = plan_problem_of(250, 250, 250);
  words.tf32 = true;
  CHECK(runs(words, 32, 32));
  CHECK(!runs(plan_problem_of(250, 250, 250, Scalar::half), 32, 32));
  // Registers: lines that begin anywhere have no tile of 4096 results a warp and 128 bytes of k.
  for (const Scalar type : {Scalar::half, Scalar::int8}) {
    const smem::GemmProblem large = plan_problem_of(1000, 1000, 1000, type);
    CHECK(runs(unaligned(large, 4, 4), 128, 256));
    CHECK(!runs(unaligned(large, 1, 4), 128, 256));
    CHECK(define_of(smem::plan_gemm(hopper, unaligned(large, 1, 4),
                                    {.variant = "mma", .tile_rows = 128, .tile_cols = 128}),
                    "ROW_BYTES") == 64);
  }
  // Of few k, whose results take the time: cuBLAS 31.5 us, 128 x 256 of wgmma 40, 128 x 128 of mma 31.
  smem::GemmProblem shallow = plan_problem_of(1916, 11620, 20, Scalar::half);
  shallow.out = Scalar::half;
  shallow.b_along_k = true;
  CHECK(smem::plan_gemm(hopper, unaligned(shallow, 8, 8)).variant == "mma");
  // Many products that no tile of 64 x 64 fits: 268 us, by 16 x 16 173.
  smem::GemmProblem odd = plan_problem_of(49, 32, 49, Scalar::half);
  odd.out = Scalar::half;
  odd.batch = 20000;
  odd.a_alignment = 2;
  CHECK(smem::plan_gemm(hopper, odd).entry_point == "gemm_small");
  // Rows at multiples of 4 bytes are copied as they lie, those of a batch in pieces. A tile of 32 rows reads
  // the wide factor once: 88 us, by 16 x 128 in pieces of 4 bytes 195, cuBLAS 112.
  const smem::Plan thin =
      smem::plan_gemm(hopper, unaligned(plan_problem_of(22, 14882, 8626, Scalar::half), 4, 4));
  CHECK(thin.variant == "mma");
  CHECK(thin.tile_rows == 32);
  CHECK(thin.tile_cols == 128);
  CHECK(define_of(thin, "LOOSE_BELOW") == 16);
  CHECK(runs(unaligned(plan_problem_of(250, 250, 250, Scalar::half), 8, 8), 32, 32));
  smem::GemmProblem batch = plan_problem_of(50, 50, 50, Scalar::half);
  batch.batch = 12000;
  CHECK(!runs(unaligned(batch, 4, 4), 32, 32));
  // Both across k: by mma 24.5 us, by wgmma 18.5.
  smem::GemmProblem across = plan_problem_of(1882, 66, 4442, Scalar::half);
  across.a_along_k = false;
  across.out = Scalar::half;
  CHECK(smem::plan_gemm(hopper, unaligned(across, 4, 4)).variant == "wgmma");
  // Sums in parts take the host longer.
  words.k = words.m = words.n = 256;
  CHECK(smem::plan_gemm(hopper, words).number("part_depth") == 0);
  words.k = 4096;
  CHECK(smem::plan_gemm(hopper, words).number("part_depth") > 0);
}

TEST_CASE("plan of gemm: tiles by the layouts of doubles, TF32 of few k by its results") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  smem::GemmProblem problem = plan_problem_of(208, 2368, 1808, Scalar::float64);
  problem.a_along_k = false;
  problem.b_along_k = true;
  smem::Plan plan = smem::plan_gemm(hopper, problem);
  CHECK((plan.tile_rows == 32 && plan.tile_cols == 64));
  problem = plan_problem_of(2368, 208, 1808, Scalar::float64);
  plan = smem::plan_gemm(hopper, problem);
  CHECK((plan.tile_rows == 64 && plan.tile_cols == 32));
  problem = plan_problem_of(15659, 26, 4539, Scalar::float64);
  problem.a_alignment = 8;
  plan = smem::plan_gemm(hopper, problem);
  CHECK((plan.tile_rows == 128 && plan.tile_cols == 32));

  for (const std::size_t k : {16, 32}) {
    problem = plan_problem_of(12416, 5488, k);
    problem.b_along_k = problem.tf32 = true;
    plan = smem::plan_gemm(hopper, problem);
    CHECK(plan.variant == "wgmma");
    CHECK(test::contains(plan.build_options(), "-DBOXES_OF_WARP"));
  }
}

TEST_CASE("plan of gemm: a wide factor that streams is read once, by tiles for all units, without joins") {
  const auto plan_of = [](std::size_t m, std::size_t n, std::size_t k, bool a_along_k) {
    smem::GemmProblem problem = plan_problem_of(m, n, k, Scalar::half);
    problem.out = Scalar::half;
    problem.a_along_k = a_along_k;
    smem::Device hopper = target("sm_90");
    hopper.compute_units = 132;
    return smem::plan_gemm(hopper, problem);
  };
  for (const smem::Plan& plan : {plan_of(128, 8000, 8000, true), plan_of(128, 8000, 4000, true),
                                 plan_of(8000, 128, 8000, false), plan_of(8000, 128, 8000, true)}) {
    CHECK(plan.variant == "wgmma");
    CHECK(plan.tile_rows * plan.tile_cols == 128 * 64);
    CHECK(define_of(plan, "STREAM") == 0);
  }
  CHECK(plan_of(8000, 128, 8000, true).tile_rows == 64);  // by 128 x 64, two tiles would read A
}
