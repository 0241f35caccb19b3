// Plans for rows in registers of groups that stay, and go from row to row.
#include "formatted.hpp"
#include "plan/row_plans.hpp"

#include <algorithm>
#include <bit>

namespace smem {

namespace {

using namespace plan;

/// Words of a work-item, and the first of those that not every work-item has of every row.
struct RowWords {
  std::size_t each = 1, words = 0, full = 0;  ///< each: elements of a word
};
RowWords row_words(const RowWork& w, std::size_t group) {
  constexpr std::size_t kLineWords = 32;  // from whose multiples on words are counted
  const std::size_t each = sizeof(std::uint32_t) / size_of(w.in), turn = group * each;
  return {each, divide_up(w.cols + kLineWords * each - 1, turn), w.cols / turn};
}

}  // namespace

plan::Attempt plan::persistent_rows(const Device& device, const RowWork& w, std::size_t wanted) {
  const RowPolicy& policy = w.policy;
  if (w.has_second_input) return "its registers hold one input";
  if (w.out != w.in || size_of(w.in) > sizeof(std::uint32_t))
    return "its words hold elements of at most 4 bytes, whose results have their type";
  if (w.alignment < sizeof(std::uint32_t)) return "buffers begin in the middle of words";
  const bool shuffle = is_nvidia_gpu(device);
  const std::size_t bytes = value_bytes(w);
  const std::size_t group =
      group_for(device, group_wanted({.work_items = wanted}, policy.persistent_items), 2 * bytes);
  if (group == 0 || group % 32 != 0) return no_tile_fits(device);
  const RowWords row = row_words(w, group);
  if (row.full < 2) return formatted("a row of {} elements leaves work-items without words", w.cols);
  if (row.words > policy.persistent_words)
    return formatted("a row of {} elements needs more registers than {} work-items have", w.cols, group);
  constexpr std::size_t kAlignment = 64;  // bytes, to which compilers align arrays at most
  const std::size_t scratch =
      round_up((shuffle ? group / 32 * 2 * w.part_values : group + 1) * bytes, kAlignment);
  const std::size_t of_word = row.each * group * w.weights_bytes;
  const std::size_t limit = policy.persistent_local_bytes.at(size_of(w.in) / 4);
  const std::size_t most = limit == 0 ? local_room(device) : std::min(local_room(device), limit);
  const std::size_t kept_words =
      of_word == 0 ? row.words : std::min(row.words, (most - std::min(most, scratch)) / of_word);
  const std::size_t kept = kept_words * of_word;
  if (kept_words + policy.persistent_read_words < row.words)
    return formatted("local memory does not hold the weights of {} elements", w.cols);
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t room = (device.local_bytes + kReserved) / (scratch + kept + kReserved);
  const std::size_t a_unit = std::min(at_least_1(policy.ahead_items / group), at_least_1(room));
  Plan plan = base_plan(w, "persistent", "persistent", 1);
  set_groups(plan, group, std::min(results_of(w), a_unit * device.compute_units));
  set_group_tile(plan, {.rows = 1,
                        .cols = row.words * group * row.each,
                        .vector_width = row.each,
                        .items = row.words * row.each,
                        .local_bytes = scratch + kept});
  plan.prediction.local_bytes = real(w.rows, w.batch, w.cols) * real(w.weights_bytes);
  define(plan, {{"GROUP", group}, {"PACK", row.each}, {"WORDS", row.words}, {"FULL", row.full}});
  if (kept_words < row.words) define(plan, "KEPT_WORDS", kept_words);
  if (w.batch == 1) define(plan, "ONE_MATRIX", 1);
  if (shuffle) define(plan, "SHUFFLES", 1);
  plan.reason = formatted("{} a unit stay, and load words of their next rows as they store those of the last",
                          a_unit == 1 ? "a group" : formatted("{} groups", a_unit));
  if (w.weights_bytes != 0) plan.reason += "; local memory holds the weights for all of them";
  return plan;
}

}  // namespace smem
