/// smem: many devices at once. A session starts StarPU and MPI and gives each OpenCL device of each rank a
/// context. Includes no header of StarPU or MPI.
#pragma once

#include <smem/context.hpp>
#include <smem/distributed/export.hpp>
#include <smem/element.hpp>
#include <smem/error.hpp>
#include <smem/grid.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct _starpu_data_state;  // what a starpu_data_handle_t points to

/// smem on many devices: of one process, of many processes (ranks of MPI) on one or more machines.
namespace smem::distributed {

/// StarPU's starpu_data_handle_t.
using Handle = _starpu_data_state*;

namespace detail {
class State;
}

/// How a session divides data and schedules work.
struct SessionOptions {
  /// The most elements of a block. Data is divided into blocks, at least one for each device. 1 to 2^30; 0:
  /// 2^30, or fewer, so that twelve blocks fit the memory of the smallest device. StarPU moves whole blocks;
  /// if a device's memory is too small for all, blocks that are not in use are moved to main memory. The same
  /// on all ranks.
  std::size_t block_elements = 0;
  /// Bytes of each device's memory that are used; 0: all. Three quarters hold data, the rest temporary memory
  /// of kernels. STARPU_LIMIT_OPENCL_MEM, in MiB, has precedence for the data. The same on all ranks.
  std::size_t device_bytes = 0;
  /// The scheduler of StarPU: "eager", "lws", "dmda", "random", ...; empty: each device of a rank works on
  /// its own blocks. The environment variable STARPU_SCHED has precedence.
  std::string scheduler = {};
};

/// What a task does with the data of a handle.
enum class Access {
  read,   ///< it only reads
  write,  ///< it writes all; old values are lost
  update  ///< it reads and writes
};

/// A handle that a task uses.
struct Argument {
  Handle handle;  ///< of a StarPU vector, matrix, block or variable
  Access access;  ///< of the task
};

/// What a task sees of an argument: memory of the device that runs it. Partitioned data has its offset and
/// its leading dimensions.
struct Piece {
  cl_mem buffer = nullptr;        ///< on the task's device
  std::size_t offset = 0;         ///< bytes before the first element
  std::size_t element_bytes = 1;  ///< as the data was registered
  std::size_t nx = 0;             ///< elements that follow each other
  std::size_t ny = 1;             ///< rows of a matrix or block
  std::size_t nz = 1;             ///< planes of a block
  std::size_t pitch = 0;          ///< elements from one row to the next
  std::size_t plane = 0;          ///< elements from one plane to the next

  /// Elements of a StarPU vector or variable. \throws Error when their size is not that of `type`.
  SMEM_DISTRIBUTED_API smem::Vector vector(const ElementType& type) const;
  /// A StarPU matrix, row by row: ny rows of nx elements. As vector().
  SMEM_DISTRIBUTED_API smem::Matrix matrix(const ElementType& type) const;
  /// A StarPU block: nz planes of ny rows of nx cells. As vector().
  SMEM_DISTRIBUTED_API smem::Grid grid(const ElementType& type) const;
};

/// The devices of all ranks. A handle: copies share one state, which the data of the session keeps alive.
///
/// Calls marked "collective" are made by all ranks, in the same order and with the same arguments; where
/// arguments differ, all ranks throw. Calls of one rank are made by one thread. A rank's devices are its
/// share of those of its machine: rank i of L on a machine with D devices has the devices d with d mod L = i,
/// or where D < L device i mod D. GPUs and accelerators are used; on a machine without them, CPUs.
///
/// A failure on one rank is thrown on all ranks, with the text of the rank that failed. A rank that ends, or
/// leaves a session by an exception of its own, ends the others through MPI with a message that names it.
///
/// Engine: C. Augonnet, S. Thibault, R. Namyst and P.-A. Wacrenier, "StarPU: a unified platform for task
/// scheduling on heterogeneous multicore architectures", CCPE 23, 2011.
class SMEM_DISTRIBUTED_API Session {
 public:
  /// Collective over MPI_COMM_WORLD. Starts StarPU, and MPI if the program has not. (A program that starts
  /// MPI must ask for MPI_THREAD_FUNNELED or more.) If the session has started MPI, MPI ends with it, and
  /// cannot be started again in the same process. \throws Error on all ranks when a rank has no device, a
  /// device cannot be used, the options differ or are wrong, StarPU is already running, or MPI cannot be
  /// used.
  explicit Session(const SessionOptions& options = {});

  int rank() const;   ///< of this process: 0 to ranks() - 1
  int ranks() const;  ///< processes
  /// Devices of each rank, by name.
  const std::vector<std::vector<std::string>>& devices() const;

  /// What a task does: it enqueues work on the context's queue, and does not wait. An exception that leaves
  /// it is thrown by the next wait().
  using Body = std::function<void(const Context& context, std::span<const Piece> pieces)>;

  /// Submits a task to StarPU on this rank; not collective. One device of the rank runs it, after all earlier
  /// tasks that write what it reads, or use what it writes. `name` identifies the task's performance model,
  /// by which schedulers such as dmda choose a device. Does not wait. After a failure, no task is run until
  /// wait() has thrown it. \throws Error when there is no argument, more than 8, or one without a handle.
  void submit(const std::string& name, const std::vector<Argument>& arguments, Body body) const;

  /// Collective. Waits for all tasks and messages of all ranks. \throws Error on all ranks, naming the rank,
  /// if a task of any rank has thrown one; its message begins with `operation`.
  void wait(const char* operation = "distributed::Session::wait") const;

  /// For smem's own operations.
  detail::State& state() const { return *state_; }
  /// The same, shared.
  const std::shared_ptr<detail::State>& shared_state() const { return state_; }

 private:
  std::shared_ptr<detail::State> state_;
};

}  // namespace smem::distributed
