// Selections: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/custom.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/select_types.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/select.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

/// What a kernel of select is given besides the problem; see cl/select/operation.clh.
struct SelectOperands {
  ConstVector in, flags, lengths;
  Vector out, count;
};

bool has_lengths(const SelectProblem& problem) { return problem.op == SelectOp::run_length_encode; }

cl::Event launch(const Context& context, const SelectProblem& problem, const SelectOperands& o,
                 const CallOptions& options) {
  const auto is_wide = [](const ConstVector& counts) -> cl_uint { return counts.type.bytes == 8 ? 1 : 0; };
  ConstVector flags = o.flags, lengths = o.lengths;
  if (!plan::is_flagged(problem.op)) flags.buffer = nullptr;
  if (!has_lengths(problem)) lengths.buffer = nullptr;
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    launch(runtime::packed(o.in, flags, problem.size, l.number("parts"), l.number("piece"), o.out, lengths,
                           is_wide(lengths), o.count, is_wide(o.count), launch.scratch(0), launch.epoch()));
  };
  return ops::run(context, plan::operation_name(problem), plan_select, problem, options, bind);
}

/// The checks that all operations share, and the launch.
cl::Event check_and_launch(const Context& context, SelectProblem problem, const SelectOperands& o,
                           const CallOptions& options) try {
  const char* operation = plan::operation_name(problem);
  problem.in = ops::number_type(operation, "in", o.in.type);
  problem.size = o.in.size;
  const bool flagged = plan::is_flagged(problem.op);
  if (flagged) problem.flags = ops::number_type(operation, "flags", o.flags.type);
  plan::check_select(context.device(), problem);
  const char* out_name = has_lengths(problem) ? "values" : "out";
  const auto require_room = [&](const char* name, const ConstVector& view) {
    if (view.size >= problem.size) return;
    refuse(plan::operation_name(problem), name, formatted("at least {} elements, as in has", problem.size),
           view.size);
  };
  const auto require_counter = [&](const char* name, const ConstVector& view) {
    const Scalar type = ops::number_type(operation, name, view.type);
    if (type != Scalar::uint32 && type != Scalar::uint64)
      refuse(plan::operation_name(problem), name, "uint32 or uint64", std::string(name_of(type)));
    if (type == Scalar::uint32 && plan::is_wide(problem)) {
      refuse(plan::operation_name(problem), name, formatted("uint64 for {} elements", problem.size),
             "uint32");
    }
  };
  ops::check_type(operation, out_name, o.out.type, o.in.type);
  require_room(out_name, o.out);
  if (flagged) ops::check_size(operation, "flags", o.flags.size, o.in.size);
  if (has_lengths(problem)) {
    require_counter("lengths", o.lengths);
    require_room("lengths", o.lengths);
  }
  require_counter("count", o.count);
  if (o.count.size != 1) refuse(plan::operation_name(problem), "count", "1 element", o.count.size);

  struct View {
    const char* name;
    ConstMatrix matrix;
    bool written;
    ops::Memory memory;
  };
  std::vector<View> views;
  const auto check = [&](const char* name, const ConstVector& vector, bool written) {
    const ConstMatrix matrix = ops::as_matrix(vector);
    if (ops::is_empty(matrix)) return;
    const ops::Memory memory = ops::check_view(context, operation, name, matrix, written);
    for (const View& other : views) {
      if (written || other.written)
        ops::check_apart(operation, other.matrix, other.memory, matrix, memory, other.name, name);
    }
    views.push_back({name, matrix, written, memory});
  };
  check("in", o.in, false);
  if (flagged) check("flags", o.flags, false);
  check(out_name, o.out, true);
  if (has_lengths(problem)) check("lengths", o.lengths, true);
  check("count", o.count, true);

  if (problem.size == 0) {
    const cl::Event ready = ops::run_empty(context, operation, plan_select, problem, options);
    return ops::fill_zero(context.runtime(), operation, o.count, {&ready, 1});
  }
  const auto alignment = [](const View& view) {
    return std::min<std::size_t>(16, ops::row_alignment(view.matrix, view.memory));
  };
  problem.in_alignment = alignment(views[0]);
  if (flagged) problem.flags_alignment = alignment(views[1]);
  return launch(context, problem, o, options);
} catch (const Error& error) {
  ops::rethrow(plan::operation_name(problem),
               plan::is_by_predicate(problem.op) ? problem.predicate : std::string(), error);
}

SelectProblem problem_of(SelectOp op, const std::string& predicate = {}) {
  SelectProblem problem;
  problem.op = op;
  problem.predicate = predicate;
  return problem;
}

/// Runs `call(count)` with a count of 64 bits, and waits for it.
template <class Call>
std::size_t counted(const Context& context, SelectOp op, const Call& call) {
  std::uint64_t result = 0;
  ops::run_to_host(context, name_of(op).data(), std::as_writable_bytes(std::span(&result, 1)),
                   [&](cl_mem memory) { return call(Vector(memory, Scalar::uint64, 1)); });
  return result;
}

}  // namespace

cl::Event copy_if(const Context& context, const ConstVector& in, const Vector& out, const Vector& count,
                  const std::string& predicate, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::copy_if, predicate), {in, {}, {}, out, count},
                          options);
}
cl::Event copy_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                       const Vector& out, const Vector& count, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::copy_flagged), {in, flags, {}, out, count}, options);
}

cl::Event partition(const Context& context, const ConstVector& in, const Vector& out, const Vector& count,
                    const std::string& predicate, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::partition, predicate), {in, {}, {}, out, count},
                          options);
}
cl::Event partition_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                            const Vector& out, const Vector& count, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::partition_flagged), {in, flags, {}, out, count},
                          options);
}

cl::Event partition_reversed(const Context& context, const ConstVector& in, const Vector& out,
                             const Vector& count, const std::string& predicate, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::partition_reversed, predicate),
                          {in, {}, {}, out, count}, options);
}
cl::Event partition_flagged_reversed(const Context& context, const ConstVector& in, const ConstVector& flags,
                                     const Vector& out, const Vector& count, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::partition_flagged_reversed),
                          {in, flags, {}, out, count}, options);
}

cl::Event unique(const Context& context, const ConstVector& in, const Vector& out, const Vector& count,
                 const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::unique), {in, {}, {}, out, count}, options);
}
cl::Event run_length_encode(const Context& context, const ConstVector& in, const Vector& values,
                            const Vector& lengths, const Vector& count, const CallOptions& options) {
  return check_and_launch(context, problem_of(SelectOp::run_length_encode), {in, {}, lengths, values, count},
                          options);
}

std::size_t copy_if(const Context& context, const ConstVector& in, const Vector& out,
                    const std::string& predicate, const CallOptions& options) {
  return counted(context, SelectOp::copy_if,
                 [&](const Vector& count) { return copy_if(context, in, out, count, predicate, options); });
}
std::size_t copy_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                         const Vector& out, const CallOptions& options) {
  return counted(context, SelectOp::copy_flagged,
                 [&](const Vector& count) { return copy_flagged(context, in, flags, out, count, options); });
}
std::size_t partition(const Context& context, const ConstVector& in, const Vector& out,
                      const std::string& predicate, const CallOptions& options) {
  return counted(context, SelectOp::partition,
                 [&](const Vector& count) { return partition(context, in, out, count, predicate, options); });
}
std::size_t partition_flagged(const Context& context, const ConstVector& in, const ConstVector& flags,
                              const Vector& out, const CallOptions& options) {
  return counted(context, SelectOp::partition_flagged, [&](const Vector& count) {
    return partition_flagged(context, in, flags, out, count, options);
  });
}
std::size_t partition_reversed(const Context& context, const ConstVector& in, const Vector& out,
                               const std::string& predicate, const CallOptions& options) {
  return counted(context, SelectOp::partition_reversed, [&](const Vector& count) {
    return partition_reversed(context, in, out, count, predicate, options);
  });
}
std::size_t partition_flagged_reversed(const Context& context, const ConstVector& in,
                                       const ConstVector& flags, const Vector& out,
                                       const CallOptions& options) {
  return counted(context, SelectOp::partition_flagged_reversed, [&](const Vector& count) {
    return partition_flagged_reversed(context, in, flags, out, count, options);
  });
}
std::size_t unique(const Context& context, const ConstVector& in, const Vector& out,
                   const CallOptions& options) {
  return counted(context, SelectOp::unique,
                 [&](const Vector& count) { return unique(context, in, out, count, options); });
}
std::size_t run_length_encode(const Context& context, const ConstVector& in, const Vector& values,
                              const Vector& lengths, const CallOptions& options) {
  return counted(context, SelectOp::run_length_encode, [&](const Vector& count) {
    return run_length_encode(context, in, values, lengths, count, options);
  });
}

}  // namespace smem
