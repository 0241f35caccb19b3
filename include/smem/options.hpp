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
  /// Events that must have completed before the call's kernel starts, as in {.wait_for = {event}}. \throws
  /// Error where one is not of the context.
  std::vector<cl::Event> wait_for = {};
  /// The variant to use instead of the one that the plan would choose, by name; empty: the plan chooses.
  std::string_view variant = {};
  /// A plan to launch as it is, made by the operation's plan function for the same problem; not owned.
  const Plan* plan = nullptr;
  /// Fixed besides the variant: tile, work-group, layout of the tile; not owned. Not together with a plan.
  const PlanOverrides* overrides = nullptr;
  /// Temporary memory of the caller's, in place of the context's: sort(), sort_pairs() and argsort() take it,
  /// others refuse it. At least Plan::scratch_buffer_bytes() of any type, from a multiple of
  /// Plan::kScratchAlignment bytes of a buffer on; it must overlap no other view. What is in it is lost.
  std::optional<Vector> scratch = {};
  /// Whether the call returns an event. Without one a short call takes 2 us less on NVIDIA; the handle is
  /// empty then, where the context's queue runs its commands in order. Of other queues each call returns one.
  bool event = true;
};

}  // namespace smem
