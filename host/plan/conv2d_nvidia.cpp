// Plans of convolutions by NVIDIA's matrix units ("mma", "wgmma"): tiles, and what is copied before them.
#include "plan/conv2d_nvidia.hpp"
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kRow = 128;     // bytes of a row of a tile
constexpr std::size_t kSwizzled = 8;  // rows after which their swizzle repeats

template <class Tile>
std::size_t jobs_of(const Conv2dProblem& p, const Tile& tile) {
  return size_product(p.groups, divide_up(p.group_filters(), tile.tile_n()),
                      divide_up(p.images * p.plane_results(), tile.tile_m()));
}

/// Nanoseconds of all tiles, of `depth` weights each.
double time_of(const Device& device, const Conv2dProblem& p, const nvidia::Mma& tile, std::size_t depth,
               std::size_t /*alone*/ = 0) {
  const std::size_t units = at_least_1(device.compute_units), jobs = jobs_of(p, tile);
  const std::size_t full = units * tile.resident;
  const double steps = real(divide_up(depth * size_of(p.type), kRow));
  const double whole = std::max(tile.step, tile.shared * real(tile.resident));
  const std::size_t left_over = divide_up(jobs % full, units);
  return real(jobs / full) * (steps * whole + tile.tile) +
         (left_over > 0 ? steps * std::max(tile.step, tile.shared * real(left_over)) + tile.tile : 0);
}

/// Parts along the steps of a tile, and nanoseconds of all.
struct Parts {
  std::size_t parts = 1;
  double time = 0;
};
/// `alone`: filters of a group that lie by themselves among merged groups; 0: all filters lie as one.
Parts parts_of(const Device& device, const Conv2dProblem& p, const nvidia::Wgmma& tile, std::size_t depth,
               std::size_t alone) {
  const std::size_t bytes = depth * size_of(p.type), taps = tile.tensor ? at_least_1(p.taps()) : 1;
  const std::size_t steps = taps * divide_up(bytes / taps, kRow), jobs = jobs_of(p, tile);
  const std::size_t room = at_least_1(device.compute_units);
  const std::size_t boxes = alone > 0 ? tile.tile_n() / std::gcd(alone, tile.tile_n()) : 0;
  const double step =
      std::max(tile.tensor && bytes / taps % kRow != 0 ? tile.step * nvidia::kUneven : tile.step,
               real(boxes) * nvidia::kFilterBox);
  Parts best{.time = real(divide_up(jobs, room)) * (real(steps) * step + tile.tile)};
  if (!tile.tensor || jobs * tile.of.consumers > kSharedCounters) return best;
  // What is added last takes registers, and so do planes and results of 4 bytes.
  if (tile.is_full() && (!p.out_interleaved || size_of(p.out) != 2)) return best;
  for (std::size_t parts = 2; parts <= std::min(steps, room / at_least_1(jobs)); ++parts) {
    const double time = real(divide_up(steps, parts)) * step + tile.tile + nvidia::kJoin +
                        real(parts, 64 * tile.tile_n()) * 4 / nvidia::kJoinBytes;
    if (time < best.time) best = {parts, time};
  }
  return best;
}

double time_of(const Device& device, const Conv2dProblem& p, const nvidia::Wgmma& tile, std::size_t depth,
               std::size_t alone) {
  return parts_of(device, p, tile, depth, alone).time;
}

/// Whether a map has the first cells of a row's or column's windows.
bool has_map(std::size_t size, std::size_t results, std::size_t window, std::size_t stride,
             std::size_t dilation, std::size_t before) {
  if (stride > nvidia::kMostStride || (window - 1) * dilation > nvidia::kMostOffset ||
      before > nvidia::kMostBefore)
    return false;
  const std::size_t last =
      (at_least_1(results) - 1) * stride + 1 + nvidia::kMostBefore;  // and as many as that
  return last >= size + before && last < size + before + 2 * nvidia::kMostBefore;
}

/// Whether tensor maps have the windows of a convolution. Maps of several groups have no zeros after the
/// channels of one.
bool has_maps(const Conv2dProblem& p, std::size_t channels) {
  return channels * size_of(p.type) % (p.groups == 1 ? 16 : kRow) == 0 &&
         has_map(p.width, p.out_width, p.window.width, p.stride.x, p.dilation.x, p.padding.left) &&
         has_map(p.height, p.out_height, p.window.height, p.stride.y, p.dilation.y, p.padding.top);
}

bool fits(const Conv2dProblem& /*p*/, const nvidia::Mma& /*tile*/, std::size_t /*depth*/) { return true; }
bool fits(const Conv2dProblem& p, const nvidia::Wgmma& tile, std::size_t depth) {
  return !tile.tensor || has_maps(p, depth / at_least_1(p.taps()));
}

/// Whether the compiler keeps in registers what a tile of many sums has beside them.
template <class Tile>
bool leaves_registers(const Conv2dProblem& p) {
  const std::size_t bytes = size_of(p.out);
  if (p.activation == Activation::gelu || store_width(p) * bytes < Tile::kStore) return false;
  return !Tile::kIsTight || (piece_of_units(p) * size_of(p.type) == 16 && (bytes == 2 || p.out_interleaved));
}

bool gathers(const nvidia::Mma& /*tile*/) { return true; }
bool gathers(const nvidia::Wgmma& tile) { return !tile.tensor; }

/// Of those that fit, the fastest; null: none fits. `is_merged`: without those that gather.
template <class Tile>
const Tile* tile_for(const Device& device, const Conv2dProblem& p, std::span<const Tile> tiles,
                     std::size_t depth, bool is_merged = false, std::size_t alone = 0) {
  const Tile* best = nullptr;
  for (const Tile& tile : tiles) {
    if (tile.local_bytes() > device.local_bytes || tile.group() > device.max_work_group) continue;
    if (is_merged && (gathers(tile) || (tile.is_full() && tile.tile_n() > 64))) continue;
    if ((tile.is_full() && !leaves_registers<Tile>(p)) || !fits(p, tile, depth)) continue;
    if (best == nullptr || time_of(device, p, tile, depth, alone) < time_of(device, p, *best, depth, alone))
      best = &tile;
  }
  return best;
}

bool is_fixed(const PlanOverrides& fixed) { return fixed.tile_rows + fixed.tile_cols > 0; }
bool is_it(std::size_t wanted, std::size_t has) { return wanted == 0 || wanted == has; }

/// The tile of "wgmma" that was fixed by hand; null: it does not have that.
const nvidia::Wgmma* fixed_tile(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed,
                                std::size_t depth, bool is_merged) {
  for (const nvidia::Wgmma& tile : nvidia::policy_of(device).wgmma) {
    if (!fits(p, tile, depth) || (is_merged && gathers(tile))) continue;
    if (is_it(fixed.tile_rows, tile.tile_m()) && is_it(fixed.tile_cols, tile.tile_n())) return &tile;
  }
  return nullptr;
}

[[noreturn]] void refuse_tile(const Device& device, const PlanOverrides& fixed) {
  std::string all;
  for (const nvidia::Wgmma& tile : nvidia::policy_of(device).wgmma) {
    all += formatted("{}{} x {}{}", all.empty() ? "" : ", ", tile.tile_m(), tile.tile_n(),
                     tile.tensor ? " by tensor maps" : "");
  }
  refuse(kOperation, is_it(fixed.tile_rows, 64) || is_it(fixed.tile_rows, 128) ? "tile_cols" : "tile_rows",
         formatted("a tile of \"wgmma\" for this layer: {}", all),
         formatted("{} x {}", fixed.tile_rows, fixed.tile_cols));
}

/// What both variants have. `whole`: the problem whose groups are merged to those of `p`.
template <class Tile>
Attempt made(const Device& device, const Conv2dProblem& whole, const Conv2dProblem& p,
             std::string_view variant, const char* file, const char* entry, const Tile* found,
             const Needs& needs) {
  if (found == nullptr) {
    return formatted("no tile fits {} bytes of local memory and work-groups of {}", device.local_bytes,
                     device.max_work_group);
  }
  const Tile& tile = *found;
  if (!counts_windows(p, needs.channels, tile.tile_m())) return "distances that 32 bits do not count";
  const std::size_t jobs = jobs_of(p, tile), depth = p.taps() * needs.channels;
  if (jobs > kMaxTiles) return formatted("{} tiles are more than a launch can have", jobs);
  Plan plan = named_plan(conv2d::kOperation, variant, file, entry);
  predict(whole, plan);
  count_for_matrix_units(plan.prediction);
  if (std::string reason = add_copies(device, p, needs, plan); !reason.empty()) return reason;
  set_groups(plan, tile.group(), jobs);
  const std::size_t bytes = size_of(p.type), piece = piece_of_units(p);
  define(plan, {{"ELEMENT_TYPE", gemm::type_number(p.type)},
                {"RESULT_TYPE", gemm::type_number(p.out)},
                {"OUT_INTERLEAVED", p.out_interleaved ? 1 : 0},
                {"OUT_VECTOR", store_width(p)}});
  // A program knows the places of pieces that it gathers.
  if (gathers(tile))
    define(plan, {{"WINDOW_W", p.window.width}, {"WINDOW_H", p.window.height}, {"PIECE", piece}});
  if (p.activation != Activation::none) define(plan, "ACTIVATION", static_cast<std::size_t>(p.activation));
  set_group_tile(plan, {.rows = tile.tile_m(),
                        .cols = tile.tile_n(),
                        .vector_width = piece,
                        .items = tile.tile_m() * tile.tile_n() / tile.group(),
                        .local_bytes = tile.local_bytes()});
  plan.prediction.local_bytes = 2 * real(jobs, depth, tile.tile_m() + tile.tile_n(), size_of(p.type));
  plan.reason = formatted(
      "a product of {} x {} x {} on matrix units, whose left factor is gathered from the input: tiles of {} "
      "results x {} filters, {} weights at a time",
      p.images * p.plane_results(), p.group_filters(), depth, tile.tile_m(), tile.tile_n(), kRow / bytes);
  return plan;
}

}  // namespace

std::size_t plan::conv2d::piece_of_units(const Conv2dProblem& p) {
  const std::size_t bytes = size_of(p.type);
  return (p.group_channels() * bytes <= 8 ? 8 : 16) / bytes;
}

std::size_t plan::conv2d::store_width(const Conv2dProblem& p) {
  const std::size_t bytes = size_of(p.out);
  if (!p.out_interleaved && !p.out_packed) return 1;
  const std::size_t length = p.out_interleaved ? p.group_filters() : p.plane_results();
  for (const std::size_t width : {8U, 4U, 2U})
    if (width * bytes <= 16 && length % width == 0 && p.out_alignment >= width * bytes) return width;
  return 1;
}

Needs plan::conv2d::needs_of_units(const Conv2dProblem& p) {
  const std::size_t bytes = size_of(p.type), piece = piece_of_units(p);
  Needs needs{.interleaved = true, .channels = round_up(p.group_channels(), piece), .weight_row = 16 / bytes};
  const bool whole = needs.channels == p.group_channels();
  needs.in = !whole || !p.in_interleaved || !p.in_packed || p.in_alignment < piece * bytes;
  needs.weights = !whole || !(p.weights_interleaved || p.taps() == 1) || p.weight_alignment < 16;
  return needs;
}

bool plan::conv2d::counts_windows(const Conv2dProblem& p, std::size_t channels, std::size_t tile_m) {
  const std::size_t images = tile_m / at_least_1(p.plane_results()) + 2;
  const std::size_t rows =
      images * p.height + p.padding.top + p.out_height * p.stride.y + p.window.height * p.dilation.y;
  const std::size_t across = p.padding.left + p.out_width * p.stride.x + p.window.width * p.dilation.x;
  const std::size_t cells = detail::size_sum(size_product(rows, at_least_1(p.width)), across);
  return size_product(cells, p.groups * channels) < kMost32 && p.plane_results() < kMost32 &&
         p.taps() * channels < kMost32;
}

std::string plan::conv2d::no_mma(const Device& device, const Conv2dProblem& p) {
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80)
    return "needs the matrix units of NVIDIA's sm_80 and later";
  if (!unit_multiplies(p.type)) return "multiplies half, bfloat16 and int8";
  if (p.window.width > kMostColumns || p.window.height > kMostRows)
    return formatted("its windows have at most {} x {} weights", kMostColumns, kMostRows);
  return {};
}

std::string plan::conv2d::no_wgmma(const Device& device, const Conv2dProblem& p) {
  if (!device.retargeting)
    return "needs Hopper's matrix units, and a driver that loads programs retargeted for them";
  return no_mma(device, p);
}

namespace {

/// The problem of as many groups as one as fill a row of a tile with their channels; itself: they do not.
Conv2dProblem merged(const Device& device, const Conv2dProblem& p) {
  const std::size_t row = kRow / size_of(p.type), channels = p.group_channels();
  if (!device.retargeting || p.groups == 1 || channels * nvidia::kMostMerged < row || row % channels != 0 ||
      p.groups % (row / channels) != 0)
    return p;
  Conv2dProblem all = p;
  all.groups = p.groups / (row / channels);
  return all;
}

/// What "wgmma" makes of a problem, or of its merged groups, whichever is faster; without a tile: none fits.
struct Chosen {
  const nvidia::Wgmma* tile = nullptr;
  Conv2dProblem problem;
  Needs needs;
  double time = kNever;

  std::size_t depth() const { return problem.taps() * needs.channels; }
  /// Filters of a group that lie by themselves among merged groups; 0: all filters lie as one.
  std::size_t alone() const {
    return needs.merged > 1 && !needs.spread ? problem.group_filters() / needs.merged : 0;
  }
};

/// Launches of the copies before the products.
std::size_t copies_of(const Needs& needs) {
  if (needs.spread) return needs.in ? 2 : 1;
  return needs.in || needs.weights ? 1 : 0;
}

Chosen chosen(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed = {}) {
  const std::size_t copies = copies_of(needs_of_units(p));
  const auto with = [&](const Conv2dProblem& q, bool spread) {
    Chosen c{.problem = q, .needs = needs_of_units(q)};
    c.needs.merged = p.groups / q.groups;
    c.needs.spread = spread;
    if (c.needs.merged > 1) c.needs.weights = spread || needs_of_units(p).weights;
    c.tile = is_fixed(fixed) ? fixed_tile(device, q, fixed, c.depth(), c.needs.merged > 1)
                             : tile_for(device, q, nvidia::policy_of(device).wgmma, c.depth(),
                                        c.needs.merged > 1, c.alone());
    if (c.tile == nullptr) return c;
    const double more = c.needs.merged > 1 ? real(copies_of(c.needs)) - real(copies) : 0;
    c.time = time_of(device, q, *c.tile, c.depth(), c.alone()) + more * nvidia::kLaunch;
    return c;
  };
  const auto faster = [](const Chosen& a, const Chosen& b) { return b.time < a.time ? b : a; };
  const Chosen alone = with(p, false);
  const Conv2dProblem all = merged(device, p);
  if (all.groups == p.groups) return alone;
  const Chosen together = with(all, true);
  const bool have_boxes =
      p.group_channels() * size_of(p.type) % 16 == 0 && p.group_filters() % kSwizzled == 0;
  return faster(alone, have_boxes ? faster(with(all, false), together) : together);
}

}  // namespace

bool plan::conv2d::prefers_wgmma(const Device& device, const Conv2dProblem& p) {
  if (!no_wgmma(device, p).empty()) return false;
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const Chosen wide = chosen(device, p);
  if (wide.needs.merged == 1 && p.group_filters() < policy.least_filters) return false;
  if (wide.needs.merged == 1 && p.group_channels() * size_of(p.type) < policy.wgmma_bytes) return false;
  const std::size_t depth = p.taps() * needs_of_units(p).channels;
  const nvidia::Mma* const narrow = tile_for(device, p, policy.mma, depth);
  if (wide.tile == nullptr || narrow == nullptr) return wide.tile != nullptr;
  return wide.time <= time_of(device, p, *narrow, depth);
}

bool plan::conv2d::prefers_wgmma_halo(const Device& device, const Conv2dProblem& p) {
  const double time = time_of_halo(device, p);
  if (time == kNever || p.group_filters() < nvidia::policy_of(device).least_filters) return false;
  const std::size_t depth = p.taps() * needs_of_units(p).channels;
  const nvidia::Mma* const narrow = tile_for(device, p, nvidia::policy_of(device).mma, depth);
  return time <= chosen(device, p).time && (narrow == nullptr || time <= time_of(device, p, *narrow, depth));
}

bool plan::conv2d::prefers_halo_to_gemm(const Device& device, const Conv2dProblem& p) {
  const nvidia::Policy& policy = nvidia::policy_of(device);
  return is_straight(p) && p.in_interleaved && p.group_filters() >= policy.least_filters &&
         p.group_filters() <= policy.narrow_filters && p.depth() >= policy.narrow_least &&
         p.depth() <= policy.narrow_depth &&
         size_product(p.images, p.plane_results()) >= policy.narrow_results &&
         time_of_halo(device, p) < kNever;
}

bool plan::conv2d::prefers_wgmma_few(const Device& device, const Conv2dProblem& p) {
  // Planes leave local memory slowly: kFew. "mma" copies fewer channels than 5 to cells of 4 first.
  if (p.in_channels > 4 && !stores_boxes(p)) return false;
  if (p.group_filters() < nvidia::policy_of(device).least_filters) return false;
  const double time = time_of_few(device, p);
  if (time == kNever) return false;
  if (p.depth() < nvidia::policy_of(device).least_depth) return p.out_interleaved && size_of(p.type) == 2;
  const Needs needs = needs_of_units(p);
  const std::size_t depth = p.taps() * needs.channels;
  const double copies = needs.in || needs.weights ? nvidia::kLaunch : 0;
  const nvidia::Mma* const narrow = tile_for(device, p, nvidia::policy_of(device).mma, depth);
  // Of a window of one cell "gemm" comes before halos.
  const double halo = is_straight(p) && !prefers_halo_to_gemm(device, p) ? kNever : time_of_halo(device, p);
  return time <= copies + std::min(chosen(device, p).time, halo) &&
         (narrow == nullptr || time <= copies + time_of(device, p, *narrow, depth));
}

bool plan::conv2d::prefers_mma(const Device& device, const Conv2dProblem& p) {
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const bool has_many = p.group_filters() >= policy.many_filters && p.out_interleaved && size_of(p.type) == 2;
  if (!no_mma(device, p).empty()) return false;
  if (p.depth() < (has_many ? policy.many_filters_depth : policy.least_depth))
    return prefers_wgmma_few(device, p);
  return p.group_filters() >= policy.least_filters || p.depth() >= policy.few_filters_depth ||
         (chosen(device, p).needs.merged > 1 && prefers_wgmma(device, p));
}

plan::Attempt plan::conv2d::mma(const Device& device, const Conv2dProblem& p) {
  if (std::string reason = no_mma(device, p); !reason.empty()) return reason;
  const Needs needs = needs_of_units(p);
  const nvidia::Mma* const tile =
      tile_for(device, p, nvidia::policy_of(device).mma, p.taps() * needs.channels);
  Attempt attempt = made(device, p, p, "mma", "nvidia/conv2d/mma.cl", "conv2d_mma", tile, needs);
  if (!attempt.plan) return attempt;
  define(*attempt.plan, {{"WARPS_M", tile->of.warps_m},
                         {"WARPS_N", tile->of.warps_n},
                         {"WARP_M", tile->of.warp_m},
                         {"WARP_N", tile->of.warp_n},
                         {"STAGES", tile->of.stages}});
  return attempt;
}

plan::Attempt plan::conv2d::wgmma(const Device& device, const Conv2dProblem& p, const PlanOverrides& fixed) {
  if (std::string reason = no_wgmma(device, p); !reason.empty()) return reason;
  const Chosen found = chosen(device, p, fixed);
  const nvidia::Wgmma* const tile = found.tile;
  if (tile == nullptr && is_fixed(fixed)) refuse_tile(device, fixed);
  Attempt attempt =
      made(device, p, found.problem, "wgmma", "nvidia/conv2d/wgmma.cl", "conv2d_wgmma", tile, found.needs);
  if (!attempt.plan || tile == nullptr) return attempt;
  Plan& plan = *attempt.plan;
  plan.target = "sm_90a";
  const Conv2dProblem& q = found.problem;
  const std::size_t parts = parts_of(device, q, *tile, found.depth(), found.alone()).parts,
                    jobs = jobs_of(q, *tile) * parts;
  const std::size_t groups = std::min(jobs, at_least_1(device.compute_units));
  set_groups(plan, tile->group(), groups);
  define(plan, {{"CONSUMERS", tile->of.consumers},
                {"TILE_N", tile->of.tile_n},
                {"STAGES", tile->of.stages},
                {"LAG", tile->of.lag}});
  if (!tile->tensor) return attempt;
  define(plan, {{"TENSOR", 1}, {"SPLIT", parts > 1 ? 1 : 0}});
  const std::size_t shared = parts > 1 ? size_product(jobs, tile->tile_m() * tile->tile_n() * 4) : 0;
  add_scratch(plan, groups * nvidia::Wgmma::kMaps + shared);
  plan.numbers.emplace_back("maps_area", plan.scratch.size());
  plan.numbers.emplace_back("parts", parts);
  plan.counters = parts > 1;
  if (parts > 1) plan.local_bytes += tile->of.consumers * 4;  // who is the last of a tile's groups
  if (found.needs.merged == 1) return attempt;
  define(plan, "MERGED", found.needs.merged);
  if (found.alone() > 0) define(plan, "FILTER_LINES", std::gcd(found.alone(), tile->tile_n()));
  plan.numbers.emplace_back("merged", found.needs.merged);
  return attempt;
}

}  // namespace smem
