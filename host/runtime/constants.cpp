#include "runtime/constants.hpp"

#include "runtime/status.hpp"

#include <algorithm>

namespace smem::runtime {

cl::Buffer ConstantPool::get(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return std::equal(entry.bytes.begin(), entry.bytes.end(), bytes.begin(), bytes.end());
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().buffer;
  }
  Entry entry{{bytes.begin(), bytes.end()}, {}};
  cl_int status = CL_SUCCESS;
  const cl_mem memory = clCreateBuffer(context_(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                       entry.bytes.size(), entry.bytes.data(), &status);
  check(status, "clCreateBuffer");
  entry.buffer = cl::Buffer(memory);
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMost) entries_.pop_back();
  return entries_.front().buffer;
}

}  // namespace smem::runtime
