/// What steps of a grid take when ranks exchange halos: by which the number of steps between two exchanges is
/// chosen.
#pragma once

#include <smem/device.hpp>
#include <smem/distributed/plan.hpp>

#include <cstddef>

namespace smem::distributed::detail {

/// A grid along its slowest axis, and its steps.
struct HaloShape {
  std::size_t own = 1;            ///< rows of a device
  std::size_t rows = 1;           ///< of the grid
  std::size_t devices = 1;        ///< that share it
  double row_cells = 1;           ///< cells of a row
  double element_bytes = 4;       ///< of a cell
  std::size_t steps = 1;          ///< of the call
  std::size_t radius = 1;         ///< rows that a step reaches
  bool is_heat = true;            ///< else a stencil: its steps are bound by memory
  bool between_ranks = true;      ///< else the devices are of one process
  bool exchange_overlaps = true;  ///< devices compute while messages move; not where they are the same cores
};

/// Of a device with neighbours on both sides, or on one where two share the grid.
struct HaloCost {
  double compute = 0, exchange = 0;  ///< seconds
  double bytes = 0, messages = 0;    ///< that it sends
  /// The rows beside neighbours are computed first, by tasks of their own, with more halo rows in all: their
  /// exchange is hidden behind the inner rows' steps.
  bool edges_first = false;
  double seconds() const {
    return edges_first ? (compute > exchange ? compute : exchange) : compute + exchange;
  }
};

/// The better one of both orders.
HaloCost halo_cost(const HaloShape& shape, std::size_t steps_per_halo, const MachineRates& rates);

/// The number that takes least, at most `most`. Of heat a divisor or a multiple of the steps of kernels'
/// passes.
std::size_t best_steps_per_halo(const HaloShape& shape, const MachineRates& rates, std::size_t most);

/// What is assumed of a device, from its facts alone: cells and copied bytes a second.
MachineRates estimated_rates(const Device& device, bool cores_are_short);

}  // namespace smem::distributed::detail
