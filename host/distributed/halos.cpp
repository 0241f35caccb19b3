// The cost of halos, and the choice of steps between two exchanges.
#include "distributed/halos.hpp"

#include <algorithm>
#include <cmath>

namespace smem::distributed::detail {

namespace {

// A device's lanes, as a multiple of a sub-group in a compute unit, and the turns of a lane that a cell's
// step of heat takes: with them an H100 (132 units, 1.98 GHz) makes 7.8e11 cells a second, as measured.
constexpr double kSubGroupsOfUnit = 4, kTurnsOfCell = 43;
// Bytes that a device's memory moves for each cell that it could compute.
constexpr double kBytesOfCell = 4;

HaloCost cost_in_order(const HaloShape& shape, std::size_t steps_per_halo, const MachineRates& rates,
                       bool edges_first) {
  const std::size_t per_halo = std::max<std::size_t>(std::min(steps_per_halo, shape.steps), 1);
  const double exchanges = std::ceil(static_cast<double>(shape.steps) / static_cast<double>(per_halo)),
               sides = shape.devices > 2 ? 2 : static_cast<double>(shape.devices - 1),
               halo = std::min(static_cast<double>(shape.radius) * static_cast<double>(per_halo),
                               static_cast<double>(shape.rows));
  const auto own = static_cast<double>(shape.own), others = static_cast<double>(shape.rows) - own;
  // An edge is kept with halos on both sides, and the inner rows with one of their own.
  const double more = edges_first ? 3 * sides * halo : std::min(sides * halo, others);
  const double cells = (own + more) * shape.row_cells * static_cast<double>(shape.steps);
  const double tasks = edges_first ? 1 + sides : 1;
  HaloCost cost{.edges_first = edges_first};
  cost.compute = (shape.is_heat ? cells / rates.cells : 2 * cells * shape.element_bytes / rates.copy) +
                 exchanges * tasks * rates.call;
  if (shape.devices == 1) return cost;
  cost.bytes = exchanges * sides * halo * shape.row_cells * shape.element_bytes;
  cost.messages = exchanges * sides;
  cost.exchange = cost.messages * rates.latency + cost.bytes * 2 / rates.host_link +
                  (shape.between_ranks ? cost.bytes / rates.network : 0);
  return cost;
}

}  // namespace

HaloCost halo_cost(const HaloShape& shape, std::size_t steps_per_halo, const MachineRates& rates) {
  const HaloCost plain = cost_in_order(shape, steps_per_halo, rates, false);
  const std::size_t halo = shape.radius * std::min(steps_per_halo, shape.rows);
  if (shape.devices == 1 || !shape.exchange_overlaps || shape.own / 8 < halo) return plain;
  const HaloCost first = cost_in_order(shape, steps_per_halo, rates, true);
  return first.seconds() < plain.seconds() ? first : plain;
}

std::size_t best_steps_per_halo(const HaloShape& shape, const MachineRates& rates, std::size_t most) {
  std::size_t best = 1;
  double least = halo_cost(shape, 1, rates).seconds();
  for (const std::size_t steps : {2, 3, 4, 6, 8, 12, 16, 24, 36, 48}) {
    // Kernels of heat make 2, 3 or 4 steps in a pass.
    if (steps > most || steps > shape.steps || (shape.is_heat && (steps == 8 || steps == 16))) continue;
    const double seconds = halo_cost(shape, steps, rates).seconds();
    if (seconds >= least) continue;
    least = seconds;
    best = steps;
  }
  return best;
}

MachineRates estimated_rates(const Device& device, bool cores_are_short) {
  const bool is_cpu = device.type == DeviceType::cpu;
  const double lanes =
      is_cpu ? std::max(static_cast<double>(device.vector_bytes) / 4, 1.0)
             : kSubGroupsOfUnit * static_cast<double>(std::max<std::size_t>(device.sub_group_width, 16));
  const double clock = static_cast<double>(std::max<std::size_t>(device.clock_mhz, 1000)) * 1e6;
  MachineRates rates;
  rates.cells =
      static_cast<double>(std::max<std::size_t>(device.compute_units, 1)) * clock * lanes / kTurnsOfCell;
  rates.copy = rates.cells * kBytesOfCell;
  if (!is_cpu) {
    rates.host_link = 50e9;
    // With it 6 steps of 1024^3 floats lie between two exchanges of two H100s: 155.4 ms for 200 steps; 12
    // steps take 159.6 ms, and 3 or 4 steps 157.0 ms.
    rates.call = 60e-6;
  }
  if (cores_are_short) {
    // Threads sleep between polls, and main memory is the device's.
    rates.latency = 200e-6;
    rates.call = 100e-6;
    rates.network = 3e9;
  } else {
    rates.latency = 50e-6;
  }
  return rates;
}

}  // namespace smem::distributed::detail
