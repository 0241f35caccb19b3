/// smem: your own kernels, built from smem's building blocks and kept in its caches.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/export.hpp>
#include <smem/layout.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem {

namespace runtime {
class Program;
}

/// Your own OpenCL C. A line `#include "common/NAME.clh"` includes one of smem's building blocks:
/// - common/tile.clh: TILE_AT(row, col), the index of an item of a tile, from the defines of a layout
/// - common/work_group.clh: functions of a whole work-group, of any type and operation
/// - common/scalar.clh: loads and stores of numbers, half as storage
/// Each begins with a comment that lists its functions and the defines that it needs.
struct KernelSource {
  std::string source;       ///< OpenCL C
  std::string entry_point;  ///< the kernel function's name
  /// Passed to the compiler as -DNAME=VALUE.
  std::vector<std::pair<std::string, long>> defines = {};
  std::vector<std::pair<std::string, std::string>> text_defines = {};  ///< values are single words
  std::string language = "CL1.2";                                      ///< of OpenCL C, as -cl-std= takes it

  /// Adds the defines that common/tile.clh needs: TILE_STRIDE, and for a swizzle its mask, shift and unit.
  /// The tile has layout.items() places.
  KernelSource& with(const LocalLayout& layout) {
    for (auto& define : layout_defines(layout))
      defines.push_back(std::move(define));
    return *this;
  }
};

/// The number of work-items in each dimension, of the launch and of a work-group.
struct LaunchSize {
  std::array<std::size_t, 3> global{1, 1, 1};      ///< multiples of work_group
  std::array<std::size_t, 3> work_group{1, 1, 1};  ///< work-items of a group, by dimension
};

/// Bytes of local memory for an argument that is a `local` pointer.
struct LocalBytes {
  std::size_t bytes = 0;  ///< may be 0; all arguments together at most what the device has
};

/// A built kernel. Copies share one program; all functions may be called from several threads. After a move,
/// a kernel can only be assigned to or destroyed; other calls throw Error.
class Kernel {
 public:
  /// Enqueues the kernel with its arguments in order: an Array, a cl::Buffer or cl_mem, LocalBytes, or a
  /// value of an OpenCL type (cl_uint, cl_float4, ...). No host wait. \returns the event that completes with
  /// the kernel. \throws Error when the global size is not a multiple of the work-group, the device refuses
  /// the sizes, or the arguments differ from the kernel's in number or size. Nothing is enqueued then.
  template <class... Arguments>
  cl::Event operator()(const LaunchSize& size, std::span<const cl::Event> wait_for,
                       const Arguments&... arguments) const {
    const std::array<Argument, sizeof...(Arguments)> all{argument_of(arguments)...};
    return launch(size, wait_for, all);
  }
  /// The same, with events in braces: kernel(size, {event}, in, out).
  template <class... Arguments>
  cl::Event operator()(const LaunchSize& size, std::initializer_list<cl::Event> wait_for,
                       const Arguments&... arguments) const {
    return (*this)(size, std::span<const cl::Event>(wait_for.begin(), wait_for.size()), arguments...);
  }
  /// The same without events to wait for.
  template <class First, class... Arguments>
  cl::Event operator()(const LaunchSize& size, const First& first, const Arguments&... arguments) const
      requires(!std::is_convertible_v<const First&, std::span<const cl::Event>>) {
    return (*this)(size, std::span<const cl::Event>(), first, arguments...);
  }

  /// Work-items that a work-group of this kernel can have on the device, as its driver says.
  SMEM_API std::size_t max_work_group() const;

 private:
  friend class Context;
  struct Argument {
    std::size_t bytes;
    const void* value;
    bool is_memory = false;
  };

  Kernel(Context context, std::shared_ptr<runtime::Program> program, std::string entry_point);

  template <class T>
  static Argument argument_of(const Array<T>& array) {
    return argument_of(array.buffer());
  }
  static Argument argument_of(const cl::Buffer& buffer) { return argument_of(buffer()); }
  static Argument argument_of(const cl_mem& memory) { return {sizeof memory, &memory, true}; }
  static Argument argument_of(const LocalBytes& local) { return {local.bytes, nullptr}; }
  template <class T>
  static Argument argument_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "a kernel's argument is copied byte by byte");
    return {sizeof value, &value};
  }

  SMEM_API cl::Event launch(const LaunchSize& size, std::span<const cl::Event> wait_for,
                            std::span<const Argument> arguments) const;

  Context context_;
  std::shared_ptr<runtime::Program> program_;
  std::string entry_point_;
};

}  // namespace smem
