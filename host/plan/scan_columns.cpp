// Plans for scans along columns in a single pass: their tiles, and the memory of their statuses.
#include "plan/scan_columns.hpp"

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>

namespace smem {

namespace {

using namespace plan;

/// Of areas of statuses of columns: no other kernel has this number.
constexpr std::size_t kColumnStatuses = std::size_t{1} << 17;

/// A tile of columns: `pack` neighbours and `items` rows of a work-item.
struct ColumnTile {
  std::size_t group = 0, width = 0, pack = 1, items = 0, rows = 0;
  std::size_t padded = 0;  ///< columns of a matrix, in tiles of the usual width
  /// Of local memory.
  std::size_t bytes(std::size_t number_bytes) const {
    constexpr std::size_t kBlock = 32;  // tiles of a block
    return (group * (pack + 2) + (kBlock + 1) * width) * number_bytes + group;
  }
};

ColumnTile column_tile(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                       std::size_t number_bytes) {
  const ScanPolicy& policy = scan_policy(device);
  const std::size_t large = std::max(size_of(problem.in), size_of(problem.out));
  const std::size_t cols = at_least_1(problem.cols), wanted = group_wanted(fixed, policy.column_group);
  ColumnTile tile;
  const std::size_t wide =
      std::min({policy.column_pack_bytes / large, policy.column_pack, std::bit_floor(cols), wanted});
  tile.pack = at_least_1(std::min(
      {wide, problem.in_alignment / size_of(problem.in), problem.out_alignment / size_of(problem.out)}));
  tile.width = std::clamp(std::min({policy.column_line / large, std::bit_ceil(cols), wanted}), tile.pack,
                          policy.column_width);
  const std::size_t bytes = policy.column_item_bytes / (tile.pack * size_of(problem.in));
  const std::size_t most = number_bytes == 8 ? policy.column_wide_items : policy.column_items;
  tile.items = std::clamp<std::size_t>(std::min(bytes, policy.column_numbers / tile.pack), 1, most);
  tile.rows = wanted * tile.pack / tile.width * tile.items;
  tile.padded = round_up(cols, tile.width);
  // Smaller groups have tiles of as many rows.
  tile.group = group_for(device, wanted, 0);
  const auto shrink = [&] {
    tile.width = std::min(tile.width, tile.group);
    tile.pack = std::min(tile.pack, tile.width);
    tile.items = tile.rows * tile.width / (tile.group * tile.pack);
  };
  shrink();
  for (; tile.group > 1 && tile.bytes(number_bytes) > local_room(device); shrink())
    tile.group /= 2;
  if (tile.bytes(number_bytes) > local_room(device)) tile.group = 0;
  return tile;
}

}  // namespace

plan::Attempt plan::look_back_columns(const Device& device, const ScanProblem& problem,
                                      const PlanOverrides& fixed, std::size_t number_bytes, Plan plan) {
  if (!can_look_back(device)) return kCannotPublish;
  if (!device.forward_progress) return "groups that have started may wait for ever there";
  const ColumnTile tile = column_tile(device, problem, fixed, number_bytes);
  if (tile.group == 0) return no_tile_fits(device);
  const std::size_t piece = tile.rows, parts = at_least_1(divide_up(problem.rows, piece));
  const std::size_t chains = size_product(divide_up(problem.cols, tile.width), problem.batch);
  const std::size_t tiles = size_product(chains, parts);
  if (tiles > kMaxTiles) return "its tiles are more than a launch can have";
  plan.global = {tiles * tile.group, 1, 1};
  plan.work_group = {tile.group, 1, 1};
  plan.vector_width = tile.pack;
  plan.items_per_work_item = tile.items * tile.pack;
  plan.tile_rows = piece;
  plan.tile_cols = tile.width;
  plan.local_bytes = tile.bytes(number_bytes);
  plan.prediction.local_bytes = 3 * real(tiles, tile.group, tile.pack) * real(number_bytes);
  define(plan, {{"GROUP", tile.group},
                {"WIDTH", tile.width},
                {"PACK", tile.pack},
                {"ITEMS", tile.items},
                {"LANES", 1},
                {"EPOCHS", 1}});
  const std::size_t pack_bytes = tile.pack * size_of(problem.in);
  if (size_of(problem.in) < number_bytes && tile.pack > 1) define(plan, "PACK_WORDS", pack_bytes / 4);
  define_publishing(device, plan);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  plan.numbers = {{"parts", parts}, {"piece", piece}};
  // Each column has its own word, or four of a number of 8 bytes.
  const std::size_t line = look_back_policy(device).status_words;
  const std::size_t words = number_bytes == 8 ? 4 : 1, entries = parts + divide_up(parts, std::size_t{32});
  const std::size_t bytes =
      8 * (line + (parts == 1 ? 0 : size_product(tile.padded, problem.batch, entries, words)));
  add_scratch(plan, bytes, bytes);
  plan.scratch.back().statuses = kColumnStatuses + number_bytes;
  plan.reason =
      parts == 1 ? "a tile has all rows of its columns"
                 : formatted("single pass: each tile publishes {} aggregates and looks back over those above",
                             tile.width);
  return plan;
}

}  // namespace smem
