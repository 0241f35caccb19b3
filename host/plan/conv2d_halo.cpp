// Plans of convolutions by Hopper's matrix units whose windows are read where they lie ("wgmma_halo"): tiles
// of cells that fit an instruction and local memory.
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

/// A tile: rows of results of one image, or of several.
struct HaloTile {
  static constexpr std::size_t kFilters = 64, kDepth = 64;           // of a tile, and channels of a step
  static constexpr std::size_t kMostCells = 240, kMostOfGelu = 224;  // columns, which leave registers
  static constexpr std::size_t kMostBox = 256;                       // of a side of a box
  static constexpr std::size_t kRow = 128;                           // bytes of 64 channels
  static constexpr std::size_t kGroup = 384, kMaps = 512;            // work-items, and bytes of four maps
  static constexpr std::size_t kHalos = 2;                           // in local memory
  static constexpr std::size_t kStaged = 20480;                      // bytes of results on their way
  static constexpr std::size_t kOthers = 2048;                       // bytes of maps, barriers and places
  static constexpr std::size_t kLeastStages = 4, kMostStages = 12, kMostResident = 24;

  std::size_t pitch = 0, rows = 0, image_rows = 0, images = 0;  ///< as the kernel counts them
  std::size_t cells = 0;                                        ///< columns of an instruction
  std::size_t halo_rows = 0;                                    ///< cells of a halo in local memory
  std::size_t staged_rows = 0;  ///< cells of a box of results; 0: stores by lanes
  std::size_t stages = 0;
  bool resident = false;  ///< all filters stay in local memory

  std::size_t box_rows() const { return pitch * image_rows * images; }
  std::size_t local_bytes(std::size_t of_stages) const {
    const std::size_t results = staged_rows > 0 ? 2 * staged_rows * kRow : kStaged + 2 * cells * 8;
    return kHalos * halo_rows * kRow + of_stages * kFilters * kRow + results + kOthers;
  }
};

std::size_t jobs_of(const Conv2dProblem& p, const HaloTile& t) {
  return size_product(divide_up(p.out_channels, HaloTile::kFilters), divide_up(p.out_height, t.rows),
                      divide_up(p.images, t.images));
}

/// The tile of so many rows of results of so many images; cells is 0 if it is not possible.
HaloTile halo_tile_of(const Device& device, const Conv2dProblem& p, std::size_t channels, std::size_t rows,
                      std::size_t images) {
  const std::size_t down = (p.window.height - 1) * p.dilation.y, right = (p.window.width - 1) * p.dilation.x;
  // What windows read to the right of a row.
  const std::size_t end = p.out_width + right, inside = p.padding.left + p.width;
  const std::size_t after = end > inside ? end - inside : 0;
  HaloTile t;
  t.pitch = std::max(p.width + std::max(p.padding.left, after), p.out_width);
  t.rows = rows, t.images = images, t.image_rows = rows + down;
  const std::size_t cells = (images * rows - 1) * t.pitch + p.out_width;
  if (cells > (p.activation == Activation::gelu ? HaloTile::kMostOfGelu : HaloTile::kMostCells) ||
      std::max({t.pitch, t.image_rows, t.images}) > HaloTile::kMostBox)
    return {};
  t.cells = columns_for(cells);
  t.halo_rows = round_up(std::max(t.box_rows() + after, t.cells + down * t.pitch * images + right), 8);
  t.staged_rows = staged_rows_of(p, t.cells, t.pitch, rows, images);
  t.stages = size_product(divide_up(channels, HaloTile::kDepth), p.taps());
  t.resident = p.out_channels <= HaloTile::kFilters && t.stages <= HaloTile::kMostResident &&
               t.local_bytes(t.stages) <= device.local_bytes;
  if (t.resident) return t;
  for (t.stages = HaloTile::kMostStages; t.stages >= HaloTile::kLeastStages; --t.stages)
    if (t.local_bytes(t.stages) <= device.local_bytes) return t;
  return {};
}

/// Instructions of 16 channels, of a step of the last 64.
std::size_t last_steps(std::size_t channels) { return divide_up((channels - 1) % HaloTile::kDepth + 1, 16); }

/// Nanoseconds of all tiles of a problem whose groups have so many channels.
double time_of(const Device& device, const Conv2dProblem& p, const HaloTile& t, std::size_t channels) {
  const nvidia::Halo& times = nvidia::policy_of(device).halo;
  const double blocks = real(divide_up(channels, HaloTile::kDepth));
  const double multiplies = real(p.taps() * divide_up(channels, 16)) / 4 * real(t.cells) * times.column;
  const auto filled = [&](std::size_t rows) { return real(rows * HaloTile::kRow) / times.fill; };
  const double filters = filled(p.taps() * HaloTile::kFilters);
  const double fills = filled(t.box_rows()) + (t.resident ? 0 : filters);
  return real(divide_up(jobs_of(p, t), at_least_1(device.compute_units))) *
             (std::max(multiplies, blocks * fills) + times.turn) +
         (t.resident ? blocks * filters : 0) + times.tile;
}

/// The fastest tile; with no cells: none fits.
HaloTile best_halo_tile(const Device& device, const Conv2dProblem& p, std::size_t channels,
                        std::size_t cells) {
  HaloTile best;
  const auto consider = [&](std::size_t rows, std::size_t images) {
    const HaloTile t = halo_tile_of(device, p, channels, rows, images);
    if (t.cells == 0 || (cells > 0 && t.cells != cells)) return;
    if (best.cells == 0 || time_of(device, p, t, channels) < time_of(device, p, best, channels)) best = t;
  };
  for (std::size_t rows = std::min(p.out_height, HaloTile::kMostCells); rows > 0; --rows) {
    for (std::size_t images = 1; images <= std::min(p.images, HaloTile::kMostCells / rows); ++images)
      consider(rows, images);
  }
  return best;
}

/// Results of a plane that a store has.
std::size_t plane_width(const Conv2dProblem& p, std::size_t rows) {
  const std::size_t last = p.out_height % rows * p.out_width;
  std::size_t width = store_width(p);
  while (rows * p.out_width % width != 0 || last % width != 0)
    width /= 2;
  return width;
}

}  // namespace

bool plan::conv2d::stores_boxes(const Conv2dProblem& p) {
  return p.out_interleaved && size_of(p.out) == 2 && p.out_channels % 8 == 0 && p.out_alignment >= 16;
}

bool plan::conv2d::stores_planes(const Conv2dProblem& p) {
  return !p.out_interleaved && p.out_packed && size_of(p.out) == 2;
}

std::size_t plan::conv2d::staged_rows_of(const Conv2dProblem& p, std::size_t cells, std::size_t pitch,
                                         std::size_t rows, std::size_t images) {
  if (!stores_boxes(p) && !stores_planes(p)) return 0;
  const std::size_t run = rows * p.out_width;
  const std::size_t plane = rows >= p.out_height ? run : (run + 7) / 16 * 16 + 8;
  return round_up(std::max({cells, pitch * rows * images, stores_planes(p) ? plane * images : 0}), 8);
}

void plan::conv2d::define_results(const Conv2dProblem& p, std::size_t rows, std::size_t staged_rows,
                                  Plan& plan) {
  define(plan, {{"ELEMENT_TYPE", gemm::type_number(p.type)},
                {"RESULT_TYPE", gemm::type_number(p.out)},
                {"OUT_BOXES", stores_boxes(p) ? 1 : 0},
                {"OUT_PLANES", stores_planes(p) ? 1 : 0},
                {"OUT_INTERLEAVED", p.out_interleaved ? 1 : 0},
                {"OUT_VECTOR", p.out_interleaved  ? store_width(p)
                               : stores_planes(p) ? plane_width(p, rows)
                                                  : 1}});
  if (staged_rows > 0) define(plan, "STAGED_ROWS", staged_rows);
  if (p.activation != Activation::none) define(plan, "ACTIVATION", static_cast<std::size_t>(p.activation));
}

std::size_t plan::conv2d::columns_for(std::size_t cells) {
  for (const std::size_t odd : {216U, 232U})
    if (cells <= odd && odd - cells < 8) return odd;
  return std::max<std::size_t>(round_up(cells, 16), 64);
}

std::string plan::conv2d::no_wgmma_halo(const Device& device, const Conv2dProblem& p) {
  if (std::string reason = no_wgmma(device, p); !reason.empty()) return reason;
  if (size_of(p.type) != 2) return "multiplies half and bfloat16";
  if (p.groups > 1 || p.stride.x > 1 || p.stride.y > 1) return "needs windows without strides, and one group";
  if (p.group_channels() <= 4) return "needs more than 4 channels, which its pieces of 16 bytes have";
  return {};
}

double plan::conv2d::time_of_halo(const Device& device, const Conv2dProblem& p) {
  if (!no_wgmma_halo(device, p).empty() || p.out_width == 0 || p.out_height == 0) return kNever;
  const std::size_t channels = needs_of_units(p).channels;
  const HaloTile tile = best_halo_tile(device, p, channels, 0);
  return tile.cells == 0 ? kNever : time_of(device, p, tile, channels);
}

plan::Attempt plan::conv2d::wgmma_halo(const Device& device, const Conv2dProblem& p,
                                       const PlanOverrides& fixed) {
  if (std::string reason = no_wgmma_halo(device, p); !reason.empty()) return reason;
  if (fixed.tile_cols != 0 && fixed.tile_cols != HaloTile::kFilters)
    refuse(kOperation, "tile_cols", "64 filters", formatted("{}", fixed.tile_cols));
  const Needs needs = needs_of_units(p);
  const HaloTile tile = best_halo_tile(device, p, needs.channels, fixed.tile_rows);
  if (tile.cells == 0) {
    if (fixed.tile_rows != 0) {
      refuse(kOperation, "tile_rows", "cells of an instruction that rows or images of the layer take",
             formatted("{}", fixed.tile_rows));
    }
    return formatted("no row with its halo fits {} columns and {} bytes of local memory",
                     HaloTile::kMostCells, device.local_bytes);
  }
  if (HaloTile::kGroup > device.max_work_group)
    return formatted("its work-groups have {} work-items", HaloTile::kGroup);
  if (!counts_windows(p, needs.channels, tile.cells)) return "distances that 32 bits do not count";
  const std::size_t jobs = jobs_of(p, tile), groups = std::min(jobs, at_least_1(device.compute_units));
  if (jobs > kMaxTiles) return formatted("{} tiles are more than a launch can have", jobs);
  Plan plan =
      named_plan(conv2d::kOperation, "wgmma_halo", "nvidia/conv2d/wgmma_halo.cl", "conv2d_wgmma_halo");
  plan.target = "sm_90a";
  predict(p, plan);
  count_for_matrix_units(plan.prediction);
  if (std::string reason = add_copies(device, p, needs, plan); !reason.empty()) return reason;
  add_scratch(plan, groups * HaloTile::kMaps);
  plan.numbers.emplace_back("maps_area", plan.scratch.size());
  plan.numbers.insert(
      plan.numbers.end(),
      {{"block_k", tile.image_rows}, {"tile_w", tile.pitch}, {"tile_h", tile.rows}, {"depth", tile.images}});
  set_groups(plan, HaloTile::kGroup, groups);
  define(plan, {{"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"TILE_N", tile.cells},
                {"STAGES", tile.stages},
                {"RESIDENT", tile.resident ? 1 : 0},
                {"MMA_STEPS", last_steps(needs.channels)},
                {"HALOS", HaloTile::kHalos},
                {"HALO_ROWS", tile.halo_rows}});
  define_results(p, tile.rows, tile.staged_rows, plan);
  set_group_tile(plan, {.rows = tile.cells,
                        .cols = HaloTile::kFilters,
                        .vector_width = 8,
                        .items = tile.cells * HaloTile::kFilters / 128,
                        .local_bytes = tile.local_bytes(tile.stages)});
  const double blocks = real(divide_up(needs.channels, HaloTile::kDepth));
  plan.prediction.local_bytes =
      2 * real(jobs) * blocks * real((tile.box_rows() + p.taps() * HaloTile::kFilters) * HaloTile::kRow);
  plan.reason = formatted(
      "a product of matrix units, whose right factor is read from {} of the input with its halo in local "
      "memory, at each of {} weights: tiles of {} cells x {} filters",
      formatted("{} rows of {} image(s)", tile.rows, tile.images), p.taps(), tile.cells, HaloTile::kFilters);
  return plan;
}

}  // namespace smem
