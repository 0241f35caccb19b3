// Sorts by a caller's comparison: views -> problem -> launch.
#include <smem/sort_by.hpp>

#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/sort_by_types.hpp"

#include <string>

namespace smem {

namespace {

constexpr const char* kSortByName = "sort_by";

/// The elements' type in OpenCL C, as the view or the caller says.
std::string type_of(const ElementType& element, const Comparison& order) {
  if (order.type.empty()) {
    if (!element.scalar) ops::refuse(kSortByName, "type", "one, for opaque elements", "nothing");
    plan::require_known(kSortByName, "in", *element.scalar);
    if (*element.scalar == Scalar::half || *element.scalar == Scalar::bfloat16) {
      ops::refuse(kSortByName, "in", "numbers other than half and bfloat16",
                  std::string(name_of(*element.scalar)));
    }
    return std::string(opencl_name_of(*element.scalar));
  }
  const std::size_t bytes = plan::bytes_of_type(order.type);
  if (bytes != 0 && bytes != element.bytes) {
    ops::refuse(kSortByName, "type", formatted("a type of {} bytes, as the elements have", element.bytes),
                formatted("\"{}\" of {}", order.type, bytes));
  }
  return order.type;
}

cl::Event launch(const Context& context, const SortByProblem& problem, const ConstVector& in,
                 const ConstVector& out, const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto bind = [&](const ops::Launching& launch) {
    const std::size_t merges = launch.plan().number("merges");
    const cl_mem spare = launch.scratch(0);
    // Arrays take turns, so that the last merge writes `out`.
    const std::size_t turn = launch.launch().number("turn") + launch.repeat();
    const bool is_first = launch.is_main(), to_out = (merges - (is_first ? 0 : turn + 1)) % 2 == 0;
    const cl_mem from = is_first ? in.buffer : to_out ? spare : out.buffer;
    const std::size_t from_offset = is_first ? in.offset : to_out ? 0 : out.offset;
    launch(from, number(from_offset), to_out ? out.buffer : spare, number(to_out ? out.offset : 0),
           to_out ? spare : out.buffer, number(to_out ? 0 : out.offset), number(problem.size),
           number(launch.plan().number("width") << (is_first ? 0 : turn)), launch.scratch(1));
  };
  return ops::run(context, kSortByName, plan_sort_by, problem, options, bind);
}

}  // namespace

cl::Event sort_by(const Context& context, const ConstVector& in, const Vector& out, const Comparison& order,
                  const CallOptions& options) try {
  SortByProblem problem;
  problem.type = type_of(in.type, order);
  problem.precedes = order.precedes;
  problem.size = in.size;
  plan::check_sort_by(context.device(), problem);
  ops::check_type(kSortByName, "out", out.type, in.type);
  ops::check_size(kSortByName, "out", out.size, in.size);
  if (problem.size == 0) return ops::run_empty(context, kSortByName, plan_sort_by, problem, options);
  ops::Views views(context, kSortByName);
  views.read("in", ops::as_matrix(in));
  views.write("out", ops::as_matrix(out), "in");
  return launch(context, problem, in, out, options);
} catch (const Error& error) {
  ops::rethrow(kSortByName, "precedes", "an expression of a and b in OpenCL C", order.precedes, error);
}

}  // namespace smem
