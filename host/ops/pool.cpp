// Pooling: grids -> problem -> launch, and of large whole planes a second one.
#include "formatted.hpp"
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/pool_checks.hpp"
#include "plan/sizes.hpp"

#include <smem/pool.hpp>

#include <string>

namespace smem {

namespace {

std::size_t planes_of(const ConstGrid& in) { return plan::size_product(in.size.depth, in.batch); }

/// The arguments that all kernels take.
void bind(const ops::Launching& launch, const ConstGrid& in, const Grid& out, const Grid* given,
          const Pooling& w) {
  ConstGrid indices = given != nullptr ? ConstGrid(*given) : ConstGrid();
  if (indices.buffer == nullptr) indices.buffer = out.buffer;
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  launch(in, out, indices, in.size.width, in.size.height, out.size.width, out.size.height, in.size.depth,
         planes_of(in), small(w.window.width), small(w.window.height), small(w.stride.x), small(w.stride.y),
         small(w.padding.left), small(w.padding.top), small(launch.plan().number("band")), launch.scratch(0));
}

/// \throws Error naming `argument`, unless the grid has `size` cells and the channels and batch of `in`.
void check_size(const char* operation, const char* argument, const ConstGrid& in, const ConstGrid& grid,
                const GridSize& size) {
  if (grid.size == size && grid.channels == in.channels && grid.batch == in.batch) return;
  const auto text = [](const GridSize& s, std::size_t channels, std::size_t batch) {
    return formatted("{} x {} x {} cells of {} channels, batch {}", s.width, s.height, s.depth, channels,
                     batch);
  };
  ops::refuse(operation, argument, text(size, in.channels, in.batch),
              text(grid.size, grid.channels, grid.batch));
}

/// `indices`: where the places of the greatest are written; null: nowhere.
cl::Event run_pool(const Context& context, const char* operation, PoolOp op, const ConstGrid& in,
                   const Grid& out, const Grid* indices, const Pooling& pooling, const CallOptions& options) {
  PoolProblem problem;
  problem.op = op;
  problem.in = ops::number_type(operation, "in", in.type);
  problem.out = ops::number_type(operation, "out", out.type);
  problem.width = in.size.width;
  problem.height = in.size.height;
  problem.planes = planes_of(in);
  problem.channels = in.channels;
  problem.pooling = pooling;
  problem.indices = indices != nullptr;
  plan::check_pool(operation, context.device(), problem);
  const GridSize size{pooling.across(in.size.width), pooling.down(in.size.height), in.size.depth};
  check_size(operation, "out", in, out, size);
  if (indices != nullptr) {
    check_size(operation, "indices", in, *indices, size);
    const Scalar type = ops::number_type(operation, "indices", indices->type);
    if (type != Scalar::uint32) ops::refuse(operation, "indices", "uint32", std::string(name_of(type)));
  }
  if (ops::is_empty(in) || ops::is_empty(out))
    return ops::run_empty(context, operation, plan_pool, problem, options);
  const ops::Memories memories = ops::check_grids(context, operation, in, out);
  if (indices != nullptr) {
    const ops::Memory memory = ops::check_grid(context, operation, "indices", *indices, true);
    ops::check_apart(operation, in, memories.in, *indices, memory, "in", "indices");
    ops::check_apart(operation, out, memories.out, *indices, memory, "out", "indices");
  }
  problem.in_alignment = ops::row_alignment(in, memories.in);
  problem.out_alignment = ops::row_alignment(out, memories.out);
  return ops::run(context, operation, plan_pool, problem, options,
                  [&](const ops::Launching& launch) { bind(launch, in, out, indices, pooling); });
}

cl::Event run_global(const Context& context, const char* operation, PoolOp op, const ConstGrid& in,
                     const Grid& out, const CallOptions& options) {
  const bool packed = in.size.height <= 1 || in.pitch == in.row_elements();
  const GlobalPoolProblem problem{op,
                                  ops::number_type(operation, "in", in.type),
                                  ops::number_type(operation, "out", out.type),
                                  in.size.width,
                                  in.size.height,
                                  planes_of(in),
                                  in.channels,
                                  packed};
  plan::check_global_pool(operation, context.device(), problem);
  check_size(operation, "out", in, out, {1, 1, in.size.depth});
  if (problem.planes == 0) return ops::run_empty(context, operation, plan_global_pool, problem, options);
  if (ops::is_empty(in)) {
    ops::refuse(operation, "in", "planes with an element",
                formatted("{} x {}", in.size.width, in.size.height));
  }
  ops::check_grids(context, operation, in, out);
  return ops::run(context, operation, plan_global_pool, problem, options, [&](const ops::Launching& launch) {
    const std::size_t joined = launch.plan().number("joined");
    ConstGrid rows = in;
    rows.size.width *= joined;
    rows.size.height /= joined;
    rows.pitch *= joined;
    bind(launch, rows, out, nullptr, {{1, 1}, {1, 1}});
  });
}

}  // namespace

cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out, const Pooling& pooling,
                     const CallOptions& options) {
  return run_pool(context, "max_pool2d", PoolOp::max, in, out, nullptr, pooling, options);
}

cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out, const Grid& indices,
                     const Pooling& pooling, const CallOptions& options) {
  return run_pool(context, "max_pool2d", PoolOp::max, in, out, &indices, pooling, options);
}

cl::Event avg_pool2d(const Context& context, const ConstGrid& in, const Grid& out, const Pooling& pooling,
                     const CallOptions& options) {
  return run_pool(context, "avg_pool2d", PoolOp::average, in, out, nullptr, pooling, options);
}

cl::Event global_max_pool(const Context& context, const ConstGrid& in, const Grid& out,
                          const CallOptions& options) {
  return run_global(context, "global_max_pool", PoolOp::max, in, out, options);
}

cl::Event global_avg_pool(const Context& context, const ConstGrid& in, const Grid& out,
                          const CallOptions& options) {
  return run_global(context, "global_avg_pool", PoolOp::average, in, out, options);
}

}  // namespace smem
