// TILE_AT of cl/common/tile.clh and LocalLayout::address_of are the same formula.
#include <smem/smem.hpp>

#include "support/folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace {

/// The place of every item of a 32 x 32 tile, as a kernel computes it.
std::vector<cl_uint> places_by_kernel(const smem::Context& context, const smem::LocalLayout& layout) {
  const std::string source = test::text_of(SMEM_TEST_KERNELS "/common/tile.clh") +
                             "kernel void places(global uint* out) {\n"
                             "  const uint row = get_global_id(1), col = get_global_id(0);\n"
                             "  out[row * 32 + col] = TILE_AT(row, col);\n"
                             "}\n";
  const std::string options =
      fmt::format("-DTILE_STRIDE={} -DSWIZZLE_MASK={} -DSWIZZLE_SHIFT={} -DSWIZZLE_UNIT={}", layout.stride,
                  layout.swizzle_mask, layout.swizzle_shift, layout.swizzle_unit);
  const cl::Program program(context.cl_context(), source);
  REQUIRE(program.build({context.cl_device()}, options.c_str()) == CL_SUCCESS);
  cl::Kernel kernel(program, "places");
  const smem::Array<cl_uint> out(context, smem::Count{32 * 32});
  kernel.setArg(0, out.buffer());
  REQUIRE(context.queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(32, 32)) == CL_SUCCESS);
  return out.to_host();
}

}  // namespace

TEST_CASE("layout: the kernels' macro and the plan have the same places") {
  const smem::Context context;
  smem::LocalLayout layout;
  layout.rows = layout.cols = 32;
  layout.item_bytes = 4;
  for (const auto& [stride, mask, shift, unit] : {std::array<std::size_t, 4>{32, 0, 0, 0},
                                                  {33, 0, 0, 0},
                                                  {32, 31, 0, 0},
                                                  {32, 7, 0, 0},
                                                  {32, 7, 2, 0},
                                                  {32, 3, 1, 2},
                                                  {32, 15, 0, 1}}) {
    layout.stride = stride;
    layout.swizzle_mask = mask;
    layout.swizzle_shift = shift;
    layout.swizzle_unit = unit;
    CAPTURE(stride);
    CAPTURE(mask);
    CAPTURE(shift);
    CAPTURE(unit);
    const std::vector<cl_uint> places = places_by_kernel(context, layout);
    bool same = true;
    for (std::size_t row = 0; row < 32; ++row)
      for (std::size_t col = 0; col < 32; ++col)
        same = same && places[row * 32 + col] * 4 == layout.address_of({row, col});
    CHECK(same);
  }
}
