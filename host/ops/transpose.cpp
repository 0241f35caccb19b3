// transpose: views -> problem -> launch.
#include "ops/transpose.hpp"

#include "ops/divisor.hpp"
#include "ops/run.hpp"
#include "plan/sizes.hpp"

#include <smem/transpose.hpp>

#include <algorithm>

namespace smem {

namespace {

cl::Event launch(const Context& context, const char* operation, const TransposeProblem& problem,
                 const ops::KernelMatrix& in, const ops::KernelMatrix& out, const CallOptions& options) {
  return ops::run(context, operation, plan_transpose, problem, options, [&](const ops::Launching& launch) {
    if (const std::size_t most = launch.launch().number("matrices_a_group"); most != 0) {
      launch(in.buffer, in.offset, in.pitch, in.stride, out.buffer, out.offset, out.pitch, out.stride,
             static_cast<cl_ulong>(problem.rows), static_cast<cl_ulong>(problem.cols),
             static_cast<cl_ulong>(problem.batch), ops::Divisor(problem.rows * problem.cols),
             ops::Divisor(problem.rows), static_cast<cl_uint>(most));
    } else {
      ops::bind_matrices(launch, in, out, {problem.rows, problem.cols, problem.batch});
    }
  });
}

}  // namespace

cl::Event ops::turn(const Context& context, const char* operation, const ConstMatrix& in, const Matrix& out,
                    Backwards backwards, const CallOptions& options) {
  plan::require_element(operation, in.type.bytes);
  check_shape(operation, in, out, in.cols, in.rows);
  TransposeProblem problem{in.type.bytes, in.rows, in.cols, in.batch};
  if (is_empty(in)) return run_empty(context, operation, plan_transpose, problem, options);
  const Memories memories = check_views(context, operation, in, out);
  problem.in_alignment = row_alignment(in, memories.in);
  problem.out_alignment = row_alignment(out, memories.out);
  problem.base_alignment = std::min(memories.in.alignment(), memories.out.alignment());
  problem.in_packed = ops::is_packed(in) && !backwards.in;
  problem.out_packed = ops::is_packed(out) && !backwards.out;
  const KernelMatrix from(in), to(out);
  return launch(context, operation, problem, backwards.in ? from.backwards(in.rows) : from,
                backwards.out ? to.backwards(out.rows) : to, options);
}

cl::Event transpose(const Context& context, const ConstMatrix& in, const Matrix& out,
                    const CallOptions& options) {
  return ops::turn(context, "transpose", in, out, {}, options);
}

cl::Event transpose_in_place(const Context& context, const Matrix& matrix, const CallOptions& options) {
  constexpr const char* kOperation = "transpose_in_place";
  TransposeProblem problem{matrix.type.bytes, matrix.rows, matrix.cols, matrix.batch, true};
  plan::require_element(kOperation, matrix.type.bytes);
  if (ops::is_empty(matrix)) return ops::run_empty(context, kOperation, plan_transpose, problem, options);
  const ops::Memory memory = ops::check_view(context, kOperation, "matrix", matrix, true);
  ops::require_readable(kOperation, "matrix", memory);
  problem.in_alignment = problem.out_alignment = ops::row_alignment(matrix, memory);
  problem.base_alignment = memory.alignment();
  problem.in_packed = problem.out_packed = ops::is_packed(matrix);
  const ops::KernelMatrix m(matrix);
  return launch(context, kOperation, problem, m, m, options);
}

}  // namespace smem
