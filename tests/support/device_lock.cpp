// A lock on the device, for test processes that run side by side: they compile, and compute their references,
// at the same time, and one of them at a time has kernels on the device.
//
// Where SMEM_TEST_DEVICE_LOCK names a file, it is locked from the first enqueued kernel until the process has
// waited for the device, and while a program is built it is not. So a kernel that never ends, or that takes
// the device down, is one of the process that has the lock, and no process is timed while it waits for
// another. The lock goes with its process, however that ends. The linker leads these OpenCL calls here
// (--wrap).
#include "support/device_lock.hpp"

#include "support/case_report.hpp"
#include "support/more_groups.hpp"
#include "support/one_group.hpp"

#include <smem/opencl.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names that --wrap makes
extern "C" {
decltype(clBuildProgram) __real_clBuildProgram, __wrap_clBuildProgram;
decltype(clEnqueueNDRangeKernel) __real_clEnqueueNDRangeKernel, __wrap_clEnqueueNDRangeKernel;
decltype(clEnqueueReadBuffer) __real_clEnqueueReadBuffer, __wrap_clEnqueueReadBuffer;
decltype(clEnqueueMapBuffer) __real_clEnqueueMapBuffer, __wrap_clEnqueueMapBuffer;
decltype(clFinish) __real_clFinish, __wrap_clFinish;
decltype(clWaitForEvents) __real_clWaitForEvents, __wrap_clWaitForEvents;
}

namespace test {

namespace {

class DeviceLock {
 public:
  DeviceLock() {
    if (const char* path = std::getenv("SMEM_TEST_DEVICE_LOCK"); path != nullptr && *path != '\0')
      file_ = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  void lock() {
    if (file_ < 0) return;
    const std::scoped_lock guard(mutex_);
    if (is_mine_) return;
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      report_device("waits");
      const auto start = std::chrono::steady_clock::now();
      while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
      }
      waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    report_device("runs");
    is_mine_ = true;
  }
  /// \returns whether this process had it.
  bool unlock() {
    if (file_ < 0) return false;
    const std::scoped_lock guard(mutex_);
    if (!is_mine_) return false;
    is_mine_ = false;
    ::flock(file_, LOCK_UN);
    report_device("idle");
    return true;
  }
  double waited() {
    const std::scoped_lock guard(mutex_);
    return waited_;
  }

 private:
  int file_ = -1;
  std::mutex mutex_;
  bool is_mine_ = false;
  double waited_ = 0;
};

/// Never destroyed: a driver may call back while the process ends.
DeviceLock& device_lock() {
  static auto* const all = new DeviceLock;
  return *all;
}

}  // namespace

std::atomic<int> builds_to_fail = 0;

void fail_builds(int count) { builds_to_fail = count; }

double waited_for_device() { return device_lock().waited(); }

void release_device() { device_lock().unlock(); }

}  // namespace test

extern "C" {

cl_int __wrap_clBuildProgram(cl_program program, cl_uint devices, const cl_device_id* ids,
                             const char* options, void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  if (test::builds_to_fail > 0) {
    --test::builds_to_fail;
    return CL_BUILD_PROGRAM_FAILURE;
  }
  const bool was_mine = test::device_lock().unlock();
  const cl_int status = __real_clBuildProgram(program, devices, ids, options, notify, data);
  if (was_mine) test::device_lock().lock();  // what was enqueued before is still to be waited for
  return status;
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t* offset, const size_t* global, const size_t* local,
                                     cl_uint events, const cl_event* wait_for, cl_event* event) {
  test::device_lock().lock();
  if (test::OneGroup::alive() > 0) {
    const auto items = test::global_of_one_group(kernel, dimensions, global, local);
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, items.data(), local, events,
                                         wait_for, event);
  }
  if (test::MoreGroups::factor() > 1) {
    std::array<std::size_t, 3> items{1, 1, 1};
    std::copy_n(global, dimensions, items.begin());
    items[0] *= test::MoreGroups::factor();
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, items.data(), local, events,
                                         wait_for, event);
  }
  return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, events, wait_for,
                                       event);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                  size_t bytes, void* to, cl_uint events, const cl_event* wait_for,
                                  cl_event* event) {
  const cl_int status =
      __real_clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, events, wait_for, event);
  if (blocking == CL_TRUE) test::device_lock().unlock();
  return status;
}

void* __wrap_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                size_t offset, size_t bytes, cl_uint events, const cl_event* wait_for,
                                cl_event* event, cl_int* status) {
  void* const place = __real_clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, events,
                                                wait_for, event, status);
  if (blocking == CL_TRUE) test::device_lock().unlock();
  return place;
}

cl_int __wrap_clFinish(cl_command_queue queue) {
  const cl_int status = __real_clFinish(queue);
  test::device_lock().unlock();
  return status;
}

cl_int __wrap_clWaitForEvents(cl_uint events, const cl_event* list) {
  const cl_int status = __real_clWaitForEvents(events, list);
  test::device_lock().unlock();
  return status;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
