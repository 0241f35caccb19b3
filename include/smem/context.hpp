/// smem: a context is a device, a queue, and the caches that belong to them.
#pragma once

#include <smem/device.hpp>
#include <smem/error.hpp>
#include <smem/export.hpp>
#include <smem/opencl.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace smem {

namespace runtime {
class Runtime;
}

class Kernel;
struct KernelSource;

/// Which device a context opens, and how.
struct ContextOptions {
  /// Which device: an index of smem::devices(), a part of a device's or platform's name (case does not
  /// matter), or a type: "gpu", "cpu", "accelerator". Empty: the environment variable SMEM_DEVICE, else the
  /// best GPU, else a CPU.
  std::string device;
  /// Whether events record times (CL_QUEUE_PROFILING_ENABLE).
  bool profiling = false;
};

/// Counters of a context's program cache.
struct CacheStatistics {
  std::size_t built_from_source = 0;  ///< programs
  std::size_t loaded_from_disk = 0;   ///< programs
  std::size_t found_in_memory = 0;    ///< calls that found their program in memory
  std::size_t stored_on_disk = 0;     ///< programs
  std::size_t disk_failures =
      0;  ///< entries that were unreadable, wrong, or could not be written; never an error
};

/// A handle: copies share one state. All functions may be called from several threads on one context. All
/// work goes to one command queue, and runs in the order in which it was enqueued unless an adopted queue is
/// out of order. After a move, a context can only be assigned to or destroyed; other calls throw Error.
///
/// fork(): OpenCL drivers have threads, locks and device files that a child process does not inherit in a
/// usable state. A child must not use a Context, Array, Kernel or event of its parent. It must not open a
/// context if the parent has used OpenCL (smem::devices() included). It must end by _exit() or exec(), so
/// that no destructor calls the driver. It is safe to fork before the first use of OpenCL, or to exec. The
/// parent is not affected.
class SMEM_API Context {
 public:
  /// Opens the device that `options.device` names. \throws Error when there is none, or none of that name.
  explicit Context(const ContextOptions& options = {});
  /// Adopts the caller's queue, its context and its device.
  explicit Context(const cl::CommandQueue& queue);
  /// Adopts the caller's context, and makes a queue on `device`.
  Context(const cl::Context& context, const cl::Device& device, const ContextOptions& options = {});

  const Device& device() const;    ///< the facts from which plans are made
  cl::Context cl_context() const;  ///< for your own OpenCL calls
  cl::Device cl_device() const;    ///< the same
  cl::CommandQueue queue() const;  ///< to which all work of this context goes

  /// Builds the caller's kernel, which may include smem's building blocks; see kernel.hpp. It is built once,
  /// also if several threads ask for it, and cached in memory and on disk like smem's own kernels. \throws
  /// Error with the compiler's log and the failing line when it does not compile, has no such entry point, or
  /// includes a file that does not exist. smem prints nothing: it tells compilers not to print warnings (-w),
  /// and PoCL's not to count errors. For text that does not compile, NVIDIA's prints the number of
  /// errors to the process's error stream ("1 error generated."); it has no option against that.
  Kernel build(const KernelSource& source) const;

  /// Waits until all commands on the queue have completed.
  void finish() const;
  /// The counters of the program cache.
  CacheStatistics cache_statistics() const;

  /// For smem's own operations. \throws Error when this context was moved from, in the name of its `owner`.
  runtime::Runtime& runtime(const char* owner = "Context") const {
    if (!runtime_) refuse_moved_from(owner);
    return *runtime_;
  }

 private:
  [[noreturn]] static void refuse_moved_from(const char* owner);

  std::shared_ptr<runtime::Runtime> runtime_;
};

/// A buffer of `bytes` bytes that the context's device can read and write; an empty handle for 0. \throws
/// Error when the device does not have as much memory.
SMEM_API cl::Buffer make_buffer(const Context& context, std::size_t bytes);
/// Copies from the host to the start of the buffer, and waits for the queue. \throws Error naming the
/// argument when the buffer is smaller or of another context.
SMEM_API void write_buffer(const Context& context, const cl::Buffer& buffer, const void* from,
                           std::size_t bytes);
/// Copies from the start of the buffer to the host, after all commands on the queue, and waits for the copy.
/// \throws Error as write_buffer() does.
SMEM_API void read_buffer(const Context& context, const cl::Buffer& buffer, void* to, std::size_t bytes);

}  // namespace smem
