// flip, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/flip_plan.hpp>
#include <smem/rotate.hpp>
#include <smem/sizes.hpp>

namespace smem::operations {

namespace {

Case read_flip(const Words& words) {
  const std::size_t bytes = words.element_bytes("type"), batch = words.number("batch");
  const std::size_t rows = words.sizes("shape")[0], cols = words.sizes("shape")[1];
  const bool vertical = words.flag("vertical");
  Case made = case_of(formatted("{}{} x {}, {} B, {}", batch_text(batch), rows, cols, bytes,
                                vertical ? "vertical" : "horizontal"),
                      FlipProblem{bytes, rows, cols, batch, !vertical}, plan_flip);
  made.in = {moved("in", bytes, detail::size_product(rows, cols, batch))};
  made.out = {moved("out", bytes, detail::size_product(rows, cols, batch))};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return flip(context, moved_matrix(arrays.in[0], bytes, rows, cols, batch),
                moved_matrix(arrays.out[0], bytes, rows, cols, batch),
                vertical ? Flip::vertical : Flip::horizontal, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(batch * rows, [&](std::size_t line) {
      const std::size_t row = line % rows, mirrored = line - row + (vertical ? rows - 1 - row : row);
      for (std::size_t j = 0; j < cols; ++j) {
        copy_element(arrays.in[0], mirrored * cols + (vertical ? j : cols - 1 - j), arrays.out[0],
                     line * cols + j, bytes);
      }
    });
  };
  return made;
}

}  // namespace

Operation flip_operation() {
  return {
      .name = "flip",
      .summary = "Reverses the rows or the columns of packed matrices",
      .steps = {{"items", "neighbouring work-items move neighbours"},
                {"vector", "vectors are reversed in registers"},
                {"packs", "aligned packs of small elements, and short rows through local memory"}},
      .words = {shape_rule("Of the matrices"), element_rule(), batch_rule(),
                flag_rule("vertical", "Reverse the rows; default: the columns")},
      .read = read_flip,
      .samples = {.edges = {"1x1 uchar", "37x131 uchar --batch 3", "65x33 ushort --vertical", "5x258 float",
                            "67x35 float4"},
                  .small = {"512x512 float", "512x512 float --vertical"},
                  .usual = {"4096x4096 float", "4096x4096 float --vertical"},
                  .large = {goal("16384x16384 float", 0.95), goal("16384x16384 float --vertical", 0.95)}},
      .programs = {{"4096x33 1", {"packs"}},
                   {"4096x17 2", {"packs"}},
                   {"4096x4096 1"},
                   {"4096x4096 2"},
                   {"4096x4096 4"},
                   {"4096x4096 8"},
                   {"4096x4096 16"},
                   {"4096x4096 1 --vertical"},
                   {"4096x4096 2 --vertical"},
                   {"4096x4096 4 --vertical"},
                   {"4096x4096 8 --vertical"},
                   {"4096x4096 16 --vertical"}},
  };
}

}  // namespace smem::operations
