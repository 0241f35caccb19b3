// Plans of complex products for NVIDIA's own kernels: which tile a problem gets, by a model of its time.
#include "formatted.hpp"
#include "plan/complex_gemm_policy.hpp"
#include "plan/complex_gemm_variants.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace smem::plan::complex_gemm {

namespace {

using Problem = ComplexGemmProblem;

/// Tiles of all products.
std::size_t count_tiles(const Problem& p, const auto& tile) {
  return size_product(size_product(divide_up(p.m, tile.tile_m()), divide_up(p.n, tile.tile_n())), p.batch);
}

/// Nanoseconds of a launch of a group for each part of each tile, beside what memory takes.
double time_of(const Device& device, const Problem& p, const auto& tile, std::size_t parts,
               std::size_t part_depth) {
  const ComplexGemmPolicy& policy = policy_of(device);
  const std::size_t groups = count_tiles(p, tile) * parts, steps = divide_up(part_depth, tile.of.tile_k);
  const ComplexCost& cost = tile.cost;
  const auto round = [&](std::size_t together) {
    const double step = together == 1 ? cost.step : std::max(cost.step, real(together) * cost.shared);
    return real(steps) * step + cost.tile * std::sqrt(real(together));
  };
  const std::size_t most = divide_up(groups, at_least_1(device.compute_units)), left = most % tile.resident;
  const double units = real(most / tile.resident) * round(tile.resident) + (left > 0 ? round(left) : 0);
  const double bytes = 2 * real(size_of(p.part));
  const double numbers =
      real(p.m, p.k, p.one_a ? 1 : p.batch) + real(p.k, p.n, p.one_b ? 1 : p.batch) + real(p.m, p.n, p.batch);
  const double join =
      parts > 1 ? policy.join + real(parts, tile.tile_m(), tile.tile_n()) * bytes / policy.join_bytes : 0;
  return policy.real_product.launch + std::max(units, numbers * bytes / policy.real_product.memory) + join;
}

bool fits(const Device& device, const Problem& p, const auto& tile) {
  return tile.local_bytes(p.a_along_k, p.b_along_k) <= device.local_bytes &&
         tile.group() <= device.max_work_group && count_tiles(p, tile) <= kMaxTiles;
}

template <class Tile>
std::vector<NvidiaChoice> sorted_choices(const Device& device, const Problem& p,
                                         std::span<const Tile> tiles) {
  const ComplexGemmPolicy& policy = policy_of(device);
  std::vector<NvidiaChoice> choices;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Tile& tile = tiles[i];
    if (!fits(device, p, tile)) continue;
    // Longer steps are for one product, whose groups are few: kComplexUnits.
    if (tile.of.tile_k > 8 && (p.batch > 1 || std::min(p.m, p.n) < tile.tile_m())) continue;
    choices.push_back({i, 1, p.k, time_of(device, p, tile, 1, p.k)});
    const std::size_t all = count_tiles(p, tile);
    const std::size_t bytes =
        size_product(size_product(all, tile.tile_m() * tile.tile_n()), 2 * size_of(p.part));
    const bool has_flag =
        tile.local_bytes(p.a_along_k, p.b_along_k) + 2 * size_of(p.part) <= device.local_bytes;
    if (!tile.joins || !has_flag || !is_nvidia_gpu(device) || all > kSharedCounters / 4) continue;
    // As many parts as give each multiprocessor one group, two, or all that it holds.
    for (const std::size_t groups : {std::size_t{1}, std::size_t{2}, tile.resident}) {
      const std::size_t wanted = std::min(
          {groups * device.compute_units / at_least_1(all), p.k / policy.least_depth, policy.most_parts});
      if (wanted < 2) continue;
      const std::size_t depth = round_up(divide_up(p.k, wanted), tile.of.tile_k);
      const std::size_t parts = divide_up(p.k, depth);
      const bool has_room = device.max_allocation == 0 || size_product(bytes, parts) <= device.max_allocation;
      if (parts > 1 && has_room && size_product(all, parts) <= kMaxTiles)
        choices.push_back({i, parts, depth, time_of(device, p, tile, parts, depth)});
    }
  }
  std::stable_sort(choices.begin(), choices.end(), [](const NvidiaChoice& a, const NvidiaChoice& b) {
    return a.nanoseconds < b.nanoseconds;
  });
  return choices;
}

std::vector<NvidiaChoice> all_choices(const Device& device, const Problem& p) {
  const ComplexGemmPolicy& policy = policy_of(device);
  return p.part == Scalar::float64 ? sorted_choices(device, p, policy.units)
                                   : sorted_choices(device, p, policy.stages);
}

/// Copies of plain OpenCL C, by which CPUs run the kernels, and matrix units of that.
bool emulates(const Device& device) { return device.type == DeviceType::cpu; }

template <class Tile>
Plan planned(const Device& device, const Problem& p, std::string_view variant, const Tile& tile,
             const NvidiaChoice& choice, const char* file) {
  Plan plan = named_plan(kName, variant, formatted("nvidia/complex_gemm/{}.cl", file),
                         formatted("complex_gemm_{}", file));
  define_numbers(p, plan);
  set_groups(plan, tile.group(), count_tiles(p, tile) * choice.parts);
  plan.numbers = {{"parts", choice.parts}, {"part_depth", choice.part_depth}};
  if (choice.parts > 1) {
    define(plan, "SPLITS", 1);
    plan.counters = true;
    add_scratch(plan,
                count_tiles(p, tile) * choice.parts * tile.tile_m() * tile.tile_n() * 2 * size_of(p.part));
  }
  define(plan, {{"WARPS_M", tile.of.warps_m},
                {"WARPS_N", tile.of.warps_n},
                {"TILE_K", tile.of.tile_k},
                {"STAGES", tile.of.stages},
                {"CONJUGATES", p.conjugates ? 1 : 0}});
  if (emulates(device)) define(plan, "EMULATED", 1);
  plan.tile_rows = tile.tile_m();
  plan.tile_cols = tile.tile_n();
  plan.items_per_work_item = tile.tile_m() * tile.tile_n() / tile.group();
  plan.local_bytes =
      tile.local_bytes(p.a_along_k, p.b_along_k) + (choice.parts > 1 ? 2 * size_of(p.part) : 0);
  predict_product(p, plan);
  // What is brought there, once, and read for the multiplications.
  plan.prediction.local_bytes =
      2 * real(count_tiles(p, tile), p.k, tile.tile_m() + tile.tile_n()) * 2 * real(size_of(p.part));
  return plan;
}

std::string text_of(const NvidiaChoice& choice) {
  return formatted("{}; {:.4g} us by the model",
                   choice.parts > 1 ? formatted("; sums in {} parts of {}, which the last group adds",
                                                choice.parts, choice.part_depth)
                                    : std::string(),
                   choice.nanoseconds / 1000);
}

}  // namespace

std::string_view nvidia_variant(Scalar part) { return part == Scalar::float64 ? "mma" : "multistage"; }

std::vector<NvidiaChoice> nvidia_choices(const Device& device, const Problem& p) {
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80) return {};
  if (p.part == Scalar::float64 && !policy_of(device).chooses_units) return {};
  return all_choices(device, p);
}

Attempt by_nvidia(const Device& device, const Problem& p, const PlanOverrides& fixed,
                  std::string_view variant) {
  if (variant != nvidia_variant(p.part)) return variant == "mma" ? "multiplies doubles" : "multiplies floats";
  if (!emulates(device) && (!is_nvidia_gpu(device) || compute_capability(device) < 80))
    return "needs the asynchronous copies of NVIDIA's sm_80 and later";
  const ComplexGemmPolicy& policy = policy_of(device);
  if (p.k > std::numeric_limits<std::uint32_t>::max()) return "its sums are longer than 32 bits count";
  const std::vector<NvidiaChoice> choices = all_choices(device, p);
  if (choices.empty()) return no_tile_fits(device);
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const NvidiaChoice& choice) {
    const auto is = [&](const auto& tile) {
      return (fixed.tile_rows == 0 || tile.tile_m() == fixed.tile_rows) &&
             (fixed.tile_cols == 0 || tile.tile_n() == fixed.tile_cols);
    };
    return p.part == Scalar::float64 ? is(policy.units[choice.tile]) : is(policy.stages[choice.tile]);
  });
  if (found == choices.end()) {
    refuse(kName, fixed.tile_rows != 0 ? "tile_rows" : "tile_cols", "a tile of the variant",
           formatted("{} x {}", fixed.tile_rows, fixed.tile_cols));
  }
  if (p.part == Scalar::float64) {
    const ComplexUnits& tile = policy.units[found->tile];
    Plan plan = planned(device, p, variant, tile, *found, "dmma");
    define(plan, {{"WARP_M", tile.of.warp_m},
                  {"WARP_N", tile.of.warp_n},
                  {"MMA_K", compute_capability(device) >= 90 ? 8 : 4}});
    plan.reason =
        "asynchronous copies fill tiles ahead; matrix units multiply the parts of numbers" + text_of(*found);
    return plan;
  }
  const ComplexStages& tile = policy.stages[found->tile];
  Plan plan = planned(device, p, variant, tile, *found, "multistage");
  define(plan, {{"LANES_M", tile.of.lanes_m}, {"ITEM_M", tile.of.item_m}, {"ITEM_N", tile.of.item_n}});
  plan.reason = formatted("asynchronous copies fill tiles ahead; {} x {} results a work-item{}",
                          tile.of.item_m, tile.of.item_n, text_of(*found));
  return plan;
}

}  // namespace smem::plan::complex_gemm
