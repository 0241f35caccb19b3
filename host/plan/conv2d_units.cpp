// The plan of convolutions by the matrix units of AMD and Intel ("matrix_units"), with the tiles of gemm's.
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"
#include "plan/gemm_units_policy.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include "formatted.hpp"

#include <algorithm>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kPieceBytes = 16;  // that a lane reads and writes at once, and after each row of a tile

/// A tile of results and filters that fits a device.
struct UnitTile {
  const gemm::units::Tile* tile = nullptr;
  UnitShape unit;
  std::size_t group = 0, bytes = 0, jobs = 0;
};

UnitTile unit_tile_of(const Device& device, const Conv2dProblem& p, const gemm::units::Tile& tile,
                      std::size_t row_bytes) {
  UnitTile t{.tile = &tile, .unit = shape_of(device.matrix_unit, p.type, tile.unit_m)};
  t.group = tile.subs_m * tile.subs_n * t.unit.lanes;
  const std::size_t subs = tile.subs_m * tile.subs_n;
  const std::size_t tiles = 2 * (tile.m() + tile.n()) * (row_bytes + kPieceBytes);
  t.bytes = tiles + tile.m() * 8;  // and places of results
  if (device.emulated_unit) t.bytes += subs * t.unit.emulated_bytes;
  t.jobs = size_product(p.groups, divide_up(p.group_filters(), tile.n()),
                        divide_up(p.images * p.plane_results(), tile.m()));
  return t;
}

/// Of those that fit, the one with which the units are done first; without a tile: none fits.
UnitTile unit_tile_for(const Device& device, const Conv2dProblem& p, std::size_t row_bytes) {
  UnitTile best;
  double least = 0;
  for (const gemm::units::Tile& tile : gemm::units::policy_of(device).tiles) {
    const UnitTile t = unit_tile_of(device, p, tile, row_bytes);
    if (t.bytes > device.local_bytes || t.group > std::min(device.max_work_group, device.max_work_items[0]))
      continue;
    const std::size_t rounds = divide_up(t.jobs, at_least_1(device.compute_units));
    const double time = real(rounds, tile.m() * tile.n()) / tile.speed;
    if (best.tile != nullptr && time >= least) continue;
    best = t;
    least = time;
  }
  return best;
}

}  // namespace

std::string plan::conv2d::no_matrix_units(const Device& device, const Conv2dProblem& p) {
  if (device.matrix_unit == MatrixUnit::none) return "needs a matrix unit of AMD or Intel";
  if (!unit_multiplies(p.type)) return "multiplies half, bfloat16 and int8";
  if (p.window.width > kMostColumns || p.window.height > kMostRows)
    return formatted("its windows have at most {} x {} weights", kMostColumns, kMostRows);
  return {};
}

bool plan::conv2d::prefers_matrix_units(const Device& device, const Conv2dProblem& p) {
  const UnitsPolicy& policy = policy_of(device).units;
  return !device.emulated_unit && no_matrix_units(device, p).empty() && p.group_filters() >= policy.filters &&
         p.depth() >= policy.depth;
}

plan::Attempt plan::conv2d::matrix_units(const Device& device, const Conv2dProblem& p) {
  if (std::string reason = no_matrix_units(device, p); !reason.empty()) return reason;
  const gemm::units::Policy& policy = gemm::units::policy_of(device);
  const UnitTile found = unit_tile_for(device, p, policy.row_bytes);
  if (found.tile == nullptr) {
    return formatted("no tile fits {} bytes of local memory and work-groups of {}", device.local_bytes,
                     device.max_work_group);
  }
  const gemm::units::Tile& tile = *found.tile;
  const Needs needs = needs_of_units(p);
  if (!counts_windows(p, needs.channels, tile.m())) return "distances that 32 bits do not count";
  if (found.jobs > kMaxTiles) return formatted("{} tiles are more than a launch can have", found.jobs);
  const std::size_t bytes = size_of(p.type), tile_k = policy.row_bytes / bytes;
  const std::size_t depth = p.taps() * needs.channels;
  Plan plan = named_plan(conv2d::kOperation, "matrix_units", "conv2d/matrix_units.cl", "conv2d_matrix_units");
  predict(p, plan);
  count_for_matrix_units(plan.prediction);
  if (std::string reason = add_copies(device, p, needs, plan); !reason.empty()) return reason;
  set_groups(plan, found.group, found.jobs);
  const LocalLayout a = gemm::rows_along_k(device, tile.m(), tile_k, bytes, found.unit.m, found.group);
  const LocalLayout b = gemm::rows_along_k(device, tile.n(), tile_k, bytes, found.unit.n, found.group);
  define_unit(device, found.unit, plan);
  define(plan, {{"ELEMENT_TYPE", gemm::type_number(p.type)},
                {"RESULT_TYPE", gemm::type_number(p.out)},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"PIECE", piece_of_units(p)},
                {"OUT_INTERLEAVED", p.out_interleaved ? 1 : 0},
                {"SUBS_M", tile.subs_m},
                {"SUBS_N", tile.subs_n},
                {"SUB_M", tile.sub_m},
                {"SUB_N", tile.sub_n},
                {"TILE_K", tile_k},
                {"GROUP", found.group},
                {"A_TILE_STRIDE", a.stride},
                {"B_TILE_STRIDE", b.stride}});
  if (p.activation != Activation::none) define(plan, "ACTIVATION", static_cast<std::size_t>(p.activation));
  plan.layout = gemm::both_layouts(a, b);
  set_group_tile(plan, {.rows = tile.m(),
                        .cols = tile.n(),
                        .vector_width = piece_of_units(p),
                        .items = tile.m() * tile.n() / found.group,
                        .local_bytes = found.bytes});
  // Written once, and read by the sub-groups of its row or column of the tile.
  plan.prediction.local_bytes = real(found.jobs, round_up(depth, tile_k), bytes) *
                                real(tile.m() * (1 + tile.subs_n) + tile.n() * (1 + tile.subs_m));
  plan.reason = formatted(
      "a product of {} x {} x {} on matrix units{}, whose left factor is gathered from the input: a "
      "sub-group "
      "of {} makes {} results x {} filters by fragments of {} x {} x {}",
      p.images * p.plane_results(), p.group_filters(), depth, device.emulated_unit ? ", emulated," : "",
      found.unit.lanes, tile.sub_m, tile.sub_n, found.unit.m, found.unit.n, found.unit.k);
  return plan;
}

}  // namespace smem
