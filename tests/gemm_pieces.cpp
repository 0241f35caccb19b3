// Parts of NVIDIA's kernels of gemm that run on every device: the turn of factors, and how pairs of results
// are stored.
#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

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
  // The numbers of a launch, as cl/gemm/packed.clh has them. As B: A has no blocks.
  const struct {
    std::array<cl_ulong, 6> a;
    cl_ulong b_offset, b_pitch, b_stride, b_lines, b_along, b_matrices;
    cl_ulong packed_a, packed_a_pitch, packed_b, packed_b_pitch;
  } numbers{.a = {},
            .b_offset = offset,
            .b_pitch = pitch,
            .b_stride = 0,
            .b_lines = lines,
            .b_along = along,
            .b_matrices = 1,
            .packed_a = 0,
            .packed_a_pitch = 0,
            .packed_b = 0,
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

}  // namespace

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
