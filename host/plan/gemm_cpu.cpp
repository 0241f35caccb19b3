// The plan of gemm for CPUs.
#include "formatted.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace smem::plan::gemm {

namespace {

/// A tile of C, how deep its factors lie in local memory, and the block of it in vector registers.
struct CpuTile {
  std::size_t lanes, vectors, block_m, m, n, depth;
  bool direct;  ///< B is read where it lies

  std::size_t block_n() const { return lanes * vectors; }
  /// As cl/gemm/cpu.cl pads its tiles.
  std::size_t bytes(std::size_t value) const {
    constexpr std::size_t kPad = 16;
    return (m / block_m * (block_m * depth + kPad) + n / block_n() * (block_n() * depth + kPad) + m * n +
            block_m * block_n()) *
           value;
  }
};

/// Work-groups across and down C, and of the batch.
struct Cut {
  std::size_t across = 1, down = 1, products = 1;
};

/// Equal shares, with which the busiest thread is done first.
Cut cut(const Device& device, const GemmProblem& problem, const CpuTile& tile) {
  const CpuTiles& policy = policy_of(device).cpu;
  const std::size_t least_down = at_least_1(divide_up(problem.m, tile.m));
  const std::size_t least_across = at_least_1(divide_up(problem.n, tile.n));
  const double each = real(problem.m) * real(problem.n) * real(problem.k);
  Cut best{least_across, least_down, problem.batch};
  // A short product by one thread: another one takes longer to wake up.
  if (each * real(problem.batch) < policy.least_work) {
    best.products = 1;
    return best;
  }
  std::size_t least_work = std::numeric_limits<std::size_t>::max();
  for (std::size_t down = least_down; down < least_down + 4; ++down) {
    for (std::size_t across = least_across; across < least_across + 4; ++across) {
      const std::size_t rows = round_up(divide_up(problem.m, down), tile.block_m);
      const std::size_t cols = round_up(divide_up(problem.n, across), tile.block_n());
      const std::size_t turns = divide_up(down * across * problem.batch, device.compute_units);
      const std::size_t work = turns * (rows * cols + policy.brought * (rows + cols));
      if (work < least_work) {
        least_work = work;
        best.across = across;
        best.down = down;
      }
    }
  }
  // Several short products a group, as long as each thread has many.
  if (best.across * best.down == 1) {
    const auto wanted = static_cast<std::size_t>(policy.least_work / std::max(each, 1.0)) + 1;
    const std::size_t most = at_least_1(problem.batch / (policy.turns * at_least_1(device.compute_units)));
    best.products = at_least_1(divide_up(problem.batch, std::min(wanted, most)));
  }
  return best;
}

/// The rows of a block, of those that a policy allows, with which the rows of C take the least time: that of
/// all rows of the blocks, and for each block that of another row, in which the vectors of B come.
std::size_t block_rows(const std::array<std::size_t, 2>& range, std::size_t rows) {
  const auto [most, least] = range;
  std::size_t best = most, best_cost = std::numeric_limits<std::size_t>::max();
  for (std::size_t block = most; block >= least; --block) {
    const std::size_t cost = divide_up(at_least_1(rows), block) * (block + 1);
    if (cost <= best_cost) best = block, best_cost = cost;
  }
  return best;
}

/// The largest tile that local memory holds; nothing: none does.
std::optional<CpuTile> cpu_tile(const Device& device, const GemmProblem& problem) {
  const std::size_t value = size_of(value_type(problem.in));
  // A register of 64 bytes comes with 31 others, which vectors of 32 bytes use as well; one of 32 with 15.
  const CpuTiles& policy = policy_of(device).cpu;
  const bool only_narrow_dots = problem.in == Scalar::int8 && device.avx_vnni && !device.avx512_vnni;
  const bool wide = device.wide_vectors && !only_narrow_dots;
  const std::size_t most = wide ? policy.wide_vector_bytes : 32;
  const std::size_t vector_bytes = std::clamp<std::size_t>(device.vector_bytes, 16, most);
  const CpuBlocks& blocks = vector_bytes > 32           ? policy.wide
                            : device.vector_bytes == 32 ? policy.few_registers
                                                        : policy.narrow;
  const bool skinny = !problem.b_along_k && problem.m <= blocks.skinny.rows[0];
  const CpuBlock& block = skinny ? blocks.skinny : blocks.usual;
  CpuTile tile{vector_bytes / value,
               block.vectors,
               block_rows(block.rows, std::min(problem.m, policy.most_m)),
               0,
               policy.most_n,
               (vector_bytes > 32 ? policy.wide_depth_bytes : policy.depth_bytes) / value,
               false};
  tile.m = policy.most_m / tile.block_m * tile.block_m;
  // Packed numbers would be used once.
  if (!problem.b_along_k && problem.m <= tile.block_m) {
    tile.direct = true;
    tile.m = tile.block_m;
    tile.n = policy.direct_n;
    tile.depth = policy.direct_depth_bytes / value;
  }
  while (tile.bytes(value) > device.local_bytes) {
    if (tile.m >= tile.n && tile.m >= 2 * tile.block_m) {
      tile.m = tile.m / (2 * tile.block_m) * tile.block_m;
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

/// Lanes of the vectors that pay here.
std::size_t lanes_of(const Device& device, const GemmProblem& problem) {
  const std::size_t most = device.wide_vectors ? policy_of(device).cpu.wide_vector_bytes : 32;
  return std::clamp<std::size_t>(device.vector_bytes, 16, most) / size_of(value_type(problem.in));
}

/// What cl/gemm/dots.cl multiplies at once.
struct Dots {
  bool few_of_a;  ///< whether the few lines are rows of A
  std::size_t few, depth, lines;

  std::size_t bytes(std::size_t value) const { return few * (depth + lines) * value; }
};

/// Nothing: C has too many rows and columns, or the other factor does not lie along k.
std::optional<Dots> dots_of(const Device& device, const GemmProblem& problem) {
  const CpuTiles& policy = policy_of(device).cpu;
  const bool of_a = problem.b_along_k && problem.m <= policy.most_few;
  const bool of_b = problem.a_along_k && problem.n <= policy.most_few;
  if (!(of_a || of_b) || problem.k < policy.least_dot || problem.in == Scalar::int8) return std::nullopt;
  const bool few_of_a = of_a && (!of_b || problem.m <= problem.n);
  const std::size_t value = size_of(value_type(problem.in));
  const Dots dots{few_of_a, at_least_1(few_of_a ? problem.m : problem.n), policy.dot_bytes / value,
                  policy.most_long};
  if (dots.bytes(value) > device.local_bytes) return std::nullopt;
  return dots;
}

Attempt by_dots(const Device& device, const GemmProblem& problem, const Dots& dots) {
  const CpuTiles& policy = policy_of(device).cpu;
  const std::size_t all = dots.few_of_a ? problem.n : problem.m, value = size_of(value_type(problem.in));
  const double each = real(problem.m) * real(problem.n) * real(problem.k);
  const std::size_t least = at_least_1(divide_up(all, dots.lines)), units = at_least_1(device.compute_units);
  // Shares for all threads, of which each is worth a work-group.
  const bool is_short = each * real(problem.batch) < policy.least_work;
  const std::size_t groups = is_short || problem.batch >= units ? least : round_up(least, units);
  const std::size_t products = is_short ? 1 : problem.batch;
  if (products > kMaxTiles || groups > kMaxTiles) return "more tiles than a launch has work-groups";
  Plan plan = base_plan(problem, "cpu", "gemm/dots.cl", "gemm_dots");
  plan.global = {groups, 1, products};
  const std::size_t share = divide_up(all, groups);
  plan.tile_rows = dots.few_of_a ? dots.few : at_least_1(share);
  plan.tile_cols = dots.few_of_a ? at_least_1(share) : dots.few;
  plan.items_per_work_item = plan.tile_rows * plan.tile_cols;
  plan.vector_width = lanes_of(device, problem);
  plan.local_bytes = dots.bytes(value);
  define(plan, {{"LANES", plan.vector_width},
                {"FEW_OF_A", dots.few_of_a},
                {"FEW", dots.few},
                {"DEPTH", dots.depth},
                {"LONG", dots.lines}});
  plan.evidence = policy_of(device).cpu_evidence.text(device);
  plan.reason =
      formatted("dot products: C has {} {}, and a line of the other factor is read once, where it lies",
                dots.few_of_a ? problem.m : problem.n, dots.few_of_a ? "row(s)" : "column(s)");
  return plan;
}

}  // namespace

bool runs_on_cpu(const Device& device, const GemmProblem& problem) {
  return runs_cpu_variant(device) && !is_fp8(problem.in) && cpu_tile(device, problem);
}

Attempt cpu(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  refuse_tile(fixed, "cpu");
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (const std::optional<Dots> dots = dots_of(device, problem)) return by_dots(device, problem, *dots);
  const std::optional<CpuTile> found = cpu_tile(device, problem);
  if (!found) return no_tile_fits(device);
  const CpuTile& tile = *found;
  const std::size_t value = size_of(value_type(problem.in));
  const auto [across, down, products] = cut(device, problem, tile);
  if (products > kMaxTiles || down > kMaxTiles || across > kMaxTiles)
    return "more tiles than a launch has work-groups";
  Plan plan = base_plan(problem, "cpu", "gemm/cpu.cl", "gemm_cpu");
  plan.global = {across, down, products};
  plan.tile_rows = round_up(at_least_1(divide_up(problem.m, down)), tile.block_m);
  plan.tile_cols = round_up(at_least_1(divide_up(problem.n, across)), tile.block_n());
  plan.items_per_work_item = plan.tile_rows * plan.tile_cols;
  plan.vector_width = tile.lanes;
  plan.local_bytes = tile.bytes(value);
  define(plan, {{"LANES", tile.lanes},
                {"VECTORS", tile.vectors},
                {"BLOCK_M", tile.block_m},
                {"TILE_M", tile.m},
                {"TILE_N", tile.n},
                {"DEPTH", tile.depth},
                {"B_DIRECT", tile.direct}});
  const CpuTiles& policy = policy_of(device).cpu;
  const bool wide = tile.lanes * value > 32;
  define(plan, "FEW_VALUES", (wide ? policy.wide_by_rows_bytes : policy.by_rows_bytes) / value);
  if (problem.in == Scalar::int8) {
    const bool by_avx = device.avx_vnni && tile.lanes * value <= 32;
    define(plan, {{"DOT", by_avx ? 2 : device.avx512_vnni ? 1 : 0}});
  }
  // Each tile reads its rows of A and columns of B.
  const auto number = [](std::size_t n) { return real(n); };
  const double read = number(problem.batch) * number(problem.k) * number(size_of(problem.in)) *
                      (number(across) * number(problem.m) + number(down) * number(problem.n));
  plan.prediction.bytes_read += read - number(problem.batch) * number(problem.k) *
                                           number(problem.m + problem.n) * number(size_of(problem.in));
  plan.evidence = policy_of(device).cpu_evidence.text(device);
  plan.reason = formatted("a thread makes tiles of {} x {} in its cache, {} x {} at a time in registers",
                          plan.tile_rows, plan.tile_cols, tile.block_m, tile.block_n());
  if (tile.direct) plan.reason += "; it reads B where it lies";
  return plan;
}

}  // namespace smem::plan::gemm
