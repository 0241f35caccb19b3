// Searches in sorted vectors: views -> problem -> launch.
#include <smem/bounds.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "runtime/status.hpp"

#include <span>

namespace smem {

namespace {

BoundsProblem problem_of(BoundsOp op, const char* argument, const ConstVector& sorted,
                         const SortOrder& order) {
  BoundsProblem problem;
  problem.op = op;
  problem.keys = ops::number_type(name_of(op).data(), argument, sorted.type);
  problem.size = sorted.size;
  ops::set_order(problem, order);
  return problem;
}

cl::Event bounds_of(const Context& context, BoundsOp op, const ConstVector& sorted, const ConstVector& keys,
                    const Vector& places, const SortOrder& order, const CallOptions& options) {
  const char* operation = name_of(op).data();
  BoundsProblem problem = problem_of(op, "sorted", sorted, order);
  ops::check_type(operation, "keys", keys.type, sorted.type, "sorted");
  ops::require_places(operation, places.type);
  problem.places = *places.type.scalar;
  problem.count = keys.size;
  const std::size_t end_bit = ops::checked_end_bit(operation, problem.keys, order);
  ops::check_size(operation, "places", places.size, keys.size, "keys");
  if (keys.size == 0) return ops::run_empty(context, operation, plan_bounds, problem, options);
  ops::Views views(context, operation);
  if (sorted.size > 0) views.read("sorted", ops::as_matrix(sorted));
  views.read("keys", ops::as_matrix(keys));
  views.write("places", ops::as_matrix(places));
  return ops::run(context, operation, plan_bounds, problem, options, [&](const ops::Launching& launch) {
    launch(sorted.size > 0 ? sorted.buffer : keys.buffer, sorted.offset, sorted.size, keys.buffer,
           keys.offset, keys.size, places.buffer, places.offset, static_cast<cl_uint>(order.begin_bit),
           static_cast<cl_uint>(end_bit));
  });
}

}  // namespace

cl::Event lower_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                      const Vector& places, const SortOrder& order, const CallOptions& options) {
  return bounds_of(context, BoundsOp::lower_bound, sorted, keys, places, order, options);
}

cl::Event upper_bound(const Context& context, const ConstVector& sorted, const ConstVector& keys,
                      const Vector& places, const SortOrder& order, const CallOptions& options) {
  return bounds_of(context, BoundsOp::upper_bound, sorted, keys, places, order, options);
}

bool is_sorted(const Context& context, const ConstVector& keys, const SortOrder& order,
               const CallOptions& options) {
  constexpr const char* kOperation = "is_sorted";
  BoundsProblem problem = problem_of(BoundsOp::is_sorted, "keys", keys, order);
  problem.count = keys.size;
  const std::size_t end_bit = ops::checked_end_bit(kOperation, problem.keys, order);
  if (keys.size == 0) {
    ops::run_empty(context, kOperation, plan_bounds, problem, options).wait();
    return true;
  }
  ops::check_view(context, kOperation, "keys", ops::as_matrix(keys), false);
  const cl_uint is_not = ops::read_flag(context, kOperation, [&](cl_mem flag) {
    return ops::run(context, kOperation, plan_bounds, problem, options, [&](const ops::Launching& launch) {
      launch(keys.buffer, keys.offset, keys.size, keys.buffer, keys.offset, keys.size, flag, std::size_t{0},
             static_cast<cl_uint>(order.begin_bit), static_cast<cl_uint>(end_bit));
    });
  });
  return is_not == 0;
}

}  // namespace smem
