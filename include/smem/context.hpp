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
  /// Whether events can be asked for times (CL_QUEUE_PROFILING_ENABLE).
  bool profiling = false;
};

/// What a context's program cache has done so far.
struct CacheStatistics {
  std::size_t built_from_source = 0;  ///< programs
  std::size_t loaded_from_disk = 0;   ///< programs
  std::size_t found_in_memory = 0;    ///< calls that found their program in memory
  std::size_t stored_on_disk = 0;     ///< programs
  std::size_t disk_failures =
      0;  ///< entries that were unreadable, wrong, or could not be written; never an error
};

/// A handle: copies share one state. All functions may be called from several threads on one context.
/// Work runs on one command queue, in the order in which it was enqueued unless the adopted queue says
/// otherwise. A context that was moved from can be assigned to and destroyed; all else throws Error.
///
/// fork(): OpenCL drivers keep threads, locks and device files that a child does not inherit in a usable
/// state. After fork() a child must use no Context, Array, Kernel or event that its parent made, must not
/// open a context of its own where the parent has used OpenCL (smem::devices() included), and ends by _exit()
/// or exec(), so that no destructor calls the driver. What works: fork before the first use of OpenCL, or
/// exec. The parent is not affected.
class SMEM_API Context {
 public:
  /// Opens the device that `options.device` names. \throws Error when there is none, or none of that name.
  explicit Context(const ContextOptions& options = {});
  /// Adopts the caller's queue, its context and its device.
  explicit Context(const cl::CommandQueue& queue);
  /// Adopts the caller's context, with a queue of its own on `device`.
  Context(const cl::Context& context, const cl::Device& device, const ContextOptions& options = {});

  const Device& device() const;    ///< facts, as plans are made of them
  cl::Context cl_context() const;  ///< for OpenCL calls of one's own
  cl::Device cl_device() const;    ///< the same
  cl::CommandQueue queue() const;  ///< where all work of this context goes

  /// A kernel of the caller's own, which may include smem's building blocks; see kernel.hpp. Built once, also
  /// when many threads ask, and kept in memory and on disk as smem's own are. \throws Error with the
  /// compiler's log and the failing line when it does not compile, has no such entry point, or includes what
  /// is not there. Prints nothing: compilers are told to keep warnings to themselves (-w), and PoCL's to
  /// count no errors. What another driver prints all the same stays: streams belong to the process.
  Kernel build(const KernelSource& source) const;

  /// Waits until everything enqueued on the queue has ended.
  void finish() const;
  /// What the program cache did.
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

/// A buffer of `bytes` bytes that the context's device can read and write; an empty handle for 0.
SMEM_API cl::Buffer make_buffer(const Context& context, std::size_t bytes);
/// Copies between host and buffer and waits for the end of the copy.
SMEM_API void write_buffer(const Context& context, const cl::Buffer& buffer, const void* from,
                           std::size_t bytes);
/// The way back, after everything on the queue.
SMEM_API void read_buffer(const Context& context, const cl::Buffer& buffer, void* to, std::size_t bytes);

}  // namespace smem
