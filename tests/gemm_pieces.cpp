// Parts of NVIDIA's kernels of gemm, most of which run on every device: the turn of factors, and how pairs of
// results are stored.
#include <smem/smem.hpp>

#include "support/gemm_plans.hpp"
#include "support/gemms.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::runs_gemm;

namespace {

/// The numbers of a launch, as cl/gemm/packed.clh has them.
struct PackNumbers {
  struct Source {
    cl_ulong offset = 0, pitch = 0, stride = 0, lines = 0, along = 0, matrices = 0;
  } a, b;
  cl_ulong packed_a = 0, packed_a_pitch = 0, packed_b = 0, packed_b_pitch = 0;
};

/// The result of turn.cl for a matrix of `lines` lines of memory.
template <class T>
void check_turn(const smem::Context& context, bool turned, std::size_t lines, std::size_t along,
                std::size_t offset, std::size_t pitch) {
  const std::size_t rows = turned ? along : lines, k = turned ? lines : along;
  const std::size_t to_pitch = (k * sizeof(T) + 127) / 128 * 128 / sizeof(T);
  std::vector<T> from(offset + (lines - 1) * pitch + along);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<T>(i * 37 % 251 + i / 251);
  const smem::Array<T> in(context, from), out(context, std::vector<T>(rows * to_pitch, T{99}));
  const long bytes = sizeof(T), is_turned = turned ? 1 : 0;
  const bool words = offset * sizeof(T) % 4 == 0 && pitch * sizeof(T) % 4 == 0;
  const smem::Kernel kernel = context.build({.source = "#include \"nvidia/gemm/turn.cl\"\n",
                                             .entry_point = "gemm_turn",
                                             .defines = {{"GROUP", 64},
                                                         {"ELEMENT_BYTES", bytes},
                                                         {"A_TURNED", is_turned},
                                                         {"B_TURNED", is_turned},
                                                         {"ALIGNMENT", words ? 4 : 1}}});
  const std::size_t blocks = (rows + 127) / 128 * ((k * sizeof(T) + 127) / 128);
  // As B: A has no blocks.
  const PackNumbers numbers{
      .a = {},
      .b = {.offset = offset, .pitch = pitch, .lines = lines, .along = along, .matrices = 1},
      .packed_b_pitch = to_pitch};
  kernel({.global = {blocks * 64, 1, 1}, .work_group = {64, 1, 1}}, in, in, out, numbers);
  const std::vector<T> got = out.to_host();
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t x = 0; x < to_pitch; ++x) {
      const std::size_t at = offset + (turned ? x * pitch + r : r * pitch + x);
      const bool in_last_piece = x * sizeof(T) / 16 <= (k - 1) * sizeof(T) / 16;
      const T expected = x < k ? from[at] : in_last_piece ? T{0} : T{99};
      wrong += got[r * to_pitch + x] != expected ? 1 : 0;
    }
  INFO("turned ", turned, ", ", lines, " lines of ", along, ", ", sizeof(T), " B, offset ", offset);
  CHECK(wrong == 0);
}

/// Runs the launch that a plan for a Hopper has before multistage: of A, B or both, `order` says which lie
/// along k. Where one lies across k, its rows are at multiples of 16 bytes where `only` names the other.
void check_packed_across(const smem::Context& context, std::size_t order, char only) {
  smem::GemmProblem p;
  p.m = 136;
  p.n = 68;
  p.k = 301;
  p.a_along_k = order % 2 != 0;
  p.b_along_k = order / 2 != 0;
  p.a_alignment = only == 'B' ? 16 : 4;
  p.b_alignment = only == 'A' ? 16 : 4;
  const smem::Plan plan = smem::plan_gemm(test::target("sm_90"), p, {.variant = "packed"});
  const std::size_t a_pitch = plan.number("packed_a_pitch"), b_pitch = plan.number("packed_b_pitch");
  const std::size_t b_at = plan.number("packed_b");
  REQUIRE(plan.before.size() == 1);
  const smem::Launch& launch = plan.before.front();
  const std::size_t a_lines = p.a_along_k ? p.m : p.k, a_along = p.a_along_k ? p.k : p.m;
  const std::size_t b_lines = p.b_along_k ? p.n : p.k, b_along = p.b_along_k ? p.k : p.n;
  const auto numbers_of = [](std::size_t count, std::size_t first) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i)
      all[i] = static_cast<float>(first + i);
    return all;
  };
  const std::size_t a_from = a_along + 3, b_from = b_along + 5;  // pitches
  const std::vector<float> a = numbers_of(1 + a_lines * a_from, 0),
                           b = numbers_of(2 + b_lines * b_from, 100000);
  const smem::Array<float> a_array(context, a), b_array(context, b),
      out(context, std::vector<float>(plan.scratch_bytes / 4, -1));
  const smem::Kernel kernel = context.build({.source = "#include \"" + launch.kernel_file + "\"\n",
                                             .entry_point = launch.entry_point,
                                             .defines = launch.defines});
  const bool of_a = a_pitch > 0, of_b = b_pitch > 0;
  const auto source = [](std::size_t offset, std::size_t pitch, std::size_t lines, std::size_t along,
                         bool is_packed) {
    return PackNumbers::Source{.offset = offset,
                               .pitch = pitch,
                               .lines = is_packed ? lines : 0,
                               .along = along,
                               .matrices = is_packed ? 1U : 0U};
  };
  const PackNumbers numbers{.a = source(1, a_from, a_lines, a_along, of_a),
                            .b = source(2, b_from, b_lines, b_along, of_b),
                            .packed_a_pitch = a_pitch,
                            .packed_b = b_at,
                            .packed_b_pitch = b_pitch};
  kernel({.global = launch.global, .work_group = launch.work_group}, a_array, b_array, out, numbers);
  const std::vector<float> got = out.to_host();
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < p.k; ++k) {
    for (std::size_t i = 0; of_a && i < p.m; ++i)
      wrong += got[k * a_pitch + i] != a[1 + (p.a_along_k ? i * a_from + k : k * a_from + i)] ? 1 : 0;
    for (std::size_t j = 0; of_b && j < p.n; ++j)
      wrong += got[b_at + k * b_pitch + j] != b[2 + (p.b_along_k ? j * b_from + k : k * b_from + j)] ? 1 : 0;
  }
  INFO("order ", order, ", only ", only, ", packed A ", of_a, ", B ", of_b);
  CHECK(wrong == 0);
  if (only == 'A' && !p.b_along_k) CHECK_FALSE(of_b);
  if (only == 'B' && !p.a_along_k) CHECK_FALSE(of_a);
}

/// Whether the groups of wgmma.cl compute each step of each tile once. \returns the segments of all groups.
cl_uint check_segments(const smem::Context& context, bool aligned, cl_uint tiles, cl_uint steps,
                       cl_uint whole, cl_uint chunk, std::size_t groups) {
  const char* const source =
      "#define STREAM 1\n#define TILE_K 8\n"
      "#include \"common/work_group.clh\"\n#include \"gemm/operation.clh\"\n"
      "#include \"nvidia/gemm_segments.clh\"\n"
      "kernel void list_segments(global uint* computed, global uint* segments, uint tiles, uint steps, "
      "uint whole, uint chunk) {\n"
      "  gemm_arguments g;\n"
      "  g.k = steps * TILE_K - 3, g.parts = whole, g.part_depth = chunk;\n"
      "  work_list w = begin_work();\n"
      "  segment s;\n"
      "  while (next_segment(&g, tiles, &w, &s)) {\n"
      "    atomic_inc(segments);\n"
      "    for (uint i = 0; i < s.steps; ++i) atomic_inc(computed + s.tile * steps + s.first + i);\n"
      "  }\n"
      "}\n";
  const smem::Kernel kernel = context.build(
      {.source = source, .entry_point = "list_segments", .defines = {{"ALIGNED_UNITS", aligned ? 1 : 0}}});
  const smem::Array<cl_uint> computed(context, std::vector<cl_uint>(std::size_t{tiles} * steps, 0)),
      segments(context, std::vector<cl_uint>(1, 0));
  kernel({.global = {groups, 1, 1}, .work_group = {1, 1, 1}}, computed, segments, tiles, steps, whole, chunk);
  std::size_t wrong = 0;
  for (const cl_uint times : computed.to_host())
    wrong += times != 1 ? 1 : 0;
  INFO("aligned ", aligned, ", ", tiles, " tiles of ", steps, " steps, ", whole, " whole, units of ", chunk);
  CHECK(wrong == 0);
  return segments.to_host().front();
}

/// Rows of 128 halves that begin anywhere, `pitch` apart, as a warp of wgmma.cl stores them: those of the
/// results before `width` in the first `rows` rows, and nothing else.
void check_loose_rows(const smem::Context& context, cl_uint offset, cl_uint pitch, cl_uint rows,
                      cl_uint width) {
  constexpr std::size_t kColumns = 128, kRow = 136, kRows = 8;  // of local memory
  const char* const source =
      "#include \"common/work_group.clh\"\n#include \"gemm/operation.clh\"\n"
      "#include \"nvidia/copy_async.clh\"\n#include \"nvidia/gemm_pair.clh\"\n"
      "#include \"nvidia/gemm_loose_halves.clh\"\n"
      "kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
      "void store(global const ushort* from, global ushort* to, uint offset, uint pitch, uint rows, uint "
      "width) {\n"
      "  local ushort mine[8 * 136] __attribute__((aligned(16)));\n"
      "  for (uint i = get_local_id(0); i < 8 * 136; i += 32) mine[i] = from[i];\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  store_loose_rows((global result*)(to + offset), pitch, (local const uint*)mine, rows, width, "
      "get_local_id(0));\n"
      "}\n";
  const smem::Kernel kernel = context.build({.source = source,
                                             .entry_point = "store",
                                             .defines = {{"ELEMENT_TYPE", 2},
                                                         {"RESULT_TYPE", 2},
                                                         {"EMULATED", 1},
                                                         {"TILE_N", 128},
                                                         {"ROWS_OF_WARP", 640}}});
  std::vector<cl_ushort> numbers(kRows * kRow);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<cl_ushort>(i);
  constexpr cl_ushort kBefore = 0xffff;
  const smem::Array<cl_ushort> from(context, numbers),
      to(context, std::vector<cl_ushort>(kRows * pitch + kColumns + 16, kBefore));
  kernel({.global = {32, 1, 1}, .work_group = {32, 1, 1}}, from, to, offset, pitch, rows, width);
  const std::vector<cl_ushort> got = to.to_host();
  std::vector<cl_ushort> expected(got.size(), kBefore);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t x = 0; x < width; ++x)
      expected[offset + r * pitch + x] = numbers[r * kRow + x];
  INFO("offset ", offset, ", pitch ", pitch, ", ", rows, " rows of ", width);
  CHECK(got == expected);
}

/// Tiles of words for matrix units, from lines that begin anywhere: of each group that copies them, each
/// length of lines, and each end of them.
void check_words(const smem::Context& context, bool along_k, long row_bytes, long extent, long size,
                 long group, long selects) {
  const char* const source =
      "#define TILE_K (ROW_BYTES / 4)\n#define ELEMENT_BYTES 4\n#define WORDS_ALONG 1\n"
      "typedef float element;\n"
      "#include \"common/work_group.clh\"\n#include \"nvidia/emulated_copies.clh\"\n"
      "#include \"nvidia/fill_words.clh\"\n"
      "#define WORDS (ALONG ? EXTENT * TILE_K : TILE_K * (EXTENT + WORDS_PADDING))\n"
      "kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))\n"
      "void fill(global const float* from, global float* to, uint offset, uint pitch, uint inside, uint "
      "depth, float before) {\n"
      "  local float tile[WORDS] __attribute__((aligned(128)));\n"
      "  const uint item = get_local_id(0);\n"
      "  for (uint i = item; i < WORDS; i += GROUP) tile[i] = before;\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  if (ALONG)\n"
      "    fill_words_along(local_address(tile), from + offset, pitch, inside, depth, EXTENT, SIZE, item);\n"
      "  else\n"
      "    fill_words(local_address(tile), from + offset, pitch, inside, depth, EXTENT, SIZE, item);\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  for (uint i = item; i < WORDS; i += GROUP) to[i] = tile[i];\n"
      "}\n";
  const smem::Kernel kernel = context.build({.source = source,
                                             .entry_point = "fill",
                                             .defines = {{"ROW_BYTES", row_bytes},
                                                         {"EXTENT", extent},
                                                         {"SIZE", size},
                                                         {"GROUP", group},
                                                         {"ALONG", along_k ? 1 : 0},
                                                         {"COPIES_SELECT", selects}}});
  const auto lines = static_cast<std::size_t>(along_k ? extent : row_bytes / 4),
             length = static_cast<std::size_t>(along_k ? row_bytes / 4 : extent);
  const std::size_t padding = along_k ? 0 : 8, words = lines * (length + padding);
  const std::size_t unit = static_cast<std::size_t>(size) / 4, offset = 3 * unit, pitch = length + 5 * unit;
  std::vector<float> numbers(offset + lines * pitch);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i + 1);
  constexpr float kBefore = -1;
  const smem::Array<float> from(context, numbers), to(context, std::vector<float>(words, kBefore));
  const auto work_items = static_cast<std::size_t>(group);
  for (const std::size_t high : {lines, lines - 3, std::size_t{1}})
    for (const std::size_t wide : {length, length - unit, std::size_t{5}, std::size_t{1}}) {
      const auto of_k = static_cast<cl_uint>(along_k ? wide : high),
                 inside = static_cast<cl_uint>(along_k ? high : wide);
      kernel({.global = {work_items, 1, 1}, .work_group = {work_items, 1, 1}}, from, to,
             static_cast<cl_uint>(offset), static_cast<cl_uint>(pitch), inside, of_k, kBefore);
      std::vector<float> expected(words, kBefore);
      for (std::size_t i = 0; i < lines; ++i)
        for (std::size_t j = 0; j < length; ++j) {
          // Pieces of four words along k are exchanged, so that the eight rows read at once access all banks.
          const std::size_t turn = row_bytes == 128 ? i % 8 : i / 2 % 4;
          const std::size_t place =
              along_k ? i * length + ((j / 4) ^ turn) * 4 + j % 4 : i * (length + 8) + j;
          expected[place] = i < high && j < wide ? numbers[offset + i * pitch + j] : 0;
        }
      INFO((along_k ? "along k, " : "across k, "), lines, " lines of ", length, ", ", high, " x ", wide,
           " inside, by ", size, " B and ", group, " work-items, COPIES_SELECT ", selects);
      CHECK(to.to_host() == expected);
    }
}

}  // namespace

TEST_CASE("gemm: halves are stored to rows that begin anywhere") {
  const smem::Context context;
  if (context.device().max_work_group < 32) return;
  for (cl_uint offset = 0; offset < 5; ++offset)
    for (const cl_uint width : {0, 1, 2, 3, 4, 5, 7, 16, 97, 126, 127, 128})
      check_loose_rows(context, offset, 131 + offset / 4, width % 2 == 0 ? 8 : 7, width);
}

TEST_CASE("gemm: tiles of words are filled from lines that begin anywhere") {
  const smem::Context context;
  const std::size_t most = context.device().max_work_group;
  if (context.device().local_bytes < std::size_t{20} << 10) return;
  for (const bool along_k : {true, false})
    for (const long size : {4, 8}) {
      // The tiles of "mma", whose warps are one, four and eight; and rows of half as many words.
      if (most >= 32) check_words(context, along_k, 64, along_k ? 16 : 32, size, 32, 0);
      if (most >= 128) check_words(context, along_k, 128, along_k ? 16 : 32, size, 128, 0);
      if (most >= 128) check_words(context, along_k, 128, 128, size, 128, 1);
      if (most >= 256) check_words(context, along_k, 128, 128, size, 256, 0);
      if (most >= 128) check_words(context, along_k, 64, 64, size, 128, 0);
    }
}

TEST_CASE("gemm: factors are packed across k, by the launch of the plan, as multistage reads them") {
  const smem::Context context;
  if (context.device().local_bytes < std::size_t{16} << 10 || context.device().max_work_group < 256) return;
  for (std::size_t order = 0; order < 4; ++order)
    for (const char only : {'A', 'B', ' '})
      check_packed_across(context, order, only);
}

TEST_CASE("gemm: groups of wgmma share the steps of all tiles, in units that tiles begin or not") {
  const smem::Context context;
  for (const std::size_t groups : {7, 24}) {
    // Three units of each tile: no segment more.
    CHECK(check_segments(context, true, 8, 16, 0, 6, groups) == 24);
    CHECK(check_segments(context, true, 3, 12, 0, 4, groups) == 9);
    // In one row, units cross the ends of tiles: 22 units, and 7 ends of which 5 lie within one.
    CHECK(check_segments(context, false, 8, 16, 0, 6, groups) == 27);
    check_segments(context, false, 11, 5, 7, 3, groups);
    check_segments(context, false, 9, 5, 7, 20, groups);
  }
}

TEST_CASE("gemm: factors are turned to where wgmma reads them") {
  const smem::Context context;
  for (const bool turned : {true, false}) {
    check_turn<std::int8_t>(context, turned, 131, 270, 3, 275);
    check_turn<std::int8_t>(context, turned, 300, 132, 4, 136);
    check_turn<float>(context, turned, 131, 67, 1, 71);
    check_turn<float>(context, turned, 33, 260, 0, 260);
  }
}

TEST_CASE("gemm: pairs of results are stored as the type of sums") {
  const smem::Context context;
  // In the layout of matrix units. For results of 32 bits cl/nvidia/gemm_pair.clh needs none of NVIDIA's
  // instructions.
  const auto pairs = [&](long element, long result, auto before) {
    using T = decltype(before);
    const smem::Kernel kernel =
        context.build({.source = "#include \"gemm/operation.clh\"\n"
                                 "#include \"nvidia/gemm_pair.clh\"\n"
                                 "kernel void pairs(global value* c) {\n"
                                 "  destination d;\n"
                                 "  d.c = c, d.pitch = 4, d.alpha = 1, d.beta = 0;\n"
                                 "  write_pair(&d, get_global_id(0), 0, 3, -127, 16777216);\n"
                                 "  write_pair(&d, get_global_id(0), 2, 3, 5, 6);\n"
                                 "}\n",
                       .entry_point = "pairs",
                       .defines = {{"ELEMENT_TYPE", element}, {"RESULT_TYPE", result}, {"C_VECTOR", 2}}});
    const smem::Array<T> c(context, std::vector<T>(8, before));
    kernel({.global = {2, 1, 1}}, c);
    CHECK(c.to_host() == std::vector<T>{-127, 16777216, 5, before, -127, 16777216, 5, before});
  };
  pairs(4, 5, std::int32_t{9});  // int8 into int32
  pairs(0, 0, 9.0F);
}

TEST_CASE("gemm: a warp's rows of pairs end where C does") {
  const smem::Context context;
  const smem::Kernel kernel =
      context.build({.source = "#include \"gemm/operation.clh\"\n"
                               "#include \"nvidia/gemm_pair.clh\"\n"
                               "kernel void pairs(global float* c, uint rows, uint cols) {\n"
                               "  const uint lane = get_global_id(0);\n"
                               "  destination d;\n"
                               "  d.c = c, d.pitch = 26, d.alpha = 2, d.beta = 0;\n"
                               "  float x[12];\n"
                               "  for (uint i = 0; i < 12; ++i) x[i] = lane * 12 + i;\n"
                               "  store_row_pairs(&d, x, 3, lane / 4, rows, 0, cols, lane);\n"
                               "}\n",
                     .entry_point = "pairs",
                     .defines = {{"ELEMENT_TYPE", 0}, {"RESULT_TYPE", 0}, {"C_VECTOR", 2}}});
  for (const cl_uint cols : {24, 23, 18, 9, 1}) {
    for (const cl_uint rows : {8, 5}) {
      constexpr float kBefore = -1;
      std::vector<float> expected(8 * std::size_t{26}, kBefore);
      for (cl_uint r = 0; r < rows; ++r)
        for (cl_uint x = 0; x < cols; ++x)
          expected[r * 26 + x] = static_cast<float>(2 * ((r * 4 + x % 8 / 2) * 12 + x / 8 * 4 + x % 2));
      const smem::Array<float> c(context, std::vector<float>(expected.size(), kBefore));
      kernel({.global = {32, 1, 1}}, c, rows, cols);
      INFO(rows, " x ", cols);
      CHECK(c.to_host() == expected);
    }
  }
}

namespace {

/// Results of 16 bits in rows that begin anywhere, by a tile: the bits of those in aligned rows, and nothing
/// beside them.
void stores_anywhere(Scalar type, std::size_t rows, std::size_t cols, double beta = 0) {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", type, false)) return;
  const std::size_t m = rows + 29, n = cols + 77, k = 72, aligned = (n + 7) / 8 * 8;  // tails of both
  test::Random random;
  const auto numbers = [&](std::size_t count) {
    std::vector<cl_ushort> all(count);
    for (cl_ushort& x : all) {
      const auto number = static_cast<float>(static_cast<double>(random.between(0, 2000)) / 1000 - 1);
      x = type == Scalar::half ? smem::half(number).bits : smem::bfloat16(number).bits;
    }
    return all;
  };
  const smem::Array<cl_ushort> a(context, numbers(m * k)), b(context, numbers(n * k));
  const std::vector<cl_ushort> before = numbers(m * n);
  const smem::PlanOverrides fixed{.variant = "wgmma", .tile_rows = rows, .tile_cols = cols};
  constexpr cl_ushort kGap = 0x7fff;  // NaN
  const auto product = [&](std::size_t offset, std::size_t pitch) {
    std::vector<cl_ushort> c(offset + m * pitch + 16, kGap);
    for (std::size_t i = 0; i < m; ++i)
      std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(i * n), n,
                  c.begin() + static_cast<std::ptrdiff_t>(offset + i * pitch));
    const smem::Array<cl_ushort> to(context, c);
    smem::gemm(context, smem::ConstMatrix(a.buffer()(), type, m, k),
               smem::ConstMatrix(b.buffer()(), type, n, k),
               smem::Matrix(to.buffer()(), type, m, n, {.offset = offset, .pitch = pitch}),
               {.alpha = 0.5, .beta = beta, .transpose_b = true}, {.overrides = &fixed});
    return to.to_host();
  };
  const std::vector<cl_ushort> expected = product(0, aligned);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    const std::size_t pitch = n + offset % 3;
    std::vector<cl_ushort> all(offset + m * pitch + 16, kGap);
    for (std::size_t i = 0; i < m; ++i)
      std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(i * aligned), n,
                  all.begin() + static_cast<std::ptrdiff_t>(offset + i * pitch));
    INFO("tile ", rows, " x ", cols, ", offset ", offset, ", pitch ", pitch, ", beta ", beta);
    CHECK(product(offset, pitch) == all);
  }
}

}  // namespace

TEST_CASE("gemm on NVIDIA: results of 16 bits in rows that begin anywhere") {
  stores_anywhere(Scalar::half, 128, 256);
  stores_anywhere(Scalar::bfloat16, 256, 128);  // four rows in local memory at a time
  stores_anywhere(Scalar::half, 192, 160);      // 128 columns and 32
  stores_anywhere(Scalar::bfloat16, 64, 96);
  stores_anywhere(Scalar::half, 128, 256, 1);
}

TEST_CASE("gemm on NVIDIA: few parts of each of more tiles than there are multiprocessors") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "multistage", Scalar::float32, false)) return;
  test::GemmSweep sweep(context);
  // Two tiles and a quarter for each, which whole would take three rounds.
  const std::size_t down = context.device().compute_units * 3 / 4;
  std::size_t number = 0, in_parts = 0;
  for (const char* const variant : {"multistage", "packed"}) {
    for (std::size_t order = 0; order < 4; ++order) {
      GemmCase c;
      c.variant = variant;
      c.place = order % 2 != 0 ? test::Place::odd : test::Place::aligned;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      c.m = 64 * down - 5;
      c.n = 92;
      c.k = 700 + order;
      c.alpha = -2;
      c.beta = order == 2 ? 1 : 0;
      c.bias = order == 3 ? 2 : 0;
      c.overrides.tile_rows = 64;
      c.overrides.tile_cols = 32;
      smem::PlanOverrides fixed = c.overrides;
      fixed.variant = c.variant;
      const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
      in_parts += test::define_of(plan, "PARTS") == 1 ? 1 : 0;
      ++number;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == number);
  if (context.device().compute_units > 100) CHECK(in_parts == number);
}
