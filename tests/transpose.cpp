// transpose: every variant against plain loops.
#include <smem/smem.hpp>
#include <smem/view.hpp>

#include "support/sweep.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

using test::Operation;

namespace {

void everything(std::size_t element_bytes) {
  const smem::Context context;
  test::run_everything(context, Operation::transpose, element_bytes);
}

void everything_in_place(std::size_t element_bytes) {
  const smem::Context context;
  test::run_everything(context, Operation::in_place, element_bytes);
}

}  // namespace

TEST_CASE("transpose: every variant with 1-byte elements") { everything(1); }
TEST_CASE("transpose: every variant with 2-byte elements") { everything(2); }
TEST_CASE("transpose: every variant with 4-byte elements") { everything(4); }
TEST_CASE("transpose: every variant with 8-byte elements") { everything(8); }
TEST_CASE("transpose: every variant with 16-byte elements") { everything(16); }

TEST_CASE("transpose in place: every variant with 1-byte elements") { everything_in_place(1); }
TEST_CASE("transpose in place: every variant with 2-byte elements") { everything_in_place(2); }
TEST_CASE("transpose in place: every variant with 4-byte elements") { everything_in_place(4); }
TEST_CASE("transpose in place: every variant with 8-byte elements") { everything_in_place(8); }
TEST_CASE("transpose in place: every variant with 16-byte elements") { everything_in_place(16); }

TEST_CASE("transpose: strips of packed arrays with a short side, and whole small matrices") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
    std::size_t asked = 0;
    // Around strips of a whole number of lines, and of the last one.
    for (const auto& [rows, cols] : {test::Shape{4099, 7},
                                     {7, 4099},
                                     {20011, 3},
                                     {3, 20011},
                                     {1031, 32},
                                     {32, 1031},
                                     {3001, 33},
                                     {33, 3001},
                                     {1031, 36},
                                     {1031, 64},
                                     {1, 70001},
                                     {70001, 1},
                                     {2, 3},
                                     {70001, 2}}) {
      for (const std::size_t batch : {1, 3}) {
        test::Case c{Operation::transpose, "strips",           element_bytes, rows, cols,
                     test::packed(batch),  test::packed(batch)};
        c.in.extent.offset = 3, c.out.extent.offset = 1, c.out.tail = 5;
        sweep.run(c);
        ++asked;
      }
      // Only the side whose rows are short need be packed.
      test::Case c{Operation::transpose, "strips",       element_bytes, rows, cols,
                   test::packed(2),      test::packed(2)};
      (rows < cols ? c.in : c.out) = test::strided(rows < cols ? rows : cols, rows < cols ? cols : rows, 2);
      sweep.run(c);
      ++asked;
    }
    for (const auto& [rows, cols] : {test::Shape{3, 3}, {11, 13}, {30, 30}, {1, 1}, {50, 41}}) {
      for (const std::size_t batch : {1, 70, 1001}) {
        test::Case c{Operation::transpose, "strips",           element_bytes, rows, cols,
                     test::packed(batch),  test::packed(batch)};
        c.in.extent.offset = 5, c.out.extent.offset = 3;
        sweep.run(c);
        ++asked;
        if (rows != cols) continue;
        sweep.run({Operation::in_place, "strips", element_bytes, rows, cols, c.in, c.in});
        ++asked;
      }
    }
    // A strip of large elements may take more local memory than a device has.
    const bool holds_all = element_bytes < 8 || context.device().local_bytes > 80 << 10;
    const std::size_t ran = sweep.ran();
    CHECK((holds_all ? ran == asked : ran > 0 && ran <= asked));
  }
}

TEST_CASE("transpose: short sides of small elements are turned in registers") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2, 4}) {
    std::size_t asked = 0;
    for (const std::size_t side : {2, 3, 4, 5, 8, 16}) {
      for (const std::size_t places : {1030, 9001, 16387}) {  // around strips
        for (const bool wide : {false, true}) {
          // Interleaved elements begin anywhere; planes do not where they are written.
          test::Case c{Operation::transpose, "strips",        element_bytes,  wide ? side : places,
                       wide ? places : side, test::packed(2), test::packed(2)};
          test::Layout& planes = wide ? c.in : c.out;
          planes.extent.pitch = wide ? places + 1 : (places + 4) / 4 * 4;
          planes.extent.batch_stride = side * planes.extent.pitch + (wide ? 3 : 4);
          planes.extent.offset = wide ? 3 : 4;
          (wide ? c.out : c.in).extent.offset = 3;
          sweep.run(c);
          ++asked;
        }
      }
    }
    CHECK(sweep.ran() == asked);
  }
  const smem::Device device = test::target("sm_90");
  smem::TransposeProblem problem{.element_bytes = 1, .rows = 3, .cols = 1000000};
  problem.out_packed = true;
  CHECK(smem::plan_transpose(device, problem).entry_point == "transpose_interleave");
  std::swap(problem.rows, problem.cols);
  std::swap(problem.in_packed, problem.out_packed);
  CHECK(smem::plan_transpose(device, problem).entry_point == "transpose_separate");
  problem.out_alignment = 2;
  CHECK(smem::plan_transpose(device, problem).entry_point == "transpose_tall");
}

TEST_CASE("transpose: short sides in runs, of words and of elements") {
  const smem::Context context;
  test::Sweep sweep(context);
  std::size_t asked = 0;
  for (const std::size_t element_bytes : {1, 2, 4, 8}) {
    for (const std::size_t side : {20, 33, 102, 255}) {
      if (element_bytes == 8 && side > 64) continue;
      for (const bool tall : {false, true}) {
        // Several strips and a part of one; rows that are whole words, and ones that begin anywhere.
        for (const std::size_t places : {100000 / side / element_bytes * 4 + 64, (80000 / side) | 1}) {
          test::Case c{Operation::transpose, "strips",        element_bytes,  tall ? places : side,
                       tall ? side : places, test::packed(2), test::packed(2)};
          const bool words = places % 4 == 0;
          c.in.extent.offset = words ? 16 : 3;
          c.out.extent.offset = words ? 4 : 9;
          c.out.tail = 3;
          sweep.run(c);
          ++asked;
          // Only the side whose rows are short need be packed.
          test::Layout& planes = tall ? c.out : c.in;
          planes.extent.pitch = (places + 3) / 4 * 4 + (words ? 32 : 1);
          planes.extent.batch_stride = side * planes.extent.pitch + 4;
          sweep.run(c);
          c.operation = tall ? Operation::rotate_270 : Operation::rotate_90;
          sweep.run(c);
          asked += 2;
        }
      }
    }
  }
  CHECK(sweep.ran() == asked);
  const smem::Device device = test::target("sm_90");
  const auto entry_of = [&](const smem::TransposeProblem& problem) {
    return smem::plan_transpose(device, problem).entry_point;
  };
  smem::TransposeProblem problem{.element_bytes = 1, .rows = 100, .cols = 1000000};
  problem.out_packed = true;
  problem.in_alignment = 32, problem.out_alignment = problem.base_alignment = 4;
  CHECK(entry_of(problem) == "transpose_wide_words");
  problem.in_alignment = 2;
  CHECK(entry_of(problem) == "transpose_wide");
  std::swap(problem.rows, problem.cols);
  std::swap(problem.in_packed, problem.out_packed);
  std::swap(problem.in_alignment, problem.out_alignment);
  CHECK(entry_of(problem) == "transpose_tall");
  problem.out_alignment = 4;
  CHECK(entry_of(problem) == "transpose_tall_words");
  problem.in_alignment = problem.out_alignment = 1;
  problem.cols = 33;
  CHECK(entry_of(problem) == "transpose_tall");
  problem.cols = 101;
  CHECK(entry_of(problem) == "transpose_skewed");
}

TEST_CASE("transpose: strips of matrices with no short side") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2}) {
    for (const auto& [rows, cols] : {test::Shape{502, 500}, {500, 502}, {301, 299}, {299, 301}, {512, 509}})
      sweep.run(
          {Operation::transpose, "strips", element_bytes, rows, cols, test::packed(3), test::packed(3)});
  }
  CHECK(sweep.ran() == 10);
}

TEST_CASE("transpose: windows of small elements, whose rows begin anywhere") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2}) {
    for (const auto& [rows, cols] :
         {test::Shape{321, 511}, {511, 321}, {257, 255}, {703, 533}, {129, 1025}, {300, 3}, {5, 7}}) {
      test::run_layouts(sweep, {Operation::transpose, "skewed", element_bytes, rows, cols, {}, {}});
      test::run_layouts(sweep, {Operation::rotate_90, "skewed", element_bytes, rows, cols, {}, {}});
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("transpose: tiles of vectors at edges that have whole blocks") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2, 4}) {
    for (const auto& [rows, cols] :
         {test::Shape{320, 512}, {512, 320}, {320, 336}, {300, 333}, {271, 48}, {48, 271}, {15, 260}}) {
      test::run_layouts(sweep, {Operation::transpose, "vector", element_bytes, rows, cols, {}, {}});
      const test::Layout layout = test::aligned(rows, rows, 2);
      sweep.run({Operation::in_place, "vector", element_bytes, rows, rows, layout, layout});
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("transpose: short sides on a CPU") {
  const smem::Context context;
  test::Sweep sweep(context);
  const bool runs = context.device().type == smem::DeviceType::cpu && context.device().packed_vectors;
  std::size_t asked = 0;
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
    for (const std::size_t side : {2, 3, 7, 8, 15, 16}) {
      for (const std::size_t places : {255, 256, 2049, 10007}) {  // shorter than a long side; around chunks
        for (const bool interleaves : {false, true}) {
          const std::size_t rows = interleaves ? side : places, cols = interleaves ? places : side;
          test::Case c{Operation::transpose, "cpu",          element_bytes, rows, cols,
                       test::packed(3),      test::packed(3)};
          c.in.extent.offset = 3, c.out.extent.offset = 1, c.out.tail = 5;
          sweep.run(c);
          (interleaves ? c.in : c.out) = test::strided(side, places, 2);  // only the other must have no gaps
          (interleaves ? c.out : c.in) = test::packed(2);
          sweep.run(c);
          asked += 2;
        }
      }
    }
  }
  CHECK(sweep.ran() == (runs ? asked : 0));
  smem::TransposeProblem problem;
  problem.rows = 3;
  problem.cols = 4000;
  const smem::Device cpu = test::target("cpu");
  CHECK(smem::plan_transpose(cpu, problem).entry_point == "transpose_cpu");
  problem.out_packed = true;
  CHECK(smem::plan_transpose(cpu, problem).entry_point == "transpose_cpu_narrow");
}

TEST_CASE("transpose: many small matrices on a CPU") {
  const smem::Context context;
  test::Sweep sweep(context);
  const bool runs = context.device().type == smem::DeviceType::cpu && context.device().packed_vectors;
  std::size_t asked = 0;
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
    for (const auto& [rows, cols] : {test::Shape{2, 2}, {3, 3}, {5, 7}, {8, 8}, {2, 32}, {13, 5}}) {
      for (const std::size_t batch : {64, 5003}) {
        test::Case c{Operation::transpose, "cpu", element_bytes, rows, cols, test::packed(batch),
                     test::packed(batch)};
        c.in.extent.offset = 5, c.out.extent.offset = 3, c.out.tail = 7;
        sweep.run(c);
        ++asked;
        if (rows != cols) continue;
        sweep.run({Operation::in_place, "cpu", element_bytes, rows, cols, c.in, c.in});
        ++asked;
      }
    }
  }
  CHECK(sweep.ran() == (runs ? asked : 0));
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 3;
  problem.batch = 1000;
  problem.in_packed = true;
  const smem::Device cpu = test::target("cpu");
  CHECK(smem::plan_transpose(cpu, problem).entry_point == "transpose_cpu");
  problem.out_packed = true;
  CHECK(smem::plan_transpose(cpu, problem).entry_point == "transpose_cpu_small");
}

TEST_CASE("transpose: the plan's own choice for every element size") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
    for (const auto& [rows, cols] : {test::Shape{1, 1}, {33, 65}, {100, 3}, {3, 100}, {257, 129}}) {
      test::run_layouts(sweep, {Operation::transpose, "", element_bytes, rows, cols, {}, {}});
      test::run_layouts(sweep, {Operation::in_place, "", element_bytes, rows, rows, {}, {}});
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("transpose: typed views of floats keep every bit of a NaN") {
  const smem::Context context;
  constexpr std::size_t kRows = 37, kCols = 41;
  std::vector<float> input(kRows * kCols);
  for (std::size_t i = 0; i < input.size(); ++i) {
    // Quiet and signalling NaNs with a payload, of both signs; a few denormals and zeros.
    const auto number = static_cast<std::uint32_t>(i + 1);
    const std::uint32_t bits = i % 3 == 0   ? 0x7fc00000u | number
                               : i % 3 == 1 ? 0xff800000u | number
                                            : 0x80000000u | (number & 7u);
    input[i] = std::bit_cast<float>(bits);
  }
  const smem::Array<float> in(context, input);
  for (const std::string_view variant : smem::transpose_variants()) {
    CAPTURE(variant);
    if (test::tile_of(context, Operation::transpose, variant, 4).first == 0) continue;
    const smem::Array<float> out(context, smem::Count{input.size()});
    smem::CallOptions options;
    options.variant = variant;
    smem::transpose(context, in.matrix(kRows, kCols), out.matrix(kCols, kRows), options);
    const std::vector<float> got = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) {
        wrong += std::bit_cast<std::uint32_t>(got[j * kRows + i]) !=
                 std::bit_cast<std::uint32_t>(input[i * kCols + j]);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("transpose: elements of 16 bytes are any struct, and views may be const") {
  struct Four {
    float x, y, z, w;
  };
  const smem::Context context;
  const std::vector<Four> input{{1, 2, 3, 4},     {5, 6, 7, 8},     {9, 10, 11, 12},
                                {13, 14, 15, 16}, {17, 18, 19, 20}, {21, 22, 23, 24}};
  const smem::Array<Four> in(context, input);
  const smem::Array<Four> out(context, smem::Count{input.size()});
  const smem::MatrixView<const Four> read_only = in.matrix(2, 3);
  smem::transpose(context, read_only, out.matrix(3, 2));
  const std::vector<Four> got = out.to_host();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(got[j * 2 + i].x == input[i * 3 + j].x);
      CHECK(got[j * 2 + i].w == input[i * 3 + j].w);
    }
  }
}

TEST_CASE("transpose: twice is the identity") {
  const smem::Context context;
  test::Random random(2);
  const std::vector<unsigned char> input = random.bytes(std::size_t{123} * 457 * 4);
  const smem::Array<unsigned char> in(context, input), turned(context, smem::Count{input.size()}),
      back(context, smem::Count{input.size()});
  const auto type = smem::ElementType::of_bytes(4);
  const smem::Matrix a(in.buffer()(), type, 123, 457), b(turned.buffer()(), type, 457, 123),
      c(back.buffer()(), type, 123, 457);
  smem::transpose(context, a, b);
  smem::transpose(context, b, c);
  CHECK(back.to_host() == input);
}
