// Transposes of packed arrays with a short side, and of small matrices, through contiguous runs.
#include "formatted.hpp"
#include "plan/transpose_variants.hpp"

#include <algorithm>
#include <string>

namespace smem::plan::transpose {

namespace {

/// What a group has; the numbers are those of the kernel.
enum class Strip { tall, wide, whole };

constexpr std::size_t kMultiple = 64;  // elements that divide a strip
constexpr std::size_t kSideStep = 32;  // short sides of as many elements share a program

/// Elements of a strip along the long side.
std::size_t strip_of(std::size_t chunk, std::size_t thin) {
  return std::max(chunk / at_least_1(thin) / kMultiple * kMultiple, kMultiple);
}

/// Words of local memory that a chunk takes with its padding. `thin`: short rows of "wide".
std::size_t local_words(Strip strip, std::size_t chunk, std::size_t word, std::size_t thin) {
  constexpr std::size_t kPackWords = 4;  // in which a run begins anywhere
  const std::size_t words = divide_up(chunk, word) + 2 + kPackWords;
  if (strip != Strip::wide) return words + words / 32 + 1;
  constexpr std::size_t kBanks = 32;
  return words +
         round_up(thin, kSideStep) * (1 + kBanks);  // a word for the alignment, and the padding, of each row
}

/// Whether runs are padded in local memory. Work-items read words of rows that are `cols` words apart: of an
/// odd number in different banks. Of twice that two share one, which costs less than padding's arithmetic
/// for each small element.
bool is_padded(Strip strip, std::size_t cols, std::size_t element) {
  return strip != Strip::tall || cols % (element < kWordBytes ? 4 : 2) == 0;
}

}  // namespace

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
  const std::size_t most_thin = policy.strips.most_thin;
  std::size_t chunk = fixed.tile_cols != 0 ? fixed.tile_cols : policy.strips.chunk_bytes / element;
  const std::size_t size = problem.rows * problem.cols;
  // A matrix that is larger than a chunk makes the chunk larger, in few steps.
  constexpr std::size_t kSteps = 1024;
  const std::size_t whole_chunk = std::max(chunk, fixed.tile_cols != 0 ? size : round_up(size, kSteps));
  const auto bytes_of = [&](Strip strip, std::size_t elements) {
    constexpr std::size_t kLine = 64;  // some compilers round local arrays up
    return round_up(local_words(strip, elements, word, problem.rows) * word_bytes, kLine);
  };
  constexpr std::size_t kMostElements = 65535;  // that the kernel's short divisions take
  const bool has_whole = problem.in_packed && problem.out_packed && size <= kMostElements &&
                         bytes_of(Strip::whole, whole_chunk) <= device.local_bytes;
  const bool has_tall = problem.in_packed && problem.cols <= most_thin && !problem.in_place;
  const bool has_wide = problem.out_packed && problem.rows <= most_thin && !problem.in_place;
  if (!has_whole && !has_tall && !has_wide) {
    return formatted("for packed matrices that fit local memory, or of at most {} rows or columns",
                     most_thin);
  }
  const Strip strip = has_whole ? Strip::whole : has_tall ? Strip::tall : Strip::wide;
  if (strip == Strip::whole) {
    chunk = whole_chunk;
  } else {
    const std::size_t thin = strip == Strip::tall ? problem.cols : problem.rows;
    chunk = std::max(chunk, thin * kMultiple);
    while (chunk > round_up(thin, kSideStep) * kMultiple && bytes_of(strip, chunk) > device.local_bytes)
      chunk /= 2;
    if (bytes_of(strip, chunk) > device.local_bytes) return no_tile_fits(device);
  }
  std::size_t groups = divide_up(problem.batch, std::max<std::size_t>(chunk / at_least_1(size), 1));
  if (strip == Strip::tall) groups = divide_up(problem.rows, strip_of(chunk, problem.cols)) * problem.batch;
  if (strip == Strip::wide) groups = divide_up(problem.cols, strip_of(chunk, problem.rows)) * problem.batch;
  if (groups > kMaxTiles) return formatted("{} strips are more than a launch can have", groups);
  const std::size_t group =
      group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.strips.group, 0);
  if (group == 0) return no_tile_fits(device);

  Plan plan = base_plan(problem, "strips", "transpose/strips.cl", "transpose_strips");
  plan.work_group = {group, 1, 1};
  plan.global = {groups * group, 1, 1};
  plan.tile_rows = strip == Strip::tall ? strip_of(chunk, problem.cols) : problem.rows;
  plan.tile_cols = strip == Strip::wide ? strip_of(chunk, problem.rows) : problem.cols;
  plan.vector_width = word;
  plan.items_per_work_item = divide_up(plan.tile_rows * plan.tile_cols, group);
  plan.local_bytes = bytes_of(strip, chunk);
  plan.prediction.local_bytes = plan.prediction.bytes();
  define(plan, {{"SHAPE", static_cast<std::size_t>(strip)},
                {"GROUP", group},
                {"CHUNK", chunk},
                {"LOCAL_WORDS", plan.local_bytes / word_bytes},
                {"MULTIPLE", kMultiple},
                {"UNROLL", policy.strips.unroll},
                {"PADDED", is_padded(strip, problem.cols, element)}});
  plan.reason = strip == Strip::whole
                    ? "whole matrices, which follow each other: one run in, one run out"
                    : formatted("{} short {}: a group reads and writes runs, and permutes in local memory",
                                strip == Strip::tall ? problem.cols : problem.rows,
                                strip == Strip::tall ? "columns" : "rows");
  plan.evidence = policy.strips.evidence.text(device);
  return plan;
}

}  // namespace smem::plan::transpose
