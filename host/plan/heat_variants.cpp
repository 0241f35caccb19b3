// The variants of heat diffusion, each a plan for one pass or the reason why there is none.
#include "plan/heat_variants.hpp"
#include "formatted.hpp"
#include "plan/heat_policy.hpp"

#include <algorithm>
#include <bit>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kLongest = std::size_t{1} << 30;  // cells of a side that kernels count in 32 bits

Plan base_plan(const Device& device, const HeatProblem& problem, std::string_view variant, const char* file,
               const char* entry, std::size_t steps) {
  const HeatShape shape = heat_shape(problem);
  Plan plan = named_plan("heat", variant, file, entry);
  plan.text_defines.emplace_back("REAL", opencl_name_of(heat_value_type(problem.type)));
  if (problem.type == Scalar::half) {
    plan.text_defines.emplace_back("ELEMENT", "half");
    define(plan, "ELEMENT_HALF", 1);
  }
  define(plan, "DIMS", shape.dimensions);
  if (problem.walls != Walls::insulated) define(plan, "WALLS", static_cast<std::size_t>(problem.walls));
  if (problem.variable) define(plan, "VARIABLE", problem.mean == FaceMean::harmonic ? 2 : 1);
  if (problem.source) define(plan, "SOURCE", 1);
  if (problem.type == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  const double cells = real(shape.width, shape.height, shape.depth, problem.batch);
  const double grid = cells * real(size_of(problem.type));
  plan.prediction.bytes_read = grid * (1.0 + (problem.variable ? 1 : 0) + (problem.source ? 1 : 0));
  plan.prediction.bytes_written = grid;
  // Of a dimension: a sum and two multiply-adds; with faces of their own, two means, two flows and their sum.
  const double of_dimension = !problem.variable ? 5 : problem.mean == FaceMean::harmonic ? 19 : 11;
  plan.prediction.operations =
      cells * real(steps) * (of_dimension * real(shape.dimensions) + (problem.source ? 2 : 0));
  plan.numbers = {{"steps", steps}};
  const HeatPolicy& policy = heat_policy(device);
  const bool has_columns = variant == "vector" || variant == "march";
  plan.evidence = (has_columns        ? policy.evidence
                   : variant == "cpu" ? policy.of_threads
                                      : policy.others)
                      .text(device);
  return plan;
}

/// Bytes of a number in local memory or a register.
std::size_t value_bytes(const HeatProblem& problem) { return size_of(heat_value_type(problem.type)); }

Attempt naive(const Device& device, const HeatProblem& problem, std::size_t steps) {
  if (steps > 1) return "makes one step a pass";
  const HeatShape shape = heat_shape(problem);
  Plan plan = base_plan(device, problem, "naive", "heat/naive.cl", "heat_naive", steps);
  const auto some = [](std::size_t cells) { return at_least_1(cells); };
  const std::array<std::size_t, 3> extent{some(shape.width), some(shape.height),
                                          some(shape.depth * problem.batch)};
  const std::size_t items = heat_policy(device).items;
  // One shape for each number of dimensions, so that few programs serve all sizes.
  plan.work_group = shape_group(device, items, shape.dimensions == 1 ? items : items / 4,
                                {items, shape.dimensions == 3 ? std::size_t{4} : 1, 4});
  plan.global = global_size(extent, plan.work_group);
  for (std::size_t d = 0; d < 3; ++d)
    define(plan, d == 0 ? "GROUP_0" : d == 1 ? "GROUP_1" : "GROUP_2", plan.work_group[d]);
  plan.reason = "a cell a work-item, without local memory";
  return plan;
}

/// The tile of local memory: of one step, or several.
Attempt tiled(const Device& device, const HeatProblem& problem, std::string_view variant, std::size_t steps) {
  const HeatPolicy& policy = heat_policy(device);
  const HeatShape shape = heat_shape(problem);
  if (shape.dimensions == 3) return "its tiles have two dimensions";
  if (variant == "tiled" && steps > 1) return "makes one step a pass";
  const std::size_t cell = value_bytes(problem) * (problem.variable ? 3 : 2);
  const bool flat = shape.dimensions == 1;
  std::size_t x = flat ? policy.tiles.x_1d : policy.tiles.x_2d, z = flat ? 1 : policy.tiles.z_2d;
  while (x * z * cell > device.local_bytes && x > 0 && z > 0)
    (z >= x ? z : x) /= 2;
  // Half of a tile's cells are written at least, so that the halo is no more work than the rest.
  const std::size_t halo = 2 * steps, out_x = x > halo ? x - halo : 0,
                    out_z = flat       ? 1
                            : z > halo ? z - halo
                                       : 0;
  if (out_x * out_z == 0) return no_tile_fits(device);
  if (variant == "blocked" && 4 * out_x * out_z < x * z)
    return formatted("of a tile of {} x {} cells, {} steps leave {} x {}", x, z, steps, out_x, out_z);
  const std::size_t groups = divide_up(shape.width, out_x) * divide_up(shape.depth, out_z);
  if (groups > kMaxTiles / at_least_1(problem.batch)) return "its tiles are more than a launch can have";
  Plan plan = base_plan(device, problem, variant, "heat/tiled.cl", "heat_tiled", steps);
  const std::size_t group = std::bit_floor(
      std::min({policy.tiles.group, device.max_work_group, at_least_1(device.max_work_items[0])}));
  set_groups(plan, group, groups * problem.batch);
  plan.tile_cols = out_x;
  plan.tile_rows = out_z;
  plan.items_per_work_item = divide_up(x * z, group);
  plan.local_bytes = x * z * cell;
  define(plan, {{"TILE_X", x}, {"TILE_Z", z}, {"GROUP", group}});
  // A step reads each cell and its neighbours, and writes it.
  const double tile = real(x * z * value_bytes(problem)), per_cell = shape.dimensions == 1 ? 4 : 6;
  plan.prediction.local_bytes =
      real(groups * problem.batch) * tile * (1 + real(steps) * per_cell * (problem.variable ? 2 : 1));
  plan.reason =
      steps == 1
          ? "a tile and its halo in local memory"
          : formatted("{} steps in local memory between reading and writing a tile of {} x {}", steps, x, z);
  return plan;
}

/// The chunks along z for tiles that march: the fewest rounds of groups, planes that are made twice counted.
std::size_t chunks_for(const Device& device, std::size_t tiles, std::size_t depth, std::size_t resident,
                       std::size_t again) {
  const std::size_t slots = at_least_1(device.compute_units * resident);
  std::size_t best = 1, least = 0;
  for (std::size_t wanted = 1; wanted <= std::min<std::size_t>(depth, 1024); ++wanted) {
    const std::size_t chunk = divide_up(depth, wanted), chunks = divide_up(depth, chunk);
    const std::size_t cost = divide_up(tiles * chunks, slots) * (chunk + again);
    if (least == 0 || cost < least) {
      least = cost;
      best = chunks;
    }
  }
  return best;
}

/// Work-items of a group that march along z.
struct March {
  std::size_t lanes, rows, rows_each, cols_made, rows_made, local_bytes;
};

March march_of(const HeatProblem& problem, std::size_t pack, std::size_t steps, std::size_t cols,
               std::size_t rows, std::size_t rows_each) {
  const HeatShape shape = heat_shape(problem);
  const std::size_t halo_lanes = divide_up(steps, pack), halo_y = shape.dimensions == 3 ? steps : 0;
  March march{};
  march.rows_each = rows_each;
  march.lanes = at_least_1(cols / pack) + 2 * halo_lanes;
  march.rows = divide_up(rows + 2 * halo_y, rows_each);
  march.cols_made = (march.lanes - 2 * halo_lanes) * pack;
  march.rows_made = march.rows * rows_each - 2 * halo_y;
  // With places for neighbours outside of the group: see ROW_PLACES in the kernel.
  const std::size_t items = march.lanes * march.rows;
  const std::size_t of_rows =
      shape.dimensions == 3 ? (rows_each > 1 ? 2 : 1) * pack * (items + 2 * march.lanes) : 0;
  const std::size_t of_cells = (pack > 1 ? 2 : 1) * rows_each * (items + 2);
  march.local_bytes = 2 * steps * (of_rows + of_cells) * value_bytes(problem);
  return march;
}

/// Sizes that the caller may have fixed, or the policy's.
struct HeatTile {
  std::size_t pack, cols, rows;
  bool by_hand;
};

/// `cell`: bytes of a cell in a work-item's registers; `cols`: of cells of 4 bytes.
HeatTile heat_tile(const HeatProblem& problem, const HeatPolicy& policy, std::size_t cell, std::size_t cols,
                   std::size_t rows, const PlanOverrides& fixed) {
  // Where 16 bytes are too many, so are 8 with conductivities.
  const std::size_t vector_bytes =
      problem.variable && policy.vector_bytes < 16 ? policy.vector_bytes / 2 : policy.vector_bytes;
  const std::size_t pack = at_least_1(vector_bytes / cell);
  constexpr std::size_t kMost = 65536;  // more than any work-group makes
  if (fixed.tile_cols % pack != 0 || fixed.tile_cols > kMost) {
    refuse_heat("tile_cols", formatted("a multiple of {}, at most {}", pack, kMost),
                formatted("{}", fixed.tile_cols));
  }
  if (fixed.tile_rows > kMost)
    refuse_heat("tile_rows", formatted("at most {}", kMost), formatted("{}", fixed.tile_rows));
  if (heat_shape(problem).dimensions < 3 && fixed.tile_rows > 1)
    refuse_heat("tile_rows", "1: a plane has one row", formatted("{}", fixed.tile_rows));
  return {pack, fixed.tile_cols != 0 ? fixed.tile_cols : cols * 4 / cell,
          fixed.tile_rows != 0 ? fixed.tile_rows : rows, fixed.tile_cols + fixed.tile_rows != 0};
}

/// How cl/heat/pack.clh reads and writes so many cells.
void define_access(const Device& device, const HeatProblem& problem, std::size_t pack, Plan& plan) {
  if (problem.alignment < pack * size_of(problem.type)) define(plan, "ALIGNED", 0);
  // Conversions of one instruction.
  if (problem.type == Scalar::half && compute_capability(device) >= 80) define(plan, "NVIDIA_HALVES", 1);
}

[[noreturn]] void refuse_tile(const PlanOverrides& fixed, std::size_t most, std::size_t local_bytes,
                              const March& march) {
  refuse_heat(
      fixed.tile_cols != 0 ? "tile_cols" : "tile_rows",
      formatted("a tile for which {} work-items and {} bytes of local memory suffice", most, local_bytes),
      formatted("one of {} x {} work-items and {} bytes", march.lanes, march.rows, march.local_bytes));
}

std::size_t largest_group(const Device& device) {
  return std::min(device.max_work_group, at_least_1(device.max_work_items[0]));
}

/// Why no kernel that streams along z can run; empty where one can.
std::string no_depth(const HeatShape& shape) {
  if (shape.dimensions == 1) return "there is no second dimension to stream along";
  if (std::max({shape.width, shape.height, shape.depth}) > kLongest)
    return formatted("counts cells of a side in 32 bits, at most {}", kLongest);
  return {};
}

/// One step by columns of cells in registers.
Attempt vector(const Device& device, const HeatProblem& problem, std::size_t steps,
               const PlanOverrides& fixed) {
  const HeatShape shape = heat_shape(problem);
  if (std::string reason = no_depth(shape); !reason.empty()) return reason;
  if (steps > 1) return "makes one step a pass";
  const HeatPolicy& policy = heat_policy(device);
  const HeatColumns& sizes = shape.dimensions == 3 ? policy.vector_3d : policy.vector_2d;
  HeatTile tile = heat_tile(problem, policy, heat_column_bytes(policy, problem.type, problem.variable),
                            sizes.cols, sizes.rows, fixed);
  const std::size_t most = tile.by_hand ? largest_group(device) : std::min(largest_group(device), sizes.most);
  const auto lanes = [&] { return at_least_1(tile.cols / tile.pack); };
  while (lanes() * tile.rows > most) {
    if (tile.by_hand) refuse_tile(fixed, most, device.local_bytes, {lanes(), tile.rows, 1, 0, 0, 0});
    (tile.rows > 1 ? tile.rows : tile.cols) /= 2;
  }
  // A work-item keeps a column for each grid; float64's are twice as large.
  const std::size_t grids = (problem.variable ? 2U : 1U) * (problem.type == Scalar::float64 ? 2U : 1U);
  const std::size_t deep = at_least_1(sizes.deep / grids);
  const std::size_t group = lanes() * tile.rows,
                    tiles = divide_up(shape.width, lanes() * tile.pack) * divide_up(shape.height, tile.rows) *
                            problem.batch,
                    chunks = divide_up(shape.depth, deep);
  if (tiles > kMaxTiles / at_least_1(chunks)) return "its tiles are more than a launch can have";
  Plan plan = base_plan(device, problem, "vector", "heat/vector.cl", "heat_vector", steps);
  set_groups(plan, group, tiles * chunks);
  plan.tile_cols = lanes() * tile.pack;
  plan.tile_rows = tile.rows;
  plan.vector_width = tile.pack;
  plan.items_per_work_item = tile.pack * deep;
  define(plan, "PACK", tile.pack);
  define_access(device, problem, tile.pack, plan);
  define(plan, {{"LANES", lanes()}, {"ROWS", tile.rows}, {"DEEP", deep}});
  if (shape.width % tile.pack == 0) define(plan, "PACKED", 1);
  plan.reason = formatted("{} cells of each of {} planes in a work-item's registers, read all at once",
                          tile.pack, deep);
  return plan;
}

/// The work-items for a tile that is made smaller until it fits, unless it was fixed by hand.
std::optional<March> march_that_fits(const Device& device, const HeatProblem& problem, HeatTile tile,
                                     std::size_t steps, std::size_t rows_each, std::size_t most) {
  while (true) {
    const March march =
        march_of(problem, tile.pack, steps, tile.cols, tile.rows, std::min(rows_each, tile.rows));
    if (march.lanes * march.rows <= most && march.local_bytes <= device.local_bytes) return march;
    if (tile.by_hand || (tile.cols == tile.pack && tile.rows <= rows_each)) return std::nullopt;
    const bool narrow = 2 * tile.rows > tile.cols;
    if (tile.rows == 1 || !narrow) tile.cols = std::max(tile.cols / 2 / tile.pack * tile.pack, tile.pack);
    if (tile.rows > 1 && (narrow || tile.cols == tile.pack)) tile.rows -= at_least_1(tile.rows / 8);
  }
}

/// The kernel that marches along z: a pipeline of several steps through local memory.
Attempt marching(const Device& device, const HeatProblem& problem, std::size_t steps,
                 const PlanOverrides& fixed) {
  const HeatShape shape = heat_shape(problem);
  if (std::string reason = no_depth(shape); !reason.empty()) return reason;
  if (problem.variable) return "keeps no conductivities of cells";
  const HeatPolicy& policy = heat_policy(device);
  const bool solid = shape.dimensions == 3;
  const HeatMarch& sizes = solid ? policy.march_3d : policy.march_2d;
  const HeatTile tile = heat_tile(problem, policy, value_bytes(problem), sizes.cols, sizes.rows, fixed);
  const bool heavy = problem.source || problem.walls == Walls::held || problem.type == Scalar::float64;
  const std::size_t wanted = heavy ? sizes.most_heavy : sizes.most;
  const std::size_t most = tile.by_hand ? largest_group(device) : std::min(largest_group(device), wanted);
  std::size_t rows_each = sizes.rows_each;
  std::optional<March> fitting = march_that_fits(device, problem, tile, steps, rows_each, most);
  while (!fitting && !tile.by_hand && rows_each < 4) {  // fewer work-items, with more rows each
    fitting = march_that_fits(device, problem, tile, steps, rows_each *= 2, most);
  }
  if (!fitting && tile.by_hand) {
    refuse_tile(fixed, most, device.local_bytes,
                march_of(problem, tile.pack, steps, tile.cols, tile.rows, std::min(rows_each, tile.rows)));
  }
  if (!fitting) return no_tile_fits(device);
  const March& march = *fitting;
  const std::size_t tiles =
      divide_up(shape.width, march.cols_made) * divide_up(shape.height, march.rows_made) * problem.batch;
  const std::size_t chunks =
      tiles > kMaxTiles ? 1 : chunks_for(device, tiles, shape.depth, sizes.resident, 2 * steps);
  if (tiles > kMaxTiles / at_least_1(chunks)) return "its tiles are more than a launch can have";
  const std::size_t group = march.lanes * march.rows;
  Plan plan = base_plan(device, problem, "march", "heat/march.cl", "heat_march", steps);
  set_groups(plan, group, tiles * chunks);
  set_group_tile(plan, {.rows = march.rows_made,
                        .cols = march.cols_made,
                        .vector_width = tile.pack,
                        .items = tile.pack * march.rows_each,
                        .local_bytes = march.local_bytes});
  define(plan, "PACK", tile.pack);
  define_access(device, problem, tile.pack, plan);
  define(plan,
         {{"LANES", march.lanes}, {"ROWS", march.rows}, {"ROWS_EACH", march.rows_each}, {"STEPS", steps}});
  if (shape.width % tile.pack == 0) define(plan, "PACKED", 1);
  // Each plane and stage: written once; read by the neighbours above, below, left and right.
  const std::size_t exchanged = (solid ? (march.rows_each > 1 ? 4 : 3) * tile.pack : 0) + 4 * march.rows_each;
  plan.prediction.local_bytes =
      real(tiles, group * steps * exchanged * value_bytes(problem), shape.depth + chunks * 2 * steps);
  plan.reason = formatted(
      "{} step{} a pass: a tile of {} x {} streams along {} (2.5D blocking), each step one plane behind the "
      "last",
      steps, steps == 1 ? "" : "s", march.cols_made, march.rows_made, solid ? "z" : "y");
  return plan;
}

/// The blocks of "cpu", which a thread makes one by one; blocks.x is 0 where none fits.
struct Blocks {
  std::size_t x = 1, y = 1;
  std::size_t chunk = 1;  ///< planes
};

Blocks blocks_of(const Device& device, const HeatProblem& problem, std::size_t steps) {
  const HeatShape shape = heat_shape(problem);
  const std::size_t width = at_least_1(shape.width), height = at_least_1(shape.height),
                    depth = at_least_1(shape.depth);
  const std::size_t units = at_least_1(device.compute_units);
  const HeatThreads& threads = heat_policy(device).threads;
  const std::size_t run = 64 / value_bytes(problem), halo = round_up(steps, run);
  const std::size_t halo_y = shape.dimensions == 3 ? steps : 0;
  Blocks blocks;
  blocks.chunk = depth;
  if (steps <= 1) {
    blocks.x = std::min(width, shape.dimensions == 1 ? threads.line_cells : threads.row_cells);
    blocks.y = std::min(height, at_least_1(threads.plane_cells / round_up(blocks.x, run)));
  } else {
    const std::size_t rows =
        heat_queue(device, problem.type) / (3 * (steps - 1));  // cells of a plane of a stage
    const auto pitch = [&](std::size_t x) { return round_up(x, run) + 2 * halo; };
    const std::size_t least_y = shape.dimensions == 3 ? std::min(height, 4 * steps) : 1;
    blocks.x = std::min(width, at_least_1(rows / (least_y + 2 * halo_y)));
    while (blocks.x > 0 && pitch(blocks.x) * (least_y + 2 * halo_y) > rows)
      blocks.x = blocks.x > run ? round_up(blocks.x, run) - run : 0;
    if (blocks.x == 0) return {0, 0, 0};
    // Equal blocks, in whole vectors.
    const std::size_t across = divide_up(width, blocks.x);
    blocks.x = std::min(blocks.x, round_up(divide_up(width, across), run));
    blocks.y = std::min(height, rows / pitch(blocks.x) - 2 * halo_y);
  }
  // As many blocks as threads have the same work of; else pieces along z.
  const std::size_t across = divide_up(width, blocks.x) * at_least_1(problem.batch);
  std::size_t along = divide_up(height, blocks.y);
  if (shape.dimensions == 3 && across % units != 0) along = round_up(along, units);
  blocks.y = divide_up(height, std::min(along, height));
  const std::size_t jobs = across * divide_up(height, blocks.y);
  if (jobs < threads.jobs_a_unit * units && shape.dimensions > 1) {
    const std::size_t wanted = divide_up(threads.jobs_a_unit * units, jobs),
                      least = std::max(threads.chunk_planes, 8 * steps);
    blocks.chunk = std::max(divide_up(depth, wanted), std::min(depth, least));
  }
  return blocks;
}

Attempt cpu(const Device& device, const HeatProblem& problem, std::size_t steps) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const std::size_t queue = heat_queue(device, problem.type);
  if (steps > 1 && queue == 0) return no_tile_fits(device);
  const HeatShape shape = heat_shape(problem);
  const Blocks blocks = blocks_of(device, problem, steps);
  if (steps > 1 && blocks.x == 0) return formatted("{} steps of a block do not fit {} cells", steps, queue);
  Plan plan = base_plan(device, problem, "cpu", "heat/cpu.cl", "heat_cpu", steps);
  const std::size_t jobs = divide_up(shape.width, blocks.x) * divide_up(shape.height, blocks.y) *
                           divide_up(shape.depth, blocks.chunk) * problem.batch;
  set_groups(plan, 1, jobs, heat_policy(device).threads.items_a_unit * device.compute_units);
  plan.tile_cols = blocks.x;
  plan.tile_rows = blocks.y;
  plan.vector_width = 64 / value_bytes(problem);
  plan.numbers.insert(plan.numbers.end(),
                      {{"block_x", blocks.x}, {"block_y", blocks.y}, {"chunk", blocks.chunk}});
  if (queue > 0) {
    define(plan, "QUEUE", queue);
    plan.local_bytes = queue * value_bytes(problem);
  }
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  // Results that a later pass or call would still find in the cache are not stored past it.
  if (plan.prediction.bytes_written > real(device.cache_bytes)) define(plan, "STREAMING", 1);
  plan.prediction.local_bytes = 2 * real(steps - 1) * plan.prediction.bytes_written;
  plan.reason =
      steps == 1
          ? "a thread makes rows in vectors, in blocks whose planes its cache holds"
          : formatted("{} steps a pass: a thread's cache holds three planes of a block for each", steps);
  return plan;
}

}  // namespace

std::size_t plan::heat_queue(const Device& device, Scalar type) {
  const HeatThreads& threads = heat_policy(device).threads;
  const std::size_t bytes = std::min(std::bit_floor(device.local_bytes), threads.most_queue_bytes);
  return bytes < threads.least_queue_bytes ? 0 : bytes / size_of(heat_value_type(type));
}

plan::Attempt plan::try_heat(const Device& device, const HeatProblem& problem, std::string_view variant,
                             std::size_t steps, const PlanOverrides& fixed) {
  if (variant == "naive") return naive(device, problem, steps);
  if (variant == "tiled" || variant == "blocked") return tiled(device, problem, variant, steps);
  if (variant == "vector") return vector(device, problem, steps, fixed);
  if (variant == "march") return marching(device, problem, steps, fixed);
  return cpu(device, problem, steps);
}

}  // namespace smem
