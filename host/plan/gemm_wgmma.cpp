// What tiles of "wgmma" can do for a problem, and which of their ways it takes: as gemm's plans and their
// model of times ask.
#include "plan/gemm_nvidia.hpp"

#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace smem::plan::gemm {

namespace {

std::size_t tiles_of_all(const GemmProblem& problem, const nvidia::Wgmma& tile) {
  return divide_up(problem.m, tile.tile_m()) * divide_up(problem.n, tile.of.tile_n) * problem.batch;
}

}  // namespace

std::string no_wgmma_at_all(const Device& device, const GemmProblem& problem) {
  if (!device.retargeting)
    return "needs Hopper's matrix units, and a driver that loads programs retargeted for them";
  if (!has_units(problem)) return "multiplies half, bfloat16, int8, fp8, and where it may, TF32";
  return {};
}

std::string no_wgmma(const Device& device, const GemmProblem& problem) {
  if (std::string reason = no_wgmma_at_all(device, problem); !reason.empty()) return reason;
  if (is_16_bit(problem.in)) return {};
  const bool is_a_read = problem.a_along_k || problem.in == Scalar::float32;
  if (!is_a_read || !problem.b_along_k || problem.a_alignment < 16 || problem.b_alignment < 16)
    return "of int8 and fp8 both factors must lie along k, of TF32 one, with rows at multiples of 16 bytes";
  return {};
}

GemmProblem nvidia::exchanged(GemmProblem problem) {
  std::swap(problem.m, problem.n);
  std::swap(problem.a_along_k, problem.b_along_k);
  std::swap(problem.a_alignment, problem.b_alignment);
  return problem;
}

bool nvidia::copies_boxes(const Device& device, const GemmProblem& problem, const Wgmma& tile,
                          std::size_t groups) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::size_t steps = divide_up(problem.k * size_of(problem.in), nvidia::kStepBytes);
  const std::size_t all = tiles_of_all(problem, tile) * steps;
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const bool is_worth_maps = all >= groups * policy.box_steps ||
                             (steps >= policy.tile_box_steps && all >= groups * policy.tile_box_steps);
  return !tile.loose && is_worth_maps &&
         (problem.batch == 1 || tile.pingpong || steps >= policy.batched_box_steps) &&
         std::max({problem.m, problem.n, problem.k, problem.batch}) <= kMost;
}

GemmProblem nvidia::as_aligned(GemmProblem problem) {
  if (!problem.listed || problem.list_alignment < 16) return problem;
  problem.a_alignment = problem.b_alignment = problem.list_alignment;
  if (size_of(problem.out) == 2) problem.c_alignment = problem.list_alignment;
  return problem;
}

nvidia::Wgmma nvidia::in_turns(const Device& device, const GemmProblem& problem, const Wgmma& tile) {
  const std::size_t units = at_least_1(device.compute_units);
  Wgmma in_turn = tile;
  in_turn.pingpong = true;
  in_turn.of.consumers = tile.of.tile_n <= 64 ? 3 : 2;
  if (tile.of.tile_n > 128) in_turn = with_registers(in_turn, 56, 224, false);
  const auto bytes = [&] { return in_turn.local_bytes(true, problem.b_along_k) + kMapsBytes; };
  for (in_turn.of.stages = kStagesInTurns; in_turn.of.stages > 3 && bytes() > device.local_bytes;)
    --in_turn.of.stages;
  in_turn.of.lag = std::min(tile.of.lag, in_turn.of.stages - 2);
  const bool finishes = problem.reads_c || problem.epilogue;
  const bool spills = problem.listed && finishes && tile.of.tile_n > kMostOfFinishedLists;
  const bool takes = tile.of.consumers == 1 && !spills && is_16_bit(problem.in) &&
                     size_of(problem.out) == 2 && problem.batch > 1 && problem.k > 0 &&
                     bytes() <= device.local_bytes && in_turn.group() <= device.max_work_group &&
                     tiles_of_all(problem, tile) >= 4 * units &&
                     copies_boxes(device, problem, in_turn, units);
  return takes ? in_turn : tile;
}

bool nvidia::shares_join(const Device& device, const GemmProblem& problem, const Split& split) {
  const std::size_t steps = divide_up(problem.k * size_of(problem.in), nvidia::kStepBytes);
  const std::size_t pieces = divide_up(steps, at_least_1(split.part_depth));
  return split.aligned && split.parts <= device.compute_units && pieces >= nvidia::kLeastShared &&
         pieces <= nvidia::kMostShared;
}

bool nvidia::lacks_registers(const GemmProblem& problem, const Wgmma& tile) {
  if (problem.listed && tile.is_large_for_lists()) return true;
  const bool is_wide = tile.of.tile_n > nvidia::kMostOfFp8;
  if (is_fp8(problem.in))
    return tile.of.consumers > 3 || (is_wide && (tile.of.tile_n != 256 || tile.of.consumers > 2));
  if (!nvidia::loads_words(problem) || tile.of.consumers < 3) return false;
  const bool changes = problem.reads_c || problem.epilogue, is_loose = problem.c_alignment < 16;
  return tile.of.consumers > 3 || (tile.has_many_sums() ? changes || is_loose : changes && is_loose);
}

bool nvidia::lacks_registers_to_join(const Device& device, const GemmProblem& problem, const Wgmma& tile,
                                     const Split& split) {
  if (!nvidia::loads_words(problem) || nvidia::shares_join(device, problem, split)) return false;
  const std::size_t sums = tile.of.consumers * tile.of.tile_n;
  return sums >= 512 || (sums >= 320 && tile.joining_consumer_registers == 0);
}

}  // namespace smem::plan::gemm
