// What a call does besides its launches: memory, and the plan of a problem that is new.
#include "ops/run.hpp"

#include "formatted.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <utility>

namespace smem::ops {

namespace {

cl::Buffer part_of(const char* operation, cl_mem buffer, std::size_t begin, std::size_t bytes) {
  const cl_buffer_region region{begin, bytes};
  cl_int status = CL_SUCCESS;
  const cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
  runtime::check(status, "clCreateSubBuffer", operation);
  return cl::Buffer(part);
}

}  // namespace

CallMemory::CallMemory(runtime::Runtime& runtime, const Plan& plan, const CallerMemory* callers) {
  if (callers != nullptr && callers->bytes < plan.scratch_buffer_bytes()) {
    refuse(plan.operation, "scratch",
           formatted("at least {} bytes, as the plan says", plan.scratch_buffer_bytes()),
           formatted("{} bytes", callers->bytes));
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    const std::size_t bytes = plan.scratch[i].bytes;
    const std::size_t statuses = plan.scratch[i].statuses;
    if (statuses != 0) epoch_ = 1;  // of the caller's memory, which is cleared
    if (callers == nullptr && statuses != 0) {
      areas_.at(i).emplace(runtime.scratch(), bytes, runtime::Lease::Kind::statuses, statuses);
      epoch_ = areas_[i]->epoch();
    } else if (callers == nullptr) {
      areas_.at(i).emplace(runtime.scratch(), bytes);
    } else if (bytes > 0) {
      place = plan::round_up(place, Plan::kScratchAlignment);
      callers_.at(i) = part_of(plan.operation.c_str(), callers->buffer, callers->begin + place, bytes);
      place += bytes;
    }
  }
  if (plan.counters) {
    counters_.emplace(runtime.scratch(), runtime::ScratchPool::kZeroedBytes, runtime::Lease::Kind::zeroed);
  }
}

CallMemory::~CallMemory() = default;

cl_mem CallMemory::area(std::size_t number, cl_mem otherwise) const {
  if (callers_.at(number)() != nullptr) return callers_[number]();
  return areas_[number] ? areas_[number]->memory_or(otherwise) : otherwise;
}

cl_mem CallMemory::counters(cl_mem otherwise) const {
  return counters_ ? counters_->memory_or(otherwise) : otherwise;
}

namespace {

/// Enqueues zeros for some bytes of a buffer, `width` of them at a time.
cl::Event enqueue_zeros(runtime::Runtime& runtime, const char* operation, cl_mem memory, std::size_t offset,
                        std::size_t bytes, std::size_t width, std::span<const cl::Event> wait_for) {
  static_assert(sizeof(cl::Event) == sizeof(cl_event), "a cl::Event is its handle");
  const cl_ulong zero = 0;
  cl_event filled = nullptr;
  runtime::check(
      clEnqueueFillBuffer(
          runtime.queue()(), memory, &zero, width, offset, bytes, static_cast<cl_uint>(wait_for.size()),
          wait_for.empty() ? nullptr : reinterpret_cast<const cl_event*>(wait_for.data()), &filled),
      "clEnqueueFillBuffer", operation);
  return cl::Event(filled);
}

}  // namespace

cl::Event fill_zero(runtime::Runtime& runtime, const char* operation, const Vector& vector,
                    std::span<const cl::Event> wait_for) {
  const std::size_t width = vector.type.bytes;
  return enqueue_zeros(runtime, operation, vector.buffer, vector.offset * width, vector.size * width, width,
                       wait_for);
}

void read_to_host(const Context& context, const char* operation, cl_mem from, std::size_t offset,
                  std::span<std::byte> to, const cl::Event& after) {
  if (to.empty()) return;
  const cl_event event = after();
  runtime::check(clEnqueueReadBuffer(context.queue()(), from, CL_TRUE, offset, to.size(), to.data(),
                                     event != nullptr ? 1 : 0, event != nullptr ? &event : nullptr, nullptr),
                 "clEnqueueReadBuffer", operation);
}

std::vector<cl::Event> CallMemory::clear(runtime::Runtime& runtime, const Plan& plan,
                                         std::span<const cl::Event> wait_for) {
  std::vector<cl::Event> cleared;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    if (plan.scratch[i].zeroed_bytes == 0 || (areas_.at(i) && plan.scratch[i].statuses != 0)) continue;
    cleared.push_back(enqueue_zeros(runtime, plan.operation.c_str(), area(i, nullptr), 0,
                                    plan.scratch[i].zeroed_bytes, sizeof(cl_ulong), wait_for));
    if (areas_.at(i)) areas_[i]->used_until(cleared.back());
  }
  return cleared;
}

void CallMemory::used_until(const cl::Event& event) {
  for (std::optional<runtime::Lease>& area : areas_)
    if (area) area->used_until(event);
  if (counters_) counters_->used_until(event);
}

void add_overrides(runtime::ProblemKey& key, const PlanOverrides& fixed) {
  key.add(fixed.variant);
  key.add(std::array{fixed.tile_rows, fixed.tile_cols, fixed.work_items});
  const auto add = [&](const auto& choice) {  // 0: not fixed
    key.add(choice ? static_cast<std::uint64_t>(*choice) + 1 : std::uint64_t{0});
  };
  add(fixed.layout.kind);
  add(fixed.layout.padding);
  add(fixed.layout.swizzle_mask);
}

PlanOverrides overrides_of(const runtime::Runtime& runtime, const char* operation,
                           const CallOptions& options) {
  runtime.check_events(operation, options.wait_for);
  if (options.scratch) {
    refuse(operation, "scratch", "none: sort, sort_pairs and argsort take the caller's temporary memory",
           "a view");
  }
  if (options.plan != nullptr) {
    if (options.overrides != nullptr) refuse(operation, "overrides", "none beside a plan", "both");
    if (!options.variant.empty() && options.variant != options.plan->variant) {
      refuse(operation, "variant", formatted("the plan's own, \"{}\"", options.plan->variant),
             options.variant);
    }
    return options.plan->overrides;
  }
  PlanOverrides fixed;
  if (options.overrides != nullptr) fixed = *options.overrides;
  if (!options.variant.empty()) {
    if (!fixed.variant.empty() && fixed.variant != options.variant) {
      refuse(operation, "overrides.variant", formatted("\"{}\", as in variant", options.variant),
             formatted("\"{}\"", fixed.variant));
    }
    fixed.variant = options.variant;
  }
  return fixed;
}

namespace {

/// The plan that was tuned for the nearest problems, with its programs; null: there is none that can be.
std::shared_ptr<runtime::Ready> tuned(runtime::Runtime& runtime, const CallProblem& problem) {
  const TuningEntry* entry = runtime.tuning().nearest(problem.tuning());
  if (entry == nullptr) return nullptr;
  try {
    auto ready = runtime.make_ready(
        [&](const Device& device) { return problem.plan(device, entry->overrides); }, runtime.device());
    ready->tuned = true;
    return ready;
  } catch (const Error&) {  // what is wrong with the call itself is thrown by the shipped plan
    return nullptr;
  }
}

std::shared_ptr<runtime::Ready> shipped(runtime::Runtime& runtime, const CallProblem& problem,
                                        const PlanOverrides& fixed, const Device& device) {
  return runtime.make_ready([&](const Device& d) { return problem.plan(d, fixed); }, device);
}

/// The plan for a problem that is met for the first time, with its programs, remembered: what was tuned for
/// such problems where the caller fixed nothing, else the shipped plan.
std::shared_ptr<const runtime::Ready> prepare(runtime::Runtime& runtime, const runtime::ProblemKey& key,
                                              const CallProblem& problem, const CallOptions& options,
                                              const PlanOverrides& fixed) {
  const bool open = options.plan == nullptr && fixed == PlanOverrides{};
  std::shared_ptr<runtime::Ready> ready;
  if (open && !runtime.tuning().empty()) ready = tuned(runtime, problem);
  if (!ready) ready = shipped(runtime, problem, fixed, runtime.device());
  return runtime.remember(key, std::move(ready));
}

/// What is launched in place of `ready`, which failed with `error`: the shipped plan for a tuned one, half
/// the work-items where the driver refused so many. \throws the error when there is nothing else.
std::shared_ptr<const runtime::Ready> prepare_another(runtime::Runtime& runtime,
                                                      const runtime::ProblemKey& key,
                                                      const CallProblem& problem, const PlanOverrides& fixed,
                                                      const runtime::Ready& ready, const Error& error) {
  if (ready.tuned) return runtime.remember(key, shipped(runtime, problem, fixed, runtime.device()));
  std::size_t most = 0;
  for (const Launch* launch : ready.plan.launches())
    most = std::max(most, launch->work_items());
  if (!runtime::Runtime::is_too_large(error) || most == 1) throw Error(error.details());
  Device smaller = runtime.device();
  smaller.max_work_group = most / 2;
  std::shared_ptr<runtime::Ready> another = shipped(runtime, problem, fixed, smaller);
  another->refused = ready.refused ? ready.refused : ready.plan;
  return runtime.remember(key, std::move(another));
}

/// \throws Error naming "plan" when the caller gave one and it is not the one of `ready`.
void require_same_plan(const char* operation, const CallOptions& options, const runtime::Ready& ready) {
  const Plan& expected = ready.refused ? *ready.refused : ready.plan;
  Plan given = *options.plan;
  given.evidence = expected.evidence;  // words, which say where a tuned plan comes from
  if (given == expected) return;
  refuse(operation, "plan",
         "the plan that is made for this problem, device and overrides:\n" + expected.to_string(),
         "another plan:\n" + options.plan->to_string());
}

}  // namespace

cl::Event launch_all(runtime::Runtime& runtime, const runtime::Ready& ready,
                     std::span<const cl::Event> wait_for, Bind bind, const CallerMemory* callers,
                     bool wants_event) {
  CallMemory memory(runtime, ready.plan, callers);
  // What the caller waits for may use the caller's memory; nothing uses the context's.
  std::vector<cl::Event> cleared =
      memory.clear(runtime, ready.plan, callers != nullptr ? wait_for : std::span<const cl::Event>());
  if (!cleared.empty() && !runtime.in_order()) {
    cleared.insert(cleared.end(), wait_for.begin(), wait_for.end());
    wait_for = cleared;
  }
  const std::size_t last_step = ready.steps.size() - 1;
  cl::Event before;
  Turn turn;
  for (turn.round = 0; turn.round < ready.plan.rounds; ++turn.round) {
    for (turn.step = 0; turn.step < ready.steps.size(); ++turn.step) {
      for (turn.repeat = 0; turn.repeat < ready.steps[turn.step].launch->repeats; ++turn.repeat) {
        const bool is_last = turn.round + 1 == ready.plan.rounds && turn.step == last_step &&
                             turn.repeat + 1 == ready.steps[turn.step].launch->repeats;
        cl::Event event;
        bind(Launching(runtime, ready, turn, memory, wait_for, event,
                       (is_last && wants_event) || !runtime.in_order()));
        memory.used_until(event);
        before = std::move(event);
        wait_for = runtime.in_order() ? std::span<const cl::Event>() : std::span<const cl::Event>(&before, 1);
      }
    }
  }
  return before;
}

cl::Event run_by(const Context& context, const CallProblem& problem, const CallOptions& options,
                 Enqueue enqueue) {
  runtime::Runtime& runtime = context.runtime();
  const PlanOverrides fixed = overrides_of(runtime, problem.operation(), options);
  const runtime::ProblemKey key = problem.key(fixed);
  std::shared_ptr<const runtime::Ready> ready = runtime.find(key);
  if (!ready) ready = prepare(runtime, key, problem, options, fixed);
  if (options.plan != nullptr) require_same_plan(problem.operation(), options, *ready);
  for (;;) {
    try {
      return enqueue(*ready);
    } catch (const Error& error) {
      ready = prepare_another(runtime, key, problem, fixed, *ready, error);
    }
  }
}

cl::Event run(const Context& context, const CallProblem& problem, const CallOptions& options, Bind bind,
              const CallerMemory* callers) {
  return run_by(context, problem, options, [&](const runtime::Ready& ready) {
    return launch_all(context.runtime(), ready, options.wait_for, bind, callers, options.event);
  });
}

cl::Event run_empty(const Context& context, const CallProblem& problem, const CallOptions& options) {
  runtime::Runtime& runtime = context.runtime();
  const PlanOverrides fixed = overrides_of(runtime, problem.operation(), options);
  if (!problem.plan(context.device(), fixed).preamble.empty())
    runtime.make_ready([&](const Device& device) { return problem.plan(device, fixed); }, context.device());
  return runtime.marker(options.wait_for);
}

}  // namespace smem::ops
