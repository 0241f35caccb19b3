// The plan of gemm for CPUs.
#include "formatted.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace smem::plan::gemm {

namespace {

constexpr std::size_t kBlockM = 6;  // as cl/gemm/cpu.cl has it

/// A tile of C, and how deep its factors lie in local memory.
struct CpuTile {
  std::size_t lanes, vectors, m, n, depth;

  std::size_t block_n() const { return lanes * vectors; }
  std::size_t bytes(std::size_t value) const { return (depth * (m + n) + m * n) * value; }
};

/// Tiles down and across C: equal shares, with which the busiest thread is done first.
std::pair<std::size_t, std::size_t> cut(const Device& device, const GemmProblem& problem,
                                        const CpuTile& tile) {
  const std::size_t least_down = at_least_1(divide_up(problem.m, tile.m));
  const std::size_t least_across = at_least_1(divide_up(problem.n, tile.n));
  std::pair<std::size_t, std::size_t> best{least_down, least_across};
  std::size_t least_work = std::numeric_limits<std::size_t>::max();
  for (std::size_t down = least_down; down < least_down + 4; ++down) {
    for (std::size_t across = least_across; across < least_across + 4; ++across) {
      const std::size_t rows = round_up(divide_up(problem.m, down), kBlockM);
      const std::size_t cols = round_up(divide_up(problem.n, across), tile.block_n());
      const std::size_t turns = divide_up(down * across * problem.batch, device.compute_units);
      const std::size_t work = turns * (rows * cols + policy_of(device).cpu.brought * (rows + cols));
      if (work < least_work) {
        least_work = work;
        best = {down, across};
      }
    }
  }
  return best;
}

/// The largest tile that local memory holds; nothing: none does.
std::optional<CpuTile> cpu_tile(const Device& device, const GemmProblem& problem) {
  const std::size_t value = size_of(value_type(problem.in));
  // A register of 64 bytes comes with 31 others, which vectors of 32 bytes use as well; one of 32 with 15.
  const CpuTiles& policy = policy_of(device).cpu;
  // Measured for floats only.
  const bool wide = device.wide_vectors && problem.in == Scalar::float32;
  const std::size_t most = wide ? policy.wide_vector_bytes : 32;
  const std::size_t vector_bytes = std::clamp<std::size_t>(device.vector_bytes, 16, most);
  CpuTile tile{vector_bytes / value, device.vector_bytes == 32 ? 2u : 4u, policy.most_m, policy.most_n,
               (vector_bytes > 32 ? policy.wide_depth_bytes : policy.depth_bytes) / value};
  while (tile.bytes(value) > device.local_bytes) {
    if (tile.m >= tile.n && tile.m % (2 * kBlockM) == 0) {
      tile.m /= 2;
    } else if (tile.n > tile.block_n()) {
      tile.n /= 2;
    } else if (tile.depth > 16) {
      tile.depth /= 2;
    } else {
      return std::nullopt;
    }
  }
  return tile;
}

}  // namespace

bool runs_on_cpu(const Device& device, const GemmProblem& problem) {
  return runs_cpu_variant(device) && cpu_tile(device, problem);
}

Attempt cpu(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  refuse_tile(fixed, "cpu");
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const std::optional<CpuTile> found = cpu_tile(device, problem);
  if (!found) return no_tile_fits(device);
  const CpuTile& tile = *found;
  const std::size_t value = size_of(value_type(problem.in));
  const auto [down, across] = cut(device, problem, tile);
  if (problem.batch > kMaxTiles || down > kMaxTiles || across > kMaxTiles)
    return "more tiles than a launch has work-groups";
  Plan plan = base_plan(problem, "cpu", "gemm/cpu.cl", "gemm_cpu");
  plan.global = {across, down, problem.batch};
  plan.tile_rows = round_up(at_least_1(divide_up(problem.m, down)), kBlockM);
  plan.tile_cols = round_up(at_least_1(divide_up(problem.n, across)), tile.block_n());
  plan.items_per_work_item = plan.tile_rows * plan.tile_cols;
  plan.vector_width = tile.lanes;
  plan.local_bytes = tile.bytes(value);
  define(plan, {{"LANES", tile.lanes},
                {"VECTORS", tile.vectors},
                {"TILE_M", tile.m},
                {"TILE_N", tile.n},
                {"DEPTH", tile.depth}});
  // Each tile reads its rows of A and columns of B.
  const auto number = [](std::size_t n) { return real(n); };
  const double read = number(problem.batch) * number(problem.k) * number(size_of(problem.in)) *
                      (number(across) * number(problem.m) + number(down) * number(problem.n));
  plan.prediction.bytes_read += read - number(problem.batch) * number(problem.k) *
                                           number(problem.m + problem.n) * number(size_of(problem.in));
  plan.evidence = policy_of(device).cpu_evidence.text(device);
  plan.reason = formatted("a thread makes tiles of {} x {} in its cache, {} x {} at a time in registers",
                          plan.tile_rows, plan.tile_cols, kBlockM, tile.block_n());
  return plan;
}

}  // namespace smem::plan::gemm
