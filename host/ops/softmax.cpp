// Softmax, log_softmax and logsumexp: views -> problem -> launch.
#include <smem/softmax.hpp>

#include "formatted.hpp"
#include "ops/in_place.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "plan/softmax_checks.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

/// `out`: the results; of logsumexp_columns a row of them for each matrix.
cl::Event launch_columns(const Context& context, const char* operation, const SoftmaxColumnsProblem& problem,
                         const ConstMatrix& in, const ConstMatrix& out, MaskedRows masked,
                         const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const cl_mem from = in.buffer != nullptr ? in.buffer : out.buffer;  // of nothing, nothing is read
  const auto bind = [&](const ops::Launching& launching) {
    const auto with = [&](const auto&... more) {
      launching(from, number(in.offset), number(in.pitch), number(in.batch_stride), out.buffer,
                number(out.offset), number(out.pitch), number(out.batch_stride),
                static_cast<cl_int>(problem.rows), number(problem.cols), number(problem.batch),
                static_cast<cl_uint>(masked == MaskedRows::zero ? 1 : 0), more...);
    };
    if (launching.plan().number("parts") != 0) {
      with(number(launching.plan().number("parts")), launching.scratch(0));
    } else {
      with();
    }
  };
  return ops::run(context, operation, plan_softmax_columns, problem, options, bind);
}

SoftmaxColumnsProblem columns_problem(const Context& context, const char* operation, SoftmaxOp op,
                                      const ConstMatrix& in, const ElementType& out) {
  const SoftmaxColumnsProblem problem{op,
                                      ops::number_type(operation, "in", in.type),
                                      ops::number_type(operation, "out", out),
                                      in.rows,
                                      in.cols,
                                      in.batch};
  plan::check_softmax_columns(context.device(), problem);
  return problem;
}

cl::Event softmax_columns_of(const Context& context, const char* operation, SoftmaxOp op,
                             const ConstMatrix& in, const Matrix& out, MaskedRows masked,
                             const CallOptions& options) {
  plan::require_known(operation, "masked", masked, MaskedRows::zero);
  const SoftmaxColumnsProblem problem = columns_problem(context, operation, op, in, out.type);
  ConstMatrix of_in_type = out;
  of_in_type.type = in.type;
  ops::check_shape(operation, in, of_in_type, in.rows, in.cols);
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_softmax_columns, problem, options);
  const ops::Memory in_memory = ops::check_view(context, operation, "in", in, false);
  const ops::Memory out_memory = ops::check_view(context, operation, "out", out, true);
  if (!ops::is_in_place(in, in_memory, out, out_memory))
    ops::check_apart(operation, in, in_memory, out, out_memory);
  return launch_columns(context, operation, problem, in, out, masked, options);
}

/// `out`: the results; of logsumexp a column of them for each matrix.
cl::Event launch(const Context& context, const SoftmaxProblem& problem, const ConstMatrix& in,
                 const ConstMatrix& out, MaskedRows masked, const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const cl_mem from = in.buffer != nullptr ? in.buffer : out.buffer;  // of nothing, nothing is read
  const cl_uint is_zero = masked == MaskedRows::zero ? 1 : 0;
  const auto bind = [&](const ops::Launching& launch) {
    const cl_ulong rows = problem.rows, batch = problem.batch;
    const auto cols = static_cast<cl_int>(problem.cols);
    const auto with = [&](const auto&... more) {
      launch(from, number(in.offset), number(in.pitch), number(in.batch_stride), out.buffer,
             number(out.offset), number(out.pitch), number(out.batch_stride), rows, cols, batch, is_zero,
             more...);
    };
    const std::string& variant = launch.plan().variant;
    if (variant == "online" || variant == "split") {
      with(number(launch.plan().number("parts")), launch.scratch(0));
    } else if (variant == "cooperative") {
      with(static_cast<cl_uint>(launch.plan().number("parts")), launch.epoch(), launch.scratch(0));
    } else if (variant == "persistent") {
      with(launch.counters());
    } else if (variant == "short_rows") {
      with(static_cast<cl_uint>(launch.plan().number("piece")));
    } else {
      with();
    }
  };
  return ops::run(context, name_of(problem.op).data(), plan_softmax, problem, options, bind);
}

SoftmaxProblem problem_of(const Context& context, SoftmaxOp op, const ConstMatrix& in,
                          const ElementType& out) {
  const char* operation = name_of(op).data();
  const SoftmaxProblem problem{op,
                               ops::number_type(operation, "in", in.type),
                               ops::number_type(operation, "out", out),
                               in.rows,
                               in.cols,
                               in.batch};
  plan::check_softmax(context.device(), problem);
  return problem;
}

void set_alignment(SoftmaxProblem& problem, const ConstMatrix& in, const ops::Memory& in_memory,
                   const ops::Memory& out_memory) {
  problem.alignment = std::min<std::size_t>(16, std::min(in_memory.alignment(), out_memory.alignment()));
  problem.row_alignment = std::min(problem.alignment, ops::row_alignment(in, in_memory));
  problem.packed = ops::is_packed(in);
}

cl::Event softmax_of(const Context& context, SoftmaxOp op, const ConstMatrix& in, const Matrix& out,
                     MaskedRows masked, const CallOptions& options) {
  const char* operation = name_of(op).data();
  plan::require_known(operation, "masked", masked, MaskedRows::zero);
  SoftmaxProblem problem = problem_of(context, op, in, out.type);
  ConstMatrix of_in_type = out;
  of_in_type.type = in.type;
  ops::check_shape(operation, in, of_in_type, in.rows, in.cols);
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_softmax, problem, options);
  const ops::Memory in_memory = ops::check_view(context, operation, "in", in, false);
  const ops::Memory out_memory = ops::check_view(context, operation, "out", out, true);
  if (!ops::is_in_place(in, in_memory, out, out_memory))
    ops::check_apart(operation, in, in_memory, out, out_memory);
  set_alignment(problem, in, in_memory, out_memory);
  problem.packed = problem.packed && ops::is_packed(out);
  const std::size_t of_results = ops::row_alignment(out, out_memory);
  problem.row_alignment = std::min(problem.row_alignment, of_results * size_of(problem.in) / out.type.bytes);
  return launch(context, problem, in, out, masked, options);
}

/// \throws Error unless the output has room for one result of each row or column, as `each` says.
void require_results(const char* operation, const Vector& out, std::size_t results, const char* each) {
  if (out.size >= results) return;
  ops::refuse(operation, "out", formatted("at least {} elements, one a {}", results, each),
              formatted("{}", out.size));
}

/// Checks the memory of results and input. \returns that of the input and of the output; of an input without
/// elements nothing.
std::optional<std::pair<ops::Memory, ops::Memory>> check_results(const Context& context,
                                                                 const char* operation, const ConstMatrix& in,
                                                                 Vector out, std::size_t results) {
  out.size = results;
  const ConstMatrix to = ops::as_matrix(out);
  const ops::Memory out_memory = ops::check_view(context, operation, "out", to, true);
  if (ops::is_empty(in)) return std::nullopt;
  const ops::Memory in_memory = ops::check_view(context, operation, "in", in, false);
  ops::check_apart(operation, in, in_memory, to, out_memory);
  return std::pair{in_memory, out_memory};
}

}  // namespace

cl::Event softmax(const Context& context, const ConstMatrix& in, const Matrix& out, MaskedRows masked,
                  const CallOptions& options) {
  return softmax_of(context, SoftmaxOp::softmax, in, out, masked, options);
}

cl::Event log_softmax(const Context& context, const ConstMatrix& in, const Matrix& out, MaskedRows masked,
                      const CallOptions& options) {
  return softmax_of(context, SoftmaxOp::log_softmax, in, out, masked, options);
}

cl::Event logsumexp(const Context& context, const ConstMatrix& in, const Vector& out,
                    const CallOptions& options) {
  constexpr const char* kOperation = "logsumexp";
  SoftmaxProblem problem = problem_of(context, SoftmaxOp::logsumexp, in, out.type);
  const std::size_t results = plan::size_product(in.rows, in.batch);
  require_results(kOperation, out, results, "row");
  if (results == 0) return ops::run_empty(context, kOperation, plan_softmax, problem, options);
  if (const auto memory = check_results(context, kOperation, in, out, results))
    set_alignment(problem, in, memory->first, memory->second);
  const ConstMatrix column{out.buffer, out.type, in.rows, 1, {.offset = out.offset, .batch = in.batch}};
  return launch(context, problem, in, column, MaskedRows::nan, options);
}

cl::Event softmax_columns(const Context& context, const ConstMatrix& in, const Matrix& out, MaskedRows masked,
                          const CallOptions& options) {
  return softmax_columns_of(context, "softmax_columns", SoftmaxOp::softmax, in, out, masked, options);
}

cl::Event log_softmax_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                              MaskedRows masked, const CallOptions& options) {
  return softmax_columns_of(context, "log_softmax_columns", SoftmaxOp::log_softmax, in, out, masked, options);
}

cl::Event logsumexp_columns(const Context& context, const ConstMatrix& in, const Vector& out,
                            const CallOptions& options) {
  constexpr const char* kOperation = "logsumexp_columns";
  const SoftmaxColumnsProblem problem =
      columns_problem(context, kOperation, SoftmaxOp::logsumexp, in, out.type);
  const std::size_t results = plan::size_product(in.cols, in.batch);
  require_results(kOperation, out, results, "column");
  if (results == 0) return ops::run_empty(context, kOperation, plan_softmax_columns, problem, options);
  check_results(context, kOperation, in, out, results);
  const ConstMatrix row{out.buffer, out.type, 1, in.cols, {.offset = out.offset, .batch = in.batch}};
  return launch_columns(context, kOperation, problem, in, row, MaskedRows::nan, options);
}

}  // namespace smem
