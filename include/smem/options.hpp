/// smem: options that every call takes.
#pragma once

#include <smem/opencl.hpp>
#include <smem/plan.hpp>
#include <smem/view.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace smem {

/// Options that every call takes.
struct CallOptions {
  /// Events that must complete before the call's first kernel starts, as in {.wait_for = {event}}. \throws
  /// Error when one belongs to another context, or to a command that has failed.
  std::vector<cl::Event> wait_for = {};
  /// The name of the variant to use; empty: the plan chooses.
  std::string_view variant = {};
  /// A plan to launch unchanged, made by the operation's plan function for the same problem; not owned.
  const Plan* plan = nullptr;
  /// Other fixed choices: tile, work-group, layout of the tile; not owned. Not together with a plan.
  const PlanOverrides* overrides = nullptr;
  /// Temporary memory of the caller, used instead of the context's. Only sort(), sort_pairs() and argsort()
  /// accept it. It has at least Plan::scratch_buffer_bytes() bytes, of any type, starts at a multiple of
  /// Plan::kScratchAlignment bytes in its buffer, and overlaps no other view. Its contents are overwritten.
  /// Counters of 16 KiB remain the context's.
  std::optional<Vector> scratch = {};
  /// Whether the call returns an event. Without one a short call takes 2 us less on NVIDIA. The returned
  /// handle is then empty if the context's queue is in order; calls on other queues always return an event.
  bool event = true;
};

}  // namespace smem
