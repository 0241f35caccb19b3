/// What stands behind a Context: device facts, queue, programs, scratch memory, and the launches that are
/// ready.
#pragma once

#include "runtime/constants.hpp"
#include "runtime/memo.hpp"
#include "runtime/problem_key.hpp"
#include "runtime/programs.hpp"
#include "runtime/scratch.hpp"
#include "runtime/tuning.hpp"

#include <smem/context.hpp>
#include <smem/device.hpp>
#include <smem/opencl.hpp>
#include <smem/plan.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace smem::runtime {

/// A plan with its program: all that is needed to launch but the arguments.
struct Prepared {
  Plan plan;
  std::shared_ptr<Program> program;
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
  Programs& programs() { return *programs_; }
  ScratchPool& scratch() { return *scratch_; }
  ConstantPool& constants() { return *constants_; }
  Tuning& tuning() { return *tuning_; }
  Memo& memo() { return memo_; }

  /// What was remembered for the key; null: nothing.
  std::shared_ptr<const Ready> find_ready(const ProblemKey& key) const;
  std::shared_ptr<const Ready> remember(const ProblemKey& key, std::shared_ptr<const Ready> ready);
  /// The plan of `make_plan(device)` with its programs, built where they are new. Where the driver refuses a
  /// target, the plan for the device without retargeting.
  std::shared_ptr<Ready> make_ready(const Make& make_plan, const Device& device);
  /// Whether the driver refused a launch because the compiled kernel needs more than the device has for so
  /// many work-items. The refusal is asked for, and not CL_KERNEL_WORK_GROUP_SIZE, since drivers do not tell
  /// the truth there: for kernels that demand their size NVIDIA's says 256 where 512 run, rusticl 32 where
  /// 256 do, Intel's CPU 8192 always.
  static bool is_too_large(const Error& error);
  /// Sets the arguments of one launch and enqueues it, with its sizes.
  template <class... Arguments>
  cl::Event launch(const Ready::Step& step, std::span<const cl::Event> wait_for,
                   const Arguments&... arguments) {
    const Program::Kernel kernel(*step.program);
    cl_uint index = 0;
    (set_argument(kernel.get(), index++, sizeof arguments, &arguments), ...);
    cl::Event event = enqueue(kernel.get(), *step.launch, wait_for);
    step.program->launched(event);
    return event;
  }

  /// Launches a problem's plan with the kernel's arguments, in their order. No host wait. Plan and program
  /// are remembered for the next call. When the driver refuses the launch, because the compiled kernel needs
  /// more than the device has for so many work-items, nothing was enqueued, and `make_plan(device)` is asked
  /// for a plan with half as many. The refusal is asked for, and not CL_KERNEL_WORK_GROUP_SIZE, since drivers
  /// do not tell the truth there: for kernels that demand their size NVIDIA's says 256 where 512 run, rusticl
  /// 32 where 256 do, Intel's CPU 8192 always.
  template <class MakePlan, class... Arguments>
  cl::Event run(const ProblemKey& key, const MakePlan& make_plan, std::span<const cl::Event> wait_for,
                const Arguments&... arguments) {
    std::shared_ptr<const Prepared> ready = find(key);
    if (!ready) ready = remember(key, prepare(plan_that_builds(make_plan, device_)));
    for (;;) {
      try {
        return launch(*ready, wait_for, arguments...);
      } catch (const Error& error) {
        if (!is_too_large(error) || ready->plan.work_items() == 1) throw;
        Device smaller = device_;
        smaller.max_work_group = ready->plan.work_items() / 2;
        ready = remember(key, prepare(plan_that_builds(make_plan, smaller)));
      }
    }
  }

  /// The plan for a device; where the driver refuses its target, the plan for the device without retargeting.
  template <class MakePlan>
  Plan plan_that_builds(const MakePlan& make_plan, const Device& device) {
    Plan plan = make_plan(device);
    if (plan.target.empty() || programs_->find(plan)) return plan;
    Device without = device;
    without.retargeting = false;
    return make_plan(static_cast<const Device&>(without));
  }

  /// Enqueues a kernel whose arguments are set, with the plan's sizes.
  cl::Event enqueue(cl_kernel kernel, const Launch& plan, std::span<const cl::Event> wait_for);

  /// To be called where the host has just waited for the device: what can be done then, is.
  void settle() { programs_->store_what_has_run(); }

  /// Builds what run() would launch, and remembers it: what a compiler refuses is thrown.
  template <class MakePlan>
  void build(const ProblemKey& key, const MakePlan& make_plan) {
    if (!find(key)) remember(key, prepare(plan_that_builds(make_plan, device_)));
  }

  /// \throws Error naming `wait_for` when an event is an empty handle or of another context.
  void check_events(const char* operation, std::span<const cl::Event> wait_for) const;

  /// An event that completes when the wait list has: for calls that have nothing to do.
  cl::Event marker(std::span<const cl::Event> wait_for);

 private:
  void open();
  Prepared prepare(Plan plan) {
    std::shared_ptr<Program> program = programs_->get(plan);
    return {std::move(plan), std::move(program)};
  }
  template <class... Arguments>
  cl::Event launch(const Prepared& prepared, std::span<const cl::Event> wait_for,
                   const Arguments&... arguments) {
    const Program::Kernel kernel(*prepared.program);
    cl_uint index = 0;
    (set_argument(kernel.get(), index++, sizeof arguments, &arguments), ...);
    cl::Event event = enqueue(kernel.get(), prepared.plan, wait_for);
    prepared.program->launched(event);
    return event;
  }
  std::shared_ptr<const Prepared> find(const ProblemKey& key) const;
  std::shared_ptr<const Prepared> remember(const ProblemKey& key, Prepared made);
  static void set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value);

  cl_device_id id_ = nullptr;
  Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<ScratchPool> scratch_;
  std::unique_ptr<ConstantPool> constants_;
  std::unique_ptr<Tuning> tuning_;
  Memo memo_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<ProblemKey, std::shared_ptr<const Prepared>, ProblemKeyHash> ready_;
  std::unordered_map<ProblemKey, std::shared_ptr<const Ready>, ProblemKeyHash> calls_;
};

}  // namespace smem::runtime
