// Moving means: grids -> problem -> launch, or two for each slice of the rows where windows are long.
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/moving_mean_checks.hpp"
#include "plan/sizes.hpp"

#include <smem/moving_mean.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace smem {

namespace {

cl::Event launch(const Context& context, const MovingMeanProblem& problem, const ConstGrid& in,
                 const Grid& out, MeanEnds ends, const CallOptions& options) {
  return ops::run(
      context, plan::kMovingMeanName, plan_moving_mean, problem, options, [&](const ops::Launching& launch) {
        // Of a round, where there are several.
        const std::size_t rows = launch.plan().rounds > 1 ? launch.plan().number("rows") : problem.rows;
        const std::size_t first = launch.round() * rows;
        launch(in, out, in.size.width, in.size.height, in.size.depth, first,
               std::min(rows, problem.rows - first), problem.window,
               static_cast<cl_uint>(ends == MeanEnds::zero ? 1 : 0), launch.scratch(0));
      });
}

}  // namespace

cl::Event moving_mean(const Context& context, const ConstGrid& in, const Grid& out, std::size_t window,
                      MeanEnds ends, const CallOptions& options) {
  for (const auto& [name, grid] : {std::pair<const char*, const ConstGrid*>{"in", &in}, {"out", &out}}) {
    if (grid->channels == 1) continue;
    ops::refuse(plan::kMovingMeanName, name, "one channel", std::to_string(grid->channels));
  }
  ops::check_same_grid(plan::kMovingMeanName, in, out);
  plan::require_known(plan::kMovingMeanName, "ends", ends, MeanEnds::zero);
  const MovingMeanProblem problem{ops::number_type(plan::kMovingMeanName, "in", in.type),
                                  ops::number_type(plan::kMovingMeanName, "out", out.type), in.size.width,
                                  plan::size_product(in.size.height, in.size.depth, in.batch), window};
  plan::check_moving_mean(context.device(), problem);
  if (ops::is_empty(in))
    return ops::run_empty(context, plan::kMovingMeanName, plan_moving_mean, problem, options);
  ops::check_grids(context, plan::kMovingMeanName, in, out);
  return launch(context, problem, in, out, ends, options);
}

}  // namespace smem
