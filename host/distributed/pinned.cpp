// Locked main memory: buffers of CL_MEM_ALLOC_HOST_PTR that stay mapped.
#include "distributed/pinned.hpp"

#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kSmall = std::size_t{64} << 10;    // less is copied as fast from any memory
constexpr std::size_t kMostFree = std::size_t{8} << 30;  // kept for the next request

/// Up to an eighth more than `bytes`: parts of a sort differ by little from call to call, and locking 34 MB
/// took 10 ms.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 1);
  return (bytes + step - 1) / step * step;
}

std::atomic<PinnedMemory*> current = nullptr;

}  // namespace

PinnedMemory::PinnedMemory(const Context& context)
    : context_(context.cl_context()), queue_(context_, context.cl_device()) {
  current = this;
  starpu_malloc_set_hooks(
      [](unsigned, void** memory, std::size_t bytes, int) {
        PinnedMemory* const here = current;
        *memory = here != nullptr ? here->take(bytes) : std::malloc(bytes);
        return *memory != nullptr ? 0 : -ENOMEM;
      },
      [](unsigned, void* memory, std::size_t, int) {
        if (PinnedMemory* const here = current; here != nullptr) {
          here->give_back(memory);
        } else {
          std::free(memory);
        }
        return 0;
      });
}

PinnedMemory::~PinnedMemory() {
  starpu_malloc_set_hooks(nullptr, nullptr);
  current = nullptr;
  for (const auto& [bytes, area] : free_)
    release(area);
  for (const auto& [memory, area] : taken_)
    release(area);
  clFinish(queue_());
}

void PinnedMemory::release(const Area& area) {
  clEnqueueUnmapMemObject(queue_(), area.buffer(), area.memory, 0, nullptr, nullptr);
}

void* PinnedMemory::take(std::size_t bytes) {
  if (bytes < kSmall) return std::malloc(bytes);
  bytes = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(bytes); found != free_.end()) {
      const Area area = found->second;
      free_.erase(found);
      free_bytes_ -= area.bytes;
      taken_.emplace(area.memory, area);
      return area.memory;
    }
  }
  cl_int status = CL_SUCCESS;
  Area area{.bytes = bytes};
  area.buffer = cl::Buffer(
      clCreateBuffer(context_(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &status));
  if (status == CL_SUCCESS) {
    area.memory = clEnqueueMapBuffer(queue_(), area.buffer(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                     0, nullptr, nullptr, &status);
  }
  if (status != CL_SUCCESS || area.memory == nullptr) return std::malloc(bytes);
  const std::lock_guard lock(mutex_);
  taken_.emplace(area.memory, area);
  return area.memory;
}

void PinnedMemory::give_back(void* memory) {
  Area area;
  {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(memory);
    if (found != taken_.end()) {
      area = found->second;
      taken_.erase(found);
      if (free_bytes_ + area.bytes <= kMostFree) {
        free_bytes_ += area.bytes;
        free_.emplace(area.bytes, area);
        return;
      }
    }
  }
  if (area.memory != nullptr) {
    release(area);
  } else {
    std::free(memory);
  }
}

}  // namespace smem::distributed::detail
