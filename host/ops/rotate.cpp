// rotate and flip: views -> problem -> launch. Quarter turns are transposes with one side backwards.
#include <smem/rotate.hpp>

#include "ops/divisor.hpp"
#include "ops/run.hpp"
#include "ops/transpose.hpp"
#include "ops/views.hpp"
#include "plan/flip_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/sizes.hpp>

#include <algorithm>

namespace smem {

namespace {

struct Mirrored {
  bool rows;
  bool cols;
};

/// Whether the matrices of the batch are the rows of one: whether each begins where the one before it ends.
bool is_one(const ops::KernelMatrix& matrix, const FlipProblem& problem) {
  return matrix.pitch > 0 && matrix.stride == problem.rows * static_cast<cl_ulong>(matrix.pitch);
}

/// Launches the kernels of "packs", which have arguments of their own.
void launch_packs(const ops::Launching& launch, const ops::KernelMatrix& in, const ops::KernelMatrix& out,
                  const FlipProblem& problem) {
  cl_ulong rows = problem.rows, batch = problem.batch;
  const cl_long down = static_cast<cl_long>(rows - 1) * in.pitch;
  const cl_ulong in_begin = in.offset + static_cast<cl_ulong>(std::min<cl_long>(down, 0));
  const cl_ulong in_end =
      in.offset + (batch - 1) * in.stride + static_cast<cl_ulong>(std::max<cl_long>(down, 0)) + problem.cols;
  const std::size_t rows_a_group = launch.launch().number("rows_a_group");
  const std::size_t slots = launch.launch().number("slots");
  const bool fits =
      detail::size_product(rows, batch, std::max<std::size_t>(slots, 1)) <= plan::kMostPacksOrRows;
  if (fits && is_one(in, problem) && is_one(out, problem)) {
    rows *= batch;
    batch = 1;
  }
  const auto arguments = [&](const auto&... others) {
    launch(in.buffer, in.offset, in.pitch, in.stride, out.buffer, out.offset, out.pitch, out.stride, rows,
           static_cast<cl_ulong>(problem.cols), batch, others...);
  };
  if (slots == 0) {
    arguments(ops::Divisor(problem.cols), ops::Divisor(rows), static_cast<cl_uint>(rows_a_group));
  } else {
    const std::size_t tile = launch.plan().work_items() * launch.launch().number("packs");
    arguments(in_begin, in_end, ops::Divisor(slots), ops::Divisor(plan::divide_up(rows * slots, tile)));
  }
}

cl::Event mirror(const Context& context, const char* operation, const ConstMatrix& in, const Matrix& out,
                 Mirrored mirrored, const CallOptions& options) {
  plan::require_element(operation, in.type.bytes);
  ops::check_shape(operation, in, out, in.rows, in.cols);
  const FlipProblem problem{in.type.bytes, in.rows, in.cols, in.batch, mirrored.cols};
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_flip, problem, options);
  ops::check_views(context, operation, in, out);
  const ops::KernelMatrix from(in), to(out);
  return ops::run(context, operation, plan_flip, problem, options, [&](const ops::Launching& launch) {
    const ops::KernelMatrix first = mirrored.rows ? from.backwards(in.rows) : from;
    if (launch.plan().variant == "packs") {
      launch_packs(launch, first, to, problem);
    } else {
      ops::bind_matrices(launch, first, to, {problem.rows, problem.cols, problem.batch});
    }
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
