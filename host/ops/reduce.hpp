/// The way of a reduction from checked shapes to its launches, for all functions that are reductions.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/view.hpp>

namespace smem::ops {

/// What a kernel of reduce is given besides the problem; see cl/reduce/input.clh.
struct ReduceOperands {
  ConstMatrix in;
  ConstVector other, bounds;
  Vector out;
};

/// Checks views, types and options, and launches. An `in` without elements is left out of the checks.
cl::Event reduce(const Context& context, ReduceProblem problem, const ReduceOperands& operands,
                 const CallOptions& options);

}  // namespace smem::ops
