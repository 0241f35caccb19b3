// Bank conflicts from addresses, and the layout of a tile that has the fewest.
#include <smem/layout.hpp>

#include "formatted.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <tuple>

namespace smem {

using namespace plan;

constexpr const char* kInferLayout = "infer_layout";

std::vector<std::pair<std::string, long>> layout_defines(const LocalLayout& layout) {
  std::vector<std::pair<std::string, long>> defines{{"TILE_STRIDE", static_cast<long>(layout.stride)}};
  const auto add = [&](const char* name, std::size_t value) {
    if (value != 0) defines.emplace_back(name, static_cast<long>(value));
  };
  add("SWIZZLE_MASK", layout.swizzle_mask);
  add("SWIZZLE_SHIFT", layout.swizzle_shift);
  add("SWIZZLE_UNIT", layout.swizzle_unit);
  return defines;
}

std::string_view name_of(LocalLayout::Kind kind) {
  switch (kind) {
    case LocalLayout::Kind::none:
      return "none";
    case LocalLayout::Kind::plain:
      return "plain";
    case LocalLayout::Kind::padded:
      return "padded";
    case LocalLayout::Kind::swizzled:
      return "swizzled";
  }
  return "?";
}

namespace {

/// What is counted of a phase; kept from one to the next, since layouts are chosen by thousands of them.
struct Count {
  std::vector<std::size_t> words;    ///< distinct ones, sorted
  std::vector<std::size_t> of_bank;  ///< distinct words
};

/// Distinct words of the busiest bank that some work-items access, at least 1.
std::size_t degree_of(std::span<const std::size_t> byte_addresses, std::size_t access_bytes,
                      std::size_t bank_bytes, std::size_t banks, Count& count) {
  count.words.clear();
  for (const std::size_t address : byte_addresses) {
    const std::size_t last = (address + access_bytes - 1) / bank_bytes;
    for (std::size_t word = address / bank_bytes; word <= last; ++word)
      count.words.push_back(word);
  }
  std::sort(count.words.begin(), count.words.end());
  const auto end = std::unique(count.words.begin(), count.words.end());
  count.of_bank.assign(banks, 0);
  std::size_t degree = 1;
  for (auto word = count.words.begin(); word != end; ++word)
    degree = std::max(degree, ++count.of_bank[*word % banks]);
  return degree;
}

/// Whether NVIDIA's hardware serves two phases of wide accesses, which begin here, in one: when each
/// work-item has the address of its neighbour, or each that of the one after the next. Source: A. Feldmann,
/// "Notes about Nvidia GPU shared memory banks"; on an H200 it holds (smem bench banks).
bool phases_join(std::span<const std::size_t> byte_addresses, std::size_t work_items) {
  const auto alike = [&](std::size_t distance) {
    for (std::size_t k = 0; k < work_items; ++k)
      if ((k ^ distance) < work_items && byte_addresses[k] != byte_addresses[k ^ distance]) return false;
    return true;
  };
  return alike(1) || alike(2);
}

/// find_conflicts(), which has something to count.
Conflicts conflicts_of(const Device& device, std::span<const std::size_t> byte_addresses,
                       std::size_t access_bytes, Count& count) {
  const std::size_t banks = at_least_1(device.local_banks);
  const std::size_t bank_bytes = at_least_1(device.local_bank_bytes);
  // A phase serves as many work-items as fill all banks once, and never more than there are banks.
  const std::size_t at_once = std::clamp<std::size_t>(banks * bank_bytes / access_bytes, 1, banks);
  const bool may_join = device.vendor == Vendor::nvidia && access_bytes > bank_bytes;
  Conflicts conflicts{.degree = 1, .phases = divide_up(byte_addresses.size(), at_once), .cycles = 0};
  for (std::size_t i = 0; i < conflicts.phases; ++i) {
    const std::span<const std::size_t> rest = byte_addresses.subspan(i * at_once);
    const std::size_t two = std::min(2 * at_once, rest.size());
    const bool joins = may_join && i % 2 == 0 && i + 1 < conflicts.phases && phases_join(rest, two);
    const std::size_t served = joins ? two : std::min(at_once, rest.size());
    const std::size_t degree = degree_of(rest.first(served), access_bytes, bank_bytes, banks, count);
    conflicts.degree = std::max(conflicts.degree, degree);
    conflicts.cycles += degree;
    if (joins) ++i;
  }
  return conflicts;
}

}  // namespace

Conflicts find_conflicts(const Device& device, std::span<const std::size_t> byte_addresses,
                         std::size_t access_bytes) {
  require_element("find_conflicts", access_bytes);
  if (device.local_is_cache || byte_addresses.empty()) return {};
  Count count;
  return conflicts_of(device, byte_addresses, access_bytes, count);
}

Access Access::rows(std::size_t cols, bool store, std::size_t width) {
  return {"rows", store, width, [vectors = at_least_1(width == 0 ? 0 : cols / width), width](std::size_t k) {
            return Item{k / vectors, k % vectors * width};
          }};
}

Access Access::columns(std::size_t rows, bool store) {
  return {"columns", store, 1, [rows = at_least_1(rows)](std::size_t k) { return Item{k % rows, k / rows}; }};
}

Access Access::diagonal(std::size_t rows, std::size_t cols, bool store) {
  return {"diagonal", store, 1, [rows = at_least_1(rows), cols = at_least_1(cols)](std::size_t k) {
            return Item{k % rows, k % cols};
          }};
}

std::size_t LocalLayout::store_degree() const {
  std::size_t worst = 1;
  for (const AccessCost& access : accesses)
    if (access.store) worst = std::max(worst, access.degree);
  return worst;
}

std::size_t LocalLayout::load_degree() const {
  std::size_t worst = 1;
  for (const AccessCost& access : accesses)
    if (!access.store) worst = std::max(worst, access.degree);
  return worst;
}

namespace {

/// Whether a wave's addresses are those of another one, moved by whole words: it has the same conflicts.
bool is_moved(std::span<const std::size_t> addresses, std::span<const std::size_t> others,
              std::size_t bank_bytes) {
  if (addresses.size() != others.size() || addresses[0] % bank_bytes != others[0] % bank_bytes) return false;
  const std::size_t by = addresses[0] - others[0];
  return std::equal(addresses.begin(), addresses.end(), others.begin(),
                    [by](std::size_t address, std::size_t other) { return address - other == by; });
}

AccessCost cost_of(const Device& device, const Tile& tile, const LocalLayout& layout, const Access& access) {
  AccessCost cost{access.name, access.store, access.width * tile.item_bytes, 1, 1};
  if (device.local_is_cache) return cost;
  const std::size_t wave = at_least_1(device.sub_group_width);
  std::size_t cycles = 0, phases = 0;
  std::vector<std::size_t> addresses, before;
  Count count;
  Conflicts conflicts;
  for (std::size_t first = 0; first < tile.work_items; first += wave) {
    addresses.clear();
    for (std::size_t k = first; k < std::min(first + wave, tile.work_items); ++k) {
      const Item item = access.first(k);
      addresses.push_back(layout.address_of({item.row % tile.rows, item.col % tile.cols}));
    }
    if (!is_moved(addresses, before, at_least_1(device.local_bank_bytes)))
      conflicts = conflicts_of(device, addresses, cost.bytes, count);
    std::swap(addresses, before);
    cost.degree = std::max(cost.degree, conflicts.degree);
    cycles += conflicts.cycles;
    phases += conflicts.phases;
  }
  cost.slowdown = phases == 0 ? 1 : real(cycles) / real(phases);
  return cost;
}

std::size_t widest(const Tile& tile) {
  std::size_t width = tile.unit;
  for (const Access& access : tile.accesses)
    width = std::max(width, access.width);
  return width;
}

void check_tile(const Tile& tile) {
  require_element(kInferLayout, tile.item_bytes);
  if (tile.rows == 0 || tile.cols == 0) {
    refuse(kInferLayout, tile.rows == 0 ? "tile.rows" : "tile.cols", "at least 1", "0");
  }
  constexpr std::size_t kMostBytes = std::size_t{1} << 30, kMostItems = 65536;
  if (size_product(tile.rows, tile.cols, tile.item_bytes) > kMostBytes) {
    refuse(kInferLayout, "tile", formatted("at most {} bytes", kMostBytes),
           formatted("{} x {} items of {} bytes", tile.rows, tile.cols, tile.item_bytes));
  }
  if (tile.work_items == 0 || tile.work_items > kMostItems) {
    refuse(kInferLayout, "tile.work_items", formatted("1 to {}", kMostItems),
           std::to_string(tile.work_items));
  }
  if (!std::has_single_bit(tile.unit) || tile.cols % tile.unit != 0) {
    refuse(kInferLayout, "tile.unit", formatted("a power of two that divides a row of {}", tile.cols),
           std::to_string(tile.unit));
  }
  for (const Access& access : tile.accesses) {
    if (!access.first) refuse(kInferLayout, "tile.accesses", "a function for each access", "an empty one");
    if (!std::has_single_bit(access.width) || access.width * tile.item_bytes > 16 ||
        tile.cols % access.width != 0) {
      refuse(
          kInferLayout, "tile.accesses",
          formatted("vectors of 1, 2, 4, … items, of at most 16 bytes, that divide a row of {}", tile.cols),
          formatted("vectors of {} items of {} bytes", access.width, tile.item_bytes));
    }
  }
}

void check_choice(const Tile& tile, const LayoutChoice& choice) {
  using Kind = LocalLayout::Kind;
  if (choice.kind) require_known(kInferLayout, "layout.kind", *choice.kind, Kind::swizzled);
  const auto name = [&] { return std::string(name_of(*choice.kind)); };
  if (choice.kind == Kind::none) refuse(kInferLayout, "layout.kind", "plain, padded or swizzled", "none");
  if (choice.padding && choice.kind && *choice.kind != Kind::padded) {
    refuse(kInferLayout, "layout.padding", "none with a layout that is " + name(),
           std::to_string(*choice.padding));
  }
  if (choice.swizzle_mask && choice.kind && *choice.kind != Kind::swizzled) {
    refuse(kInferLayout, "layout.swizzle_mask", "none with a layout that is " + name(),
           std::to_string(*choice.swizzle_mask));
  }
  if (choice.padding && choice.swizzle_mask) {
    refuse(kInferLayout, "layout.swizzle_mask", "none beside a padding",
           std::to_string(*choice.swizzle_mask));
  }
  if (choice.padding && (*choice.padding == 0 || *choice.padding % widest(tile) != 0)) {
    refuse(kInferLayout, "layout.padding",
           formatted("a multiple of {}, the items of the widest vector", widest(tile)),
           std::to_string(*choice.padding));
  }
  constexpr std::size_t kMost = 4096;  // items: far more than any bank count
  if (choice.padding && *choice.padding > kMost)
    refuse(kInferLayout, "layout.padding", formatted("at most {}", kMost), std::to_string(*choice.padding));
  if (choice.swizzle_mask) {
    const std::size_t mask = *choice.swizzle_mask;
    if (mask == 0 || !std::has_single_bit(mask + 1) || mask + 1 > tile.cols / widest(tile)) {
      refuse(kInferLayout, "layout.swizzle_mask",
             formatted("a power of two less one, at most {}", std::bit_floor(tile.cols / widest(tile)) - 1),
             std::to_string(mask));
    }
  }
  if (choice.kind == Kind::swizzled && !std::has_single_bit(tile.cols)) {
    refuse(kInferLayout, "layout.kind", "plain or padded, since a swizzle needs rows of a power of two",
           formatted("swizzled, with rows of {} items", tile.cols));
  }
  if (choice.kind == Kind::swizzled && tile.cols / widest(tile) < 2)
    refuse(kInferLayout, "layout.kind", "plain or padded, since a row has one vector", "swizzled");
}

/// Every layout that the choice allows, fewest bytes first.
std::vector<LocalLayout> candidates(const Device& device, const Tile& tile, const LayoutChoice& choice) {
  using Kind = LocalLayout::Kind;
  const auto wanted = [&](Kind kind) {
    if (choice.kind) return *choice.kind == kind;
    if (choice.padding) return kind == Kind::padded;
    if (choice.swizzle_mask) return kind == Kind::swizzled;
    return true;
  };
  const std::size_t width = widest(tile);
  const LocalLayout plain{.kind = Kind::plain,
                          .rows = tile.rows,
                          .cols = tile.cols,
                          .item_bytes = tile.item_bytes,
                          .stride = tile.cols};
  std::vector<LocalLayout> found;
  if (wanted(Kind::plain)) found.push_back(plain);
  if (wanted(Kind::swizzled) && std::has_single_bit(tile.cols)) {
    LocalLayout layout = plain;
    layout.kind = Kind::swizzled;
    layout.swizzle_unit = static_cast<std::size_t>(std::countr_zero(width));
    for (std::size_t size = 2; size <= tile.cols / width; size *= 2) {
      if (choice.swizzle_mask && size - 1 != *choice.swizzle_mask) continue;
      layout.swizzle_mask = size - 1;
      for (layout.swizzle_shift = 0; (tile.rows >> layout.swizzle_shift) > 1; ++layout.swizzle_shift)
        found.push_back(layout);
      if (tile.rows == 1) {
        layout.swizzle_shift = 0;
        found.push_back(layout);
      }
    }
  }
  if (wanted(Kind::padded)) {
    LocalLayout layout = plain;
    layout.kind = Kind::padded;
    // Past one full turn of the banks the strides repeat.
    const std::size_t turn =
        std::max<std::size_t>(device.local_banks * device.local_bank_bytes / tile.item_bytes, width);
    for (std::size_t padding = width; padding <= turn; padding += width) {
      layout.stride = tile.cols + padding;
      if (!choice.padding) found.push_back(layout);
    }
    if (choice.padding) {
      layout.stride = tile.cols + *choice.padding;
      found.push_back(layout);
    }
  }
  return found;
}

}  // namespace

LocalLayout infer_layout(const Device& device, const Tile& tile, const LayoutChoice& choice) {
  check_tile(tile);
  check_choice(tile, choice);
  if (device.local_is_cache && choice.kind && *choice.kind != LocalLayout::Kind::plain) {
    // Without banks every padding and every swizzle is as good. What was asked for is made as for 32 banks,
    // so that a CPU runs the same kernel as a GPU.
    Device with_banks = device;
    with_banks.local_is_cache = false;
    with_banks.local_banks = with_banks.sub_group_width = 32;
    with_banks.local_bank_bytes = 4;
    LocalLayout layout = infer_layout(with_banks, tile, choice);
    layout.accesses.clear();
    for (const Access& access : tile.accesses)
      layout.accesses.push_back(cost_of(device, tile, layout, access));
    return layout;
  }
  std::optional<LocalLayout> best;
  std::tuple<std::size_t, double, std::size_t, bool> best_cost;
  for (LocalLayout& layout : candidates(device, tile, choice)) {
    std::size_t degree = 1;
    double slowdown = 0;
    for (const Access& access : tile.accesses) {
      layout.accesses.push_back(cost_of(device, tile, layout, access));
      degree = std::max(degree, layout.accesses.back().degree);
      slowdown += layout.accesses.back().slowdown;
    }
    const std::tuple cost{degree, slowdown, layout.bytes(), layout.stride * layout.item_bytes % 16 != 0};
    if (!best || cost < best_cost) {
      best = layout;
      best_cost = cost;
    }
    // They come with the fewest bytes first, so one that is free of conflicts is the one.
    if (degree == 1) break;
  }
  if (!best) {
    refuse(kInferLayout, "layout.kind", "one that this tile can have",
           formatted("{} x {} items of {} bytes", tile.rows, tile.cols, tile.item_bytes));
  }
  return *best;
}

LayoutChoice parse_layout(std::string_view text) {
  using Kind = LocalLayout::Kind;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  LayoutChoice choice;
  for (const Kind kind : {Kind::plain, Kind::padded, Kind::swizzled})
    if (name == name_of(kind)) choice.kind = kind;
  bool good = choice.kind.has_value();
  if (good && colon < text.size()) {
    const std::string_view digits = text.substr(colon + 1);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    good = error == std::errc() && end == digits.data() + digits.size() && *choice.kind != Kind::plain;
    (*choice.kind == Kind::padded ? choice.padding : choice.swizzle_mask) = number;
  }
  if (!good) {
    refuse("parse_layout", "layout", "plain, padded, padded:ITEMS, swizzled or swizzled:MASK",
           formatted("\"{}\"", text));
  }
  return choice;
}

}  // namespace smem
