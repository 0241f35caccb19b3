#include "runtime/scratch.hpp"
#include "plan/sizes.hpp"

#include "runtime/driver_faults.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace smem::runtime {

namespace {

// Small requests share one size, so that they can share buffers too.
constexpr std::size_t kSmallest = std::size_t{64} * 1024;

bool complete(const cl::Event& event) {
  if (event() == nullptr) return true;
  cl_int state = CL_QUEUED;
  check(clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr),
        "clGetEventInfo");
  return state <= CL_COMPLETE;  // negative: the command failed, and so ended
}

}  // namespace

ScratchPool::Idle ScratchPool::take_idle(std::vector<Idle>& list, std::size_t bytes,
                                         std::size_t layout) const {
  for (auto idle = list.begin(); idle != list.end(); ++idle) {
    if (idle->bytes == bytes && idle->layout == layout && (in_order_ || complete(idle->used_until))) {
      Idle found = std::move(*idle);
      list.erase(idle);
      return found;
    }
  }
  return {};
}

cl::Buffer ScratchPool::new_zeroed(std::size_t bytes) {
  std::vector<unsigned char> zeros(bytes);
  cl_int status = CL_SUCCESS;
  cl::Buffer buffer(
      clCreateBuffer(context_(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros.data(), &status));
  check(status, "clCreateBuffer", "scratch");
  bytes_ += bytes;
  return buffer;
}

cl::Buffer ScratchPool::take(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 62;  // beyond it there is no next power of two
  if (bytes > kMost) {
    plan::refuse("scratch", "bytes", "at most " + std::to_string(kMost) + " bytes of temporary memory",
                 std::to_string(bytes));
  }
  const std::size_t wanted = std::bit_ceil(std::max(bytes, kSmallest));
  const std::scoped_lock lock(mutex_);
  if (Idle idle = take_idle(idle_, wanted); idle.buffer() != nullptr) return idle.buffer;
  cl::Buffer buffer = new_buffer(context_, device_, wanted, "scratch");
  bytes_ += wanted;
  return buffer;
}

void ScratchPool::give_back(cl::Buffer buffer, cl::Event used_until) {
  std::size_t bytes = 0;
  check(clGetMemObjectInfo(buffer(), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr), "clGetMemObjectInfo",
        "scratch");
  const std::scoped_lock lock(mutex_);
  idle_.push_back({std::move(buffer), bytes, std::move(used_until), 0, 0});
}

cl::Buffer ScratchPool::take_zeroed() {
  const std::scoped_lock lock(mutex_);
  if (Idle idle = take_idle(idle_zeroed_, kZeroedBytes); idle.buffer() != nullptr) return idle.buffer;
  return new_zeroed(kZeroedBytes);
}

ScratchPool::Statuses ScratchPool::take_statuses(std::size_t bytes, std::size_t layout) {
  const std::size_t wanted = std::bit_ceil(std::max(bytes, kSmallest));
  const std::scoped_lock lock(mutex_);
  Idle idle = take_idle(idle_statuses_, wanted, layout);
  if (idle.buffer() == nullptr) return {new_zeroed(wanted), 1};
  return {std::move(idle.buffer), idle.epoch + 1};
}

void ScratchPool::give_back_statuses(Statuses statuses, std::size_t layout, cl::Event used_until) {
  std::size_t bytes = 0;
  check(clGetMemObjectInfo(statuses.buffer(), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr),
        "clGetMemObjectInfo", "scratch");
  const std::scoped_lock lock(mutex_);
  if (statuses.epoch >= kMostEpochs) {  // no number is left for it
    bytes_ -= bytes;
    return;
  }
  idle_statuses_.push_back(
      {std::move(statuses.buffer), bytes, std::move(used_until), layout, statuses.epoch});
}

void ScratchPool::give_back_zeroed(cl::Buffer buffer, cl::Event used_until) {
  const std::scoped_lock lock(mutex_);
  idle_zeroed_.push_back({std::move(buffer), kZeroedBytes, std::move(used_until), 0, 0});
}

std::size_t ScratchPool::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void ScratchPool::trim() {
  const std::scoped_lock lock(mutex_);
  for (std::vector<Idle>* list : {&idle_, &idle_zeroed_, &idle_statuses_}) {
    std::erase_if(*list, [this](const Idle& idle) {
      if (!complete(idle.used_until)) return false;
      bytes_ -= idle.bytes;
      return true;
    });
  }
}

}  // namespace smem::runtime
