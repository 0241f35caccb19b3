/// What stands behind a session: MPI, StarPU, and the agreement of ranks on calls and failures.
#pragma once

#include "distributed/engine.hpp"
#include "distributed/transport.hpp"

#include <smem/distributed/data.hpp>
#include <smem/distributed/plan.hpp>
#include <smem/distributed/session.hpp>
#include <smem/reduce_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::distributed::detail {

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

  int rank() const { return transport_.rank(); }
  int ranks() const { return transport_.ranks(); }
  /// The most elements of so many bytes that a block has.
  std::size_t block_elements(std::size_t element_bytes) const;
  /// Bytes of a device that data of a call can have at a time, the least of all ranks' devices.
  std::size_t device_bytes() const { return device_bytes_; }
  const std::vector<std::vector<std::string>>& devices() const { return devices_; }
  std::size_t devices_of(int rank) const { return devices_[static_cast<std::size_t>(rank)].size(); }
  /// What is assumed of the slowest rank's devices, from their facts; the same on all ranks.
  const MachineRates& estimate() const { return estimate_; }
  /// Whether some rank's threads sleep between polls, as its device is the cores.
  bool cores_are_short() const { return cores_are_short_; }
  const Engine& engine() const { return engine_; }
  Transport& transport() { return transport_; }

  void submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body);
  /// Copies data to the device `home` of this rank as soon as the tasks before have written it.
  void bring(Handle handle, int home) { engine_.bring(handle, home); }
  /// Calls `body` now, with the context of this rank's first device, for results of a few bytes. What it
  /// throws is kept as the failure of a task is.
  void here(const std::function<void(const Context&)>& body);
  /// Sends the data of a handle to another rank, once the tasks before have written it. Does not wait.
  void send(Handle handle, int to, std::int64_t tag);
  /// The other end: writes all of the handle's data.
  void receive(Handle handle, int from, std::int64_t tag);
  /// What calls leave out from now on, of all ranks alike.
  void set_omitted(Omit what) { omitted_ = what; }
  /// A tag that no other message has: all ranks ask for it together.
  std::int64_t next_tag() { return next_tags(1); }
  /// So many that follow each other: the first of them.
  std::int64_t next_tags(std::size_t count) {
    const std::int64_t first = tag_ + 1;
    tag_ += static_cast<std::int64_t>(count);
    return first;
  }

  /// Waits until at most this many of its tasks have not ended. Where data exceeds the devices, tasks are
  /// submitted block by block with it: those that are ready run in the order in which they became so, and
  /// would bring all blocks for their first step before the second one. Called by all ranks at the same
  /// places, as tasks may wait for messages.
  void throttle(std::size_t tasks);
  /// Waits for tasks and messages of this rank.
  void settle();
  /// settle(), then agree().
  void wait(const char* operation);
  /// Collective. \throws Error on all ranks when one has failed.
  void agree(const char* operation);
  bool has_failed() const { return engine_.has_failed(); }

  /// The bytes of every rank, on every rank.
  std::vector<Bytes> allgather(const void* from, std::size_t bytes);
  /// The same, contiguous.
  Bytes gather(const void* from, std::size_t bytes);
  /// The bytes of rank 0, on every rank, which knows how many.
  void broadcast(void* data, std::size_t bytes, int root = 0) { transport_.broadcast(data, bytes, root); }
  /// Sums on every rank.
  void sum(std::vector<std::uint64_t>& numbers) { transport_.sum(numbers); }

  /// Runs `check`, which throws the same on all ranks or on some, and compares the signatures of the ranks;
  /// then runs `body`, waits, and throws the failures of tasks. A `body` that throws on one rank alone would
  /// leave the others waiting: it ends all ranks.
  void collective(const char* operation, const std::function<void(Signature&)>& check,
                  const std::function<void()>& body);

 private:
  void start_engine();
  [[noreturn]] void throw_agreed(const ErrorDetails& details);

  SessionOptions options_;
  int exceptions_ = 0;   ///< that were under way when the session was made
  bool agreed_ = false;  ///< the exception under way is on all ranks
  Transport transport_;  ///< ends after the engine
  Engine engine_;
  std::size_t device_bytes_ = 0;
  std::vector<std::vector<std::string>> devices_;
  std::int64_t tag_ = 0;  ///< of the last message
  Omit omitted_ = Omit::nothing;
  MachineRates estimate_;
  bool cores_are_short_ = false;
};

}  // namespace smem::distributed::detail
