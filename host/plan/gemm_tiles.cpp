// Products of matrices through tiles of a work-group: their sizes, and their layouts in local memory.
#include "formatted.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <bit>

namespace smem::plan::gemm {

namespace {

/// Where the elements of a tile come from, and how many a work-item reads at once.
struct Side {
  std::size_t width;  ///< of the tile: rows or columns of C
  bool along_k;
  std::size_t pack;
};

/// How a work-item's results lie in the tile.
enum class Form { one, strided, vectors };

struct LadderStep {
  std::string_view variant;
  const char* entry;  ///< the kernel, and as "gemm_" and this its function
  Form form;
  Kind kind;            ///< of the layouts; none: inferred
  std::size_t buffers;  ///< tiles of each factor
  TileShape tile;       ///< m of 0: the policy's
  const char* reason;
};

constexpr TileShape kOfPolicy{0, 0, 0, 0, 0};

constexpr LadderStep kSteps[] = {
    {"tiled", "tiled", Form::one, Kind::plain, 1, kSquareTile,
     "a work-group shares what it reads through tiles in local memory"},
    {"padded", "tiled", Form::one, Kind::padded, 1, kSquareTile,
     "tiles in local memory, padded so that their columns are spread over the banks"},
    {"swizzled", "tiled", Form::one, Kind::swizzled, 1, kSquareTile,
     "tiles in local memory; an XOR of row and column spreads their columns over the banks"},
    {"rectangular", "tiled", Form::one, Kind::none, 1, kWideTile,
     "tiles that are wider than high: rows of B and C are read and written in longer pieces"},
    {"registers_1d", "registers", Form::strided, Kind::none, 1, kColumnTile,
     "a column of results in the registers of each work-item"},
    {"registers_2d", "registers", Form::strided, Kind::none, 1, kBlockTile,
     "a block of results in the registers of each work-item"},
    {"vector", "vector", Form::vectors, Kind::none, 1, kOfPolicy,
     "blocks of results in registers, and vector accesses everywhere"},
    {"double_buffered", "double_buffered", Form::vectors, Kind::none, 2, kOfPolicy,
     "the next tiles are loaded while the current ones are multiplied"},
    {"two_level", "two_level", Form::vectors, Kind::none, 2, kOfPolicy,
     "the tile of a work-group is cut into blocks of its sub-groups, which read little of local memory"},
    {"split_k", "vector", Form::vectors, Kind::none, 1, kOfPolicy,
     "C has few tiles for this device, and its sums are long: several work-groups share each"},
    {"stream_k", "stream_k", Form::vectors, Kind::none, 1, kOfPolicy,
     "every work-group computes the same number of steps, across tiles"},
};

/// Four neighbours at once, where each row begins at a multiple of them.
std::size_t pack_of(std::size_t alignment, Scalar type) { return alignment >= 4 * size_of(type) ? 4 : 1; }

/// Vectors on banks are of at most 16 bytes: four doubles are two of them, which stay together.
std::size_t bank_width(std::size_t items, std::size_t item_bytes) {
  return std::min<std::size_t>(items, 16 / item_bytes);
}

/// The layout of one side's tile. `offset(item)`: the first row or column of C that a work-item has.
template <class Offset>
LocalLayout layout_of(const Device& device, const Side& side, const TileShape& tile, std::size_t item_bytes,
                      std::size_t read_width, const Offset& offset, const LayoutChoice& choice) {
  const std::size_t total = tile.k * side.width;
  LayoutChoice kind = choice;  // nothing to swizzle in rows of one vector
  if (choice == LayoutChoice{.kind = Kind::swizzled} && side.width < 2 * read_width) kind.kind = Kind::plain;
  const std::size_t store_width = side.along_k ? 1 : bank_width(side.pack, item_bytes);
  const Access store{
      "packs from global memory", true, store_width,
      [=, depth = tile.k, along_k = side.along_k, pack = side.pack, width = side.width](std::size_t item) {
        const std::size_t number = item * pack % total;
        return along_k ? Item{number % depth, number / depth} : Item{number / width, number % width};
      }};
  const Access load{"numbers of its results", false, bank_width(read_width, item_bytes),
                    [=](std::size_t item) {
                      return Item{0, offset(item)};
                    }};
  // Waves are alike: the cost of all follows from two of them.
  const std::size_t seen = std::min(tile.group(), 2 * std::max<std::size_t>(device.sub_group_width, 32));
  return infer_layout(device, {tile.k, side.width, item_bytes, seen, {store, load}, read_width}, kind);
}

void define_side(Plan& plan, const char* prefix, const LocalLayout& layout) {
  for (const auto& [name, value] : layout_defines(layout))
    plan.defines.emplace_back(prefix + name, value);
}

/// The block of a sub-group's work-items: powers of two, about twice as wide as high.
std::pair<std::size_t, std::size_t> lanes_of(const Device& device, const TileShape& tile) {
  const std::size_t width = std::bit_floor(at_least_1(device.sub_group_width));
  const std::size_t down = tile.m / tile.each_m, across = tile.n / tile.each_n;
  const auto wanted = static_cast<std::size_t>(std::countr_zero(width) + 1) / 2;
  const std::size_t lanes_across = std::min(across, std::size_t{1} << wanted);
  return {std::min(down, at_least_1(width / lanes_across)), lanes_across};
}

}  // namespace

LocalLayout both_layouts(LocalLayout a, const LocalLayout& b) {
  for (AccessCost& access : a.accesses)
    access.name.insert(0, "A: ");
  for (AccessCost access : b.accesses) {
    access.name.insert(0, "B: ");
    a.accesses.push_back(std::move(access));
  }
  return a;
}

std::size_t count_tiles(const GemmProblem& problem, const TileShape& tile, std::size_t parts) {
  return divide_up(problem.m, tile.m) * divide_up(problem.n, tile.n) * problem.batch * parts;
}

const TileShape& best_tile(const Device& device, const GemmProblem& problem) {
  const Policy& policy = policy_of(device);
  // With GELU of more results, Intel's compiler leaves them in memory; with any epilogue of more doubles, of
  // which one factor lies along k, it spills 3 to 5 registers on pvc.
  const bool has_doubles = problem.epilogue && problem.in == Scalar::float64;
  if (device.vendor == Vendor::intel && (has_doubles || problem.activation == Activation::gelu))
    return policy.tiles[1];
  const TileShape* best = &policy.tiles.front();
  double least = 0;
  for (const TileShape& tile : policy.tiles) {
    const std::size_t rounds = divide_up(count_tiles(problem, tile), at_least_1(device.compute_units));
    const double time = real(rounds, tile.m * tile.n) / tile.speed;
    if (least != 0 && time >= least) continue;
    least = time;
    best = &tile;
  }
  return *best;
}

namespace {

const TileShape& stream_tile(const Device& device, const GemmProblem& problem) {
  // Intel's compiler leaves more results in memory, where two places write them.
  return device.vendor == Vendor::intel ? policy_of(device).tiles[1] : best_tile(device, problem);
}

}  // namespace

bool fixes_tile(const PlanOverrides& fixed) {
  return fixed.tile_rows != 0 || fixed.tile_cols != 0 || fixed.work_items != 0;
}

TileShape wanted_tile(const Device& device, TileShape tile, std::size_t least_m, std::size_t least_n,
                      bool one_result, const PlanOverrides& fixed) {
  const auto check_power = [](const char* field, std::size_t value, std::size_t least, std::size_t most) {
    if (value == 0 || (std::has_single_bit(value) && value >= least && value <= most)) return;
    refuse(field, formatted("a power of two from {} to {}", least, most), std::to_string(value));
  };
  check_power("tile_rows", fixed.tile_rows, std::max<std::size_t>(least_m, 4), 256);
  check_power("tile_cols", fixed.tile_cols, std::max<std::size_t>(least_n, 4), 256);
  check_power("work_items", fixed.work_items, 1, device.max_work_group);
  if (!fixes_tile(fixed)) return tile;
  if (fixed.tile_rows != 0) tile.m = fixed.tile_rows;
  if (fixed.tile_cols != 0) tile.n = fixed.tile_cols;
  tile.each_m = std::min(tile.each_m, tile.m);
  tile.each_n = std::min(tile.each_n, tile.n);
  if (fixed.work_items == 0) return tile;
  const auto impossible = [&] {
    refuse("work_items",
           one_result ? formatted("{}: each has one result of the tile", tile.m * tile.n)
                      : formatted("a part of a tile of {} x {} with {} to 256 results each", tile.m, tile.n,
                                  least_m * least_n),
           std::to_string(fixed.work_items));
  };
  const std::size_t results = tile.m * tile.n / fixed.work_items;
  if (one_result ? results != 1 : results < least_m * least_n || results > 256) impossible();
  if (one_result) return tile;
  if (tile.each_n == 1) {
    tile.each_m = results;
  } else {
    const auto power = static_cast<std::size_t>(std::countr_zero(results));
    tile.each_m = std::clamp(std::size_t{1} << power / 2, least_m, tile.m);
    tile.each_n = results / tile.each_m;
  }
  if (tile.each_m > tile.m || tile.each_n > tile.n || tile.each_n < least_n) impossible();
  return tile;
}

bool group_fits(const Device& device, const TileShape& tile) {
  return tile.group() <= device.max_work_group && tile.group() <= device.max_work_items[0];
}

bool shrink(TileShape& tile, std::size_t least_m, std::size_t least_n, bool group_too_large) {
  const std::size_t down = tile.m / tile.each_m, across = tile.n / tile.each_n;
  const bool alone = down * across == 1;
  if (tile.k > (alone ? 4 : 8) && (alone || !group_too_large)) {
    tile.k /= 2;
  } else if (!alone) {
    (down > across ? tile.m : tile.n) /= 2;
  } else if (tile.each_m > least_m) {
    tile.m = tile.each_m /= 2;
  } else if (tile.each_n > least_n) {
    tile.n = tile.each_n /= 2;
  } else {
    return false;
  }
  return true;
}

void set_tile(Plan& plan, const Device& device, const GemmProblem& problem, const TileShape& tile,
              std::size_t groups, std::size_t local_bytes) {
  plan.tile_rows = tile.m;
  plan.tile_cols = tile.n;
  plan.items_per_work_item = tile.each_m * tile.each_n;
  plan.work_group = {tile.group(), 1, 1};
  plan.global = {groups * tile.group(), 1, 1};
  plan.local_bytes = local_bytes;
  define(plan, {{"TILE_M", tile.m}, {"TILE_N", tile.n}, {"TILE_K", tile.k}});
  if (plan.kernel_file != "gemm/tiled.cl") {  // which has one result a work-item, as others may have too
    define(plan, "GROUP", tile.group());
    define(plan, "EACH_M", tile.each_m);
    define(plan, "EACH_N", tile.each_n);
    const std::size_t unroll = policy_of(device).unroll;
    // Fragments that come while others are used change places: two turns at least.
    if (unroll != 0)
      define(plan, "UNROLL", std::clamp<std::size_t>(unroll, plan.variant == "two_level" ? 2 : 1, tile.k));
  }
  define_sub_group(device, plan);
  // Each number of the tiles is written once, and a work-item reads those of its results.
  const double numbers = real(tile.m + tile.n) + real(tile.group() * (tile.each_m + tile.each_n));
  plan.prediction.local_bytes = real(count_tiles(problem, tile), round_up(problem.k, tile.k)) * numbers *
                                real(size_of(value_type(problem.in)));
}

void refuse_fixed(const Device& device, const PlanOverrides& fixed, std::size_t local_bytes) {
  const char* field = fixed.tile_rows > 0    ? "tile_rows"
                      : fixed.tile_cols > 0  ? "tile_cols"
                      : fixed.work_items > 0 ? "work_items"
                                             : "layout";
  refuse(field,
         formatted("tiles that fit {} bytes of local memory and work-groups of {} on {}", device.local_bytes,
                   device.max_work_group, device.name),
         local_bytes > device.local_bytes ? formatted("some of {} bytes", local_bytes)
                                          : "some that no work-group here can hold");
}

Attempt tiled(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
              std::string_view variant, const Split& split) {
  const LadderStep& known = *std::find_if(std::begin(kSteps), std::end(kSteps),
                                          [&](const LadderStep& s) { return s.variant == variant; });
  if (fixed.layout.kind) require_known("gemm", "layout", *fixed.layout.kind, Kind::swizzled);
  if (fixed.layout.kind && known.kind != Kind::none && *fixed.layout.kind != known.kind) {
    refuse("layout",
           formatted("one that is {}, or the variant that is {}", name_of(known.kind),
                     name_of(*fixed.layout.kind)),
           formatted("a {} layout with the variant \"{}\"", name_of(*fixed.layout.kind), variant));
  }
  LayoutChoice choice = fixed.layout;
  if (known.kind != Kind::none) choice.kind = known.kind;
  const bool vectors = known.form == Form::vectors, one = known.form == Form::one;
  const std::size_t least = vectors ? 4 : 1;
  const std::size_t item_bytes = size_of(value_type(problem.in));
  const TileShape first = known.tile.m != 0       ? known.tile
                          : variant == "stream_k" ? stream_tile(device, problem)
                                                  : best_tile(device, problem);
  TileShape tile = wanted_tile(device, first, least, least, one, fixed);
  std::size_t bytes = 0;
  for (bool more = true; more; more = shrink(tile, least, least, !group_fits(device, tile))) {
    if (group_fits(device, tile)) {
      const Side a{tile.m, problem.a_along_k, vectors ? pack_of(problem.a_alignment, problem.in) : 1};
      const Side b{tile.n, problem.b_along_k, vectors ? pack_of(problem.b_alignment, problem.in) : 1};
      const std::size_t across = tile.n / tile.each_n, step = vectors ? 4 : 1;
      const auto [lanes_down, lanes_across] =
          variant == "two_level" ? lanes_of(device, tile) : std::pair<std::size_t, std::size_t>{1, across};
      const std::size_t lanes = lanes_down * lanes_across, blocks = across / lanes_across;
      const auto row_of = [=, down = lanes_down, wide = lanes_across](std::size_t item) {
        return (item / lanes / blocks * down + item % lanes / wide) * step;
      };
      const auto col_of = [=, wide = lanes_across](std::size_t item) {
        return (item / lanes % blocks * wide + item % lanes % wide) * step;
      };
      const LocalLayout a_layout = layout_of(device, a, tile, item_bytes, step, row_of, choice);
      const LocalLayout b_layout = layout_of(device, b, tile, item_bytes, step, col_of, choice);
      bytes = known.buffers * (a_layout.bytes() + b_layout.bytes());
      if (bytes <= device.local_bytes) {
        const bool streams = variant == "stream_k";
        const std::size_t tiles = count_tiles(problem, tile, streams ? 1 : split.parts);
        const std::size_t groups = streams ? split.parts : tiles;
        if (tiles > kMaxTiles) return formatted("{} tiles are more than a launch can have", tiles);
        const bool in_parts = variant == "split_k";
        GemmProblem of_sums = problem;
        if (in_parts) of_sums.epilogue = false;
        Plan plan = base_plan(of_sums, variant, formatted("gemm/{}.cl", known.entry),
                              formatted("gemm_{}", known.entry));
        plan.reason = known.reason;
        if (in_parts) {
          define(plan, "PARTS", 1);
          plan.reason = formatted("{}: {} parts of {}", known.reason, split.parts, split.part_depth);
        }
        set_tile(plan, device, problem, tile, groups, bytes);
        plan.vector_width = std::max(a.pack, b.pack);
        if (vectors) {
          define(plan, {{"PACK_A", a.pack}, {"PACK_B", b.pack}});
          const std::size_t pack = pack_of(problem.c_alignment, problem.out);
          // Intel's compiler leaves results in memory that it gathers in vectors, where more is done with
          // them.
          if (!in_parts && pack != 1 && device.vendor != Vendor::intel) define(plan, "PACK_C", pack);
        }
        if (variant == "two_level") {
          define(plan, {{"LANES_DOWN", lanes_down}, {"LANES_ACROSS", lanes_across}});
        }
        define_side(plan, "A_", a_layout);
        define_side(plan, "B_", b_layout);
        plan.layout = both_layouts(a_layout, b_layout);
        if (!one) plan.reason += formatted("; {} x {} results a work-item", tile.each_m, tile.each_n);
        return plan;
      }
    }
    if (fixes_tile(fixed)) break;
  }
  if (fixes_tile(fixed)) refuse_fixed(device, fixed, bytes);
  return no_tile_fits(device);
}

Split stream_split(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  Split split;
  split.part_depth = problem.k;
  split.parts = policy_of(device).parts.groups_a_unit * at_least_1(device.compute_units);
  const TileShape tile = wanted_tile(device, stream_tile(device, problem), 4, 4, false, fixed);
  split.bytes = 2 * split.parts * tile.m * tile.n * size_of(value_type(problem.in));
  return split;
}

Attempt async(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed) {
  if (fixed.layout != LayoutChoice{})
    refuse("layout", "none: the lines of async's tiles are as long as what is copied", "one");
  const std::size_t bytes_of_one = size_of(problem.in);
  TileShape tile = wanted_tile(device, kBlockTile, 1, 1, false, fixed);
  std::size_t bytes = 0;
  for (bool more = true; more; more = shrink(tile, 1, 1, !group_fits(device, tile))) {
    if (group_fits(device, tile)) {
      const std::size_t across = tile.n / tile.each_n;
      const auto line_layout = [&](std::size_t width, bool along_k, const auto& offset) {
        const Access load{"numbers of its results", false, 1, [=](std::size_t item) {
                            return along_k ? Item{offset(item), 0} : Item{0, offset(item)};
                          }};
        return infer_layout(
            device, {along_k ? width : tile.k, along_k ? tile.k : width, bytes_of_one, tile.group(), {load}},
            {.kind = along_k && !device.local_is_cache ? Kind::padded : Kind::plain});
      };
      const LocalLayout a = line_layout(tile.m, problem.a_along_k, [=](std::size_t i) { return i / across; });
      const LocalLayout b = line_layout(tile.n, problem.b_along_k, [=](std::size_t i) { return i % across; });
      bytes = 2 * (a.bytes() + b.bytes());
      if (bytes <= device.local_bytes) {
        const std::size_t groups = count_tiles(problem, tile);
        if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);
        Plan plan = base_plan(problem, "async", "gemm/async.cl", "gemm_async");
        plan.language = device.event_language;
        set_tile(plan, device, problem, tile, groups, bytes);
        define(plan, {{"A_LINE", a.stride}, {"B_LINE", b.stride}});
        plan.layout = both_layouts(a, b);
        plan.reason = "the device's own copies bring the next tiles while the present ones are multiplied";
        return plan;
      }
    }
    if (fixes_tile(fixed)) break;
  }
  if (fixes_tile(fixed)) refuse_fixed(device, fixed, bytes);
  return no_tile_fits(device);
}

}  // namespace smem::plan::gemm
