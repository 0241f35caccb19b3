/// Copies of grids between planes and interleaved channels, which a plan of a convolution makes before and
/// after its main launch.
#pragma once

#include <smem/conv2d_plan.hpp>
#include <smem/device.hpp>

#include <cstddef>
#include <optional>

namespace smem::plan::conv2d {

/// A grid of a convolution.
enum class Which { in, weights, out };

/// What a variant needs of the layout of its grids.
struct Needs {
  bool interleaved = false;    ///< else planes
  std::size_t channels = 1;    ///< of the input in each group, at least: others are zeros
  bool in = true;              ///< whether the input must be copied
  bool weights = true;         ///< the same of the filters
  bool out = false;            ///< the same of the output
  std::size_t weight_row = 1;  ///< a multiple of elements from one filter to the next, where they are copied
  std::size_t merged = 1;      ///< groups of channels that filters see as one
  bool spread = false;         ///< whether filters of merged groups have zeros for the others' channels

  /// Channels of a filter in memory.
  std::size_t filter_channels() const { return spread ? channels : channels / merged; }
};

/// Adds the copies and their temporary memory to a plan, whose numbers say of each grid the number of its
/// area and 1 ("in_area"); 0: it is not copied. \returns why they cannot run here; empty: they can.
std::string add_copies(const Device& device, const Conv2dProblem& p, const Needs& needs, Plan& plan);

/// What matrix units need of the grids, and channels that are moved at once: of 16 bytes, or of 8 where a
/// group has no more.
Needs needs_of_units(const Conv2dProblem& p);
std::size_t piece_of_units(const Conv2dProblem& p);
/// Whether 32 bits count what lies between the windows of a tile, and the weights of a filter.
bool counts_windows(const Conv2dProblem& p, std::size_t channels, std::size_t tile_m);

/// Elements of a store: filters of a cell, or results of a plane.
std::size_t store_width(const Conv2dProblem& p);

/// Whether the turned products of Hopper's matrix units (cl/nvidia/conv2d_halo.clh) write results of
/// interleaved channels as boxes; and whether they are planes that are copied through local memory.
bool stores_boxes(const Conv2dProblem& p);
bool stores_planes(const Conv2dProblem& p);
/// Cells of 64 filters that a tile of so many columns and rows has in local memory as boxes or planes; 0:
/// neither.
std::size_t staged_rows_of(const Conv2dProblem& p, std::size_t cells, std::size_t pitch, std::size_t rows,
                           std::size_t images);
/// The types, and how the results of tiles of so many rows and staged cells are stored.
void define_results(const Conv2dProblem& p, std::size_t rows, std::size_t staged_rows, Plan& plan);
/// Columns of the smallest of their instructions that has so many (cl/nvidia/wgmma.clh).
std::size_t columns_for(std::size_t cells);

/// The problem that is left where copies give all grids planes.
Conv2dProblem as_planes(Conv2dProblem p);

}  // namespace smem::plan::conv2d
