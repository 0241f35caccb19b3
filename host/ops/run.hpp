/// The way of every call: checked views and a problem in, an event out. Memo, tuning, what the caller fixed,
/// temporary memory and events are dealt with here, and only here.
#pragma once

#include "function_ref.hpp"
#include "ops/views.hpp"
#include "runtime/runtime.hpp"

#include <smem/context.hpp>
#include <smem/fields.hpp>
#include <smem/options.hpp>
#include <smem/plan.hpp>
#include <smem/tuning_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem::ops {

/// Temporary memory of a caller's, checked: where it begins in a buffer that is no part of another one.
struct CallerMemory {
  cl_mem buffer = nullptr;
  std::size_t begin = 0, bytes = 0;
};

/// The temporary memory of one call: the context's, or the caller's.
class CallMemory {
 public:
  /// \throws Error naming "scratch" when the caller's is too small.
  CallMemory(runtime::Runtime& runtime, const Plan& plan, const CallerMemory* callers);
  ~CallMemory();
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  /// The area, or `otherwise` when the plan has none of that number.
  cl_mem area(std::size_t number, cl_mem otherwise) const;
  /// Counters that are zero, and are to be left so; or `otherwise` when the plan needs none.
  cl_mem counters(cl_mem otherwise) const;
  /// The number of this call among those that used the same statuses; 0: the plan has none.
  cl_uint epoch() const { return epoch_; }
  /// Zeroes the plan's zeroed scratch, after `wait_for`. \returns the fills' events.
  std::vector<cl::Event> clear(runtime::Runtime& runtime, const Plan& plan,
                               std::span<const cl::Event> wait_for);
  void used_until(const cl::Event& event);

 private:
  std::array<std::optional<runtime::Lease>, Plan::kMostScratch> areas_;
  std::array<cl::Buffer, Plan::kMostScratch> callers_;  ///< parts of the caller's memory
  std::optional<runtime::Lease> counters_;
  cl_uint epoch_ = 0;
};

/// Where a call is in its launches.
struct Turn {
  std::size_t round = 0;   ///< of all launches
  std::size_t step = 0;    ///< launch of a round
  std::size_t repeat = 0;  ///< of the launch
};

/// One launch of a call, which waits for its arguments.
class Launching {
 public:
  Launching(runtime::Runtime& runtime, const runtime::Ready& ready, const Turn& turn,
            const CallMemory& memory, std::span<const cl::Event> wait_for, cl::Event& event,
            bool wants_event = true)
      : runtime_(runtime),
        ready_(ready),
        turn_(turn),
        memory_(memory),
        wait_for_(wait_for),
        event_(event),
        wants_event_(wants_event) {}

  const Plan& plan() const { return ready_.plan; }
  const Launch& launch() const { return *ready_.steps[turn_.step].launch; }
  /// Whether it is the plan's own launch, not one before or after it.
  bool is_main() const { return turn_.step == ready_.plan.before.size(); }
  /// How many rounds of all launches were enqueued before.
  std::size_t round() const { return turn_.round; }
  /// How often the same launch was enqueued before, in this round.
  std::size_t repeat() const { return turn_.repeat; }
  /// Temporary memory; `otherwise`, any buffer or null, where the plan has none of that number.
  cl_mem scratch(std::size_t number, cl_mem otherwise = nullptr) const {
    return memory_.area(number, otherwise);
  }
  cl_mem counters(cl_mem otherwise = nullptr) const { return memory_.counters(otherwise); }
  cl_uint epoch() const { return memory_.epoch(); }

  /// What it waits for: the call's wait list; the launch before it, in a queue that does not.
  std::span<const cl::Event> wait_for() const { return wait_for_; }
  /// The same launch, which waits for `event` only.
  Launching behind(const cl::Event& event) const {
    Launching other = *this;
    other.wait_for_ = {&event, 1};
    return other;
  }

  /// Gives the kernel its arguments, in their order, and enqueues it.
  template <class... Arguments>
  void operator()(const Arguments&... arguments) const {
    event_ = runtime_.launch(ready_.steps[turn_.step], wait_for_, wants_event_, arguments...);
  }

 private:
  runtime::Runtime& runtime_;
  const runtime::Ready& ready_;
  Turn turn_;
  const CallMemory& memory_;
  std::span<const cl::Event> wait_for_;
  cl::Event& event_;
  bool wants_event_;
};

/// Makes the elements of a vector zero, when `wait_for` has completed.
cl::Event fill_zero(runtime::Runtime& runtime, const char* operation, const Vector& vector,
                    std::span<const cl::Event> wait_for);

/// Reads bytes of a buffer when the event has completed, and waits for them. Null: nothing is waited for.
void read_to_host(const Context& context, const char* operation, cl_mem from, std::size_t offset,
                  std::span<std::byte> to, const cl::Event& after = {});

/// What `call(memory)` writes into temporary memory of at least one byte, on the host.
template <class Call>
void run_to_host(const Context& context, const char* operation, std::span<std::byte> to, const Call& call) {
  runtime::Lease memory(context.runtime().scratch(), std::max<std::size_t>(to.size(), 1));
  const cl_mem buffer = memory.memory_or(nullptr);
  const cl::Event ended = call(buffer);
  memory.used_until(ended);
  read_to_host(context, operation, buffer, 0, to, ended);
  context.runtime().settle();
}

/// What the options fix of a plan: the plan's own overrides when there is one. \throws Error when a plan
/// comes together with a variant or overrides, the variant stands twice and differs, an event to wait for is
/// none of the context's, or there is temporary memory, which callers have taken out where they use it.
PlanOverrides overrides_of(const runtime::Runtime& runtime, const char* operation,
                           const CallOptions& options);

/// Appends what is fixed.
void add_overrides(runtime::ProblemKey& key, const PlanOverrides& fixed);

/// Makes the plans of a problem: `plan_transpose`.
template <class Problem>
using PlanFunction = Plan (*)(const Device&, const Problem&, const PlanOverrides&);

/// Adds members to a key.
struct AddToKey {
  runtime::ProblemKey& key;
  template <class T>
  void operator()(const Field<T>& field) const {
    key.add(field.value);
  }
};

/// All that a plan depends on: the problem's members, and what is fixed.
template <class Problem>
runtime::ProblemKey problem_key(PlanFunction<Problem> plan_of, const Problem& problem,
                                const PlanOverrides& fixed) {
  runtime::ProblemKey key;
  key.add(reinterpret_cast<std::uintptr_t>(plan_of));
  add_overrides(key, fixed);
  detail::visit_fields(problem, AddToKey{key});
  return key;
}

/// A call's problem, whatever its type.
class CallProblem {
 public:
  explicit CallProblem(const char* operation) : operation_(operation) {}
  CallProblem(const CallProblem&) = delete;
  CallProblem& operator=(const CallProblem&) = delete;

  const char* operation() const { return operation_; }  ///< as the caller called it, for errors
  virtual Plan plan(const Device& device, const PlanOverrides& fixed) const = 0;
  virtual TuningClass tuning() const = 0;
  virtual runtime::ProblemKey key(const PlanOverrides& fixed) const = 0;

 protected:
  ~CallProblem() = default;

 private:
  const char* operation_;
};

/// Refers to a problem, which must outlive it.
template <class Problem>
class CallProblemOf final : public CallProblem {
 public:
  CallProblemOf(const char* operation, PlanFunction<Problem> plan_of, const Problem& problem)
      : CallProblem(operation), plan_of_(plan_of), problem_(problem) {}

  Plan plan(const Device& device, const PlanOverrides& fixed) const override {
    return plan_of_(device, problem_, fixed);
  }
  TuningClass tuning() const override { return tuning_class(problem_); }
  runtime::ProblemKey key(const PlanOverrides& fixed) const override {
    return problem_key<Problem>(plan_of_, problem_, fixed);
  }

 private:
  PlanFunction<Problem> plan_of_;
  const Problem& problem_;
};

using Bind = FunctionRef<void(const Launching&)>;
using Enqueue = FunctionRef<cl::Event(const runtime::Ready&)>;

/// Enqueues the launches of a plan, one after the other; `bind(launching)` gives each its arguments.
/// `callers`: the caller's own temporary memory, or null. `wants_event`: see CallOptions::event.
cl::Event launch_all(runtime::Runtime& runtime, const runtime::Ready& ready,
                     std::span<const cl::Event> wait_for, Bind bind, const CallerMemory* callers = nullptr,
                     bool wants_event = true);

cl::Event run_by(const Context& context, const CallProblem& problem, const CallOptions& options,
                 Enqueue enqueue);
cl::Event run(const Context& context, const CallProblem& problem, const CallOptions& options, Bind bind,
              const CallerMemory* callers = nullptr);
cl::Event run_empty(const Context& context, const CallProblem& problem, const CallOptions& options);

/// Finds a problem's plan, and has `enqueue(ready)` enqueue the call. For calls that make other calls; others
/// use run(). `operation`: as the caller called it. \throws Error as the plan function does, or when what the
/// options fix cannot be; then nothing was enqueued.
template <class Problem>
cl::Event run_by(const Context& context, const char* operation,
                 PlanFunction<std::type_identity_t<Problem>> plan_of, const Problem& problem,
                 const CallOptions& options, Enqueue enqueue) {
  return run_by(context, CallProblemOf<Problem>(operation, plan_of, problem), options, enqueue);
}

/// Runs a problem: finds its plan, and launches it with the arguments that `bind(launching)` gives. As
/// run_by(). `callers`: the caller's own temporary memory, or null.
template <class Problem>
cl::Event run(const Context& context, const char* operation,
              PlanFunction<std::type_identity_t<Problem>> plan_of, const Problem& problem,
              const CallOptions& options, Bind bind, const CallerMemory* callers = nullptr) {
  return run(context, CallProblemOf<Problem>(operation, plan_of, problem), options, bind, callers);
}

/// Rows, columns and batch of what a kernel does.
struct MatrixShape {
  cl_ulong rows, cols, batch;
};

/// The arguments of kernels that take two matrices, rows, cols and batch.
inline void bind_matrices(const Launching& launch, const KernelMatrix& in, const KernelMatrix& out,
                          const MatrixShape& shape) {
  launch(in.buffer, in.offset, in.pitch, in.stride, out.buffer, out.offset, out.pitch, out.stride, shape.rows,
         shape.cols, shape.batch);
}

/// A problem without elements: what is wrong with the options, or does not compile, is refused all the same.
/// \returns an event that completes with the wait list.
template <class Problem>
cl::Event run_empty(const Context& context, const char* operation,
                    PlanFunction<std::type_identity_t<Problem>> plan_of, const Problem& problem,
                    const CallOptions& options) {
  return run_empty(context, CallProblemOf<Problem>(operation, plan_of, problem), options);
}

}  // namespace smem::ops
