// Reductions of runs of equal keys: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/reduce_by_key_types.hpp"
#include "plan/reduce_types.hpp"

#include <smem/error.hpp>
#include <smem/reduce_by_key.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace smem {

using ops::refuse;

namespace {

/// What a kernel is given besides the problem; see cl/reduce_by_key/operation.clh.
struct ReduceByKeyOperands {
  ConstVector keys, in;
  Vector unique_keys, out, count;
};

/// Elements that are only moved, as unsigned integers.
Scalar moved_type(const char* operation, const ElementType& type) {
  switch (type.bytes) {
    case 1:
      return Scalar::uint8;
    case 2:
      return Scalar::uint16;
    case 4:
      return Scalar::uint32;
    case 8:
      return Scalar::uint64;
    default:
      refuse(operation, "in", "elements of 1, 2, 4 or 8 bytes", formatted("{} bytes", type.bytes));
  }
}

void check_count(const ReduceByKeyProblem& problem, const ConstVector& count) {
  const char* operation = plan::operation_name(problem);
  const Scalar type = ops::number_type(operation, "count", count.type);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    refuse(operation, "count", "uint32 or uint64", std::string(name_of(type)));
  if (type == Scalar::uint32 && plan::is_wide(problem))
    refuse(operation, "count", formatted("uint64 for {} elements", problem.size), "uint32");
  if (count.size != 1) refuse(operation, "count", "1 element", count.size);
}

/// Checks all views. \returns the memory of `in`.
ops::Memory check_views(const Context& context, const char* operation, const ReduceByKeyOperands& o) {
  struct View {
    const char* name;
    ConstMatrix matrix;
    bool written;
    ops::Memory memory;
  };
  std::array<View, 5> views{{{"keys", ops::as_matrix(o.keys), false, {}},
                             {"in", ops::as_matrix(o.in), false, {}},
                             {"unique_keys", ops::as_matrix(o.unique_keys), true, {}},
                             {"out", ops::as_matrix(o.out), true, {}},
                             {"count", ops::as_matrix(o.count), true, {}}}};
  for (std::size_t v = 0; v < views.size(); ++v) {
    View& view = views[v];
    if (ops::is_empty(view.matrix)) continue;
    view.memory = ops::check_view(context, operation, view.name, view.matrix, view.written);
    if (!view.written) continue;
    for (std::size_t w = 0; w < v; ++w) {
      const View& other = views[w];
      if (ops::is_empty(other.matrix)) continue;
      ops::check_apart(operation, other.matrix, other.memory, view.matrix, view.memory, other.name,
                       view.name);
    }
  }
  return views[1].memory;
}

cl::Event check_and_launch(const Context& context, ReduceByKeyProblem problem, const ReduceByKeyOperands& o,
                           const CallOptions& options) try {
  const char* operation = plan::operation_name(problem);
  problem.keys = ops::number_type(operation, "keys", o.keys.type);
  if (problem.unique) {
    problem.in = problem.out = moved_type(operation, o.in.type);
    ops::check_type(operation, "out", o.out.type, o.in.type);
  } else {
    problem.in = ops::number_type(operation, "in", o.in.type);
    problem.out = ops::number_type(operation, "out", o.out.type);
  }
  problem.size = o.keys.size;
  plan::check_reduce_by_key(context.device(), problem);
  ops::check_size(operation, "in", o.in.size, o.keys.size, "keys");
  ops::check_type(operation, "unique_keys", o.unique_keys.type, o.keys.type, "keys");
  ops::check_room(operation, "unique_keys", o.unique_keys.size, problem.size);
  ops::check_room(operation, "out", o.out.size, problem.size);
  check_count(problem, o.count);
  const ops::Memory in_memory = check_views(context, operation, o);
  if (problem.size == 0) {
    const cl::Event ready = ops::run_empty(context, operation, plan_reduce_by_key, problem, options);
    return ops::fill_zero(context.runtime(), operation, o.count, {&ready, 1});
  }
  problem.in_alignment = std::min<std::size_t>(16, ops::row_alignment(ops::as_matrix(o.in), in_memory));
  const cl_uint wide_count = o.count.type.bytes == 8 ? 1 : 0;
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    launch(o.keys, o.in, problem.size, l.number("parts"), l.number("piece"), o.unique_keys, o.out, o.count,
           wide_count, launch.scratch(0));
  };
  return ops::run(context, operation, plan_reduce_by_key, problem, options, bind);
} catch (const Error& error) {
  ops::rethrow(plan::operation_name(problem), problem.operation, error);
}

/// Runs `call(count)` with a count of 64 bits, and waits for it.
template <class Call>
std::size_t counted(const Context& context, const char* operation, const Call& call) {
  std::uint64_t result = 0;
  ops::run_to_host(context, operation, std::as_writable_bytes(std::span(&result, 1)),
                   [&](cl_mem memory) { return call(Vector(memory, Scalar::uint64, 1)); });
  return result;
}

}  // namespace

cl::Event reduce_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                        const Vector& unique_keys, const Vector& out, const Vector& count,
                        const Reduction& operation, const CallOptions& options) {
  ReduceByKeyProblem problem;
  problem.operation = operation;
  return check_and_launch(context, problem, {keys, in, unique_keys, out, count}, options);
}
cl::Event unique_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                        const Vector& unique_keys, const Vector& out, const Vector& count,
                        const CallOptions& options) {
  ReduceByKeyProblem problem;
  problem.unique = true;
  return check_and_launch(context, problem, {keys, in, unique_keys, out, count}, options);
}

std::size_t reduce_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                          const Vector& unique_keys, const Vector& out, const Reduction& operation,
                          const CallOptions& options) {
  return counted(context, "reduce_by_key", [&](const Vector& count) {
    return reduce_by_key(context, keys, in, unique_keys, out, count, operation, options);
  });
}
std::size_t unique_by_key(const Context& context, const ConstVector& keys, const ConstVector& in,
                          const Vector& unique_keys, const Vector& out, const CallOptions& options) {
  return counted(context, "unique_by_key", [&](const Vector& count) {
    return unique_by_key(context, keys, in, unique_keys, out, count, options);
  });
}

}  // namespace smem
