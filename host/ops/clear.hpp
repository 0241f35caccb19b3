/// Temporary memory that kernels find zero.
#pragma once

#include "runtime/runtime.hpp"
#include "runtime/scratch.hpp"
#include "runtime/status.hpp"

#include <cstddef>
#include <vector>

namespace smem::ops {

/// Makes the first `bytes` of the lease zero; what waits for `events` finds them so. Of 0 bytes, does
/// nothing.
inline void clear(runtime::Runtime& runtime, runtime::Lease& lease, std::size_t bytes, const char* operation,
                  std::vector<cl::Event>& events) {
  if (bytes == 0) return;
  const cl_ulong zero = 0;
  cl_event filled = nullptr;
  runtime::check(clEnqueueFillBuffer(runtime.queue()(), lease.memory_or(nullptr), &zero, sizeof zero, 0,
                                     bytes, 0, nullptr, &filled),
                 "clEnqueueFillBuffer", operation);
  events.emplace_back(filled);
  lease.used_until(events.back());
}

}  // namespace smem::ops
