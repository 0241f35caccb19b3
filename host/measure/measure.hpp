/// How the smem command and the samples measure: repeated calls, and after every repetition a copy of the
/// same bytes, because the bandwidth of a machine drifts within seconds. Only the ratio of the two is worth
/// much.
#pragma once

#include "measure/plain_kernel.hpp"

#include <smem/smem.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace smem::measure {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Median, and the range that holds the middle four fifths.
struct Statistics {
  double median = 0;
  double low = 0;   ///< a tenth of the values is below
  double high = 0;  ///< a tenth of the values is above
  double spread() const { return median > 0 ? (high - low) / median : 0; }
};

inline Statistics statistics(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

/// Results whose spread is larger are marked as unstable.
constexpr double kStableSpread = 0.05;

/// Whether a context's events are the clock: of GPUs, where the context's queue has them. A CPU's measures
/// are compared with memcpy, which only the host's clock can time, so there the host's clock times both.
inline bool timed_by_events(const Context& context) {
  cl_command_queue_properties properties = 0;
  check(
      clGetCommandQueueInfo(context.queue()(), CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr),
      "clGetCommandQueueInfo");
  return context.device().type != DeviceType::cpu && (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

/// When a command that has ended began or ended, in the device's nanoseconds.
inline cl_ulong event_time(const cl::Event& event, cl_profiling_info what) {
  cl_ulong time = 0;
  check(clGetEventProfilingInfo(event(), what, sizeof time, &time, nullptr), "clGetEventProfilingInfo");
  return time;
}
inline cl_ulong event_end(const cl::Event& event) { return event_time(event, CL_PROFILING_COMMAND_END); }

/// Execution time of a command that has ended.
inline double event_seconds(const cl::Event& event) {
  return static_cast<double>(event_end(event) - event_time(event, CL_PROFILING_COMMAND_START)) * 1e-9;
}

/// The yardstick of CPUs: a memcpy of 128 MiB by two threads, each one half. The size is more than a cache
/// holds, so what it leaves in the caches helps no repetition that follows.
class HostCopy {
 public:
  static constexpr std::size_t kBytes = std::size_t{128} << 20;

  HostCopy() : from_(make()), to_(make()) {
    std::memset(from_.get(), 1, kBytes);  // touched, so that the pages exist
    std::memset(to_.get(), 2, kBytes);
  }
  double seconds() {
    const auto start = Clock::now();
    constexpr std::size_t kHalf = kBytes / 2;
    std::thread second([&] { std::memcpy(to_.get() + kHalf, from_.get() + kHalf, kHalf); });
    std::memcpy(to_.get(), from_.get(), kHalf);
    second.join();
    return seconds_since(start);
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<char, Free>;
  static Memory make() {
    Memory memory(static_cast<char*>(std::aligned_alloc(4096, kBytes)));
    if (!memory) throw std::bad_alloc();
    return memory;
  }
  Memory from_, to_;
};

/// The yardstick of GPUs: the better of the driver's own copy and a kernel that copies 16 bytes a work-item.
class DeviceCopy {
 public:
  static constexpr std::size_t kItemBytes = 16;

  explicit DeviceCopy(const Context& context)
      : context_(context),
        kernel_(plain_kernel(context,
                             "kernel void copy(global const float4* from, global float4* to, ulong items) {\n"
                             "  const size_t i = get_global_id(0);\n"
                             "  if (i < items) to[i] = from[i];\n"
                             "}\n",
                             "copy")),
        group_(std::min<std::size_t>(256, context.device().max_work_group)) {}

  /// `wants_event`: else the event is empty.
  cl::Event by_driver(const cl::Buffer& from, const cl::Buffer& to, std::size_t bytes,
                      bool wants_event = true) const {
    cl_event event = nullptr;
    check(clEnqueueCopyBuffer(context_.queue()(), from(), to(), 0, 0, bytes, 0, nullptr,
                              wants_event ? &event : nullptr),
          "clEnqueueCopyBuffer");
    return cl::Event(event);
  }
  /// `bytes` is a multiple of kItemBytes.
  cl::Event by_kernel(const cl::Buffer& from, const cl::Buffer& to, std::size_t bytes,
                      bool wants_event = true) const {
    const cl_ulong items = bytes / kItemBytes;
    set_arguments(kernel_(), from(), to(), items);
    const std::size_t global = (items + group_ - 1) / group_ * group_;
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(context_.queue()(), kernel_(), 1, nullptr, &global, &group_, 0, nullptr,
                                 wants_event ? &event : nullptr),
          "clEnqueueNDRangeKernel");
    return cl::Event(event);
  }

 private:
  Context context_;
  cl::Kernel kernel_;
  std::size_t group_;
};

/// An input and an output of the same size.
struct BufferPair {
  cl::Buffer in;
  cl::Buffer out;
};

/// Buffers to rotate among, so that no call finds its input in the device's cache.
struct Buffers {
  std::vector<BufferPair> pairs;
  std::size_t bytes = 0;  ///< of one buffer, a multiple of DeviceCopy::kItemBytes
};

/// Enough pairs of buffers of at least `bytes` bytes. On a CPU one is enough: the yardstick's memcpy clears
/// the caches between the repetitions.
inline Buffers make_buffers(const Context& context, std::size_t bytes) {
  // Drivers report first-level or last-level caches alike, so a floor stands beside what is reported.
  constexpr std::size_t kAtLeast = std::size_t{512} << 20;
  const Device& device = context.device();
  Buffers buffers;
  buffers.bytes = std::max<std::size_t>((bytes + DeviceCopy::kItemBytes - 1) / DeviceCopy::kItemBytes, 1) *
                  DeviceCopy::kItemBytes;
  std::size_t pairs = 1;
  if (device.type != DeviceType::cpu) {
    const std::size_t wanted = std::max(kAtLeast, 4 * device.cache_bytes) / (2 * buffers.bytes) + 1;
    const std::size_t fitting = device.global_bytes / 2 / (2 * buffers.bytes);
    pairs = std::clamp<std::size_t>(std::min(wanted, fitting), 1, 64);
  }
  for (std::size_t i = 0; i < pairs; ++i)
    buffers.pairs.push_back({make_buffer(context, buffers.bytes), make_buffer(context, buffers.bytes)});
  return buffers;
}

/// How long to measure.
struct Effort {
  std::size_t least = 15;  ///< repetitions, however long they take
  std::size_t most = 41;
  double seconds = 1.2;  ///< after which no repetition beyond the least is begun
};

/// Calls `once()` as often, while it returns true.
template <class Once>
void repeat(const Effort& effort, const Once& once) {
  const auto start = Clock::now();
  for (std::size_t i = 0; i < effort.least || (i < effort.most && seconds_since(start) < effort.seconds); ++i)
    if (!once()) return;
}

struct Measurement {
  Statistics call;                 ///< seconds
  double bytes = 0;                ///< that a call reads and writes
  double copy_rate = 0;            ///< bytes read and written by the yardstick, a second
  const char* copy_name = "none";  ///< which copy was the better one
  double rate() const { return call.median > 0 ? bytes / call.median : 0; }
  double share() const { return copy_rate > 0 ? rate() / copy_rate : 0; }
  bool stable() const { return call.spread() <= kStableSpread; }
};

/// Two calls, measured one after the other many times: what disturbs one disturbs the other.
struct Turns {
  Statistics first, second;  ///< seconds
  Statistics ratio;          ///< the first one's over the second one's, of each turn
};

/// Measures calls on one context. Not for several threads at once.
class Meter {
 public:
  explicit Meter(const Context& context) : context_(context) {
    if (context.device().type == DeviceType::cpu) {
      host_copy_ = std::make_unique<HostCopy>();
    } else {
      device_copy_ = std::make_unique<DeviceCopy>(context);
    }
  }

  /// `call(pair)` enqueues the work on one pair of buffers and returns its event; it reads and writes
  /// `bytes_moved` bytes.
  template <class Call>
  Measurement measure(const Buffers& buffers, double bytes_moved, const Call& call,
                      const Effort& effort = {}) {
    Measurement result = host_copy_                  ? by_host(buffers, call, effort)
                         : timed_by_events(context_) ? by_events(buffers, call, effort)
                                                     : by_queue(buffers, call, effort);
    result.bytes = bytes_moved;
    return result;
  }

  /// Calls in turns, stopped early where the second one is far slower.
  template <class First, class Second>
  Turns in_turns(const Buffers& buffers, const First& first, const Second& second, const Effort& effort) {
    std::size_t turn = 0;
    const auto seconds_of = [&](std::size_t launches, const auto& call) {
      if (host_copy_) host_copy_->seconds();  // clears the caches
      context_.finish();
      const auto start = Clock::now();
      for (std::size_t i = 0; i < launches; ++i)
        call(buffers.pairs[turn++ % buffers.pairs.size()]);
      context_.finish();
      return seconds_since(start) / static_cast<double>(launches);
    };
    const auto single = [](double value) { return statistics({value}); };
    const double early = seconds_of(1, first), late = seconds_of(1, second);
    constexpr double kLong = 0.02, kFarSlower = 4;  // seconds that no start of a clock explains; times
    if (late > kLong && late > kFarSlower * early) return {single(early), single(late), single(early / late)};
    // On a GPU a turn takes milliseconds, so that the wait at its end does not count.
    const double estimate = std::max(seconds_of(host_copy_ ? 1 : 3, first), 1e-7);
    const auto launches =
        host_copy_ ? std::size_t{1} : static_cast<std::size_t>(std::clamp(3e-3 / estimate, 1.0, 1000.0));
    std::vector<double> firsts, seconds, ratios;
    repeat(effort, [&] {
      // Each goes first every other time.
      const bool swapped = ratios.size() % 2 == 1;
      if (swapped) seconds.push_back(seconds_of(launches, second));
      firsts.push_back(seconds_of(launches, first));
      if (!swapped) seconds.push_back(seconds_of(launches, second));
      ratios.push_back(firsts.back() / seconds.back());
      constexpr double kHopeless = 0.7;
      return ratios.size() < 3 || statistics(ratios).high >= kHopeless;
    });
    return {statistics(firsts), statistics(seconds), statistics(ratios)};
  }

 private:
  template <class Call>
  Measurement by_host(const Buffers& buffers, const Call& call, const Effort& effort) {
    const auto once = [&] {
      const auto start = Clock::now();
      call(buffers.pairs.front());
      context_.finish();
      return seconds_since(start);
    };
    for (int i = 0; i < 2; ++i)
      once();
    host_copy_->seconds();
    std::vector<double> calls, copies;
    repeat(effort, [&] {
      calls.push_back(once());
      copies.push_back(host_copy_->seconds());
      return true;
    });
    Measurement result;
    result.call = statistics(calls);
    result.copy_rate = 2.0 * static_cast<double>(HostCopy::kBytes) / statistics(copies).median;
    result.copy_name = "memcpy, two threads";
    return result;
  }

  template <class Call>
  Measurement by_events(const Buffers& buffers, const Call& call, const Effort& effort) {
    std::size_t turn = 0;
    const auto next = [&]() -> const BufferPair& { return buffers.pairs[turn++ % buffers.pairs.size()]; };
    // Events have a resolution (1 us on NVIDIA), so a repetition is as many launches as take a millisecond.
    // The same time and more is spent first, for the clocks to rise.
    call(next());
    context_.finish();
    const cl::Event second = call(next());
    context_.finish();
    const double estimate = std::max(event_seconds(second), 1e-6);
    const auto launches = static_cast<std::size_t>(std::clamp(1e-3 / estimate, 1.0, 100.0));
    // Seconds of a launch: from the end of what came before to the end of the last one, so that a call of
    // several launches counts with all of them and what is between them.
    const auto sequence = [&](const auto& enqueue) {
      cl::Event last;
      for (std::size_t i = 0; i < launches; ++i)
        last = enqueue(next());
      return last;
    };
    const auto seconds_between = [&](const cl::Event& before, const cl::Event& last) {
      return static_cast<double>(event_end(last) - event_end(before)) * 1e-9 / static_cast<double>(launches);
    };
    return beside_copies(buffers, effort, [&] {
      const auto copy_by_driver = [&](const BufferPair& pair) {
        return device_copy_->by_driver(pair.in, pair.out, buffers.bytes);
      };
      // The device is busy with this one while the host enqueues the others.
      const cl::Event lead = copy_by_driver(next());
      const cl::Event by_driver = sequence(copy_by_driver);
      const cl::Event by_kernel = sequence(
          [&](const BufferPair& pair) { return device_copy_->by_kernel(pair.in, pair.out, buffers.bytes); });
      const cl::Event called = sequence(call);
      context_.finish();
      return std::array{seconds_between(by_kernel, called), seconds_between(lead, by_driver),
                        seconds_between(by_driver, by_kernel)};
    });
  }

  /// Many calls of a GPU between two readings of the host's clock, in a queue without profiling: events make
  /// each launch of NVIDIA's take 4 us longer, which is as long as a short call.
  template <class Call>
  Measurement by_queue(const Buffers& buffers, const Call& call, const Effort& effort) {
    std::size_t turn = 0;
    const auto next = [&]() -> const BufferPair& { return buffers.pairs[turn++ % buffers.pairs.size()]; };
    const auto seconds_of = [&](std::size_t launches, const auto& enqueue) {
      context_.finish();
      const auto start = Clock::now();
      for (std::size_t i = 0; i < launches; ++i)
        enqueue(next());
      context_.finish();
      return seconds_since(start) / static_cast<double>(launches);
    };
    const auto copy_by_driver = [&](const BufferPair& pair) {
      return device_copy_->by_driver(pair.in, pair.out, buffers.bytes, false);
    };
    const auto copy_by_kernel = [&](const BufferPair& pair) {
      return device_copy_->by_kernel(pair.in, pair.out, buffers.bytes, false);
    };
    // A repetition takes five milliseconds, so that the wait at its end does not count.
    seconds_of(10, call);
    const auto launches = static_cast<std::size_t>(std::clamp(5e-3 / seconds_of(10, call), 1.0, 1000.0));
    return beside_copies(buffers, effort, [&] {
      const double by_driver = seconds_of(launches, copy_by_driver);
      const double by_kernel = seconds_of(launches, copy_by_kernel);
      return std::array{seconds_of(launches, call), by_driver, by_kernel};
    });
  }

  /// `repetition()`: seconds of the call, of the driver's copy and of the kernel's.
  template <class Repetition>
  static Measurement beside_copies(const Buffers& buffers, const Effort& effort,
                                   const Repetition& repetition) {
    constexpr double kWarmUp = 0.05;  // seconds, for the clocks to rise
    for (const auto start = Clock::now(); seconds_since(start) < kWarmUp;)
      repetition();
    std::array<std::vector<double>, 3> all;
    repeat(effort, [&] {
      const std::array<double, 3> seconds = repetition();
      for (std::size_t i = 0; i < all.size(); ++i)
        all.at(i).push_back(seconds.at(i));
      return true;
    });
    Measurement result;
    result.call = statistics(all[0]);
    const double driver = statistics(all[1]).median, kernel = statistics(all[2]).median;
    result.copy_name = driver <= kernel ? "clEnqueueCopyBuffer" : "float4 kernel";
    result.copy_rate = 2.0 * static_cast<double>(buffers.bytes) / std::min(driver, kernel);
    return result;
  }

  Context context_;
  std::unique_ptr<HostCopy> host_copy_;
  std::unique_ptr<DeviceCopy> device_copy_;
};

}  // namespace smem::measure
