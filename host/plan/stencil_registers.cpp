// The variants of stencils that keep their results in registers: "rows" of flat grids, "planes" of volumes.
#include <smem/stencil_plan.hpp>

#include "formatted.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/stencil_problem.hpp"
#include "plan/stencil_variants.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

namespace smem::plan::stencil {

namespace {

constexpr std::size_t kLongestSide = std::size_t{1} << 30;
constexpr std::size_t kAllRegisters = 255;  // of 32 bits: what a work-item of NVIDIA's and AMD's can have

/// Elements of a vector of a row.
struct Vector {
  bool aligned = false;     ///< all rows begin at multiples of 16 bytes
  bool half_words = false;  ///< pairs of halves come in words, of which one instruction each makes numbers
  std::size_t pack = 1;     ///< elements
};
/// Whether rows that begin anywhere are read element by element, of which neighbouring work-items have
/// neighbours.
bool takes_single_elements(const Device& device, const StencilProblem& problem) {
  const StencilPolicy& policy = stencil_policy(device);
  const bool fits = problem.window[2] > 1 || size_of(problem.type) <= policy.single_bytes;
  return problem.window[0] <= policy.single_width && fits;
}

Vector vector_of(const Device& device, const StencilProblem& problem) {
  Vector v;
  const std::size_t bytes = stencil_policy(device).vector_bytes;
  v.aligned = std::min(problem.in_alignment, problem.out_alignment) >= bytes;
  v.half_words = v.aligned && problem.type == Scalar::half && compute_capability(device) >= 80;
  v.pack = v.aligned || device.packed_vectors ? bytes / size_of(problem.type) : 1;
  if (!v.aligned && takes_single_elements(device, problem)) v.pack = 1;
  return v;
}

/// Registers that a work-item of "rows" may fill.
std::size_t register_budget(const StencilRows& sizes, const StencilProblem& problem, const Vector& v) {
  std::size_t tenths = 10;
  if (problem.type == Scalar::uint8 && !v.aligned) tenths = sizes.tenths_of_bytes;
  if (problem.type == Scalar::half && !v.half_words) tenths = sizes.tenths_of_halves;
  if (problem.type == Scalar::float64) tenths = sizes.tenths_of_doubles;
  return sizes.registers * tenths / 10;
}

/// How cl/stencil/row.clh reads and writes vectors.
void define_vector(Plan& plan, const Device& device, const StencilProblem& problem, const Vector& v) {
  define(plan, "PACK", v.pack);
  if (v.aligned) define(plan, "ALIGNED", 1);
  // NVIDIA's GPUs convert 16 bytes a clock, an eighth of what else they do.
  const bool byte_words = v.aligned && problem.type == Scalar::uint8;
  if (byte_words && compute_capability(device) > 0) define(plan, "BITS_TO_FLOAT", 1);
  if (byte_words && compute_capability(device) >= 72) define(plan, "NVIDIA_BYTES", 1);
  if (v.half_words) define(plan, "NVIDIA_HALVES", 1);
}

/// What a work-item of "planes" makes, and the registers that take.
struct Columns {
  std::size_t rows, deep;  ///< of results

  std::size_t steps(const StencilProblem& problem) const { return deep + problem.window[2] - 1; }

  std::size_t lines(const StencilProblem& problem) const { return rows + problem.window[1] - 1; }

  /// Of the loops over planes and lines that are read, the window, and rows of results.
  std::size_t passes(const StencilProblem& problem) const {
    return steps(problem) * lines(problem) * problem.window[2] * rows * problem.window[0];
  }

  std::size_t registers(const StencilProblem& problem, std::size_t pack) const {
    const std::size_t bytes = size_of(problem.type), value_words = value_bytes(problem) / 4;
    const std::size_t around = problem.window[0] / 2 * problem.channels, span = 2 * around + pack;
    if (problem.shape == StencilShape::expression)
      return steps(problem) * lines(problem) * span * value_words + 2 * pack * value_words;
    // As they are read vectors of small elements are packed; elements beside them, and the row at work, are
    // not.
    const std::size_t vector = divide_up(pack * bytes, 4), beside = 2 * around * divide_up(bytes, 4);
    const std::size_t read =
        problem.shape == StencilShape::star
            ? steps(problem) * rows * vector + deep * ((lines(problem) - rows) * vector + rows * beside)
            : steps(problem) * lines(problem) * (vector + beside);
    return read + std::min(deep, problem.window[2]) * rows * pack * value_words +
           (bytes >= 4 ? 0 : 2 * span * value_words);
  }
};

[[noreturn]] void refuse_tile(const StencilProblem& problem, const char* field, std::string_view expected,
                              std::size_t got) {
  refuse(operation_name(problem), field, expected, formatted("{}", got));
}

/// Whether rows of bytes are summed by dot products of four cells, which int8 has the weights for. On CPUs
/// for tests.
bool sums_cells(const Device& device, const StencilProblem& problem, const Vector& v) {
  constexpr unsigned kSm72 = 72;
  constexpr std::size_t kMostColumns = 3;  // of a window: two results share four cells
  const bool here = compute_capability(device) >= kSm72 || device.type == DeviceType::cpu;
  return here && v.aligned && is_plain(problem) && problem.type == Scalar::uint8 && problem.int8_weights &&
         problem.shape != StencilShape::expression && problem.window[0] <= kMostColumns;
}

/// Of bytes, sums that have begun go on from turn to turn, where all units have work nevertheless: how many
/// turns. `across`: vectors of a row.
std::size_t turns_of_bytes(const Device& device, const StencilProblem& problem, const StencilRows& sizes,
                           std::size_t across, std::size_t most) {
  if (problem.type != Scalar::uint8 || problem.shape == StencilShape::expression || !is_plain(problem))
    return 1;
  if (sizes.byte_steps < 2 * problem.window[1]) return 1;  // too many sums would wait for their next rows
  const std::size_t jobs = across * problem.out_size[2] * problem.batch;
  const auto busy = [&](std::size_t rows) {
    return jobs * (problem.out_size[1] / rows) >= sizes.busy_items * device.compute_units;
  };
  std::size_t turns = most;
  while (turns > 1 && !busy(sizes.byte_steps * turns))
    turns /= 4;
  return at_least_1(turns);
}

/// How windows with strides and dilations share rows (cl/stencil/rows.cl).
struct Apart {
  std::size_t row_step = 1;  ///< loaded rows from a result's window to the next one's
  std::size_t classes = 1;   ///< rows of results from one of a work-item to its next one

  explicit Apart(const StencilProblem& problem) {
    const std::size_t common = std::gcd(problem.stride[1], problem.dilation[1]);
    row_step = problem.stride[1] / common;
    classes = problem.dilation[1] / common;
  }
  std::size_t steps(const StencilProblem& problem, std::size_t count) const {
    return (count - 1) * row_step + problem.window[1];
  }
  /// Of a column, with as many rows of results each.
  std::size_t work_items(const StencilProblem& problem, std::size_t count) const {
    return classes * divide_up(divide_up(problem.out_size[1], classes), count);
  }
};

/// Why "rows" has no such strides and dilations; empty: it has them, if they fit its registers.
std::string why_not_apart(const StencilProblem& problem, std::size_t pack) {
  constexpr std::size_t kMostStride = 4;  // a work-item has as many vectors of a row
  if (problem.stride[0] > kMostStride || problem.stride[1] > kMostStride)
    return formatted("its windows are at most {} apart", kMostStride);
  if (problem.stride[0] > 1 && pack % problem.channels != 0) return "its vectors would have parts of cells";
  return {};
}

/// Words of a row that are loaded for a vector of results: of the parts in which cells have weights, which
/// are a vector of elements, and beside the middle `halo`.
std::size_t words_apart(const StencilProblem& problem, std::size_t pack, std::size_t halo) {
  const std::size_t channels = problem.channels, bytes = size_of(problem.type);
  const auto middle = static_cast<std::ptrdiff_t>(pack * problem.stride[0]);
  std::set<std::pair<std::size_t, std::ptrdiff_t>> parts;  // their sizes and places
  for (std::size_t i = 0; i < pack; ++i) {
    for (std::size_t c = 0; c < problem.window[0]; ++c) {
      const std::size_t cell = i / channels * problem.stride[0] + c * problem.dilation[0];
      const auto element = static_cast<std::ptrdiff_t>(cell * channels + i % channels) +
                           problem.first[0] * static_cast<std::ptrdiff_t>(channels);
      const std::size_t size = element < 0 || element >= middle ? halo : pack;
      const auto wide = static_cast<std::ptrdiff_t>(size);
      parts.emplace(size, element < 0 ? -((-element + wide - 1) / wide) : element / wide);
    }
  }
  std::size_t words = 0;
  for (const auto& part : parts)
    words += divide_up(part.first * bytes, 4);
  return words;
}

/// Why "planes" has no such windows; empty: it has them, if they fit its registers.
std::string why_no_planes(const StencilProblem& problem, const StencilPolicy& policy) {
  if (!is_plain(problem) || problem.size != problem.out_size) return "needs strides and dilations of 1";
  if (problem.window[2] == 1) return "the window is flat: rows of one plane serve all results";
  for (std::size_t d = 0; d < 3; ++d) {
    if (problem.first.at(d) != -static_cast<std::ptrdiff_t>(problem.window.at(d) / 2))
      return "the window does not lie around its result";
    if (problem.size.at(d) * problem.channels >= kLongestSide)
      return formatted("counts elements of a side in 32 bits, fewer than {}", kLongestSide);
    if (problem.window.at(d) > policy.most_unrolled) return "the window does not fit its registers";
  }
  return {};
}

/// What a work-item of "rows" reads of a row for a vector of results, in elements.
struct RowReads {
  std::size_t left = 0, right = 0;  ///< beside the vector
  std::size_t halo = 0;             ///< of a piece beside it
  std::size_t span = 0;             ///< all, in whole pieces

  RowReads(const StencilProblem& problem, const Vector& v) {
    const auto before = -problem.first[0];
    const auto after = static_cast<std::ptrdiff_t>((problem.window[0] - 1) * problem.dilation[0]) -
                       static_cast<std::ptrdiff_t>(problem.stride[0] - 1) + problem.first[0];
    left = static_cast<std::size_t>(std::max<std::ptrdiff_t>(before, 0)) * problem.channels;
    right = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after, 0)) * problem.channels;
    // Bytes come in words, and halves where one instruction makes numbers of them.
    const std::size_t least = v.aligned && problem.type == Scalar::uint8 ? 4 : v.half_words ? 2 : 1;
    halo = std::min(v.pack, std::bit_ceil(std::max({left, right, least})));
    span = round_up(left, halo) + v.pack * problem.stride[0] + round_up(right, halo);
  }
};

/// Registers of a work-item of "rows" that makes `count` rows of results.
std::size_t registers_of_rows(const StencilProblem& problem, const StencilRows& sizes, const Apart& apart,
                              std::size_t pack, const RowReads& reads, std::size_t count) {
  const std::size_t bytes = size_of(problem.type), value_words = value_bytes(problem) / 4;
  const std::size_t steps = apart.steps(problem, count);
  // Rows of small elements are packed until they are at work; sums are not.
  const std::size_t at_work = bytes >= 4 ? 0 : reads.span * value_words;
  if (!is_plain(problem)) {
    const std::size_t loaded = std::min(steps, count * problem.window[1]);
    return loaded * words_apart(problem, pack, reads.halo) + count * pack * value_words + at_work;
  }
  if (problem.shape == StencilShape::expression)
    return steps * reads.span * value_words + 2 * pack * value_words;
  const std::size_t vector = bytes >= 4 ? pack * value_words : divide_up(pack * bytes, 4);
  const std::size_t row = bytes >= 4
                              ? reads.span * value_words
                              : vector + (reads.span - pack) / reads.halo * divide_up(reads.halo * bytes, 4);
  // Of a star's rows only those through the middle of a result have a halo.
  const std::size_t whole = problem.shape == StencilShape::star && sizes.counts_halos ? count : steps;
  return whole * row + (steps - whole) * vector + std::min(count, problem.window[1]) * pack * value_words +
         at_work;
}

/// Rows of results of a work-item of "rows"; 0: not even one fits its registers.
std::size_t rows_that_fit(const Device& device, const StencilProblem& problem, const Apart& apart,
                          const Vector& v, const RowReads& reads) {
  const StencilPolicy& policy = stencil_policy(device);
  const std::size_t budget = register_budget(policy.rows, problem, v);
  const auto fits = [&](std::size_t count) {
    return registers_of_rows(problem, policy.rows, apart, v.pack, reads, count) <= budget &&
           count * v.pack * problem.weights() <= policy.most_unrolled;
  };
  const bool is_apart = !is_plain(problem);
  std::size_t count = problem.out_size[1] > 1 ? policy.rows.rows : 1;
  if (is_apart) count = std::min(count, at_least_1(divide_up(problem.out_size[1], apart.classes)));
  while (count > 1 && !fits(count))
    count = is_apart ? count - 1 : count / 2;
  return fits(count) ? count : 0;
}

/// Sets the work-groups of "rows", and how many cover `extent`. \returns the work-items of one that were
/// wanted.
std::size_t set_groups_of_rows(Plan& plan, const Device& device, const StencilProblem& problem,
                               std::size_t wanted, const Sizes& extent, std::size_t turns) {
  const StencilRows& sizes = stencil_policy(device).rows;
  const std::size_t most = std::bit_floor(at_least_1(device.max_work_group));
  const std::size_t usual = turns > 1                         ? sizes.byte_group
                            : problem.type == Scalar::float64 ? sizes.group_of_doubles
                                                              : sizes.group;
  const std::size_t group = wanted != 0 ? wanted : std::min(usual, most);
  const std::size_t across = std::min({group, std::bit_floor(at_least_1(device.max_work_items[0])),
                                       problem.out_size[1] == 1 ? group
                                       : turns > 1              ? sizes.byte_group
                                                   : std::min(sizes.across, std::bit_ceil(extent[0]))});
  plan.work_group = {across, std::min(group / across, at_least_1(device.max_work_items[1])), 1};
  plan.global = global_size(extent, plan.work_group);
  return group;
}

/// The defines of strides and dilations.
void define_apart(Plan& plan, const StencilProblem& problem, const Apart& apart) {
  define(plan, {{"STRIDE_X", problem.stride[0]},
                {"STRIDE_Y", problem.stride[1]},
                {"DILATION_X", problem.dilation[0]},
                {"DILATION_Y", problem.dilation[1]},
                {"ROW_STEP", apart.row_step},
                {"CLASSES", apart.classes}});
}

}  // namespace

Attempt rows(const Device& device, const StencilProblem& problem, std::size_t wanted) {
  if (problem.window[2] > 1) return "a volume's planes would each be read as often as the window is deep";
  const StencilRows& sizes = stencil_policy(device).rows;
  const Vector v = vector_of(device, problem);
  const std::size_t pack = v.pack;
  if (std::string why = why_not_apart(problem, pack); !why.empty()) return why;
  Apart apart(problem);
  constexpr std::size_t kMostBeside = 1024;
  const RowReads reads(problem, v);
  if (reads.left > kMostBeside || reads.right > kMostBeside) return "the window does not fit its registers";
  std::size_t count = rows_that_fit(device, problem, apart, v, reads);
  if (count == 0) return "the window does not fit its registers";
  if (count == 1) apart.classes = 1;
  std::size_t steps = apart.steps(problem, count);
  const std::size_t across_all = divide_up(problem.out_size[0] * problem.channels, pack);
  const bool by_cells = sums_cells(device, problem, v);
  const std::size_t most_turns = by_cells ? sizes.cell_turns : sizes.byte_turns;
  const std::size_t turns = v.aligned ? turns_of_bytes(device, problem, sizes, across_all, most_turns) : 1;
  if (turns > 1) {
    steps = sizes.byte_steps;
    count = steps * turns - (problem.window[1] - 1);
  }
  Plan plan = base_plan(device, problem, "rows");
  const std::size_t group = set_groups_of_rows(
      plan, device, problem, wanted,
      {across_all, apart.work_items(problem, count), problem.out_size[2] * problem.batch}, turns);
  // Both ends of the rows: about a vector each, and few elements for a work-item, which waits for each cell.
  const std::size_t ends = (2 * pack + round_up(reads.left, reads.halo) + round_up(reads.right, reads.halo)) *
                           count * plan.work_group[1];
  plan.global[0] += plan.work_group[0] * at_least_1(divide_up(ends, sizes.ends_each * turns * group));
  plan.tile_rows = count * plan.work_group[1];
  plan.tile_cols = pack * plan.work_group[0];
  plan.vector_width = pack;
  plan.items_per_work_item = pack * count;
  define_vector(plan, device, problem, v);
  if (by_cells) define(plan, "BYTE_SUMS", 1);
  define(plan, "STEPS", steps);
  if (turns > 1) define(plan, "TURNS", turns);
  define(plan, {{"GROUP_X", plan.work_group[0]}, {"GROUP_Y", plan.work_group[1]}});
  define_window(plan, device, problem);
  for (const auto& [name, d] : {std::pair{"BEFORE_X", 0}, {"BEFORE_Y", 1}})
    plan.defines.emplace_back(name, static_cast<long>(-problem.first.at(static_cast<std::size_t>(d))));
  define(plan, "HALO", reads.halo);
  if (!is_plain(problem)) define_apart(plan, problem, apart);
  plan.reason = formatted("{} x {} results in a work-item's registers; a row that is read serves all of them",
                          pack, count);
  return plan;
}

Attempt planes(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed) {
  const StencilPolicy& policy = stencil_policy(device);
  if (std::string why = why_no_planes(problem, policy); !why.empty()) return why;
  const bool small = size_of(problem.type) < 4;
  const bool is_float_box = problem.type == Scalar::float32 && problem.shape == StencilShape::box;
  Vector v = vector_of(device, problem);
  if (!v.aligned && fixed.tile_cols % v.pack != 0) v.pack = 1;
  const StencilColumns& sizes = v.pack == 1 ? policy.singles : is_float_box ? policy.boxes : policy.columns;
  const std::size_t most = std::bit_floor(at_least_1(device.max_work_group));
  const std::size_t group = fixed.work_items != 0 ? fixed.work_items : std::min(sizes.group, most);
  if (fixed.tile_cols % v.pack != 0)
    refuse_tile(problem, "tile_cols", formatted("a multiple of {}", v.pack), fixed.tile_cols);
  const std::size_t across =
      fixed.tile_cols != 0
          ? fixed.tile_cols / v.pack
          : std::min({group, sizes.across, std::bit_floor(at_least_1(device.max_work_items[0]))});
  if (group % across != 0 || across > device.max_work_items[0]) {
    refuse_tile(problem, "tile_cols", formatted("what {} work-items of {} can be", group, v.pack),
                fixed.tile_cols);
  }
  const std::size_t along = std::min(group / across, at_least_1(device.max_work_items[1]));

  const auto fits = [&](const Columns& c, std::size_t registers) {
    return c.registers(problem, v.pack) <= registers && c.passes(problem) <= policy.most_passes &&
           c.deep * c.rows * v.pack * problem.weights() <= policy.most_unrolled;
  };
  // Of small elements a vector has many, and each row a sum for each of them.
  Columns columns{small && v.pack > 1 ? 1 : sizes.rows, sizes.deep};
  if (fixed.tile_rows != 0) {
    constexpr std::size_t kMostRows = 65536;
    if (fixed.tile_rows % (along * columns.rows) != 0 || fixed.tile_rows > kMostRows) {
      refuse_tile(problem, "tile_rows",
                  formatted("a multiple of {}, for each plane, at most {}", along * columns.rows, kMostRows),
                  fixed.tile_rows);
    }
    columns.deep = fixed.tile_rows / (along * columns.rows);
    if (!fits(columns, kAllRegisters)) {
      refuse_tile(problem, "tile_rows", formatted("planes that fit {} registers at once", kAllRegisters),
                  fixed.tile_rows);
    }
  }
  const std::size_t budget =
      fixed.tile_rows != 0 ? kAllRegisters : sizes.registers * (small ? sizes.tenths_of_small : 10) / 10;
  while (!fits(columns, budget) && (columns.deep > 1 || columns.rows > 1))
    --(columns.rows > 1 ? columns.rows : columns.deep);
  // With one plane each all others of the window would be read for it alone.
  if (!fits(columns, budget) || (columns.deep < 2 && fixed.tile_rows == 0 && sizes.deep > 1))
    return "the window does not fit its registers";

  const std::size_t bands = divide_up(problem.size[1], along * columns.rows),
                    pieces = divide_up(problem.size[2], columns.deep);
  if (bands > kMaxGroups || pieces > kMaxGroups / at_least_1(problem.batch))
    return "its tiles are more than a launch can have";
  Plan plan = base_plan(device, problem, "planes");
  plan.work_group = {across, along, 1};
  plan.global = {
      std::max<std::size_t>(round_up(divide_up(problem.size[0] * problem.channels, v.pack), across), across),
      at_least_1(bands) * along, at_least_1(pieces * problem.batch)};
  plan.tile_rows = along * columns.rows * columns.deep;
  plan.tile_cols = v.pack * across;
  plan.vector_width = v.pack;
  plan.items_per_work_item = v.pack * columns.rows * columns.deep;
  define_vector(plan, device, problem, v);
  define(plan, "STEPS", columns.steps(problem));
  if (columns.rows > 1) define(plan, "ROWS", columns.rows);
  define(plan, {{"GROUP_X", across}, {"GROUP_Y", along}});
  define_window(plan, device, problem);
  if (problem.size[0] * problem.channels % v.pack == 0) define(plan, "PACKED", 1);
  plan.reason = formatted(
      "{} x {} results of each of {} planes in a work-item's registers; a row that is read serves all of "
      "them",
      v.pack, columns.rows, columns.deep);
  return plan;
}

}  // namespace smem::plan::stencil
