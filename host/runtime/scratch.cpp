#include "runtime/scratch.hpp"
#include "plan/sizes.hpp"

#include "runtime/driver_faults.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <array>
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

cl::Buffer ScratchPool::take_idle(std::vector<Idle>& list, std::size_t bytes) const {
  for (auto idle = list.begin(); idle != list.end(); ++idle) {
    if (idle->bytes == bytes && (in_order_ || complete(idle->used_until))) {
      cl::Buffer buffer = std::move(idle->buffer);
      list.erase(idle);
      return buffer;
    }
  }
  return {};
}

cl::Buffer ScratchPool::take(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 62;  // beyond it there is no next power of two
  if (bytes > kMost) {
    plan::refuse("scratch", "bytes", "at most " + std::to_string(kMost) + " bytes of temporary memory",
                 std::to_string(bytes));
  }
  const std::size_t wanted = std::bit_ceil(std::max(bytes, kSmallest));
  const std::scoped_lock lock(mutex_);
  if (cl::Buffer buffer = take_idle(idle_, wanted); buffer() != nullptr) return buffer;
  cl::Buffer buffer = new_buffer(context_, device_, wanted, "scratch");
  bytes_ += wanted;
  return buffer;
}

void ScratchPool::give_back(cl::Buffer buffer, cl::Event used_until) {
  std::size_t bytes = 0;
  check(clGetMemObjectInfo(buffer(), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr), "clGetMemObjectInfo",
        "scratch");
  const std::scoped_lock lock(mutex_);
  idle_.push_back({std::move(buffer), bytes, std::move(used_until)});
}

cl::Buffer ScratchPool::take_zeroed() {
  const std::scoped_lock lock(mutex_);
  if (cl::Buffer buffer = take_idle(idle_zeroed_, kZeroedBytes); buffer() != nullptr) return buffer;
  std::array<unsigned char, kZeroedBytes> zeros{};
  cl_int status = CL_SUCCESS;
  cl::Buffer buffer(clCreateBuffer(context_(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kZeroedBytes,
                                   zeros.data(), &status));
  check(status, "clCreateBuffer", "scratch");
  bytes_ += kZeroedBytes;
  return buffer;
}

void ScratchPool::give_back_zeroed(cl::Buffer buffer, cl::Event used_until) {
  const std::scoped_lock lock(mutex_);
  idle_zeroed_.push_back({std::move(buffer), kZeroedBytes, std::move(used_until)});
}

std::size_t ScratchPool::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void ScratchPool::trim() {
  const std::scoped_lock lock(mutex_);
  for (std::vector<Idle>* list : {&idle_, &idle_zeroed_}) {
    std::erase_if(*list, [this](const Idle& idle) {
      if (!complete(idle.used_until)) return false;
      bytes_ -= idle.bytes;
      return true;
    });
  }
}

}  // namespace smem::runtime
