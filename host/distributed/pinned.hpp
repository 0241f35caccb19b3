/// Main memory for StarPU's copies of data that a device's driver has locked, so that transfers run at the
/// link's rate and without the host.
#pragma once

#include <smem/context.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace smem::distributed::detail {

/// StarPU takes its main memory from here while this lives. There is one at a time.
class PinnedMemory {
 public:
  explicit PinnedMemory(const Context& context);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Null where neither locked memory nor other is left.
  void* take(std::size_t bytes);
  /// Memory that was taken here, or by malloc().
  void give_back(void* memory);

 private:
  struct Area {
    cl::Buffer buffer;
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  void release(const Area& area);

  cl::Context context_;
  cl::CommandQueue queue_;  ///< of its own: those of workers are busy
  std::mutex mutex_;
  std::unordered_map<void*, Area> taken_;
  std::multimap<std::size_t, Area> free_;  ///< by size; locking takes longer than a copy
  std::size_t free_bytes_ = 0;
};

}  // namespace smem::distributed::detail
