// Transposes of packed arrays with a short side, and of small matrices, through contiguous runs.
#include "formatted.hpp"
#include "plan/transpose_variants.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>

namespace smem::plan::transpose {

namespace {

/// Which side is short: columns or rows.
enum class Strip { tall, wide };

constexpr std::size_t kRestWords = 5;  // of a run beside its strip: see transpose/separate.cl
constexpr std::size_t kSideStep = 32;  // longer short sides share a program with so many others
constexpr std::size_t kPackWords = 4;  // in which a run begins anywhere
constexpr std::size_t kBanks = 32;

/// Words of local memory that whole matrices of `chunk` elements take with their padding.
std::size_t whole_words(std::size_t chunk, std::size_t word) {
  const std::size_t words = divide_up(chunk, word) + 2 + kPackWords;
  return words + words / kBanks + 1;
}

/// Whether whole matrices are padded in local memory. Work-items read words of rows that are `cols` words
/// apart: of an odd number in different banks. Padding's arithmetic for each element, and loads of single
/// words for it, cost more than some turns of the banks.
bool is_padded(const StripPolicy& policy, const TransposeProblem& problem) {
  const std::size_t cols = problem.cols, element = problem.element_bytes;
  const std::size_t word = std::max(element, kWordBytes) / element;
  const std::size_t side_by_side = std::min(divide_up(problem.rows, word), kBanks);  // words of a column
  return side_by_side * std::gcd(cols, kBanks) * word > kBanks * policy.most_turns;
}

/// Whole matrices of a group: as many as a chunk of elements holds, at least one; if possible, as many as
/// fill memory's sectors, so that groups share none.
std::size_t matrices_of(std::size_t chunk, std::size_t size, std::size_t element) {
  const std::size_t sector = at_least_1(kSectorBytes / element), most = at_least_1(chunk / at_least_1(size));
  const std::size_t step = sector / std::min(sector, std::size_t{1} << std::countr_zero(at_least_1(size)));
  return most < step ? most : most / step * step;
}

/// What the kernels of "strips" have in common.
Plan strips_plan(const Device& device, const TransposeProblem& problem, const char* file, const char* entry,
                 std::size_t group, std::size_t groups) {
  Plan plan = base_plan(problem, "strips", file, entry);
  plan.work_group = {group, 1, 1};
  plan.global = {groups * group, 1, 1};
  plan.vector_width = std::max(problem.element_bytes, kWordBytes) / problem.element_bytes;
  plan.prediction.local_bytes = plan.prediction.bytes();
  define(plan, "GROUP", group);
  plan.evidence = transpose_policy(device).strips.evidence.text(device);
  return plan;
}

/// Small matrices that follow each other: see transpose/whole.cl.
Attempt whole(const Device& device, const TransposeProblem& problem, std::size_t chunk,
              std::size_t local_bytes, std::size_t group) {
  const std::size_t element = problem.element_bytes, size = problem.rows * problem.cols;
  const std::size_t most = matrices_of(chunk, size, element), groups = divide_up(problem.batch, most);
  if (groups > kMaxTiles) return formatted("{} runs are more than a launch can have", groups);
  Plan plan = strips_plan(device, problem, "transpose/whole.cl", "transpose_whole", group, groups);
  plan.tile_rows = problem.rows;
  plan.tile_cols = problem.cols;
  plan.items_per_work_item = divide_up(most * size, group);
  plan.local_bytes = local_bytes;
  plan.numbers = {{"matrices_a_group", most}};
  const StripPolicy& policy = transpose_policy(device).strips;
  define(plan, {{"LOCAL_WORDS", local_bytes / std::max(element, kWordBytes)},
                {"UNROLL", policy.unroll},
                {"PADDED", is_padded(policy, problem)}});
  constexpr std::size_t kPlacesBytes = 8;  // of an element of the table
  const std::size_t table_bytes = policy.most_table * kPlacesBytes;
  if (element == 1 && size <= policy.most_table && local_bytes + table_bytes <= device.local_bytes) {
    define(plan, "TABLE", policy.most_table);
    plan.local_bytes += table_bytes;
  }
  plan.reason = "whole matrices, which follow each other: one run in, one run out";
  return plan;
}

/// A short side of small elements, turned in registers: rows (wide, see transpose/interleave.cl) or columns
/// (tall, see transpose/separate.cl).
Attempt planes(const Device& device, const TransposeProblem& problem, Strip strip, std::size_t group) {
  const StripPolicy& policy = transpose_policy(device).strips;
  const std::size_t element = problem.element_bytes, word_bytes = std::max(element, kWordBytes);
  const bool wide = strip == Strip::wide;
  const std::size_t side = wide ? problem.rows : problem.cols, length = wide ? problem.cols : problem.rows;
  if (!wide && problem.out_alignment < word_bytes)
    return formatted("rows of the output do not begin at multiples of {} bytes", word_bytes);
  const std::size_t each = at_least_1(policy.plane_words / side);
  const std::size_t places = group * each * (word_bytes / element);
  const std::size_t words = group * each * side + (wide ? 0 : kRestWords);
  const std::size_t groups = divide_up(length, places) * problem.batch;
  const std::size_t local_bytes =
      round_up((words + (side % 2 == 0 ? words / kBanks : 0)) * word_bytes, kLocalStep);
  if (local_bytes > device.local_bytes) return no_tile_fits(device);
  if (groups > kMaxTiles) return formatted("{} strips are more than a launch can have", groups);
  Plan plan = strips_plan(device, problem, wide ? "transpose/interleave.cl" : "transpose/separate.cl",
                          wide ? "transpose_interleave" : "transpose_separate", group, groups);
  plan.tile_rows = wide ? side : places;
  plan.tile_cols = wide ? places : side;
  plan.items_per_work_item = each * side * plan.vector_width;
  plan.local_bytes = local_bytes;
  define(plan, {{"SIDE", side}, {"EACH", each}});
  plan.reason = formatted("{} short {}: a work-item turns words of all of them in registers", side,
                          wide ? "rows" : "columns");
  plan.evidence = transpose_policy(device).of_planes.text(device);
  return plan;
}

/// How a short side is moved that registers do not hold.
struct Runs {
  bool tall = false;         ///< few columns, not few rows
  bool words = false;        ///< rows begin at words on both sides: blocks are turned in registers
  std::size_t thin = 0;      ///< of the short side
  std::size_t halo = 0;      ///< rows that a strip reads beside its own
  std::size_t lanes = 0;     ///< work-items side by side
  std::size_t steps = 1;     ///< words of a work-item along the long side
  std::size_t chunk = 0;     ///< elements of a group, about
  std::size_t multiple = 0;  ///< that divides what a group has of the long side
  std::size_t beside = 0;    ///< of that, what other groups have
  std::size_t local_bytes = 0;
};

constexpr std::size_t kBeside = 16;  // see BESIDE in transpose/wide.cl

/// Runs of `lanes` work-items, and of a chunk that local memory holds with them; none when there is no such
/// chunk.
std::optional<Runs> runs_of(const Device& device, const TransposeProblem& problem, bool tall,
                            std::size_t lanes, std::size_t chunk) {
  const std::size_t element = problem.element_bytes, word_bytes = std::max(element, kWordBytes);
  const std::size_t word = word_bytes / element;
  Runs runs{.tall = tall, .thin = at_least_1(tall ? problem.cols : problem.rows), .lanes = lanes};
  const bool aligned = problem.out_alignment >= kSectorBytes;  // whose windows need no halo
  runs.words = has_words(problem, tall);
  runs.halo = tall && !runs.words && !aligned ? at_least_1(kSectorBytes / element) - 1 : 0;
  runs.beside = tall || runs.words ? 0 : kBeside;
  if (lanes * word <= runs.beside) return std::nullopt;
  // Programs are shared by long sides of all lengths, and by short sides that differ little.
  const std::size_t most = runs.thin <= kSideStep ? runs.thin : round_up(runs.thin, kSideStep);
  const std::size_t least = runs.thin <= kSideStep ? runs.thin : most - kSideStep + 1;
  for (;; chunk /= 2) {
    const std::size_t steps = at_least_1(std::bit_floor(chunk / most / (lanes * word)));
    runs.steps = runs.words ? 1 : std::min(steps, transpose_policy(device).strips.most_steps);
    runs.multiple = lanes * word * runs.steps;
    runs.chunk = chunk;
    const std::size_t elements = std::max(chunk, runs.multiple * most) + runs.halo * most;
    const std::size_t words = divide_up(elements, word) + 2 * kPackWords;
    const std::size_t padding = runs.thin % 2 == 0 ? words / least + 1 : 0;
    runs.local_bytes = round_up((words + padding) * word_bytes, kLocalStep);
    if (runs.local_bytes <= device.local_bytes) return runs;
    if (chunk < runs.multiple * most) return std::nullopt;
  }
}

/// A short side that registers do not hold: see transpose/tall.cl, wide.cl, tall_words.cl and wide_words.cl.
Attempt runs(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed, bool tall) {
  const StripPolicy& policy = transpose_policy(device).strips;
  const std::size_t element = problem.element_bytes, word = std::max(element, kWordBytes) / element;
  const std::size_t group = group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.run_group, 0);
  if (group == 0) return no_tile_fits(device);
  const std::size_t chunk = fixed.tile_cols != 0 ? fixed.tile_cols : policy.run_bytes / element;
  std::optional<Runs> found;
  for (std::size_t lanes = std::min(policy.lanes, group);
       !found && lanes >= std::min(policy.least_lanes, group); lanes /= 2)
    found = runs_of(device, problem, tall, lanes, chunk);
  if (!found) return no_tile_fits(device);
  const Runs& of = *found;
  const std::size_t length = tall ? problem.rows : problem.cols;
  const std::size_t side =
      std::max(of.chunk / at_least_1(of.thin) / of.multiple * of.multiple, of.multiple) - of.beside;
  const std::size_t groups = divide_up(length + of.halo, side) * problem.batch;
  if (groups > kMaxTiles) return formatted("{} strips are more than a launch can have", groups);
  static constexpr const char* kFiles[] = {"transpose/wide.cl", "transpose/wide_words.cl",
                                           "transpose/tall.cl", "transpose/tall_words.cl"};
  static constexpr const char* kEntries[] = {"transpose_wide", "transpose_wide_words", "transpose_tall",
                                             "transpose_tall_words"};
  const std::size_t kernel = (tall ? 2 : 0) + (of.words ? 1 : 0);
  Plan plan = strips_plan(device, problem, kFiles[kernel], kEntries[kernel], group, groups);
  plan.tile_rows = tall ? side : of.thin;
  plan.tile_cols = tall ? of.thin : side;
  plan.items_per_work_item = divide_up(side * of.thin, group);
  plan.local_bytes = of.local_bytes;
  const bool padded = of.thin % 2 == 0;
  // Words that are moved together: between them lies no padding.
  const std::size_t piece = word * element > kWordBytes ? 1 : !padded || of.thin % 4 == 0 ? 4 : 2;
  define(plan, {{"CHUNK", of.chunk},
                {"LOCAL_WORDS", of.local_bytes / (word * element)},
                {"LANES", of.lanes},
                {"PADDED", padded},
                {"PIECE_WORDS", piece}});
  if (tall) define(plan, "AHEAD", at_least_1(policy.ahead_bytes / (piece * word * element)));
  if (of.words) define(plan, "BLOCK", std::max(policy.block, word));
  if (!of.words) define(plan, "STEPS", of.steps);
  if (tall && !of.words) define(plan, {{"ALIGN", kSectorBytes}, {"ALIGNED", of.halo == 0 ? 1 : 0}});
  plan.evidence = transpose_policy(device).of_runs.text(device);
  plan.reason = formatted("{} short {}: a group reads and writes runs, and permutes {} in local memory",
                          of.thin, tall ? "columns" : "rows", of.words ? "words" : "elements");
  return plan;
}

constexpr std::size_t kMultiple = 64;  // elements that divide a strip of transpose/strips.cl

/// A short side of large elements, and few rows of floats: see transpose/strips.cl.
Attempt strips_of_elements(const Device& device, const TransposeProblem& problem, bool tall,
                           std::size_t chunk, std::size_t group) {
  const StripPolicy& policy = transpose_policy(device).strips;
  const std::size_t element = problem.element_bytes, thin = tall ? problem.cols : problem.rows;
  const auto bytes_of = [&](std::size_t elements) {
    const std::size_t words = elements + 2 + kPackWords;
    const std::size_t beside = tall ? words / kBanks + 1 : round_up(thin, kSideStep) * (1 + kBanks);
    return round_up((words + beside) * element, kLocalStep);
  };
  chunk = std::max(chunk, thin * kMultiple);
  while (chunk > round_up(thin, kSideStep) * kMultiple && bytes_of(chunk) > device.local_bytes)
    chunk /= 2;
  if (bytes_of(chunk) > device.local_bytes) return no_tile_fits(device);
  const std::size_t length = tall ? problem.rows : problem.cols;
  const std::size_t strip = std::max(chunk / at_least_1(thin) / kMultiple * kMultiple, kMultiple);
  const std::size_t groups = divide_up(length, strip) * problem.batch;
  if (groups > kMaxTiles) return formatted("{} strips are more than a launch can have", groups);
  Plan plan = strips_plan(device, problem, "transpose/strips.cl", "transpose_strips", group, groups);
  plan.tile_rows = tall ? strip : problem.rows;
  plan.tile_cols = tall ? problem.cols : strip;
  plan.items_per_work_item = divide_up(plan.tile_rows * plan.tile_cols, group);
  plan.local_bytes = bytes_of(chunk);
  define(plan, {{"SHAPE", tall ? 0 : 1},
                {"CHUNK", chunk},
                {"LOCAL_WORDS", plan.local_bytes / element},
                {"MULTIPLE", kMultiple},
                {"UNROLL", policy.unroll},
                {"PADDED", !tall || problem.cols % 2 == 0}});
  plan.reason = formatted("{} short {}: a group reads and writes runs, and permutes in local memory", thin,
                          tall ? "columns" : "rows");
  return plan;
}

}  // namespace

bool has_words(const TransposeProblem& problem, bool tall) {
  const std::size_t word_bytes = std::max(problem.element_bytes, kWordBytes);
  return (tall ? problem.cols : problem.rows) * problem.element_bytes % word_bytes == 0 &&
         std::min(problem.in_alignment, problem.out_alignment) >= word_bytes;
}

Attempt strips(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed) {
  PlanOverrides others = fixed;
  others.work_items = others.tile_cols = 0;
  allow_only(others, "strips");
  const TransposePolicy& policy = transpose_policy(device);
  const std::size_t element = problem.element_bytes, word_bytes = std::max(element, kWordBytes);
  const std::size_t word = word_bytes / element;
  if (problem.base_alignment < word_bytes) {
    return formatted("the buffers begin at multiples of {} bytes, and its words need {}",
                     problem.base_alignment, word_bytes);
  }
  const std::size_t most_thin = policy.strips.most_thin[size_index(element)];
  const std::size_t chunk = fixed.tile_cols != 0 ? fixed.tile_cols : policy.strips.chunk_bytes / element;
  const std::size_t size = problem.rows * problem.cols;
  // A matrix that is larger than a chunk makes the chunk larger, in few steps.
  constexpr std::size_t kSteps = 1024;
  const std::size_t whole_chunk = std::max(chunk, fixed.tile_cols != 0 ? size : round_up(size, kSteps));
  const std::size_t whole_bytes = round_up(whole_words(whole_chunk, word) * word_bytes, kLocalStep);
  constexpr std::size_t kMostElements = 65535;  // that the kernel's short divisions take
  const bool has_whole =
      problem.in_packed && problem.out_packed && size <= kMostElements && whole_bytes <= device.local_bytes;
  const bool has_tall = problem.in_packed && problem.cols <= most_thin && !problem.in_place;
  const bool has_wide = problem.out_packed && problem.rows <= most_thin && !problem.in_place;
  if (!has_whole && !has_tall && !has_wide) {
    return formatted("for packed matrices that fit local memory, or of at most {} rows or columns",
                     most_thin);
  }
  const std::size_t group =
      group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.strips.group, 0);
  if (group == 0) return no_tile_fits(device);
  if (has_whole) return whole(device, problem, whole_chunk, whole_bytes, group);
  const Strip strip = has_tall && (!has_wide || problem.cols <= problem.rows) ? Strip::tall : Strip::wide;
  const std::size_t thin = strip == Strip::tall ? problem.cols : problem.rows;
  const bool few = thin > 1 && thin <= policy.strips.most_planes;
  const std::size_t least = element == 1 && strip == Strip::tall ? policy.strips.least_byte_columns : 2;
  if (element <= policy.strips.most_plane_bytes && few && thin >= least) {
    if (Attempt turned = planes(device, problem, strip, group); turned.plan) return turned;
  }
  const bool tall = strip == Strip::tall;
  if (element > kWordBytes || (element == kWordBytes && !tall))
    return strips_of_elements(device, problem, tall, chunk, group);
  return runs(device, problem, fixed, tall);
}

}  // namespace smem::plan::transpose
