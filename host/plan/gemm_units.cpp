// The plan of gemm for the matrix units of AMD and Intel.
#include "formatted.hpp"
#include "plan/gemm_units_policy.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include <string>
#include <vector>

namespace smem::plan::gemm {

namespace {

constexpr std::size_t kLineBytes = 16;  // that a lane reads and writes at once

/// A tile that fits a device.
struct Sizes {
  TileShape shape;  ///< m, n and k
  UnitShape unit;
  std::size_t group;  ///< work-items
  std::size_t bytes;  ///< of local memory
};

/// Without layouts, which take longer than all else: their bytes follow from the padding.
Sizes sizes_of(const Device& device, const GemmProblem& problem, const units::Tile& tile,
               std::size_t row_bytes) {
  const std::size_t item_bytes = size_of(problem.in);
  Sizes sizes{};
  sizes.unit = shape_of(device.matrix_unit, problem.in, tile.unit_m);
  sizes.group = tile.subs_m * tile.subs_n * sizes.unit.lanes;
  sizes.shape = {tile.m(), tile.n(), row_bytes / item_bytes, 1, 1, tile.speed};
  sizes.bytes = 2 * (tile.m() + tile.n()) * (row_bytes + kLineBytes);
  if (device.emulated_unit) sizes.bytes += tile.subs_m * tile.subs_n * sizes.unit.emulated_bytes;
  return sizes;
}

bool fits(const Device& device, const Sizes& sizes) {
  return sizes.bytes <= device.local_bytes && sizes.group <= device.max_work_group &&
         sizes.group <= device.max_work_items[0];
}

/// The tile with which C takes the least time, by best_tile(); null: none fits.
const units::Tile* best_unit_tile(const Device& device, const GemmProblem& problem) {
  const units::Policy& policy = units::policy_of(device);
  const units::Tile* best = nullptr;
  double least = 0;
  for (const units::Tile& tile : policy.tiles) {
    const Sizes sizes = sizes_of(device, problem, tile, policy.row_bytes);
    if (!fits(device, sizes)) continue;
    const std::size_t rounds = divide_up(count_tiles(problem, sizes.shape), at_least_1(device.compute_units));
    const double time = real(rounds, tile.m() * tile.n()) / tile.speed;
    if (best != nullptr && time >= least) continue;
    least = time;
    best = &tile;
  }
  return best;
}

}  // namespace

LocalLayout rows_along_k(const Device& device, std::size_t rows, std::size_t cols, std::size_t item_bytes,
                         std::size_t unit_rows, std::size_t group) {
  const std::size_t line = kLineBytes / item_bytes, across = cols / line;
  const Access store{"lines from global memory", true, line, [=](std::size_t item) {
                       return Item{item / across % rows, item % across * line};
                     }};
  const Access load{"fragments", false, line, [=](std::size_t item) {
                      return Item{item % unit_rows, item / unit_rows % across * line};
                    }};
  return infer_layout(device, {rows, cols, item_bytes, group, {store, load}, line},
                      {.kind = Kind::padded, .padding = line});
}

std::string no_units(const Device& device, const GemmProblem& problem) {
  if (device.matrix_unit == MatrixUnit::none) return "needs a matrix unit of AMD or Intel";
  return unit_multiplies(problem.in) ? std::string() : "multiplies half, bfloat16 and int8";
}

const TileShape* unit_tile(const Device& device, const GemmProblem& problem, TileShape& shape) {
  const units::Tile* tile = no_units(device, problem).empty() ? best_unit_tile(device, problem) : nullptr;
  if (tile == nullptr) return nullptr;
  shape = sizes_of(device, problem, *tile, units::policy_of(device).row_bytes).shape;
  return &shape;
}

void count_for_matrix_units(const GemmProblem& problem, Plan& plan) {
  plan.prediction.matrix_operations =
      2 * real(problem.m) * real(problem.n) * real(problem.k) * real(problem.batch);
  plan.prediction.operations = 0;
}

Attempt matrix_units(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
                     const Split& split) {
  refuse_tile(fixed, "matrix_units");
  if (std::string reason = no_units(device, problem); !reason.empty()) return reason;
  const units::Policy& policy = units::policy_of(device);
  const units::Tile* tile = best_unit_tile(device, problem);
  if (tile == nullptr) return no_tile_fits(device);
  const Sizes sizes = sizes_of(device, problem, *tile, policy.row_bytes);
  const std::size_t groups = count_tiles(problem, sizes.shape, split.parts);
  if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);

  const std::size_t item_bytes = size_of(problem.in);
  const LocalLayout a = rows_along_k(device, tile->m(), sizes.shape.k, item_bytes, sizes.unit.m, sizes.group);
  const LocalLayout b = rows_along_k(device, tile->n(), sizes.shape.k, item_bytes, sizes.unit.n, sizes.group);
  const bool in_parts = split.parts > 1;
  GemmProblem of_sums = problem;
  if (in_parts) of_sums.epilogue = false;
  Plan plan = base_plan(of_sums, "matrix_units", "gemm/matrix_units.cl", "gemm_matrix_units");
  if (in_parts) define(plan, "PARTS", 1);
  plan.tile_rows = tile->m();
  plan.tile_cols = tile->n();
  plan.items_per_work_item = tile->m() * tile->n() / sizes.group;
  plan.work_group = {sizes.group, 1, 1};
  plan.global = {groups * sizes.group, 1, 1};
  plan.local_bytes = sizes.bytes;
  plan.vector_width = kLineBytes / item_bytes;
  define_unit(device, sizes.unit, plan);
  define(plan, {{"SUBS_M", tile->subs_m},
                {"SUBS_N", tile->subs_n},
                {"SUB_M", tile->sub_m},
                {"SUB_N", tile->sub_n},
                {"TILE_K", sizes.shape.k},
                {"GROUP", sizes.group},
                {"A_TILE_STRIDE", a.stride},
                {"B_TILE_STRIDE", b.stride},
                {"A_ALIGNED", problem.a_alignment >= 16 ? 1 : 0},
                {"B_ALIGNED", problem.b_alignment >= 16 ? 1 : 0}});
  plan.layout = both_layouts(a, b);
  // Written once, and read by the sub-groups of its row or column of the tile.
  plan.prediction.local_bytes = real(count_tiles(problem, sizes.shape), round_up(problem.k, sizes.shape.k)) *
                                real(size_of(problem.in)) *
                                real(tile->m() * (1 + tile->subs_n) + tile->n() * (1 + tile->subs_m));
  count_for_matrix_units(problem, plan);
  plan.reason =
      formatted("matrix units{}: a sub-group of {} makes {} x {} results by fragments of {} x {} x {}",
                device.emulated_unit ? ", emulated" : "", sizes.unit.lanes, tile->sub_m, tile->sub_n,
                sizes.unit.m, sizes.unit.n, sizes.unit.k);
  if (in_parts) plan.reason += formatted("; {} parts of {}", split.parts, split.part_depth);
  plan.evidence = policy.evidence.text(device);
  return plan;
}

}  // namespace smem::plan::gemm
