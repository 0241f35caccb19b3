/// Scans and selections in a single pass: each tile publishes what it makes, and looks back over those before
/// it.
#pragma once

#include "plan/look_back_policy.hpp"
#include "plan/sizes.hpp"
#include "plan/variants.hpp"

#include <smem/device.hpp>
#include <smem/layout.hpp>
#include <smem/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace smem::plan {

/// Whether work-groups of one launch can publish to each other.
inline bool can_look_back(const Device& device) { return device_fence(device) != 0; }
/// Whether that is the faster way: groups that have started go on, so that few fall back on computing what
/// others compute.
inline bool prefers_look_back(const Device& device) {
  return device.forward_progress && can_look_back(device);
}

/// Whether scans and selections fall back on computing what another group has not published.
inline bool falls_back(const Device& device, bool adds_integers) {
  return !(adds_integers && !look_back_policy(device).integers_fall_back && device.forward_progress &&
           device.ordered_start && device.poll_limit >= Device().poll_limit);
}

/// Bytes for the statuses of the parts of each row and of their blocks, and for the dynamic tile index.
inline std::size_t status_bytes(const Device& device, std::size_t rows, std::size_t parts) {
  constexpr std::size_t kBlock = 32;  // tiles of a block (cl/nvidia/look_back.clh)
  const std::size_t entries = parts == 1 ? 0 : rows * (parts + divide_up(parts, kBlock));
  return 8 * look_back_policy(device).status_words * (1 + entries);
}

/// Why no variant of a single pass runs, where can_look_back() says so.
inline constexpr const char* kCannotPublish = "work-groups of one launch cannot publish to each other there";

/// How a row of elements is cut into parts, and how these are combined.
struct Parts {
  std::size_t parts = 1;
  std::size_t piece = 1;      ///< elements of a part; the last one may be shorter
  bool single_pass = false;   ///< they publish their aggregates to each other
  bool two_launches = false;  ///< the first one computes the aggregates

  /// About `wanted` parts of whole multiples of `multiple` elements.
  void cut(std::size_t length, std::size_t wanted, std::size_t multiple) {
    piece = round_up(divide_up(length, at_least_1(wanted)), multiple);
    parts = divide_up(length, piece);
  }
  /// Parts of a single pass, of so many elements each.
  void cut_for_single_pass(std::size_t length, std::size_t elements) {
    cut(length, divide_up(length, elements), elements);
    single_pass = true;
  }
};

/// How a vector of `length` elements of `bytes` bytes is cut, by a policy with `threads`. `publishes`:
/// whether threads of "cpu" publish their aggregates.
template <class Policy>
Parts cut_vector(const Device& device, const Policy& policy, std::string_view variant, std::size_t length,
                 std::size_t bytes, std::size_t tile, bool publishes) {
  const auto& threads = policy.threads;
  const std::size_t piece = threads.piece_bytes / bytes;
  Parts parts;
  if (variant == "cpu" && length <= threads.whole_pieces * piece) {
    parts.cut(length, 1, 1);
  } else if (variant == "cpu" && publishes) {
    parts.cut_for_single_pass(length, piece);
  } else if (variant == "cpu") {
    const std::size_t wanted = threads.pieces_a_unit * device.compute_units;
    parts.cut(length, std::min(wanted, divide_up(length, piece)), threads.multiple);
  } else if (variant == "look_back") {
    parts.cut_for_single_pass(length, tile);
  } else {
    const std::size_t wanted = policy.groups_a_unit * device.compute_units;
    const std::size_t most = std::min(length / (policy.tiles_of_parts * tile), policy.most_parts);
    parts.cut(length, std::min(wanted, most), tile);
  }
  return parts;
}

/// Gives the plan the memory of the parts' aggregates, of each of `rows`, and its defines.
/// `state_bytes`: of what a part makes. `epochs`: whether its statuses have epochs (define_epochs()).
inline void share_results(const Device& device, const Parts& parts, std::size_t rows, std::size_t state_bytes,
                          Plan& plan, bool epochs) {
  plan.numbers = {{"parts", parts.parts}, {"piece", parts.piece}};
  const std::size_t bytes = status_bytes(device, rows, parts.parts);
  if (parts.single_pass) {
    add_scratch(plan, bytes, bytes);
    if (epochs) plan.scratch.back().statuses = state_bytes;
  } else if (parts.two_launches) {
    add_scratch(plan, parts.parts * rows * state_bytes);
  }
}

/// Completes a plan over parts by share_results(); where two launches compute the parts, with the one before
/// it: `first(plan)`, empty where no tile of it fits.
template <class First>
Attempt joined_parts(Attempt attempt, const Device& device, const Parts& parts, std::size_t rows,
                     std::size_t state_bytes, bool epochs, const First& first) {
  if (!attempt.plan) return attempt;
  Plan& plan = *attempt.plan;
  share_results(device, parts, rows, state_bytes, plan, epochs);
  if (!parts.two_launches) return attempt;
  std::optional<Launch> before = first(plan);
  if (!before) return no_tile_fits(device);
  plan.before.push_back(std::move(*before));
  return attempt;
}

/// Elements that a work-item reads at once: `bytes` of them, or single ones: few sizes, so that few programs
/// serve all alignments.
inline std::size_t run_pack(std::size_t bytes, Scalar type, std::size_t alignment, std::size_t most) {
  return alignment < bytes ? 1 : std::min(bytes / size_of(type), most);
}

/// Accesses of a tile whose rows belong to a work-item each: by those of a group together, `pack` elements of
/// one at a time, and by each to its own row.
inline Access across_items(const char* name, bool store, std::size_t items, std::size_t pack) {
  return {name, store, 1, [=](std::size_t k) { return Item{k * pack / items, k * pack % items}; }};
}
inline Access own_items(const char* name, bool store) {
  return {name, store, 1, [](std::size_t k) { return Item{k, 0}; }};
}

/// Lays a tile out in local memory, beside `beside` bytes.
inline void lay_tile(const Device& device, const Tile& tile, std::size_t beside, Launch& plan) {
  plan.layout = infer_layout(device, tile);
  if (plan.layout.bytes() + beside > device.local_bytes)
    plan.layout = infer_layout(device, tile, {.kind = LocalLayout::Kind::plain});
  plan.local_bytes = plan.layout.bytes() + beside;
}

/// Defines how a kernel publishes and polls (cl/scan/states.clh).
inline void define_publishing(const Device& device, Launch& launch) {
  const LookBackPolicy& policy = look_back_policy(device);
  define(launch, {{"LINE", policy.status_words},
                  {"DEVICE_FENCE", device_fence(device)},
                  {"POLL_LIMIT", std::min(device.poll_limit, policy.polls)}});
}

/// Whether epochs distinguish statuses from those of earlier launches, for states that count no
/// heads.
inline bool has_epochs(const Device& device, std::size_t tiles) {
  return tiles <= look_back_policy(device).epoch_tiles;
}

}  // namespace smem::plan
