// rotate, described.
#include "operations/list.hpp"
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/rotate.hpp>
#include <smem/sizes.hpp>
#include <smem/transpose_plan.hpp>

#include <algorithm>

namespace smem::operations {

namespace {

/// The problem that a rotation is: of the rows' order plans know nothing but that the side which is walked
/// backwards is not packed.
Case planned(const std::string& text, const FlipProblem& matrices, Rotation rotation) {
  if (rotation == Rotation::by_180) return named("rotate", case_of(text, matrices, plan_flip));
  const std::size_t bytes = matrices.element_bytes;
  TransposeProblem problem{bytes, matrices.rows, matrices.cols, matrices.batch};
  problem.in_alignment = packed_alignment(matrices.rows * matrices.batch, matrices.cols * bytes);
  problem.out_alignment = packed_alignment(matrices.cols * matrices.batch, matrices.rows * bytes);
  problem.in_packed = rotation == Rotation::by_270;
  problem.out_packed = rotation == Rotation::by_90;
  return named("rotate", case_of(text, problem, plan_transpose));
}

Case read_rotate(const Words& words) {
  const std::size_t bytes = words.element_bytes("type"), batch = words.number("batch");
  const std::size_t rows = words.sizes("shape")[0], cols = words.sizes("shape")[1];
  const std::string& degrees = words.text("degrees");
  const Rotation rotation = degrees == "90"    ? Rotation::by_90
                            : degrees == "180" ? Rotation::by_180
                                               : Rotation::by_270;
  const bool is_half_turn = rotation == Rotation::by_180;
  const std::size_t out_rows = is_half_turn ? rows : cols, out_cols = is_half_turn ? cols : rows;
  Case made = planned(formatted("{}{} x {}, {} B, by {}", batch_text(batch), rows, cols, bytes, degrees),
                      FlipProblem{bytes, rows, cols, batch, true}, rotation);
  made.in = {moved("in", bytes, detail::size_product(rows, cols, batch))};
  made.out = {moved("out", bytes, detail::size_product(rows, cols, batch))};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return rotate(context, moved_matrix(arrays.in[0], bytes, rows, cols, batch),
                  moved_matrix(arrays.out[0], bytes, out_rows, out_cols, batch), rotation, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(batch * rows, [&](std::size_t line) {  // a row of the input
      const std::size_t b = line / rows, i = line % rows;
      for (std::size_t j = 0; j < cols; ++j) {
        const std::size_t row = rotation == Rotation::by_90 ? j : is_half_turn ? rows - 1 - i : cols - 1 - j;
        const std::size_t col = rotation == Rotation::by_90 ? rows - 1 - i : is_half_turn ? cols - 1 - j : i;
        copy_element(arrays.in[0], line * cols + j, arrays.out[0], (b * out_rows + row) * out_cols + col,
                     bytes);
      }
    });
  };
  return made;
}

}  // namespace

// A quarter turn is a transpose, half a turn a flip.
Operation transpose_operation();
Operation flip_operation();

Operation rotate_operation() {
  std::vector<Step> steps = transpose_operation().steps;
  for (const Step& step : flip_operation().steps)  // both have a "vector"
    if (std::none_of(steps.begin(), steps.end(), [&](const Step& s) { return s.variant == step.variant; }))
      steps.push_back(step);
  return {
      .name = "rotate",
      .summary = "Rotates packed matrices clockwise",
      .steps = steps,
      .words = {shape_rule("Of the input"), element_rule(), batch_rule(),
                choice_rule("degrees", "By so many degrees", {"90", "180", "270"})},
      .read = read_rotate,
      .samples = {.edges = {"1x1 uchar", "37x131 uchar --batch 3", "65x33 ushort --degrees 180",
                            "129x258 float --degrees 270", "67x35 float4", "1x300 double --degrees 270"},
                  .small = {"512x512 float", "512x512 float --degrees 180", "1001x999 float --degrees 270"},
                  .usual = {"4096x4096 float", "4096x4096 float --degrees 180",
                            "4097x3001 float --degrees 270"},
                  .large = {"16384x16384 float", "16384x16384 float --degrees 180",
                            "16001x15999 float --degrees 270"}},
  };
}

}  // namespace smem::operations
