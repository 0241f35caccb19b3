/// Small read-only buffers, such as the weights of a filter, kept by what is in them.
#pragma once

#include <smem/opencl.hpp>

#include <cstddef>
#include <list>
#include <mutex>
#include <span>
#include <vector>

namespace smem::runtime {

/// A caller mostly filters again with the weights of the last time. The buffers of the last kMost contents
/// are kept; one that is dropped lives on for the commands that use it, as OpenCL promises.
class ConstantPool {
 public:
  static constexpr std::size_t kMost = 32;

  explicit ConstantPool(cl::Context context) : context_(std::move(context)) {}

  /// A buffer that holds `bytes`, which are copied before it returns.
  cl::Buffer get(std::span<const std::byte> bytes);

 private:
  struct Entry {
    std::vector<std::byte> bytes;
    cl::Buffer buffer;
  };

  cl::Context context_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace smem::runtime
