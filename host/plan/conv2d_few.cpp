// Plans of convolutions of few channels by Hopper's matrix units ("wgmma_few"): strips of the input in local
// memory, as pieces of 16 bytes that windows share.
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_nvidia.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

/// Pieces of 16 bytes, and strips of them: as cl/nvidia/conv2d/wgmma_few.cl has them.
struct FewTile {
  static constexpr std::size_t kFilters = 64, kPiece = 16;
  static constexpr std::size_t kMostChannels = 32,
                               kMostPieces = 64;  // of the input; of k, as loops over them are unrolled
  static constexpr std::size_t kMostCells = 240, kMostOfGelu = 224;  // columns, which leave registers
  static constexpr std::size_t kMostTiles = 8;                       // of a strip
  static constexpr std::size_t kGroup = 384, kMaps = 256;            // work-items, and bytes of two maps
  static constexpr std::size_t kProducers = 128, kAtOnce = 7;        // work-items, and rows of each in flight
  static constexpr std::size_t kMostStride = 4;                      // of rows
  static constexpr std::size_t kStages = 2;                          // strips in local memory
  static constexpr std::size_t kStaged = 20480;                      // bytes of results on their way
  static constexpr std::size_t kOthers = 2048;                       // bytes of maps, barriers and places

  std::size_t unit_cols = 1, blocks = 1, planes = 1, pieces = 0;  ///< as the kernel counts them
  std::size_t pitch = 0, rows = 0, tiles = 0;
  std::size_t in_rows = 0, class_rows = 0;
  std::size_t cells = 0;        ///< columns of an instruction
  std::size_t staged_rows = 0;  ///< cells of a box or plane of results; 0: stores by lanes
  std::size_t local = 0;        ///< bytes of local memory

  std::size_t strip_rows() const { return rows * tiles; }
};

/// What all tiles of a problem have in common.
FewTile pieces_of(const Conv2dProblem& p) {
  FewTile t;
  t.unit_cols = p.stride.x == 2 && p.in_channels <= 4 ? 2 : 1;
  t.blocks = t.unit_cols == 2 ? 1 : divide_up(p.in_channels, 8);
  t.planes = t.unit_cols == 2 ? 1 + p.window.width % 2 : t.blocks * p.stride.x;
  t.pieces = p.window.height * (t.unit_cols == 2 ? divide_up(p.window.width, 2) : p.window.width * t.blocks);
  t.pitch = p.out_width + (p.window.width - 1) / p.stride.x;
  return t;
}

/// The tile of so many rows of results, and so many of them in a strip; cells is 0 if it is not possible.
FewTile few_tile_of(const Device& device, const Conv2dProblem& p, std::size_t rows, std::size_t tiles) {
  FewTile t = pieces_of(p);
  t.rows = rows, t.tiles = tiles;
  const std::size_t cells = (rows - 1) * t.pitch + p.out_width;
  if (cells > (p.activation == Activation::gelu ? FewTile::kMostOfGelu : FewTile::kMostCells)) return {};
  t.cells = columns_for(cells);
  t.in_rows = (rows * tiles - 1) * p.stride.y + p.window.height;
  t.class_rows = divide_up(t.in_rows, p.stride.y);
  t.staged_rows = staged_rows_of(p, t.cells, t.pitch, rows, 1);
  const std::size_t strip = size_product(p.stride.y * t.planes, t.class_rows * t.pitch, FewTile::kPiece);
  const std::size_t zeros = t.pieces % 2 == 1 ? t.cells * FewTile::kPiece : FewTile::kPiece;
  t.local = FewTile::kStages * strip + round_up(t.pieces, 2) * FewTile::kFilters * FewTile::kPiece + zeros +
            (t.staged_rows > 0 ? 2 * t.staged_rows * 128 : FewTile::kStaged + 2 * t.cells * 8) +
            FewTile::kOthers;
  return t.local <= device.local_bytes ? t : FewTile{};
}

std::size_t blocks_of(const Conv2dProblem& p) { return divide_up(p.out_channels, FewTile::kFilters); }
std::size_t strips_of(const Conv2dProblem& p, const FewTile& t) {
  return size_product(p.images, divide_up(p.out_height, t.strip_rows()));
}
/// Groups of the same filters.
std::size_t groups_of(const Device& device, const Conv2dProblem& p, const FewTile& t) {
  return std::min(strips_of(p, t), device.compute_units / blocks_of(p));
}

/// Interleaved channels that are loaded at once.
std::size_t read_width(const Conv2dProblem& p, std::size_t most) {
  for (std::size_t width = most; p.in_interleaved && width > 1; width /= 2)
    if (p.in_channels % width == 0 && p.in_alignment >= width * size_of(p.type)) return width;
  return 1;
}

double time_of(const Device& device, const Conv2dProblem& p, const FewTile& t) {
  const nvidia::Few& times = nvidia::policy_of(device).few;
  const double multiplies =
      real(t.tiles) * (real(divide_up(t.pieces, 2), t.cells) * times.column + times.turn);
  const std::size_t runs = t.pitch * (t.unit_cols == 2 ? 1 : p.stride.x) * t.blocks;
  const std::size_t each = divide_up(t.in_rows, std::max<std::size_t>(FewTile::kProducers / runs, 1));
  const std::size_t loads = t.unit_cols * divide_up(8 / t.unit_cols, read_width(p, 8 / t.unit_cols));
  const double passes = real(divide_up(runs, FewTile::kProducers), divide_up(each, FewTile::kAtOnce));
  const double fills =
      passes * times.pass + real(divide_up(runs, FewTile::kProducers), each, loads) * times.load;
  const double wide = t.blocks > 2 ? times.wide : 1;
  return real(divide_up(strips_of(p, t), groups_of(device, p, t))) * std::max(multiplies, fills) * wide +
         times.tile;
}

/// The fastest tile; with no cells: none fits.
FewTile best_few_tile(const Device& device, const Conv2dProblem& p, std::size_t cells) {
  FewTile best;
  for (std::size_t rows = 1; rows <= std::min(p.out_height, FewTile::kMostCells); ++rows) {
    for (std::size_t tiles = 1; tiles <= std::min(divide_up(p.out_height, rows), FewTile::kMostTiles);
         ++tiles) {
      const FewTile t = few_tile_of(device, p, rows, tiles);
      if (t.cells == 0 || (cells > 0 && t.cells != cells)) continue;
      if (best.cells == 0 || time_of(device, p, t) < time_of(device, p, best)) best = t;
    }
  }
  return best;
}

/// What a launch computes: all, or some columns of results, where strips of all would be too large.
struct FewPart {
  Conv2dProblem problem;
  FewTile tile;           ///< without cells: none fits
  std::size_t parts = 1;  ///< launches
  double time = kNever;
};
FewPart best_part(const Device& device, const Conv2dProblem& p, std::size_t cells) {
  constexpr std::size_t kMostParts = 16, kAligned = 8;  // columns, which vectors of results need
  FewPart best{.problem = p};
  for (std::size_t parts = 1; parts <= kMostParts; ++parts) {
    FewPart part{.problem = p};
    if (parts > 1 && p.out_interleaved)
      part.problem.out_width = round_up(divide_up(p.out_width, parts), kAligned);
    part.parts = at_least_1(divide_up(p.out_width, at_least_1(part.problem.out_width)));
    part.tile = best_few_tile(device, part.problem, cells);
    if (part.tile.cells > 0) part.time = real(part.parts) * time_of(device, part.problem, part.tile);
    if (part.time < best.time) best = part;
    if (best.tile.cells > 0 || part.parts < parts) break;  // more launches do more beside
  }
  return best;
}

}  // namespace

std::string plan::conv2d::no_wgmma_few(const Device& device, const Conv2dProblem& p) {
  if (std::string reason = no_wgmma(device, p); !reason.empty()) return reason;
  if (size_of(p.type) != 2) return "multiplies half and bfloat16";
  if (p.groups > 1 || p.in_channels > FewTile::kMostChannels)
    return formatted("needs one group of at most {} channels", FewTile::kMostChannels);
  if (p.stride.x > 2 || p.stride.y > FewTile::kMostStride || p.dilation.x > 1 || p.dilation.y > 1) {
    return formatted("needs strides of at most 2 and {}, and windows without dilation", FewTile::kMostStride);
  }
  if (pieces_of(p).pieces > FewTile::kMostPieces) {
    return formatted("needs filters of at most {} bytes with their padding",
                     FewTile::kMostPieces * FewTile::kPiece);
  }
  if (blocks_of(p) > at_least_1(device.compute_units) || strips_of(p, {.rows = 1, .tiles = 1}) > kMost32)
    return "more filters than its groups, or strips that 32 bits do not count";
  return {};
}

double plan::conv2d::time_of_few(const Device& device, const Conv2dProblem& p) {
  const bool is_empty = std::min({p.images, p.in_channels, p.out_channels, p.out_width, p.out_height}) == 0;
  if (is_empty || !no_wgmma_few(device, p).empty()) return kNever;
  return best_part(device, p, 0).time;
}

plan::Attempt plan::conv2d::wgmma_few(const Device& device, const Conv2dProblem& whole,
                                      const PlanOverrides& fixed) {
  if (std::string reason = no_wgmma_few(device, whole); !reason.empty()) return reason;
  if (fixed.tile_cols != 0 && fixed.tile_cols != FewTile::kFilters)
    refuse(kOperation, "tile_cols", "64 filters", formatted("{}", fixed.tile_cols));
  const FewPart part = best_part(device, whole, fixed.tile_rows);
  const Conv2dProblem& p = part.problem;
  const FewTile& tile = part.tile;
  if (tile.cells == 0) {
    if (fixed.tile_rows != 0) {
      refuse(kOperation, "tile_rows", "cells of an instruction that rows of the layer take",
             formatted("{}", fixed.tile_rows));
    }
    return formatted("no row of results fits {} columns, or its strip {} bytes of local memory",
                     FewTile::kMostCells, device.local_bytes);
  }
  if (FewTile::kGroup > device.max_work_group)
    return formatted("its work-groups have {} work-items", FewTile::kGroup);
  Plan plan = named_plan(conv2d::kOperation, "wgmma_few", "nvidia/conv2d/wgmma_few.cl", "conv2d_wgmma_few");
  plan.target = "sm_90a";
  predict(whole, plan);
  count_for_matrix_units(plan.prediction);
  plan.repeats = part.parts;
  if (plan.repeats > 1) plan.numbers.emplace_back("part_cols", p.out_width);
  const std::size_t groups = groups_of(device, p, tile) * blocks_of(p);
  add_scratch(plan, groups * FewTile::kMaps);
  plan.numbers.emplace_back("maps_area", plan.scratch.size());
  set_groups(plan, FewTile::kGroup, groups);
  define(plan, {{"CHANNELS", p.in_channels},
                {"READ", read_width(p, 8 / tile.unit_cols)},
                {"UNIT_COLS", tile.unit_cols},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"PITCH", tile.pitch},
                {"ROWS", tile.rows},
                {"TILES", tile.tiles},
                {"CLASS_ROWS", tile.class_rows},
                {"TILE_N", tile.cells},
                {"STAGES", FewTile::kStages},
                {"IN_INTERLEAVED", p.in_interleaved ? 1 : 0},
                {"WEIGHTS_INTERLEAVED", p.weights_interleaved ? 1 : 0}});
  define_results(p, tile.rows, tile.staged_rows, plan);
  set_group_tile(plan, {.rows = tile.cells,
                        .cols = FewTile::kFilters,
                        .vector_width = 8,
                        .items = tile.cells * FewTile::kFilters / 128,
                        .local_bytes = tile.local});
  plan.prediction.local_bytes = 2 * real(plan.repeats, strips_of(p, tile), blocks_of(p)) *
                                real(tile.in_rows * tile.pitch, tile.blocks * p.stride.x, FewTile::kPiece);
  plan.reason = formatted(
      "a product of matrix units, whose right factor is read from strips of {} rows in local memory, windows "
      "overlapping: tiles of {} cells x {} filters, {} of a strip",
      tile.in_rows, tile.cells, FewTile::kFilters, tile.tiles);
  return plan;
}

}  // namespace smem
