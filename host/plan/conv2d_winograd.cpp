// Plans of convolutions by Winograd's minimal filtering ("winograd_2x2", "winograd_4x4"): transforms, and a
// batch of products between them.
#include "plan/conv2d_winograd.hpp"
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kMatrixUnit =
    16;  // elements of which rows of matrices are multiples: a line of a cache
constexpr std::size_t kWinogradBlock = 64;  // elements of a row that kernels for CPUs have in local memory
constexpr std::size_t kMostWinogradTiles = (std::size_t{1} << 31) - 1;

std::size_t winograd_tile(std::string_view variant) { return variant == "winograd_2x2" ? 2 : 4; }

std::string why_no_winograd(const Conv2dProblem& p, std::size_t tile) {
  if (p.type != Scalar::float32) return "its transforms are of float32";
  if (p.window.width != 3 || p.window.height != 3 || p.stride.x != 1 || p.stride.y != 1 ||
      p.dilation.x != 1 || p.dilation.y != 1)
    return "it needs windows of 3 x 3, and strides and dilations of 1";
  if (p.winograd < (tile == 2 ? Winograd::f2x2 : Winograd::f4x4)) {
    return formatted("the caller does not allow its rounding (Conv2d::winograd is \"{}\")",
                     name_of(p.winograd));
  }
  return {};
}

/// Multiplications and additions of the products, and bytes that are moved beside the input and the output.
struct WinogradCost {
  double operations = 0, tile_bytes = 0, filter_bytes = 0;

  double bytes() const { return tile_bytes + filter_bytes; }
};
WinogradCost winograd_cost(const Conv2dProblem& p, std::size_t tile) {
  const WinogradTiles tiles = winograd_tiles(p, tile);
  const double numbers = real(tiles.matrices(), tiles.lines(p), tiles.across);  // of a channel or filter
  const double twice = 2 * real(sizeof(float));                                 // written and read
  return {.operations = 2 * numbers * real(p.out_channels, p.group_channels()),
          .tile_bytes = twice * numbers * real(p.in_channels + p.out_channels),
          .filter_bytes = twice * real(tiles.matrices(), p.out_channels, p.group_channels())};
}

/// Operations of the other variants, and how many of them take as long as tiles do.
double plain_operations(const Conv2dProblem& p) {
  return 2 * real(p.images, p.plane_results()) * real(p.out_channels, p.depth());
}
/// Operations of "implicit" in a nanosecond, where they are known.
double operations_a_nanosecond(const Device& device) {
  return 2 * policy_of(device).implicit_times.products * real(at_least_1(device.compute_units));
}
/// The same in operations of "implicit".
double plain_time(const Device& device, const WinogradPolicy& policy, const Conv2dProblem& p) {
  if (!policy_of(device).implicit.holds(p.group_filters(), p.depth()))
    return policy.of_direct * plain_operations(p);
  if (policy_of(device).implicit_times.step == 0) return plain_operations(p);
  const double least = prefers_columns(device, p) ? time_of_columns(device, p) : time_of_implicit(device, p);
  return least * operations_a_nanosecond(device);
}
double winograd_time(const Device& device, const WinogradPolicy& policy, const WinogradCost& cost) {
  return cost.operations + policy.launches * operations_a_nanosecond(device) +
         policy.operations_a_byte * cost.tile_bytes + policy.operations_a_filter_byte * cost.filter_bytes;
}

/// What the products of all groups of channels and all elements of tiles are to gemm().
GemmProblem winograd_products(const Conv2dProblem& p, const WinogradSlice& slice) {
  GemmProblem g;
  g.m = p.out_interleaved ? slice.tiles : p.group_filters();
  g.n = p.out_interleaved ? p.group_filters() : slice.tiles;
  g.k = p.group_channels();
  g.batch = slice.products.elements * p.groups;
  // Planes: filters times tiles; interleaved: tiles times filters, whose matrices have channels innermost.
  g.a_along_k = !p.out_interleaved || p.in_interleaved;
  g.b_along_k = p.out_interleaved || p.in_interleaved;
  return g;
}

/// Rows of tiles of a slice, whose matrices fit a share of the last cache, or are as large as the filters',
/// which each slice reads: equal slices.
std::size_t winograd_lines(const Device& device, const Conv2dProblem& p, const WinogradTiles& tiles) {
  const conv2d::Policy& policy = policy_of(device);
  const WinogradPolicy& of_tiles = winograd_policy_of(device);
  const std::size_t filters =
      size_product(tiles.matrices(), p.out_channels, p.group_channels(), sizeof(float));
  const std::size_t cached =
      std::max(std::clamp(device.cache_bytes / policy.cache_share, policy.least_columns, policy.most_columns),
               std::min(filters, of_tiles.most_filters));
  const std::size_t room = of_tiles.slice_bytes > 0 ? std::max(of_tiles.slice_bytes, cached) : cached;
  const std::size_t all = at_least_1(tiles.lines(p));
  const std::size_t line =
      size_product(tiles.matrices(), tiles.across, p.in_channels + p.out_channels, sizeof(float));
  const std::size_t most = std::clamp<std::size_t>(room / at_least_1(line), 1, all);
  return divide_up(all, divide_up(all, most));
}

/// A launch that makes matrices, or results of them: a work-item has one number of each; on a CPU a thread a
/// block of a row of each.
Launch winograd_launch(const Device& device, const char* name, std::size_t tile,
                       const WinogradMatrices& matrices, bool interleaved, bool by_threads) {
  const char* const of_cpu = by_threads ? "_cpu" : "";
  Launch launch = named_plan(conv2d::kOperation, name, formatted("conv2d/winograd_{}{}.cl", name, of_cpu),
                             formatted("conv2d_winograd_{}{}", name, of_cpu));
  launch.text_defines = {{"ELEMENT", "float"}, {"RESULT", "float"}, {"VALUE", "float"}};
  define(launch, {{"PACK", 1}, {"TILE", tile}});
  if (by_threads) {
    set_groups(launch, 1,
               size_product(divide_up(matrices.cols, kWinogradBlock), matrices.rows, matrices.groups));
    const std::size_t lanes = std::clamp<std::size_t>(device.vector_bytes, 16, 32) / sizeof(float);
    define(launch, "LANES", lanes);
    launch.vector_width = lanes;
    launch.items_per_work_item = std::min(matrices.cols, kWinogradBlock);
    return launch;
  }
  set_grid(launch, device, policy_of(device).group,
           {at_least_1(matrices.cols * (interleaved ? matrices.groups : 1)),
            at_least_1(matrices.rows * (interleaved ? 1 : matrices.groups)), 1});
  define_group(launch);
  define_sub_group(device, launch);
  return launch;
}

double matrix_bytes(const WinogradMatrices& m) {
  return real(m.elements, m.groups * m.rows, m.cols, sizeof(float));
}

/// The launches beside the products, of a slice.
void add_winograd_launches(const Device& device, const Conv2dProblem& p, const WinogradTiles& tiles,
                           const WinogradSlice& slice, Plan& plan) {
  const std::size_t edge = tiles.tile + 2;
  // A thread has a block of each element of a tile in local memory.
  const bool by_threads =
      runs_cpu_variant(device) && tiles.matrices() * kWinogradBlock * sizeof(float) <= local_room(device);
  Launch filters = winograd_launch(device, "filters", tiles.tile, slice.filters, false, by_threads);
  define(filters, "WEIGHTS_INTERLEAVED", p.weights_interleaved ? 1 : 0);
  filters.prediction = {.bytes_read = real(p.out_channels, p.depth(), sizeof(float)),
                        .bytes_written = matrix_bytes(slice.filters)};
  filters.reason =
      formatted("{} x {} numbers of each filter and channel, in the first round alone", edge, edge);

  Launch input = winograd_launch(device, "input", tiles.tile, slice.input, p.in_interleaved, by_threads);
  define(input, "IN_INTERLEAVED", p.in_interleaved ? 1 : 0);
  input.prediction = {
      .bytes_read = real(p.images * p.in_channels, p.width * p.height, sizeof(float)) / real(plan.rounds),
      .bytes_written = matrix_bytes(slice.input)};
  input.reason = formatted("{} x {} numbers of each of {} tiles and each channel, to {} matrices", edge, edge,
                           slice.tiles, tiles.matrices());

  Launch output =
      winograd_launch(device, "output", tiles.tile, slice.products, p.out_interleaved, by_threads);
  define(output, "OUT_INTERLEAVED", p.out_interleaved ? 1 : 0);
  if (p.activation != Activation::none) define(output, "ACTIVATION", static_cast<std::size_t>(p.activation));
  const bool packs = !by_threads && !p.out_interleaved && p.out_packed && p.out_width % tiles.tile == 0 &&
                     p.out_alignment >= tiles.tile * sizeof(float);
  if (!by_threads) define(output, "PACK_OUT", packs ? tiles.tile : 1);
  if (packs) output.vector_width = tiles.tile;
  output.prediction = {
      .bytes_read = matrix_bytes(slice.products),
      .bytes_written = real(p.images * p.out_channels, p.plane_results(), sizeof(float)) / real(plan.rounds)};
  output.reason = formatted("{} x {} results of each tile and filter", tiles.tile, tiles.tile);
  if (by_threads) {
    filters.local_bytes = p.taps() * kWinogradBlock * sizeof(float);
    input.local_bytes = tiles.matrices() * kWinogradBlock * sizeof(float);
    output.local_bytes = tiles.tile * tiles.tile * kWinogradBlock * sizeof(float);
  }
  plan.before.insert(plan.before.begin(), {std::move(filters), std::move(input)});
  plan.after.push_back(std::move(output));
}

}  // namespace

std::string_view name_of(Winograd winograd) {
  static constexpr std::array<std::string_view, 3> kNames{"none", "2x2", "4x4"};
  return plan::name_among(kNames, winograd);
}

WinogradTiles plan::conv2d::winograd_tiles(const Conv2dProblem& p, std::size_t tile) {
  return {tile, at_least_1(divide_up(p.out_width, tile)), at_least_1(divide_up(p.out_height, tile))};
}

WinogradSlice plan::conv2d::winograd_slice(const Conv2dProblem& p, const WinogradTiles& tiles,
                                           std::size_t lines) {
  WinogradSlice s;
  s.tiles = lines * tiles.across;
  const auto matrices = [&](std::size_t first, std::size_t rows, std::size_t cols) {
    return WinogradMatrices{first, rows, cols, round_up(cols, kMatrixUnit), p.groups, tiles.matrices()};
  };
  const auto of_tiles = [&](std::size_t first, std::size_t channels, bool interleaved) {
    return interleaved ? matrices(first, s.tiles, channels) : matrices(first, channels, s.tiles);
  };
  s.filters = matrices(0, p.group_filters(), p.group_channels());
  s.input = of_tiles(s.filters.end(), p.group_channels(), p.in_interleaved);
  s.products = of_tiles(s.input.end(), p.group_filters(), p.out_interleaved);
  return s;
}

bool plan::conv2d::is_winograd(std::string_view variant) { return variant.starts_with("winograd"); }

std::string_view plan::conv2d::winograd_choice(const Device& device, const Conv2dProblem& p) {
  const WinogradPolicy& policy = winograd_policy_of(device);
  double least = plain_time(device, policy, p);
  std::string_view best;
  for (const std::string_view variant : {"winograd_2x2", "winograd_4x4"}) {
    if (!why_no_winograd(p, winograd_tile(variant)).empty()) continue;
    const WinogradCost cost = winograd_cost(p, winograd_tile(variant));
    const double time = winograd_time(device, policy, cost);
    if (cost.operations < plain_operations(p) && time < least) best = variant, least = time;
  }
  return best;
}

std::string plan::conv2d::why_not_winograd(const Conv2dProblem& p, std::string_view variant) {
  const WinogradCost cost = winograd_cost(p, winograd_tile(variant));
  return formatted("its products are {:.3g} times fewer, and its matrices move {:.3g} MB",
                   plain_operations(p) / cost.operations, cost.bytes() / 1e6);
}

plan::Attempt plan::conv2d::winograd(const Device& device, const Conv2dProblem& p, std::string_view variant) {
  const std::size_t tile = winograd_tile(variant);
  if (std::string reason = why_no_winograd(p, tile); !reason.empty()) return reason;
  const WinogradTiles tiles = winograd_tiles(p, tile);
  const std::size_t lines = winograd_lines(device, p, tiles), all = at_least_1(tiles.lines(p));
  const WinogradSlice slice = winograd_slice(p, tiles, lines);
  if (slice.tiles > kMostWinogradTiles) return "a row has more tiles than 32 bits count";
  if (device.max_allocation > 0 && std::bit_ceil(slice.bytes()) > device.max_allocation)
    return formatted("its matrices take {} bytes, more than a buffer", slice.bytes());
  Plan plan = plan_gemm(device, winograd_products(p, slice));
  plan.reason = formatted("{} products of {} x {} x {} by gemm / {}: {}", slice.products.elements * p.groups,
                          p.group_filters(), slice.tiles, p.group_channels(), plan.variant, plan.reason);
  plan.operation = conv2d::kOperation;
  plan.variant = variant;
  plan.in_place_of.clear();
  plan.alternatives = {};  // those of gemm()
  plan.rounds = divide_up(all, lines);
  plan.numbers.insert(plan.numbers.begin(), {{"tile", tile}, {"lines", lines}});
  add_winograd_launches(device, p, tiles, slice, plan);
  add_scratch(plan, slice.bytes());
  // All matrices are written and read once; they may stay in the cache.
  predict(p, plan);
  const WinogradCost cost = winograd_cost(p, tile);
  plan.prediction.operations = cost.operations;
  plan.prediction.bytes_read += cost.bytes() / 2;
  plan.prediction.bytes_written += cost.bytes() / 2;
  plan.prediction.local_bytes *= real(plan.rounds);
  return plan;
}

}  // namespace smem
