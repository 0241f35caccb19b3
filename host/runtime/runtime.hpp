/// What stands behind a Context: device facts, queue, programs, scratch memory, and the launches that are
/// ready.
#pragma once

#include "runtime/constants.hpp"
#include "runtime/problem_key.hpp"
#include "runtime/programs.hpp"
#include "runtime/scratch.hpp"
#include "runtime/tuning.hpp"

#include <smem/context.hpp>
#include <smem/device.hpp>
#include <smem/grid.hpp>
#include <smem/opencl.hpp>
#include <smem/plan.hpp>
#include <smem/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace smem::runtime {

/// Arguments of a kernel that takes its buffers first, in their order, and then a struct of all numbers, in
/// theirs. A launch costs host time for each argument: on NVIDIA 0.1 us a number, 0.5 us a buffer (an H200's
/// host; what a null buffer costs was not measured by itself).
template <class... Arguments>
struct Packed {
  std::tuple<const Arguments&...> arguments;
};
template <class... Arguments>
Packed<Arguments...> packed(const Arguments&... arguments) {
  return {{arguments...}};
}

/// The struct of numbers, laid out as OpenCL C does.
class PackedNumbers {
 public:
  template <class Number>
  void add(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    alignment_ = std::max(alignment_, sizeof number);
    if (at_ % sizeof number != 0) {  // what is between numbers is zero
      if (at_ <= kMostBytes) std::memset(bytes_.data() + at_, 0, kGap);
      at_ = (at_ + sizeof number - 1) / sizeof number * sizeof number;
    }
    if (at_ + sizeof number <= kMostBytes) std::memcpy(bytes_.data() + at_, &number, sizeof number);
    at_ += sizeof number;
  }
  const std::byte* data() const { return bytes_.data(); }
  /// \throws std::length_error when the numbers of a kernel are more than there is room for, or would end
  /// with padding: rusticl of Mesa 22 does not count it.
  std::size_t size() const {
    if (at_ > kMostBytes || at_ % alignment_ != 0) throw std::length_error("numbers of a kernel");
    return at_;
  }

 private:
  static constexpr std::size_t kMostBytes = 512, kGap = 8;  // of numbers, which have 8 bytes at most
  std::array<std::byte, kMostBytes + kGap> bytes_;
  std::size_t at_ = 0, alignment_ = 1;
};

/// A whole call's plan with its programs: all that is needed to launch but the arguments and the memory.
struct Ready {
  struct Step {
    const Launch* launch;  ///< of `plan`
    std::shared_ptr<Program> program;
  };
  Plan plan;
  std::vector<Step> steps;      ///< in the order of the launches
  std::optional<Plan> refused;  ///< the plan in whose place this one stands, because the driver refused it
  bool tuned = false;           ///< whether tuning chose it
  Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
};

class Runtime {
 public:
  using Make = std::function<Plan(const Device&)>;
  explicit Runtime(const ContextOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  explicit Runtime(const cl::CommandQueue& queue);
  Runtime(const cl::Context& context, const cl::Device& device, const ContextOptions& options);

  const Device& device() const { return device_; }
  cl_device_id id() const { return id_; }
  const cl::Context& context() const { return context_; }
  const cl::CommandQueue& queue() const { return queue_; }
  /// Whether the queue runs commands one after the other: then none waits for the one before it by an event.
  bool in_order() const { return in_order_; }
  Programs& programs() { return *programs_; }
  ScratchPool& scratch() { return *scratch_; }
  ConstantPool& constants() { return *constants_; }
  Tuning& tuning() { return *tuning_; }

  /// What was remembered for the key; null: nothing.
  std::shared_ptr<const Ready> find(const ProblemKey& key) const;
  std::shared_ptr<const Ready> remember(const ProblemKey& key, std::shared_ptr<const Ready> ready);
  /// The plan of `make_plan(device)` with its programs, built where they are new. Where the driver refuses a
  /// target, the plan for the device without retargeting.
  std::shared_ptr<Ready> make_ready(const Make& make_plan, const Device& device);
  /// Whether the driver refused a launch because the compiled kernel needs more than the device has for so
  /// many work-items. The refusal is asked for, and not CL_KERNEL_WORK_GROUP_SIZE, whose values
  /// are wrong: for kernels that demand their size NVIDIA's says 256 where 512 run, rusticl 32 where
  /// 256 do, Intel's CPU 8192 always.
  static bool is_too_large(const Error& error);
  /// Sets the arguments of one launch and enqueues it, with its sizes. A size is an ulong to the kernel; a
  /// view is its buffer, offset and strides, each an argument. \returns the launch's event. None is made,
  /// which saves a microsecond on NVIDIA, unless `wants_event` or the program waits for its first run to be
  /// stored on disk.
  template <class... Arguments>
  cl::Event launch(const Ready::Step& step, std::span<const cl::Event> wait_for, bool wants_event,
                   const Arguments&... arguments) {
    Program::Kernel kernel(*step.program);
    cl_uint index = 0;
    (set(kernel, index, arguments), ...);
    cl::Event event =
        enqueue(kernel.get(), *step.launch, wait_for, wants_event || step.program->awaits_first_run());
    step.program->launched(event);
    return event;
  }

  /// Enqueues a kernel whose arguments are set, with the plan's sizes.
  cl::Event enqueue(cl_kernel kernel, const Launch& plan, std::span<const cl::Event> wait_for,
                    bool wants_event = true);

  /// To be called where the host has just waited for the device: what can be done then, is.
  void settle() { programs_->store_what_has_run(); }

  /// \throws Error naming `wait_for` when an event is an empty handle or of another context.
  void check_events(const char* operation, std::span<const cl::Event> wait_for) const;

  /// An event that completes when the wait list has: for calls that have nothing to do.
  cl::Event marker(std::span<const cl::Event> wait_for);

 private:
  void open();
  static void set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value);
  /// Sets an argument that is a number, where it had another one.
  template <class Number>
  static void set_number(Program::Kernel& kernel, cl_uint index, Number number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof number);
    if (!kernel.changes(index, sizeof number, bits)) return;
    set_argument(kernel.get(), index, sizeof number, &number);
    kernel.has_set(index, sizeof number, bits);
  }
  /// The same of a struct of numbers.
  static void set_numbers(Program::Kernel& kernel, cl_uint index, std::span<const std::byte> numbers) {
    if (!kernel.changes(index, numbers)) return;
    set_argument(kernel.get(), index, numbers.size(), numbers.data());
    kernel.has_set(index, numbers);
  }
  /// Sets an argument that is a buffer, unless it is none as before: any other handle may come again for
  /// another buffer.
  static void set_buffer(Program::Kernel& kernel, cl_uint index, cl_mem buffer) {
    const bool changes = kernel.changes(index, sizeof buffer, buffer == nullptr ? 0 : 1);
    if (!changes && buffer == nullptr) return;
    set_argument(kernel.get(), index, sizeof buffer, &buffer);
    if (buffer == nullptr) kernel.has_set(index, sizeof buffer, 0);
  }
  /// Sets an argument of packed ones if it is a buffer, else adds it to the numbers.
  template <class T>
  static void set_or_pack(Program::Kernel& kernel, cl_uint& index, PackedNumbers& numbers, const T& value) {
    const auto each = [&](const auto&... values) { (set_or_pack(kernel, index, numbers, values), ...); };
    if constexpr (std::is_base_of_v<ConstGrid, T>) {
      each(value.buffer, value.offset, value.pitch, value.plane, value.batch_stride);
    } else if constexpr (std::is_base_of_v<ConstMatrix, T>) {
      each(value.buffer, value.offset, value.pitch, value.batch_stride);
    } else if constexpr (std::is_base_of_v<ConstVector, T>) {
      each(value.buffer, value.offset);
    } else if constexpr (std::is_same_v<T, cl_mem>) {
      set(kernel, index, value);
    } else if constexpr (std::is_same_v<T, std::size_t>) {
      numbers.add(static_cast<cl_ulong>(value));
    } else {
      numbers.add(value);
    }
  }
  template <class... Arguments>
  static void set(Program::Kernel& kernel, cl_uint& index, const Packed<Arguments...>& packed) {
    PackedNumbers numbers;
    std::apply([&](const auto&... values) { (set_or_pack(kernel, index, numbers, values), ...); },
               packed.arguments);
    set_numbers(kernel, index++, {numbers.data(), numbers.size()});
  }
  template <class T>
  static void set(Program::Kernel& kernel, cl_uint& index, const T& value) {
    const auto set_each = [&](const auto&... values) { (set(kernel, index, values), ...); };
    if constexpr (std::is_base_of_v<ConstGrid, T>) {
      set_each(value.buffer, value.offset, value.pitch, value.plane, value.batch_stride);
    } else if constexpr (std::is_base_of_v<ConstMatrix, T>) {
      set_each(value.buffer, value.offset, value.pitch, value.batch_stride);
    } else if constexpr (std::is_base_of_v<ConstVector, T>) {
      set_each(value.buffer, value.offset);
    } else if constexpr (std::is_same_v<T, std::size_t>) {
      set_number(kernel, index++, static_cast<cl_ulong>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      set_number(kernel, index++, value);
    } else if constexpr (std::is_same_v<T, cl_mem>) {
      set_buffer(kernel, index++, value);
    } else {
      static_assert(
          std::is_trivially_copyable_v<T> && std::is_class_v<T> && !requires { value.buffer; },
          "a struct of numbers, without handles, which may come again for other buffers");
      set_numbers(kernel, index++, std::as_bytes(std::span(&value, 1)));
    }
  }

  cl_device_id id_ = nullptr;
  Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  bool in_order_ = false;
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<ScratchPool> scratch_;
  std::unique_ptr<ConstantPool> constants_;
  std::unique_ptr<Tuning> tuning_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<ProblemKey, std::shared_ptr<const Ready>, ProblemKeyHash> ready_;
};

}  // namespace smem::runtime
