/// StarPU: its workers, one OpenCL device each, with a context each; tasks; and memory.
#pragma once

#include "distributed/failures.hpp"
#include "distributed/pinned.hpp"

#include <smem/context.hpp>
#include <smem/distributed/session.hpp>

#include <starpu.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace smem::distributed::detail {

/// StarPU of this process, of which there is one.
class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts StarPU with this rank's share of the machine's devices. Failures are kept, not thrown.
  void start(const SessionOptions& options, int local_rank, int local_ranks);
  void stop() noexcept;

  /// Of this rank.
  const std::map<int, Context>& contexts() const { return contexts_; }
  /// Bytes of each device that StarPU may use, the least of this rank's. Work areas of kernels come on top.
  std::size_t device_bytes() const { return device_bytes_; }

  void submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body);
  /// Copies data to the device `home`, when the tasks submitted before have written it: tasks there find it.
  /// Without it the copy begins when the device has room for the task. Does not wait.
  void bring(Handle handle, int home);
  /// Waits for the tasks, when there are no messages, and lets the workers rest.
  void wait_for_tasks();

  /// Keeps the failure of a task, the first one.
  void fail(ErrorDetails details);
  bool has_failed() const { return failed_; }
  std::optional<ErrorDetails> failure() const;
  void forget_failure();

 private:
  struct Codelet;
  struct Work;

  bool choose_devices(starpu_conf& conf, int local_rank, int local_ranks);
  void open_contexts();
  Codelet& codelet(const std::string& name);
  static void run(void* buffers[], void* argument);

  bool runs_ = false;
  bool homes_count_ = false;  ///< whether tasks run at home: several devices, and no scheduler was named
  std::vector<int> workers_;  ///< of StarPU, one a device
  std::size_t device_bytes_ = 0;
  int hook_ = -1;                    ///< of StarPU's workers' loops
  std::map<int, Context> contexts_;  ///< by StarPU's worker
  std::unique_ptr<PinnedMemory> pinned_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Codelet>> codelets_;
  std::optional<ErrorDetails> failure_;
  std::atomic<bool> failed_ = false;
};

/// StarPU's workers poll. They rest while there is nothing for them to do, so that ranks that share cores do
/// not wait for those that wait.
void wake_workers();
void rest_workers();

}  // namespace smem::distributed::detail
