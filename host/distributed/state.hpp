/// What stands behind a session: MPI, StarPU, a context for each OpenCL worker, and the failures of tasks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/distributed/session.hpp>
#include <smem/reduce_plan.hpp>

#include <mpi.h>
#include <starpu.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::distributed::detail {

using Bytes = std::vector<std::byte>;

/// What arguments of a collective call are compared by.
class Signature {
 public:
  explicit Signature(std::string_view operation) { add(operation); }
  Signature& add(std::string_view text) {
    for (const char c : text)
      mix(static_cast<unsigned char>(c));
    return add(text.size());
  }
  template <class Number>
  Signature& add(Number number) requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) {
    unsigned char bytes[sizeof(Number)];
    std::memcpy(bytes, &number, sizeof number);
    for (const unsigned char byte : bytes)
      mix(byte);
    return *this;
  }
  Signature& add(const ElementType& type);
  Signature& add(const Reduction& reduction);
  Signature& add(const Rows& rows);
  std::uint64_t value() const { return hash_; }

 private:
  void mix(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }  // FNV-1a
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

class State {
 public:
  explicit State(const SessionOptions& options);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::size_t block_elements() const { return options_.block_elements; }
  const std::vector<std::vector<std::string>>& devices() const { return devices_; }
  std::size_t devices_of(int rank) const { return devices_[static_cast<std::size_t>(rank)].size(); }

  void submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body);
  /// Sends the data of a handle to another rank, once the tasks before have written it. Does not wait.
  void send(Handle handle, int to, std::int64_t tag);
  /// The other end: writes all of the handle's data.
  void receive(Handle handle, int from, std::int64_t tag);
  /// A tag that no other message has: all ranks ask for it together.
  std::int64_t next_tag() { return ++tag_; }

  /// Waits for tasks and messages of all ranks.
  void settle();
  /// settle(), then agree().
  void wait(const char* operation);
  /// Collective. \throws Error on all ranks when one has failed.
  void agree(const char* operation);
  /// Keeps the failure of a task, the first one.
  void fail(ErrorDetails details);
  bool has_failed() const { return failed_; }

  /// The bytes of every rank, on every rank.
  std::vector<Bytes> allgather(const void* from, std::size_t bytes);
  /// The bytes of rank 0, on every rank, which knows how many.
  void broadcast(void* data, std::size_t bytes, int root = 0);
  /// Sums on every rank.
  void sum(std::vector<std::uint64_t>& numbers);

  /// Runs `check`, which throws the same on all ranks or on some, and compares the signatures of the ranks;
  /// then runs `body`, waits, and throws the failures of tasks. A `body` that throws on one rank alone would
  /// leave the others waiting: it ends all ranks.
  void collective(const char* operation, const std::function<void(Signature&)>& check,
                  const std::function<void()>& body);

  /// Ends all ranks, with a message that names this one.
  [[noreturn]] void abort(const std::string& why) noexcept;

 private:
  struct Codelet;
  struct Work;

  void start_mpi();
  void start_starpu();
  void choose_devices(starpu_conf& conf);
  void open_contexts();
  void stop() noexcept;
  void check(int status, const char* call) const;
  /// Waits for a request, and leaves the core to others meanwhile.
  void complete(MPI_Request& request, const char* call) const;
  Codelet& codelet(const std::string& name);
  static void run(void* buffers[], void* argument);
  [[noreturn]] void throw_agreed(const ErrorDetails& details);

  SessionOptions options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  int exceptions_ = 0;  ///< that were under way when the session was made
  bool owns_mpi_ = false, starpu_runs_ = false, starpu_mpi_runs_ = false;
  bool agreed_ = false;  ///< the exception under way is on all ranks
  std::vector<std::vector<std::string>> devices_;
  std::map<int, Context> contexts_;  ///< by StarPU's worker
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Codelet>> codelets_;
  std::optional<ErrorDetails> failure_;
  std::atomic<bool> failed_ = false;
  std::int64_t tag_ = 0;          ///< of the last message
  std::int64_t settled_tag_ = 0;  ///< the same when all messages had arrived
};

/// Data of one collective call: a StarPU vector that is allocated where it is first written. It goes when the
/// tasks and messages that use it are done.
class Temporary {
 public:
  Temporary() = default;
  /// No handle where there are no elements.
  Temporary(std::size_t elements, std::size_t element_bytes);
  Temporary(Temporary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Temporary& operator=(Temporary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Temporary();

  Handle handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

/// Copies `bytes` of the host into the handle's data, from byte `offset` on; others are lost unless `update`.
void write_handle(Handle handle, const void* from, std::size_t offset, std::size_t bytes, bool update);
/// Copies data of the handle to the host, after the tasks that write it.
void read_handle(Handle handle, void* to, std::size_t offset, std::size_t bytes);
/// The same as bytes.
Bytes bytes_of(Handle handle, std::size_t bytes);

}  // namespace smem::distributed::detail
