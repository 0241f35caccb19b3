// Merges of sorted vectors: views -> problem -> launch.
#include <smem/merge.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"

#include <bit>

namespace smem {

namespace {

struct MergeOperands {
  ConstVector a, a_values, b, b_values, out, out_values;
};

cl::Event merge_of(const Context& context, const char* operation, bool pairs, const MergeOperands& o,
                   const SortOrder& order, const CallOptions& options) {
  MergeProblem problem;
  problem.keys = ops::number_type(operation, "a", o.a.type);
  ops::check_type(operation, "b", o.b.type, o.a.type, "a");
  const char* out_name = pairs ? "out_keys" : "out";
  ops::check_type(operation, out_name, o.out.type, o.a.type, "a");
  problem.size = detail::size_sum(o.a.size, o.b.size);
  ops::set_order(problem, order);
  const std::size_t end_bit = ops::checked_end_bit(operation, problem.keys, order);
  ops::check_size(operation, out_name, o.out.size, problem.size, "both");
  if (pairs) {
    problem.value_bytes = o.a_values.type.bytes;
    if (problem.value_bytes == 0 || problem.value_bytes > 16)
      ops::refuse(operation, "a_values", "elements of 1 to 16 bytes", problem.value_bytes);
    ops::check_size(operation, "a_values", o.a_values.size, o.a.size, "a");
    ops::check_type(operation, "b_values", o.b_values.type, o.a_values.type, "a_values");
    ops::check_size(operation, "b_values", o.b_values.size, o.b.size, "b");
    ops::check_type(operation, "out_values", o.out_values.type, o.a_values.type, "a_values");
    ops::check_size(operation, "out_values", o.out_values.size, problem.size, "both");
  }
  if (problem.size == 0) return ops::run_empty(context, operation, plan_merge, problem, options);
  ops::Views views(context, operation);
  if (o.a.size > 0) views.read("a", ops::as_matrix(o.a));
  if (o.b.size > 0) views.read("b", ops::as_matrix(o.b));
  if (pairs && o.a.size > 0) views.read("a_values", ops::as_matrix(o.a_values));
  if (pairs && o.b.size > 0) views.read("b_values", ops::as_matrix(o.b_values));
  views.write(out_name, ops::as_matrix(o.out));
  if (pairs) views.write("out_values", ops::as_matrix(o.out_values));

  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const std::size_t parts = pairs ? problem.value_bytes >> std::countr_zero(problem.value_bytes | 8) : 0;
  // A vector of no elements may have no buffer.
  const auto buffer = [&](const ConstVector& view, cl_mem other) {
    return view.size > 0 ? view.buffer : other;
  };
  const auto bind = [&](const ops::Launching& launch) {
    const cl_mem a = buffer(o.a, o.b.buffer), b = buffer(o.b, a);
    launch(a, number(o.a.offset), number(o.a.size), b, number(o.b.offset), number(o.b.size), o.out.buffer,
           number(o.out.offset), buffer(o.a_values, a), number(o.a_values.offset * parts),
           buffer(o.b_values, b), number(o.b_values.offset * parts), buffer(o.out_values, o.out.buffer),
           number(o.out_values.offset * parts), static_cast<cl_uint>(order.begin_bit),
           static_cast<cl_uint>(end_bit), number(launch.launch().number("piece")), launch.scratch(0));
  };
  return ops::run(context, operation, plan_merge, problem, options, bind);
}

}  // namespace

cl::Event merge(const Context& context, const ConstVector& a, const ConstVector& b, const Vector& out,
                const SortOrder& order, const CallOptions& options) {
  return merge_of(context, "merge", false, {a, {}, b, {}, out, {}}, order, options);
}

cl::Event merge_pairs(const Context& context, const ConstVector& a, const ConstVector& a_values,
                      const ConstVector& b, const ConstVector& b_values, const Vector& out_keys,
                      const Vector& out_values, const SortOrder& order, const CallOptions& options) {
  return merge_of(context, "merge_pairs", true, {a, a_values, b, b_values, out_keys, out_values}, order,
                  options);
}

}  // namespace smem
