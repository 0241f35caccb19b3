// Pooling: arguments -> plan -> launch, and of large whole planes a second one.
#include "formatted.hpp"
#include "ops/grids.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/pool_parts.hpp"
#include "plan/sizes.hpp"
#include "runtime/scratch.hpp"

#include <smem/error.hpp>
#include <smem/pool.hpp>

#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

PoolProblem problem_of(PoolOp op, const Grid& in, const Grid& out, const Pooling& windows) {
  PoolProblem problem;
  problem.op = op;
  problem.in = in.type;
  problem.out = out.type;
  problem.width = in.size.width;
  problem.height = in.size.height;
  problem.planes = plan::size_product(in.size.depth, in.batch);
  problem.channels = in.channels;
  problem.windows = windows;
  return problem;
}

runtime::ProblemKey key_of(const PoolProblem& p, const PlanOverrides& fixed, ops::PlanMaker maker,
                           std::uint64_t what) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const Pooling& w = p.windows;  // sizes are at most 2^20, paddings less
  return ops::make_key(
      maker,
      {number(p.in) | number(p.out) << 8 | number(p.op) << 16 | number(p.channels) << 18 |
           number(p.indices) << 22 | number(p.count_padding) << 23 | what << 24 |
           ops::variant_number(fixed.variant, pool_variants()) << 26 | number(p.in_alignment) << 34 |
           number(p.out_alignment) << 42 | number(p.packed) << 50,
       p.width, p.height, p.planes, w.width | w.height << 21 | w.pad_left << 42,
       w.stride_across | w.stride_down << 21 | w.pad_top << 42, w.pad_right | w.pad_bottom << 21},
      fixed);
}

/// Of whole planes tuning has classes of their own.
struct WholePlanes {
  const PoolProblem& problem;
};
TuningClass tuning_class(const WholePlanes& planes) { return global_pool_tuning_class(planes.problem); }

template <class MakePlan>
cl::Event launch(const Context& context, const runtime::ProblemKey& key, const MakePlan& make_plan,
                 std::span<const cl::Event> wait_for, const PoolProblem& p, const Grid& in, const Grid& out,
                 const Grid& indices, std::size_t band, cl_mem scratch) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const cl_mem places = indices.buffer != nullptr ? indices.buffer : out.buffer;
  const Pooling& w = p.windows;
  return context.runtime().run(
      key, make_plan, wait_for, in.buffer, number(in.offset), number(in.pitch), number(in.plane),
      number(in.batch_stride), out.buffer, number(out.offset), number(out.pitch), number(out.plane),
      number(out.batch_stride), places, number(indices.offset), number(indices.pitch), number(indices.plane),
      number(indices.batch_stride), number(p.width), number(p.height), number(out.size.width),
      number(out.size.height), number(in.size.depth), number(p.planes), small(w.width), small(w.height),
      small(w.stride_across), small(w.stride_down), small(w.pad_left), small(w.pad_top), small(band),
      scratch);
}

/// \throws Error naming `argument`, unless the grid has `size` cells and the channels and batch of `in`.
void check_size(const char* operation, const char* argument, const Grid& in, const Grid& grid,
                const GridSize& size) {
  if (grid.size == size && grid.channels == in.channels && grid.batch == in.batch) return;
  const auto text = [](const GridSize& s, std::size_t channels, std::size_t batch) {
    return formatted("{} x {} x {} cells of {} channels, batch {}", s.width, s.height, s.depth, channels,
                     batch);
  };
  throw Error({.operation = operation,
               .argument = argument,
               .expected = text(size, in.channels, in.batch),
               .got = text(grid.size, grid.channels, grid.batch)});
}

cl::Event run_pool(const Context& context, const char* operation, const Grid& in, const Grid& out,
                   const Grid& indices, bool with_indices, PoolProblem problem, const CallOptions& call) {
  problem.indices = with_indices;
  plan::check_pool(operation, context.device(), problem, false);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_pool(context.device(), problem, overrides);
  };
  const GridSize size{problem.windows.across(in.size.width), problem.windows.down(in.size.height),
                      in.size.depth};
  check_size(operation, "out", in, out, size);
  if (with_indices) {
    check_size(operation, "indices", in, indices, size);
    plan::require_known(operation, "indices", indices.type);
    if (indices.type != Scalar::uint32) {
      throw Error({.operation = operation,
                   .argument = "indices",
                   .expected = "uint32",
                   .got = std::string(name_of(indices.type))});
    }
  }
  runtime::Runtime& runtime = context.runtime();
  if (ops::is_empty(in) || ops::is_empty(out)) {
    plan_here(ops::overrides_of(context.runtime(), operation, call));  // a wrong choice is refused
    return runtime.marker(call.wait_for);
  }
  const ops::Memory in_memory = ops::check_grid(context, operation, "in", in, false);
  const ops::Memory out_memory = ops::check_grid(context, operation, "out", out, true);
  ops::check_apart(operation, in, in_memory, out, out_memory);
  if (with_indices) {
    const ops::Memory memory = ops::check_grid(context, operation, "indices", indices, true);
    ops::check_apart(operation, in, in_memory, indices, memory, "in", "indices");
    ops::check_apart(operation, out, out_memory, indices, memory, "out", "indices");
  }
  problem.in_alignment = ops::row_alignment(in, in_memory);
  problem.out_alignment = ops::row_alignment(out, out_memory);
  const auto key = [&](const PlanOverrides& fixed) {
    return key_of(problem, fixed, ops::PlanMaker::pool, 0);
  };
  const PlanOverrides asked = ops::checked_choice(runtime, operation, call, key, plan_here);
  return ops::launch_tuned(
      runtime, "pool", problem, call, asked, key, plan_here, [&](const PlanOverrides& fixed) {
        const auto make_plan = [&](const Device& device) { return plan_pool(device, problem, fixed); };
        const std::size_t band =
            runtime.memo().get(key(fixed), [&] { return plan::pool_band(context.device(), problem, fixed); });
        return launch(context, key(fixed), make_plan, call.wait_for, problem, in, out, indices, band,
                      out.buffer);
      });
}

cl::Event run_global(const Context& context, const char* operation, PoolOp op, const Grid& in,
                     const Grid& out, const CallOptions& call) {
  PoolProblem problem = problem_of(op, in, out, {1, 1, 1, 1});
  problem.packed = in.size.height <= 1 || in.pitch == in.row_elements();
  plan::check_pool(operation, context.device(), problem, true);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_global_pool_first(context.device(), problem, overrides);
  };
  const auto key = [&](const PlanOverrides& fixed, std::uint64_t first) {
    return key_of(problem, fixed, ops::PlanMaker::global_pool, first);
  };
  const auto key_here = [&](const PlanOverrides& fixed) { return key(fixed, 1); };
  runtime::Runtime& runtime = context.runtime();
  const PlanOverrides asked = ops::checked_choice(runtime, operation, call, key_here, plan_here);
  check_size(operation, "out", in, out, {1, 1, in.size.depth});
  if (problem.planes == 0) return runtime.marker(call.wait_for);
  if (ops::is_empty(in)) {
    throw Error({.operation = operation,
                 .argument = "in",
                 .expected = "planes with an element",
                 .got = formatted("{} x {}", in.size.width, in.size.height)});
  }
  const ops::Memory in_memory = ops::check_grid(context, operation, "in", in, false);
  const ops::Memory out_memory = ops::check_grid(context, operation, "out", out, true);
  ops::check_apart(operation, in, in_memory, out, out_memory);
  const plan::GlobalPoolParts parts = plan::global_pool_parts(context.device(), problem);
  runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes);
  const cl_mem memory = scratch.memory_or(out.buffer);
  return ops::launch_tuned(
      runtime, "global_pool", WholePlanes{problem}, call, asked, key_here, plan_here,
      [&](const PlanOverrides& fixed) {
        PoolProblem joined = problem;
        joined.width *= parts.joined;
        joined.height /= parts.joined;
        Grid rows = in;
        rows.pitch *= parts.joined;
        cl::Event first = launch(
            context, key(fixed, 1),
            [&](const Device& device) { return plan_global_pool_first(device, problem, fixed); },
            call.wait_for, joined, rows, out, {}, parts.band, memory);
        scratch.used_until(first);
        if (parts.parts == 1) return first;
        cl::Event event = launch(
            context, key(fixed, 0),
            [&](const Device& device) { return plan_global_pool(device, problem, fixed); },
            std::span<const cl::Event>(&first, 1), joined, rows, out, {}, parts.band, memory);
        scratch.used_until(event);
        return event;
      });
}

}  // namespace

cl::Event max_pool2d(const Context& context, const Grid& in, const Grid& out, const Pooling& windows,
                     const CallOptions& call) {
  return run_pool(context, "max_pool2d", in, out, {}, false, problem_of(PoolOp::max, in, out, windows), call);
}

cl::Event max_pool2d(const Context& context, const Grid& in, const Grid& out, const Grid& indices,
                     const Pooling& windows, const CallOptions& call) {
  return run_pool(context, "max_pool2d", in, out, indices, true, problem_of(PoolOp::max, in, out, windows),
                  call);
}

cl::Event avg_pool2d(const Context& context, const Grid& in, const Grid& out, const Pooling& windows,
                     bool count_padding, const CallOptions& call) {
  PoolProblem problem = problem_of(PoolOp::average, in, out, windows);
  problem.count_padding = count_padding;
  return run_pool(context, "avg_pool2d", in, out, {}, false, problem, call);
}

cl::Event global_max_pool(const Context& context, const Grid& in, const Grid& out, const CallOptions& call) {
  return run_global(context, "global_max_pool", PoolOp::max, in, out, call);
}

cl::Event global_avg_pool(const Context& context, const Grid& in, const Grid& out, const CallOptions& call) {
  return run_global(context, "global_avg_pool", PoolOp::average, in, out, call);
}

}  // namespace smem
