// transpose, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/sizes.hpp>
#include <smem/transpose.hpp>

#include <algorithm>

namespace smem::operations {

namespace {

Case read_transpose(const Words& words) {
  const std::size_t bytes = words.element_bytes("type"), batch = words.number("batch");
  const std::size_t rows = words.sizes("shape")[0], cols = words.sizes("shape")[1];
  const bool in_place = words.flag("in-place");
  TransposeProblem problem{bytes, rows, cols, batch, in_place};
  problem.in_alignment = packed_alignment(rows * batch, cols * bytes);
  problem.out_alignment = packed_alignment(cols * batch, rows * bytes);
  problem.in_packed = problem.out_packed = true;
  Case made = case_of(
      formatted("{}{} x {}, {} B{}", batch_text(batch), rows, cols, bytes, in_place ? ", in place" : ""),
      problem, plan_transpose);
  const ArrayRule elements = moved("in", bytes, detail::size_product(rows, cols, batch));
  if (in_place) {
    made.in_out = {elements};
    made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
      return transpose_in_place(context, moved_matrix(arrays.in_out[0], bytes, rows, cols, batch), options);
    };
  } else {
    made.in = {elements};
    made.out = {elements};
    made.out[0].name = "out";
    made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
      return transpose(context, moved_matrix(arrays.in[0], bytes, rows, cols, batch),
                       moved_matrix(arrays.out[0], bytes, cols, rows, batch), options);
    };
  }
  made.reference = [=](const HostArrays& arrays) {
    const HostArray from = in_place ? arrays.in_out[0] : arrays.in[0];
    HostArray& to = in_place ? arrays.in_out[0] : arrays.out[0];
    for_each_in_parallel(batch * cols, [&](std::size_t line) {  // a row of the output
      const std::size_t b = line / cols, j = line % cols;
      for (std::size_t i = 0; i < rows; ++i)
        copy_element(from, (b * rows + i) * cols + j, to, line * rows + i, bytes);
    });
  };
  return made;
}

/// Rows at cache lines; at words of 4, 8 and 16 bytes; anywhere.
std::vector<Programs> transpose_programs() {
  std::vector<Programs> all;
  for (const std::size_t bytes : {1, 2, 4, 8, 16})
    for (const char* place : {"", " --in-place"})
      for (const std::size_t alignment : {64, 16, 8, 4, 1})
        all.push_back({formatted("4096x4096 {}{}", bytes, place),
                       {},
                       formatted("in_alignment={0} out_alignment={0}", std::max(alignment, bytes))});
  for (const char* of : {"4096x33 1",     "4096x32 1",
                         "4096x33 2",     "33x4096 1",
                         "4096x6 1",      "4096x6 2",
                         "4096x6",        "4096x6 8",
                         "4096x6 16",     "6x4096 1",
                         "6x4096",        "7x7 1 --batch 9",
                         "7x7 --batch 9", "7x7 --batch 9 --in-place",
                         "100000x3 1",    "3x100000 1",
                         "100000x8 2",    "8x100000 2",
                         "100000x16",     "16x100000",
                         "6x100000 16",   "4096x100 1",
                         "100x4096 1",    "4097x102 2",
                         "101x4096 2",    "33x4096 8"})
    all.push_back({of, {"strips"}});
  return all;
}

}  // namespace

Operation transpose_operation() {
  return {
      .name = "transpose",
      .summary = "Transposes packed matrices",
      .steps = {{"naive", "one element a work-item"},
                {"tiled", "a tile in local memory: reads and writes are coalesced"},
                {"padded", "one more element in each tile row: no bank conflicts"},
                {"swizzled", "an XOR of row and column instead of the padding"},
                {"vector", "vector accesses, blocks transposed in registers"},
                {"skewed", "a separate window for each output row: stores fill whole sectors"},
                {"strips", "packed arrays with a short side: contiguous runs on both sides"},
                {"cpu", "one thread a tile, whole cache lines"}},
      .words = {shape_rule("Of the input"), element_rule(), batch_rule(),
                flag_rule("in-place", "Input and output are the same square matrix")},
      .read = read_transpose,
      // Odd shapes are primes or nearly: no tile divides them, and no row but the first is aligned.
      .samples = {.edges = {"1x1 uchar", "37x131 uchar --batch 3", "65x33 ushort", "129x258 float",
                            "1x300 float", "300x1 double --batch 2", "67x35 float4", "5003x7 float",
                            "3x5001 uchar", "11x13 ushort --batch 331", "97x97 float --in-place --batch 2"},
                  .small = {"333x333 float", "2048x2048 float", "2049x1501 float", "4096x4096 uchar",
                            "4096x2048 ushort", "2048x1024 double", "1024x1024 float4", "4093x4099 uchar"},
                  .usual = {goal("4096x4096 float", 0.75), goal("4097x3001 float", 0.65), "8192x8192 uchar",
                            "8192x4096 ushort", "4096x2048 double", "2048x2048 float4", "8191x8193 uchar",
                            "8191x4099 ushort", "4099x2053 double", "2053x2039 float4",
                            "64x64 float --batch 4096"},
                  .large = {goal("16384x16384 float", 0.97), goal("16001x15999 float", 0.90),
                            goal("32768x32768 uchar", 0.90), goal("32768x16384 ushort", 0.90),
                            goal("16384x8192 double", 0.90), goal("8192x8192 float4", 0.90),
                            goal("64x64 float --batch 4096", 0.85), "32749x32771 uchar", "32749x16381 ushort",
                            "16381x8191 double", "8191x8191 float4"},
                  .weak_usual = {"4000000x3 float", "3x4000000 float", "100x77 float --batch 512"},
                  .weak = {goal("33554432x6 float", 0.85),           goal("6x33554432 float", 0.85),
                           goal("33554432x3 float", 0.85),           goal("3x33554432 float", 0.85),
                           goal("33554432x5 float", 0.85),           goal("33554432x7 float", 0.85),
                           goal("5x33554432 float", 0.85),           goal("7x33554432 float", 0.85),
                           goal("16777216x12 float", 0.85),          goal("12x16777216 float", 0.85),
                           goal("16777216x16 float", 0.85),          goal("16x16777216 float", 0.85),
                           goal("67108864x3 uchar", 0.85),           goal("3x67108864 uchar", 0.85),
                           goal("100x77 float --batch 16384", 0.80), goal("3x3 float --batch 8388608", 0.80),
                           goal("4x4 float --batch 8388608", 0.80),  goal("7x7 float --batch 2097152", 0.80),
                           goal("16x16 float --batch 524288", 0.80), goal("30x30 float --batch 131072", 0.80),
                           goal("32749x32771 uchar", 0.80),          goal("32749x16381 ushort", 0.88)}},
      .programs = transpose_programs(),
  };
}

}  // namespace smem::operations
