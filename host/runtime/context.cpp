// The public face of the runtime.
#include <smem/context.hpp>

#include "plan/sizes.hpp"
#include "runtime/driver_faults.hpp"
#include "runtime/runtime.hpp"
#include "runtime/status.hpp"

#include <string>

namespace smem {

Context::Context(const ContextOptions& options) : runtime_(std::make_shared<runtime::Runtime>(options)) {}
Context::Context(const cl::CommandQueue& queue) : runtime_(std::make_shared<runtime::Runtime>(queue)) {}
Context::Context(const cl::Context& context, const cl::Device& device, const ContextOptions& options)
    : runtime_(std::make_shared<runtime::Runtime>(context, device, options)) {}

const Device& Context::device() const { return runtime().device(); }
cl::Context Context::cl_context() const { return runtime().context(); }
cl::Device Context::cl_device() const { return cl::Device(runtime().id(), true); }
cl::CommandQueue Context::queue() const { return runtime().queue(); }
CacheStatistics Context::cache_statistics() const { return runtime().programs().statistics(); }

void Context::finish() const {
  runtime::check(clFinish(runtime().queue()()), "clFinish", "Context::finish");
  runtime().settle();
}

void Context::refuse_moved_from(const char* owner) {
  throw Error({.operation = owner,
               .argument = "this",
               .expected = "an object that holds a device",
               .got = "one that was moved from"});
}

cl::Buffer make_buffer(const Context& context, std::size_t bytes) {
  runtime::Runtime& state = context.runtime();
  if (bytes == 0) return {};
  // Some drivers hand out any size, and fail when it is first used.
  if (const Device& device = state.device(); bytes > device.global_bytes) {
    throw Error(
        {.operation = "make_buffer",
         .argument = "bytes",
         .expected = "at most the device's memory of " + std::to_string(device.global_bytes) + " bytes",
         .got = std::to_string(bytes),
         .device = device.name});
  }
  return runtime::new_buffer(state.context(), state.device(), bytes, "make_buffer");
}

namespace {

/// \throws Error when `bytes` bytes are not in both, by name.
void check_copy(const Context& context, const char* operation, const cl::Buffer& buffer,
                const char* host_name, const void* host, std::size_t bytes) {
  const auto refuse = [&](const char* argument, const std::string& expected, const std::string& got) {
    plan::refuse(operation, argument, expected, got);
  };
  if (host == nullptr) refuse(host_name, std::to_string(bytes) + " bytes", "a null pointer");
  if (buffer() == nullptr) refuse("buffer", "a buffer", "an empty handle");
  runtime::require_context(context.cl_context()(), operation, "buffer", buffer());
  const auto size = runtime::memory_value<std::size_t>(buffer(), CL_MEM_SIZE, operation);
  if (bytes > size) refuse("bytes", "at most the buffer's " + std::to_string(size), std::to_string(bytes));
}

}  // namespace

void write_buffer(const Context& context, const cl::Buffer& buffer, const void* from, std::size_t bytes) {
  runtime::Runtime& state = context.runtime();
  if (bytes == 0) return;
  check_copy(context, "write_buffer", buffer, "from", from, bytes);
  // A blocking write returns once the host's memory may be used again. Intel's CPU runtime copies it and
  // writes later, after which a kernel of another queue may already have read the buffer. The queue is waited
  // for, and not the write's event, since rusticl of Mesa 22.3 crashes when several threads wait for events.
  runtime::check(
      clEnqueueWriteBuffer(state.queue()(), buffer(), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
      "clEnqueueWriteBuffer", "write_buffer");
  runtime::check(clFinish(state.queue()()), "clFinish", "write_buffer");
}

void read_buffer(const Context& context, const cl::Buffer& buffer, void* to, std::size_t bytes) {
  runtime::Runtime& state = context.runtime();
  if (bytes == 0) return;
  check_copy(context, "read_buffer", buffer, "to", to, bytes);
  runtime::check(clEnqueueReadBuffer(state.queue()(), buffer(), CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
                 "clEnqueueReadBuffer", "read_buffer");
  state.settle();
}

}  // namespace smem
