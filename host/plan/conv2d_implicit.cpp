// Convolutions of many channels as products whose right factor is gathered tile by tile ("implicit"): the
// tiles, and what they predict.
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

// Items after each row of the weights' tile: 8 weights by 4 planes, or 2 packs of 4 by 16, meet all 32 banks
// when they are stored, and vectors of 4 stay aligned.
constexpr std::size_t kPadding = 4;

std::size_t weight_pitch(const Device& device, const Shape& s) {
  return s.planes + (device.local_is_cache ? 0 : kPadding);
}

/// Values of a team's tiles, twice.
std::size_t tile_values(const Device& device, const Shape& s) {
  return 2 * s.depth * (weight_pitch(device, s) + s.results);
}
std::size_t bytes_of(const Device& device, const Shape& s, std::size_t value) {
  constexpr std::size_t kPlace = 16;  // of a row of the table
  return tile_values(device, s) * value + 2 * s.depth * kPlace;
}

std::span<const Shape> shapes_for(const Device& device, const Conv2dProblem& p) {
  const conv2d::Policy& policy = conv2d::policy_of(device);
  return p.type == Scalar::float64 ? policy.wide : policy.shapes;
}

/// Work-groups of a problem.
std::size_t jobs_of(const Conv2dProblem& p, const Shape& s) {
  return at_least_1(p.groups * divide_up(p.group_filters(), s.planes) *
                    divide_up(p.images * p.plane_results(), s.results));
}

/// Four neighbours at once, where all begin at a multiple of them.
std::size_t pack_of(std::size_t length, std::size_t alignment, Scalar type) {
  return length % 4 == 0 && alignment >= 4 * size_of(type) ? 4 : 1;
}

/// A shape, and the teams of a group that share the weights.
struct TeamTile {
  const Shape* shape = nullptr;
  std::size_t teams = 1;
  double time = 0;

  std::size_t group() const { return shape->group() * teams; }
};

/// How long the units take: in nanoseconds, where the policy knows those of a step; else against each other.
double time_of(const Device& device, const Conv2dProblem& p, const TeamTile& t, std::size_t bytes) {
  const ImplicitTimes& times = policy_of(device).implicit_times;
  const Shape& s = *t.shape;
  const std::size_t groups = divide_up(jobs_of(p, s), at_least_1(device.compute_units));  // of a unit
  const std::size_t steps = divide_up(p.depth(), s.depth * t.teams), items = round_up(t.group(), 32);
  const double products = real(t.teams, s.planes * s.results, s.depth) / (s.speed * times.products);
  if (times.step == 0) return real(groups, steps) * products;
  const std::size_t resident =
      at_least_1(std::min(device.local_bytes / at_least_1(bytes), times.unit_items / items));
  const auto round = [&](std::size_t count) {
    const double alone = std::pow(std::max(1.0, times.hiding / real(count, items)), times.alone);
    return real(steps) * std::max(times.step, real(count) * products * alone) +
           (t.teams > 1 ? times.join : 0);
  };
  return real(groups / resident) * round(resident) + (groups % resident > 0 ? round(groups % resident) : 0.0);
}

/// Of those that fit, the one with which the units are done first; without a shape: none fits.
TeamTile tile_for(const Device& device, const Conv2dProblem& p) {
  const ImplicitTimes& times = policy_of(device).implicit_times;
  const std::size_t value = size_of(sums_of(p.type)), room = local_room(device);
  const std::size_t most = std::min(device.max_work_group, device.max_work_items[0]);
  TeamTile best;
  for (const Shape& s : shapes_for(device, p)) {
    if (s.depth > s.group() * pack_of(p.depth(), p.weight_alignment, p.type)) continue;
    const bool joins = s.planes * s.results <= tile_values(device, s);
    for (std::size_t teams = 1; teams <= (joins ? times.teams : 1); teams *= 2) {
      TeamTile t{&s, teams};
      const std::size_t bytes = size_product(teams, bytes_of(device, s, value));
      if (t.group() > (teams > 1 ? std::min(most, times.group) : most) || bytes > room) break;
      t.time = time_of(device, p, t, bytes);
      if (best.shape == nullptr || t.time < best.time) best = t;
    }
  }
  return best;
}

/// The block of a sub-group's work-items, down and across: powers of two, about twice as wide as high.
std::pair<std::size_t, std::size_t> lanes_of(const Device& device, const Shape& s) {
  const std::size_t width = std::bit_floor(at_least_1(device.sub_group_width));
  const auto wanted = static_cast<std::size_t>(std::countr_zero(width) + 1) / 2;
  const std::size_t across = std::min(s.results / s.each_p, std::size_t{1} << wanted);
  return {std::min(s.planes / s.each_k, at_least_1(width / across)), across};
}

/// The weights' tile, with what the accesses of both tiles cost.
LocalLayout layout_of(const Device& device, const Shape& s, std::size_t value, std::size_t pack,
                      const std::pair<std::size_t, std::size_t>& lanes) {
  using Kind = LocalLayout::Kind;
  const auto [down, across] = lanes;
  const std::size_t lanes_all = down * across, blocks = s.results / s.each_p / across;
  const std::size_t read = std::min<std::size_t>(4, 16 / value);  // banks deliver 16 bytes at most
  const std::size_t seen = std::min(s.group(), 2 * std::max<std::size_t>(device.sub_group_width, 32));
  const Access put{"weights, from packs along a filter", true, 1, [=, depth = s.depth](std::size_t item) {
                     return Item{item * pack % depth, item * pack / depth};
                   }};
  const Access planes{"weights of its planes", false, read,
                      [=, high = down, wide = across](std::size_t item) {
                        return Item{0, (item / lanes_all / blocks * high + item % lanes_all / wide) * 4};
                      }};
  const LayoutChoice choice = device.local_is_cache ? LayoutChoice{.kind = Kind::plain}
                                                    : LayoutChoice{.kind = Kind::padded, .padding = kPadding};
  LocalLayout layout = infer_layout(device, {s.depth, s.planes, value, seen, {put, planes}, 4}, choice);
  const Access results{"input of its results", false, read, [=, wide = across](std::size_t item) {
                         return Item{0, (item / lanes_all % blocks * wide + item % lanes_all % wide) * 4};
                       }};
  for (AccessCost& cost :
       infer_layout(device, {s.depth, s.results, value, seen, {Access::rows(s.results, true), results}, 4},
                    {.kind = Kind::plain})
           .accesses) {
    if (cost.store) cost.name = "input, a result each";
    layout.accesses.push_back(std::move(cost));
  }
  return layout;
}

}  // namespace

double plan::conv2d::time_of_implicit(const Device& device, const Conv2dProblem& p) {
  const TeamTile tile = tile_for(device, p);
  const ImplicitTimes& times = policy_of(device).implicit_times;
  return tile.shape == nullptr ? kNever : times.call + tile.time + (is_planar(p) ? 0 : times.copies);
}

double plan::conv2d::time_of_columns(const Device& device, const Conv2dProblem& p) {
  const ImplicitTimes& times = policy_of(device).implicit_times;
  const double columns = real(p.images, p.groups, p.depth(), p.plane_results());  // of all groups
  return times.columns_call + (columns * real(p.group_filters()) / times.columns_products +
                               columns * real(size_of(p.type)) / times.columns_bytes) /
                                  real(at_least_1(device.compute_units));
}

bool plan::conv2d::prefers_columns(const Device& device, const Conv2dProblem& p) {
  const ImplicitTimes& times = policy_of(device).implicit_times;
  return times.step > 0 && p.type == Scalar::float32 && p.groups == 1 &&
         p.out_channels >= times.columns_filters && is_planar(p) && p.out_packed &&
         time_of_columns(device, p) < time_of_implicit(device, p);
}

Attempt plan::conv2d::implicit(const Device& device, const Conv2dProblem& p) {
  const bool is_wide = p.type == Scalar::float64 || p.type == Scalar::int8;  // products of which take more
  if (device.vendor == Vendor::intel && device.type == DeviceType::gpu && is_wide)
    return "Intel's compiler keeps its sums in memory";
  if (p.window.width > kMostColumns || p.window.height > kMostRows)
    return formatted("its windows have at most {} x {} weights", kMostColumns, kMostRows);
  if (std::max(p.plane_results(), p.depth()) > kMost32) return "planes and filters that 32 bits do not count";
  const TeamTile tile = tile_for(device, p);
  if (tile.shape == nullptr) {
    return formatted("no tile fits {} bytes of local memory and work-groups of {}", device.local_bytes,
                     device.max_work_group);
  }
  const Shape& s = *tile.shape;
  const std::size_t jobs = jobs_of(p, s);
  if (jobs > kMaxTiles) return formatted("{} tiles are more than a launch can have", jobs);
  const std::size_t value = size_of(sums_of(p.type));
  const std::size_t pack = pack_of(p.depth(), p.weight_alignment, p.type);
  const std::size_t pack_out = p.out_packed ? pack_of(p.plane_results(), p.out_alignment, p.out) : 1;
  const auto lanes = lanes_of(device, s);
  Plan plan = base_plan(p, "implicit", "conv2d/implicit.cl", "conv2d_implicit", pack);
  predict(p, plan);
  set_groups(plan, tile.group(), jobs);
  define(plan, {{"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"BLOCK_K", s.planes},
                {"BLOCK_P", s.results},
                {"DEPTH", s.depth},
                {"EACH_K", s.each_k},
                {"EACH_P", s.each_p},
                {"LANES_DOWN", lanes.first},
                {"LANES_ACROSS", lanes.second},
                {"WEIGHT_PITCH", weight_pitch(device, s)},
                {"PACK_OUT", pack_out}});
  if (tile.teams > 1) define(plan, "TEAMS", tile.teams);
  // As gemm: other compilers than NVIDIA's are slow with long loops, or leave what they hold in memory.
  if (device.vendor != Vendor::nvidia || device.type == DeviceType::cpu)
    define(plan, "UNROLL", device.type == DeviceType::cpu ? 1 : 4);
  plan.layout = layout_of(device, s, value, pack, lanes);
  set_group_tile(plan, {.rows = s.planes,
                        .cols = s.results,
                        .vector_width = pack,
                        .items = s.each_k * s.each_p,
                        .local_bytes = tile.teams * bytes_of(device, s, value)});
  // Each number of the tiles is written once, and a work-item reads those of its results.
  plan.prediction.local_bytes = real(jobs, round_up(p.depth(), s.depth),
                                     s.planes + s.results + s.group() * (s.each_k + s.each_p), value);
  plan.reason = formatted(
      "a product of {} x {} x {} whose right factor is gathered from the input: tiles of {} filters x {} "
      "results, {} weights at a time, {} x {} results a work-item",
      p.group_filters(), p.images * p.plane_results(), p.depth(), s.planes, s.results, s.depth, s.each_k,
      s.each_p);
  if (tile.teams > 1) plan.reason += formatted("; {} teams have a part of the weights each", tile.teams);
  return plan;
}

}  // namespace smem
