/// smem: predicts what a distributed call exchanges, and its time on any number of ranks. It is computed from
/// rates, without ranks or devices.
#pragma once

#include <smem/distributed/session.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smem::distributed {

/// Rates of a rank's device and its links, for one second unless stated otherwise.
struct MachineRates {
  double copy = 1e12;         ///< bytes of the device's memory, read and written
  double operations = 10e12;  ///< multiplications and additions of a product
  double sorted = 1e9;        ///< keys of 4 bytes that are sorted
  double cells = 5e10;        ///< cells of a grid that are advanced by one step of heat
  double host_link = 20e9;    ///< bytes between device and main memory, one way
  double network = 10e9;      ///< bytes between two ranks, one way
  double latency = 5e-6;      ///< seconds of a message without bytes
  double call = 20e-6;        ///< seconds of a task without work
  bool is_measured = false;   ///< whether the rates were measured on this machine; else they are assumed
};

/// Sizes of a distributed call.
struct PlanProblem {
  std::string operation;           ///< "gemm", "transpose", "sort", ...
  std::size_t rows = 1;            ///< elements of vectors; m of products; tokens of attention
  std::size_t cols = 1;            ///< n of products; elements of all heads of a query of attention
  std::size_t depth = 1;           ///< k of products; planes of grids; elements of all heads of a key
  std::size_t element_bytes = 4;   ///< of an element
  std::size_t steps = 1;           ///< of heat and stencils
  std::size_t steps_per_halo = 0;  ///< of heat and stencils; 0: the fastest number
  std::size_t radius = 1;          ///< of stencils, along the axis that is divided
  /// The problem of weak scaling: the same for a machine that is so many times larger.
  SMEM_DISTRIBUTED_API PlanProblem grown(std::size_t ranks) const;
};

/// A phase of a call, on the slowest rank.
struct PlanPhase {
  std::string what;            ///< "sort the blocks"
  double compute = 0;          ///< seconds of its devices
  double exchange = 0;         ///< seconds of messages, and of copies from and to the devices
  bool overlaps = false;       ///< whether exchange and computation overlap
  std::uint64_t bytes = 0;     ///< that the rank sends
  std::uint64_t messages = 0;  ///< that the rank sends
  /// Seconds of the phase.
  double seconds() const { return overlaps ? (compute > exchange ? compute : exchange) : compute + exchange; }
  /// Seconds of the exchange that are hidden by the computation.
  double hidden() const { return compute + exchange - seconds(); }
};

/// The predicted costs of a distributed call.
struct DistributedPlan {
  PlanProblem problem;            ///< what is computed
  std::size_t ranks = 1;          ///< that share the work
  std::vector<PlanPhase> phases;  ///< one after the other
  double seconds = 0;             ///< predicted
  double seconds_of_one = 0;      ///< predicted for one rank that has all data
  std::uint64_t bytes = 0;        ///< that a rank sends, at most
  std::uint64_t messages = 0;     ///< that a rank sends, at most
  double exchange = 0;            ///< seconds
  double hidden = 0;              ///< seconds of the exchange that are hidden
  /// How many times as fast as one rank.
  double speedup() const { return seconds > 0 ? seconds_of_one / seconds : 0; }
  /// The speed-up divided by the number of ranks.
  double efficiency() const { return speedup() / static_cast<double>(ranks); }
};

/// The operations that plan() knows.
SMEM_DISTRIBUTED_API const std::vector<std::string_view>& planned_operations();

/// The plan of a call on `ranks` ranks of one device each, with even blocks. \throws Error naming the
/// argument when the operation is not known, or a size or a rate is not positive.
///
/// The model is that of Hockney: a message of b bytes takes latency + b / bandwidth; a rank sends and
/// receives at the same time. Kernels take the bytes or operations of their problem at the measured rates.
///
/// R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20,
/// 1994.
SMEM_DISTRIBUTED_API DistributedPlan plan(const PlanProblem& problem, std::size_t ranks,
                                          const MachineRates& rates);

/// Collective. The rates of the slowest rank, measured with small problems in about a second. With one rank,
/// the network is assumed to be as fast as the host copies memory.
SMEM_DISTRIBUTED_API MachineRates measure_machine(const Session& session);

/// Bytes that this rank has sent so far, except in collective calls of few bytes.
SMEM_DISTRIBUTED_API std::uint64_t sent_bytes(const Session& session);

/// A part of calls that can be omitted, to measure the other part alone.
enum class Omit {
  nothing,
  computation,  ///< kernels of operations: tasks copy and send arbitrary data
  exchange      ///< messages between ranks: the data of other ranks is arbitrary
};

/// Later calls omit this part, so their results are wrong. Use it to measure operations whose work does not
/// depend on values: gemm, transpose, attention, stencil and heat. Every rank must call it.
SMEM_DISTRIBUTED_API void omit(const Session& session, Omit what);

/// The plan as text: its phases, what they exchange, and what is hidden.
SMEM_DISTRIBUTED_API std::string explain(const DistributedPlan& plan, const MachineRates& rates);

}  // namespace smem::distributed
