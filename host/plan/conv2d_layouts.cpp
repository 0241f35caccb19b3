// Copies of grids between planes and interleaved channels, before and after the main launch of a convolution.
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kGroup = 256;
constexpr std::size_t kTile = 4096;        // cells times channels
constexpr std::size_t kMostChannels = 64;  // of a tile
constexpr std::size_t kGap = 2;            // elements after the cells of a channel in local memory

/// A copy from one layout to the other.
struct Copy {
  Which which;
  const char* what;
  std::size_t images, cells, groups, channels, to_channels;
  bool from_interleaved, to_interleaved;
  std::size_t read, write;  ///< elements at once
  std::size_t bytes;        ///< of an element
};

/// The most elements, of at most 16 bytes, that a vector has where lines are multiples of `length` elements
/// and begin at multiples of `alignment` bytes.
std::size_t vector_of(std::size_t length, std::size_t alignment, std::size_t bytes) {
  for (const std::size_t width : {16U, 8U, 4U, 2U})
    if (width * bytes <= 16 && length % width == 0 && alignment >= width * bytes) return width;
  return 1;
}

std::string too_large(const Device& device) {
  return formatted("copies to another layout need {} work-items and local memory, which {} lacks", kGroup,
                   device.name);
}

/// The launch of a copy; empty: it does not fit the device.
std::optional<Launch> launch_of(const Device& device, const Copy& copy) {
  const std::size_t bytes = copy.bytes, all = copy.groups * copy.to_channels;
  const bool is_direct = copy.from_interleaved && copy.to_interleaved;  // without local memory
  const std::size_t least = std::max({std::size_t{8}, copy.read, copy.write});
  std::size_t channels =
      std::clamp<std::size_t>(std::bit_ceil(all), is_direct ? copy.write : 8, kMostChannels);
  std::size_t cells = kTile / channels;
  if (!is_direct && std::bit_ceil(copy.cells) < cells) {  // of few cells, as those of filters, more channels
    cells = std::max(least, std::bit_ceil(copy.cells));
    channels = std::clamp<std::size_t>(std::bit_ceil(all), 8, kTile / cells);
  }
  const auto local = [&] { return is_direct ? 0 : channels * (cells + kGap) * bytes; };
  while (local() > local_room(device) && channels > kMostChannels)
    channels /= 2;
  while (local() > local_room(device) && cells > least)
    cells /= 2;
  const std::size_t blocks =
      size_product(copy.images, divide_up(all, channels), at_least_1(divide_up(copy.cells, cells)));
  if (local() > local_room(device) || kGroup > std::min(device.max_work_group, device.max_work_items[0]) ||
      blocks > kMaxTiles)
    return std::nullopt;
  const char* const name = copy.which == Which::in        ? "pack"
                           : copy.which == Which::weights ? "pack_filters"
                                                          : "unpack";
  Launch launch = named_plan(conv2d::kOperation, name, "conv2d/pack.cl", "conv2d_pack");
  define(launch, {{"ELEMENT_BYTES", bytes},
                  {"CELLS", cells},
                  {"CHANNELS", channels},
                  {"FROM_INTERLEAVED", copy.from_interleaved ? 1 : 0},
                  {"TO_INTERLEAVED", copy.to_interleaved ? 1 : 0},
                  {"READ", copy.read},
                  {"WRITE", copy.write},
                  {"GROUP", kGroup}});
  const bool whole = !copy.from_interleaved && copy.to_interleaved && copy.channels == copy.to_channels &&
                     copy.cells % 2 == 1 && copy.cells <= cells;
  define(launch, "WHOLE", whole ? 1 : 0);
  set_groups(launch, kGroup, blocks);
  launch.numbers = {{"grid", static_cast<std::size_t>(copy.which)}};
  launch.tile_rows = channels;
  launch.tile_cols = cells;
  launch.vector_width = copy.read;
  launch.items_per_work_item = cells * channels / kGroup;
  launch.local_bytes = local();
  launch.prediction.bytes_read = real(copy.images, copy.cells, copy.groups * copy.channels, bytes);
  launch.prediction.bytes_written = real(copy.images, copy.cells, all, bytes);
  launch.reason = formatted("copies {} {} {}, {} at a time", copy.what,
                            copy.to_interleaved == copy.from_interleaved
                                ? "with zeros for channels that are not there, as they lie,"
                            : copy.to_interleaved ? "to interleaved channels"
                                                  : "to planes",
                            copy.to_channels == copy.channels
                                ? std::string("in tiles")
                                : formatted("{} of each group as {}", copy.channels, copy.to_channels),
                            copy.write);
  return launch;
}

/// Makes one launch of the copies of the input and of the filters, unless it has too many groups.
void join_last_two(std::vector<Launch>& all) {
  Launch& in = *(all.end() - 2);
  const Launch& weights = all.back();
  if (in.groups() + weights.groups() > kMaxTiles) return;
  in.kernel_file = "conv2d/pack_both.cl";
  in.entry_point = "conv2d_pack_both";
  for (const auto& [name, value] : weights.defines)
    if (name != "ELEMENT_BYTES" && name != "GROUP") define(in, ("FILTERS_" + name).c_str(), value);
  in.numbers = {{"filter_tiles", weights.groups()}};
  set_groups(in, kGroup, in.groups() + weights.groups());
  in.local_bytes = std::max(in.local_bytes, weights.local_bytes);
  in.prediction.bytes_read += weights.prediction.bytes_read;
  in.prediction.bytes_written += weights.prediction.bytes_written;
  in.reason += "; " + weights.reason;
  all.pop_back();
}

/// The launch that copies filters for several groups of channels as one. `p`: of these; empty: it does not
/// fit.
std::optional<Launch> launch_of_spread(const Device& device, const Conv2dProblem& p, const Needs& needs) {
  const std::size_t channels = needs.channels / needs.merged,
                    count = size_product(p.out_channels, p.taps(), needs.channels);
  if (kGroup > std::min(device.max_work_group, device.max_work_items[0]) ||
      divide_up(count, kGroup) > kMaxTiles)
    return std::nullopt;
  Launch launch = named_plan(conv2d::kOperation, "spread", "conv2d/spread.cl", "conv2d_spread");
  define(launch, {{"ELEMENT_BYTES", size_of(p.type)},
                  {"FROM_INTERLEAVED", p.weights_interleaved ? 1 : 0},
                  {"GROUP", kGroup}});
  set_groups(launch, kGroup, divide_up(count, kGroup));
  launch.numbers = {{"channels", channels}, {"filters", p.group_filters() / needs.merged}};
  launch.prediction.bytes_read = real(count, size_of(p.type)) / real(needs.merged);
  launch.prediction.bytes_written = real(count, size_of(p.type));
  launch.reason =
      formatted("copies the filters of {} groups as those of one, with zeros for the channels of the others",
                needs.merged);
  return launch;
}

}  // namespace

Conv2dProblem plan::conv2d::as_planes(Conv2dProblem p) {
  const auto alignment = [](std::size_t elements, Scalar type) {
    return std::size_t{1} << std::countr_zero(64 | (elements * size_of(type)));
  };
  if (p.in_interleaved) p.in_packed = true, p.in_alignment = alignment(p.width * p.height, p.type);
  if (p.out_interleaved) p.out_packed = true, p.out_alignment = alignment(p.plane_results(), p.out);
  if (p.weights_interleaved) p.weight_alignment = alignment(p.depth(), p.type);
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = false;
  return p;
}

namespace {

constexpr std::size_t kMostJoined = (std::size_t{1} << 28) - 1;  // channels, as conv2d() allows

/// The problem whose cells have the channels of as many columns as windows are apart.
Conv2dProblem of_wide_cells(Conv2dProblem p) {
  p.in_channels = size_product(p.in_channels, p.stride.x);
  const std::size_t cell = size_product(p.in_channels, size_of(p.type));
  p.in_alignment = std::min(p.row_alignment, std::size_t{1} << std::countr_zero(64 | cell));
  p.width /= p.stride.x;
  p.window.width = p.stride.x = 1;
  return p;
}

}  // namespace

bool plan::conv2d::joins_columns(const Device& device, const Conv2dProblem& p) {
  const std::size_t columns = p.window.width;
  if (!p.in_interleaved || !p.weights_interleaved || p.groups != 1 || columns < 2 || p.stride.x != columns ||
      p.dilation.x != 1 || p.padding.left != 0 || p.width % columns != 0 || p.out_width > p.width / columns ||
      size_product(p.in_channels, columns) > kMostJoined)
    return false;
  const Conv2dProblem wide = of_wide_cells(p);
  return no_mma(device, wide).empty() || no_matrix_units(device, wide).empty();
}

Conv2dProblem plan::conv2d::with_joined_columns(const Device& device, const Conv2dProblem& p) {
  return joins_columns(device, p) ? of_wide_cells(p) : p;
}

std::string plan::conv2d::add_copies(const Device& device, const Conv2dProblem& p, const Needs& needs,
                                     Plan& plan) {
  const std::size_t bytes = size_of(p.type), out_bytes = size_of(p.out);
  const auto add = [&](const Copy& copy, std::size_t elements, const char* area, std::vector<Launch>& to) {
    std::optional<Launch> launch = launch_of(device, copy);
    if (!launch || (device.max_allocation > 0 && elements > device.max_allocation / copy.bytes)) return false;
    to.push_back(std::move(*launch));
    add_scratch(plan, elements * copy.bytes);
    plan.numbers.emplace_back(area, plan.scratch.size());
    return true;
  };
  // A side that is temporary memory is as vectors want it.
  const auto sides = [&](std::size_t cells, std::size_t channels, bool interleaved, std::size_t of) {
    return vector_of(interleaved ? channels : cells, 16, of);
  };
  plan.numbers.emplace_back("channels", needs.channels);
  if (needs.in) {
    const std::size_t cells = p.width * p.height;
    const std::size_t read = p.in_interleaved || !p.in_packed ? 1 : vector_of(cells, p.in_alignment, bytes);
    const Copy copy{Which::in,
                    "the input",
                    p.images,
                    cells,
                    p.groups,
                    p.group_channels(),
                    needs.channels,
                    p.in_interleaved,
                    needs.interleaved,
                    read,
                    sides(cells, needs.channels, needs.interleaved, bytes),
                    bytes};
    if (!add(copy, size_product(p.images, cells, p.groups * needs.channels), "in_area", plan.before))
      return too_large(device);
  }
  if (needs.weights) {
    const std::size_t own = needs.filter_channels(), row = round_up(p.taps() * own, needs.weight_row);
    const std::size_t read = p.weights_interleaved ? 1 : vector_of(p.taps(), p.weight_alignment, bytes);
    const Copy copy{Which::weights,
                    "the filters",
                    p.out_channels,
                    p.taps(),
                    1,
                    needs.merged > 1 ? own : p.group_channels(),
                    own,
                    p.weights_interleaved,
                    needs.interleaved,
                    read,
                    needs.interleaved ? vector_of(own, 16, bytes) : 1,
                    bytes};
    plan.numbers.emplace_back("weight_row", row);
    plan.numbers.emplace_back("filter_channels", own);
    if (needs.spread) {
      std::optional<Launch> launch = launch_of_spread(device, p, needs);
      if (!launch) return too_large(device);
      plan.before.push_back(std::move(*launch));
      add_scratch(plan, size_product(p.out_channels, row, bytes));
      plan.numbers.emplace_back("weights_area", plan.scratch.size());
    } else if (!add(copy, size_product(p.out_channels, row), "weights_area", plan.before)) {
      return too_large(device);
    } else if (needs.in) {
      join_last_two(plan.before);
    }
  }
  if (needs.out) {
    const std::size_t cells = p.plane_results();
    const std::size_t write = p.out_interleaved ? vector_of(p.out_channels, p.out_alignment, out_bytes) : 1;
    const Copy copy{Which::out,
                    "the output",
                    p.images,
                    cells,
                    1,
                    p.out_channels,
                    p.out_channels,
                    needs.interleaved,
                    p.out_interleaved,
                    sides(cells, p.out_channels, needs.interleaved, out_bytes),
                    write,
                    out_bytes};
    if (!add(copy, size_product(p.images, cells, p.out_channels), "out_area", plan.after))
      return too_large(device);
  }
  return {};
}

}  // namespace smem
