// transpose: arguments -> plan -> launch.
#include "ops/transpose.hpp"

#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>
#include <smem/transpose.hpp>

#include <algorithm>

namespace smem {

namespace ops {

cl::Event launch_transpose(const Context& context, const TransposeProblem& problem, const Matrix& shape,
                           const KernelMatrix& in, const KernelMatrix& out, const CallOptions& options) {
  const auto key = [&](const PlanOverrides& fixed) {
    return make_key(PlanMaker::transpose,
                    {problem.element_bytes | variant_number(fixed.variant, transpose_variants()) << 8 |
                         std::uint64_t{problem.in_place} << 16 | problem.in_alignment << 24 |
                         problem.out_alignment << 32 | problem.base_alignment << 40,
                     problem.rows, problem.cols, problem.batch},
                    fixed);
  };
  const auto plan_here = [&](const PlanOverrides& fixed) {
    return plan_transpose(context.device(), problem, fixed);
  };
  const PlanOverrides asked = checked_choice(context.runtime(), "transpose", options, key, plan_here);
  return launch_tuned(context.runtime(), "transpose", problem, options, asked, key, plan_here,
                      [&](const PlanOverrides& fixed) {
                        const auto make_plan = [&](const Device& device) {
                          return plan_transpose(device, problem, fixed);
                        };
                        return run_matrices(context, key(fixed), make_plan, options, in, out, shape);
                      });
}

}  // namespace ops

cl::Event transpose(const Context& context, const Matrix& in, const Matrix& out, const CallOptions& options) {
  return ops::turn(context, "transpose", in, out, {}, options);
}

cl::Event ops::turn(const Context& context, const char* operation, const Matrix& in, const Matrix& out,
                    Backwards backwards, const CallOptions& options) {
  plan::require_element(operation, in.element_bytes);
  check_shape(operation, in, out, in.cols, in.rows);
  TransposeProblem problem{in.element_bytes, in.rows, in.cols, in.batch};
  if (is_empty(in)) {
    // What is wrong with the options is refused all the same.
    plan_transpose(context.device(), problem, overrides_of(context.runtime(), "transpose", options));
    return context.runtime().marker(options.wait_for);
  }
  const Memory in_memory = check_view(context, operation, "in", in, false);
  const Memory out_memory = check_view(context, operation, "out", out, true);
  check_apart(operation, in, in_memory, out, out_memory);
  problem.in_alignment = row_alignment(in, in_memory);
  problem.out_alignment = row_alignment(out, out_memory);
  problem.base_alignment = std::min(in_memory.alignment(), out_memory.alignment());
  const KernelMatrix from(in), to(out);
  return launch_transpose(context, problem, in, backwards.in ? from.backwards(in.rows) : from,
                          backwards.out ? to.backwards(out.rows) : to, options);
}

cl::Event transpose_in_place(const Context& context, const Matrix& matrix, const CallOptions& options) {
  TransposeProblem problem{matrix.element_bytes, matrix.rows, matrix.cols, matrix.batch, true};
  plan::require_element("transpose_in_place", matrix.element_bytes);
  if (ops::is_empty(matrix)) {
    plan_transpose(context.device(), problem,
                   ops::overrides_of(context.runtime(), "transpose_in_place", options));
    return context.runtime().marker(options.wait_for);
  }
  const ops::Memory memory = ops::check_view(context, "transpose_in_place", "matrix", matrix, true);
  ops::require_readable("transpose_in_place", "matrix", memory);
  problem.in_alignment = problem.out_alignment = ops::row_alignment(matrix, memory);
  problem.base_alignment = memory.alignment();
  const ops::KernelMatrix m(matrix);
  return ops::launch_transpose(context, problem, matrix, m, m, options);
}

}  // namespace smem
