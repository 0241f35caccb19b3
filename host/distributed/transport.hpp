/// MPI: the ranks, their control messages, and the messages that carry data of StarPU between them.
#pragma once

#include <smem/opencl.hpp>  // before StarPU's headers, which include an older OpenCL

#include <mpi.h>
#include <starpu.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace smem::distributed::detail {

using Bytes = std::vector<std::byte>;
using Handle = starpu_data_handle_t;

inline constexpr const char* kSession = "distributed::Session";  // in errors

/// Sleeps for so long, on Linux to a microsecond.
void sleep_briefly(std::chrono::microseconds time);

/// Waits between polls: yields at first, then sleeps, so that a core is left to those who have work.
class Pause {
 public:
  /// `moving`: MPI moves a message, by small pieces, one or some in each poll. Then sleeps are short, or none
  /// where there are cores enough.
  void wait(bool moving = false);
  void reset() { polls_ = 0; }
  /// Of this process: whether this machine has more threads to run than cores.
  static void set_cores_are_short(bool value);
  static bool cores_are_short();

 private:
  unsigned polls_ = 0;
};

/// What ranks exchanged so far: of this rank, without what collectives of few bytes take.
struct Traffic {
  std::uint64_t sent_bytes = 0, received_bytes = 0;  ///< of messages and gathers
  std::uint64_t sent_messages = 0;                   ///< of data
};

/// All calls are made by one thread, the one that made it.
class Transport {
 public:
  Transport() = default;
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Starts MPI where the program has not. \throws Error on all ranks alike.
  void start();
  void stop() noexcept;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// This rank among those of its machine, and their number. Collective.
  int local_rank() const { return local_rank_; }
  int local_ranks() const { return local_ranks_; }

  /// The bytes of every rank, on every rank.
  std::vector<Bytes> allgather(const void* from, std::size_t bytes);
  /// The bytes of `root`, on every rank, which knows how many.
  void broadcast(void* data, std::size_t bytes, int root);
  /// Sums on every rank.
  void sum(std::vector<std::uint64_t>& numbers);
  /// The largest and the smallest on every rank.
  int max(int mine);
  std::uint64_t min(std::uint64_t mine);
  /// `count` numbers of each rank, on every rank.
  std::vector<std::uint64_t> allgather(const std::uint64_t* mine, std::size_t count);

  /// Sends the data of a handle to another rank, once the tasks submitted before have written it. Does not
  /// wait: messages move while the rank is in progress().
  void send(Handle handle, int to, std::int64_t tag);
  /// The other end: writes all of the handle's data.
  void receive(Handle handle, int from, std::int64_t tag);
  /// Starts messages whose data is there, and ends those that have arrived. \returns whether it did any.
  bool progress();
  /// Whether there are messages that have not arrived.
  bool has_messages() const { return under_way_ != 0; }
  /// Whether MPI has some of them.
  bool is_moving() const { return !posted_.empty(); }

  /// Collective. Seconds of a message of so many bytes from the first rank to the last, the least of some.
  double seconds_of_message(std::size_t bytes);

  const Traffic& traffic() const { return traffic_; }

  /// Ends all ranks, with a message that names this one.
  [[noreturn]] void abort(const std::string& why) const noexcept;

 private:
  struct Message;

  /// Once the ranks have started, an error of MPI ends all of them. \throws Error before.
  void check(int status, const char* call) const;
  /// Waits for a request, and moves messages meanwhile.
  void complete(MPI_Request& request, const char* call);
  void acquire(Message* message);
  void post(Message& message);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1, local_rank_ = 0, local_ranks_ = 1, most_tag_ = 32767;
  bool owns_mpi_ = false, has_started_ = false;
  std::size_t under_way_ = 0;
  std::mutex mutex_;
  std::vector<Message*> acquired_;  ///< by StarPU's threads, under mutex_
  std::atomic<bool> any_acquired_ = false;
  std::deque<Message*> posted_;
  Traffic traffic_;
};

}  // namespace smem::distributed::detail
