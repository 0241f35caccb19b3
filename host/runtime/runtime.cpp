#include "runtime/runtime.hpp"
#include "plan/sizes.hpp"

#include "runtime/devices.hpp"
#include "runtime/status.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace smem::runtime {

namespace {

cl::CommandQueue make_queue(const cl::Context& context, cl_device_id id, bool profiling) {
  cl_int status = CL_SUCCESS;
  cl::CommandQueue queue(
      clCreateCommandQueue(context(), id, profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &status));
  check(status, "clCreateCommandQueue", "Context");
  return queue;
}

template <class T>
T queue_value(const cl::CommandQueue& queue, cl_command_queue_info what) {
  T value{};
  check(clGetCommandQueueInfo(queue(), what, sizeof value, &value, nullptr), "clGetCommandQueueInfo",
        "Context");
  return value;
}

}  // namespace

std::size_t ProblemKey::hash() const noexcept { return XXH3_64bits(bytes_.data(), size_); }

void ProblemKey::throw_full() { throw std::length_error("a problem has too many members for a key"); }

void ProblemKey::add_text(std::string_view text) {
  const XXH128_hash_t hash = text.empty() ? XXH128_hash_t{} : XXH3_128bits(text.data(), text.size());
  add_bytes(&hash, sizeof hash);
}

Runtime::Runtime(const ContextOptions& options) {
  const FoundDevice found = choose_device(options.device);
  id_ = found.id;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int status = CL_SUCCESS;
  context_ = cl::Context(clCreateContext(properties, 1, &id_, nullptr, nullptr, &status));
  check(status, "clCreateContext", "Context");
  queue_ = make_queue(context_, id_, options.profiling);
  open();
}

Runtime::Runtime(const cl::CommandQueue& queue) : queue_(queue) {
  if (queue() == nullptr) plan::refuse("Context", "queue", "a command queue", "an empty handle");
  id_ = queue_value<cl_device_id>(queue, CL_QUEUE_DEVICE);
  context_ = cl::Context(queue_value<cl_context>(queue, CL_QUEUE_CONTEXT), true);
  open();
}

Runtime::Runtime(const cl::Context& context, const cl::Device& device, const ContextOptions& options)
    : id_(device()), context_(context) {
  if (context() == nullptr || device() == nullptr) {
    plan::refuse("Context", context() == nullptr ? "context" : "device",
                 "an OpenCL context and a device of it", "an empty handle");
  }
  queue_ = make_queue(context_, id_, options.profiling);
  open();
}

Runtime::~Runtime() {
  try {
    settle();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the cache is a convenience; a destructor must not throw
  }
}

void Runtime::open() {
  device_ = facts_of(id_);
  programs_ = std::make_unique<Programs>(context_, id_, device_);
  const auto properties = queue_value<cl_command_queue_properties>(queue_, CL_QUEUE_PROPERTIES);
  in_order_ = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  scratch_ = std::make_unique<ScratchPool>(context_, device_, in_order_);
  constants_ = std::make_unique<ConstantPool>(context_);
  tuning_ = std::make_unique<Tuning>(device_);
}

std::shared_ptr<const Ready> Runtime::find(const ProblemKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto ready = ready_.find(key);
  return ready == ready_.end() ? nullptr : ready->second;
}

std::shared_ptr<const Ready> Runtime::remember(const ProblemKey& key, std::shared_ptr<const Ready> ready) {
  const std::unique_lock lock(mutex_);
  if (ready_.size() >= kReadyLimit) ready_.clear();  // programs stay; only plans are made again
  ready_.insert_or_assign(key, ready);
  return ready;
}

std::shared_ptr<Ready> Runtime::make_ready(const Make& make_plan, const Device& device) {
  auto ready = std::make_shared<Ready>();
  ready->plan = make_plan(device);
  const auto targets_build = [&] {
    const auto launches = ready->plan.launches();
    return std::all_of(launches.begin(), launches.end(), [&](const Launch* launch) {
      return launch->target.empty() || programs_->find(*launch) != nullptr;
    });
  };
  if (!targets_build()) {
    Device without = device;
    without.retargeting = false;
    ready->plan = make_plan(without);
  }
  for (const Launch* launch : ready->plan.launches())
    ready->steps.push_back({launch, programs_->get(*launch)});
  return ready;
}

bool Runtime::is_too_large(const Error& error) {
  const int code = error.details().code;
  return error.details().call == "clEnqueueNDRangeKernel" &&
         (code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE ||
          code == CL_OUT_OF_RESOURCES);
}

void Runtime::set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value) {
  check(clSetKernelArg(kernel, index, bytes, value), "clSetKernelArg");
}

cl::Event Runtime::enqueue(cl_kernel kernel, const Launch& plan, std::span<const cl::Event> wait_for,
                           bool wants_event) {
  static_assert(sizeof(cl::Event) == sizeof(cl_event), "a cl::Event is its handle");
  cl_event event = nullptr;
  const bool is_line = plan.global[1] * plan.global[2] == 1 && plan.work_group[1] * plan.work_group[2] == 1;
  check(
      clEnqueueNDRangeKernel(queue_(), kernel, is_line ? 1 : 3, nullptr, plan.global.data(),
                             plan.work_group.data(), static_cast<cl_uint>(wait_for.size()),
                             wait_for.empty() ? nullptr : reinterpret_cast<const cl_event*>(wait_for.data()),
                             wants_event ? &event : nullptr),
      "clEnqueueNDRangeKernel", plan.operation.c_str());
  return cl::Event(event);
}

void Runtime::check_events(const char* operation, std::span<const cl::Event> wait_for) const {
  for (const cl::Event& event : wait_for) {
    const auto refuse = [&](const std::string& got) {
      plan::refuse(operation, "wait_for", "events of this context", got);
    };
    if (event() == nullptr) refuse("an empty handle");
    cl_context of = nullptr;
    check(clGetEventInfo(event(), CL_EVENT_CONTEXT, sizeof of, &of, nullptr), "clGetEventInfo", operation);
    if (of != context_()) refuse("an event of another context");
    cl_int status = CL_COMPLETE;
    check(clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "clGetEventInfo", operation);
    // What waits for it never runs, and with some drivers (PoCL 3.1) neither does what follows in the queue.
    if (status < 0) refuse("one of a command that failed with " + status_name(status));
  }
}

cl::Event Runtime::marker(std::span<const cl::Event> wait_for) {
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(
            queue_(), static_cast<cl_uint>(wait_for.size()),
            wait_for.empty() ? nullptr : reinterpret_cast<const cl_event*>(wait_for.data()), &event),
        "clEnqueueMarkerWithWaitList");
  return cl::Event(event);
}

}  // namespace smem::runtime
