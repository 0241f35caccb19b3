// rotate and flip: views -> problem -> launch. Quarter turns are transposes with one side backwards.
#include <smem/rotate.hpp>

#include "ops/run.hpp"
#include "ops/transpose.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"

namespace smem {

namespace {

struct Mirrored {
  bool rows;
  bool cols;
};

cl::Event mirror(const Context& context, const char* operation, const ConstMatrix& in, const Matrix& out,
                 Mirrored mirrored, const CallOptions& options) {
  plan::require_element(operation, in.type.bytes);
  ops::check_shape(operation, in, out, in.rows, in.cols);
  const FlipProblem problem{in.type.bytes, in.rows, in.cols, in.batch, mirrored.cols};
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_flip, problem, options);
  ops::check_views(context, operation, in, out);
  const ops::KernelMatrix from(in), to(out);
  return ops::run(context, operation, plan_flip, problem, options, [&](const ops::Launching& launch) {
    ops::bind_matrices(launch, mirrored.rows ? from.backwards(in.rows) : from, to,
                       {problem.rows, problem.cols, problem.batch});
  });
}

}  // namespace

cl::Event rotate(const Context& context, const ConstMatrix& in, const Matrix& out, Rotation rotation,
                 const CallOptions& options) {
  switch (rotation) {
    case Rotation::by_90:
      return ops::turn(context, "rotate", in, out, {.in = true}, options);
    case Rotation::by_270:
      return ops::turn(context, "rotate", in, out, {.out = true}, options);
    case Rotation::by_180:
      return mirror(context, "rotate", in, out, {.rows = true, .cols = true}, options);
  }
  ops::refuse("rotate", "rotation", "90, 180 or 270 degrees", static_cast<int>(rotation));
}

cl::Event flip(const Context& context, const ConstMatrix& in, const Matrix& out, Flip direction,
               const CallOptions& options) {
  plan::require_known("flip", "direction", direction, Flip::vertical);
  const bool horizontal = direction == Flip::horizontal;
  return mirror(context, "flip", in, out, {.rows = !horizontal, .cols = horizontal}, options);
}

}  // namespace smem
