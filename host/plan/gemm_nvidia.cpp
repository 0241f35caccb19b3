// Plans of gemm for NVIDIA's own kernels: which of the measured configurations a problem gets.
#include "plan/gemm_nvidia.hpp"
#include "formatted.hpp"

#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace smem::plan::gemm {

namespace {

constexpr std::size_t kMostDepth = std::numeric_limits<std::uint32_t>::max();

/// Every tile of every product, and parts of each.
std::size_t count(const GemmProblem& problem, std::size_t tile_m, std::size_t tile_n, std::size_t parts = 1) {
  return divide_up(problem.m, tile_m) * divide_up(problem.n, tile_n) * problem.batch * parts;
}

std::string too_much(const Device& device, std::size_t group, std::size_t bytes) {
  return formatted("its tiles take {} bytes of local memory and work-groups of {}; there are {} and {}",
                   bytes, group, device.local_bytes, device.max_work_group);
}

/// Why the kernel cannot count this problem's tiles; empty: it can.
std::string too_many(const GemmProblem& problem, std::size_t tiles) {
  if (problem.k > kMostDepth) return "its sums are longer than 32 bits count";
  return tiles > kMaxTiles ? formatted("{} tiles are more than a launch can have", tiles) : std::string();
}

/// \throws Error when more is fixed than a tile.
void refuse_all_but_tile(PlanOverrides fixed, std::string_view variant) {
  fixed.tile_rows = fixed.tile_cols = 0;
  refuse_tile(fixed, variant);
}

/// What all of them have.
Plan started(const GemmProblem& problem, const Split& split, std::string_view variant, const char* file,
             const char* entry) {
  Plan plan = base_plan(problem, variant, file, entry);
  if (split.parts > 1 && variant == "wgmma") {
    define(plan, "STREAM", 1);
    if (split.aligned) define(plan, "ALIGNED_UNITS", 1);
  } else if (split.parts > 1) {
    define(plan, "PARTS", 1);
    if (split.team > 0) define(plan, "TEAM", split.team);
  }
  return plan;
}

void set_sizes(Plan& plan, const GemmProblem& problem, std::size_t tile_m, std::size_t tile_n,
               std::size_t group, std::size_t groups, std::size_t local_bytes) {
  plan.tile_rows = tile_m;
  plan.tile_cols = tile_n;
  plan.work_group = {group, 1, 1};
  plan.global = {groups * group, 1, 1};
  plan.items_per_work_item = tile_m * tile_n / group;
  plan.local_bytes = local_bytes;
  // What is brought there, once, and read for the multiplications.
  plan.prediction.local_bytes = 2 * real(count(problem, tile_m, tile_n)) * real(problem.k) *
                                real(tile_m + tile_n) * real(size_of(problem.in));
}

/// Elements of C that a store takes: `most`, where all rows begin at a multiple.
std::size_t store_width(const GemmProblem& problem, std::size_t most) {
  return problem.c_alignment >= most * size_of(problem.out) ? most : 1;
}

/// The same of the registers of matrix units, which have pairs: from rows that begin anywhere these write
/// parts of sectors alone. H100: 3456 x 12530 x 66 in pairs takes 185 us by TF32 and 143 of half; 12843 x
/// 3423 x 27, as many results of fewer k, in whole lines 103 and 70. The same shape was not timed both ways.
std::size_t pair_width(const GemmProblem& problem) {
  return problem.c_alignment < 16 ? 1 : store_width(problem, 2);
}

std::string in_parts(const Split& split, bool shares = false) {
  return split.parts > 1 ? formatted("; sums in {} parts of {}, which {}", split.parts, split.part_depth,
                                     shares ? "all groups of a tile add" : "the last group adds")
                         : std::string();
}

/// The fastest choices and their times, by the model.
std::string predicted(const Device& device, const GemmProblem& problem, std::string_view variant) {
  const std::vector<Choice> choices = nvidia_choices(device, problem, variant);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(choices.size(), 3); ++i) {
    const Choice& choice = choices[i];
    text += formatted("{}{} {:.4g} us",
                      i == 0 ? "; the model's best of " + std::to_string(choices.size()) + ": " : ", ",
                      text_of(device, problem, choice), choice.nanoseconds / 1000);
  }
  return text;
}

}  // namespace

bool has_units(const GemmProblem& problem) {
  return problem.in == Scalar::float32 ? problem.tf32 : problem.in != Scalar::float64;
}

namespace {

/// The alignment from which "mma" copies rows of 2-byte elements in pieces of it: others are copied as they
/// lie, by 16 bytes. Half on an H200, us, in pieces of 4 bytes, so, and cuBLAS: 22 x 14882 x 8626 by 32 x 128
/// 115, 88, 112; 50 x 9002 x 4098 by 64 x 128 55, 46, 46; 9002 x 30 x 4098, B transposed, by 128 x 32 43, 38,
/// 42; 400 x 602 x 1002 14.2, 11.9, 20; 602 x 1002 x 502, B transposed, 13.0, 13.7, 11.5. In pieces of 8
/// bytes 3 to 5 % less, but not by tiles of 16 or 32 across k: 300 x 60 x 2004 8.4, by 32 x 32 7.8. Of a
/// batch in pieces of 4: 12,000 of 50^3 118, 124; 20,000 of 30 x 62 x 46, B transposed, 173, 181.
std::size_t loose_below(const GemmProblem& problem) { return problem.batch > 1 ? 4 : 16; }

nvidia::Rows rows_of(const GemmProblem& problem, bool along_k, std::size_t alignment) {
  if (size_of(problem.in) == 4 && !along_k) return nvidia::Rows::words;
  if (size_of(problem.in) != 2 || alignment >= loose_below(problem)) return nvidia::Rows::pieces;
  return along_k ? nvidia::Rows::loose : nvidia::Rows::loose_across;
}

}  // namespace

nvidia::Rows rows_of_a(const GemmProblem& problem) {
  return rows_of(problem, problem.a_along_k, problem.a_alignment);
}
nvidia::Rows rows_of_b(const GemmProblem& problem) {
  return rows_of(problem, problem.b_along_k, problem.b_alignment);
}

bool nvidia::is_small(const Policy& policy, const GemmProblem& problem, std::size_t tile) {
  return tile == (problem.in == Scalar::float64 ? policy.dmma.size() : policy.mma.size());
}

bool nvidia::loads_vectors(const GemmProblem& problem) {
  const bool of_doubles = problem.in == Scalar::float64;
  const auto is_whole = [&](std::size_t alignment, bool along_k) {
    return alignment >= (of_doubles ? 16 : along_k ? 8 : 4);
  };
  return is_whole(problem.a_alignment, problem.a_along_k) && is_whole(problem.b_alignment, problem.b_along_k);
}

TileShape nvidia_tile(const Device& device, const GemmProblem& problem, std::string_view variant,
                      std::size_t tile) {
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const auto shape = [](const auto& of) { return TileShape{of.tile_m(), of.tile_n(), 0, 1, 1}; };
  if (variant == "multistage" || variant == "packed") return shape(policy.multistage[tile]);
  if (variant == "mma" && nvidia::is_small(policy, problem, tile))
    return shape(nvidia::small_of(policy, problem));
  if (variant == "mma" && problem.in == Scalar::float64) return shape(policy.dmma[tile]);
  if (variant == "mma") return shape(policy.mma[tile]);
  const auto [of, is_exchanged] = nvidia::wgmma_of(policy, tile);
  return is_exchanged ? TileShape{of.of.tile_n, of.tile_m(), 0, 1, 1}
                      : TileShape{of.tile_m(), of.of.tile_n, 0, 1, 1};
}

std::vector<Choice> nvidia_choices(const Device& device, const GemmProblem& problem, std::string_view variant,
                                   const PlanOverrides& fixed) {
  std::vector<Choice> choices = nvidia_choices(device, problem, variant);
  if ((fixed.tile_rows == 0 && fixed.tile_cols == 0) || choices.empty()) return choices;
  std::string known;
  std::vector<Choice> fitting;
  for (const Choice& choice : choices) {
    const TileShape tile = nvidia_tile(device, problem, choice.variant, choice.split.tile);
    const std::string text = formatted("{} x {}", tile.m, tile.n);
    if (known.find(text) == std::string::npos) known += (known.empty() ? "" : ", ") + text;
    if ((fixed.tile_rows == 0 || tile.m == fixed.tile_rows) &&
        (fixed.tile_cols == 0 || tile.n == fixed.tile_cols))
      fitting.push_back(choice);
  }
  if (fitting.empty()) {
    refuse(fixed.tile_rows != 0 ? "tile_rows" : "tile_cols",
           formatted("a tile of \"{}\": {}", variant, known),
           formatted("{} x {}", fixed.tile_rows, fixed.tile_cols));
  }
  return fitting;
}

std::string text_of(const Device& device, const GemmProblem& problem, const Choice& choice) {
  const TileShape tile = nvidia_tile(device, problem, choice.variant, choice.split.tile);
  const Packing& packing = choice.split.packing;
  return formatted("{} x {}{}{}", tile.m, tile.n,
                   choice.split.parts > 1 ? formatted(" in {} parts", choice.split.parts) : std::string(),
                   packing.across ? formatted(", {} packed", packing.factors()) : std::string());
}

Attempt multistage(const Device& device, const GemmProblem& given, const PlanOverrides& fixed,
                   std::string_view variant, const Split& split) {
  refuse_all_but_tile(fixed, variant);
  if (compute_capability(device) < 80) return "needs the asynchronous copies of NVIDIA's sm_80 and later";
  if (given.in != Scalar::float32) return "multiplies float32";
  if (variant == "packed" && (given.listed || given.batch != 1)) return "packs the factors of one product";
  const GemmProblem problem = as_packed(given, split.packing);
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const nvidia::Multistage& tile = policy.multistage[split.tile];
  const std::size_t groups = count(problem, tile.tile_m(), tile.tile_n(), split.parts);
  const std::size_t bytes =
      tile.local_bytes(problem.a_along_k, problem.b_along_k) + (split.parts > 1 ? nvidia::kFlagBytes : 0);
  if (std::string reason = too_many(problem, groups); !reason.empty()) return reason;
  if (bytes > device.local_bytes || tile.group() > device.max_work_group)
    return too_much(device, tile.group(), bytes);
  if (variant == "packed" && split.packing.bytes == 0 && !lies_across(given))
    return "a packed factor needs a larger buffer, work-group or local memory than there is";
  Plan plan = started(problem, split, variant, "nvidia/gemm/multistage.cl", "gemm_multistage");
  set_sizes(plan, problem, tile.tile_m(), tile.tile_n(), tile.group(), at_least_1(groups), bytes);
  define(plan, {{"WARPS_M", tile.of.warps_m},
                {"WARPS_N", tile.of.warps_n},
                {"LANES_M", tile.of.lanes_m},
                {"ITEM_M", tile.of.item_m},
                {"ITEM_N", tile.of.item_n},
                {"TILE_K", tile.of.tile_k},
                {"STAGES", tile.of.stages}});
  if (tile.of.slices > 1) define(plan, "SLICES", tile.of.slices);
  // Numbers along k are turned by copies of 4 bytes, or through registers.
  const auto vector = [](std::size_t alignment, bool along_k) {
    return alignment >= 16 ? 4 : alignment >= 8 && !along_k ? 2 : 1;
  };
  define(plan,
         {{"A_VECTOR", problem.a_along_k ? 1 : vector(problem.a_alignment, false)},
          {"B_VECTOR",
           problem.b_along_k && !problem.a_along_k ? 1 : vector(problem.b_alignment, problem.b_along_k)},
          {"C_VECTOR", store_width(problem, 4)}});
  if (policy.reads_ahead) define(plan, "READS_AHEAD", 1);
  plan.vector_width = 4;
  plan.reason = formatted("asynchronous copies fill tiles ahead; {} x {} results a work-item{}",
                          tile.of.item_m, tile.of.item_n, in_parts(split));
  if (split.packing.bytes > 0)
    plan.reason += formatted("; a launch before it packs {} bytes of factors", split.packing.bytes);
  plan.reason += predicted(device, given, variant);
  plan.evidence = (split.packing.bytes > 0 ? policy.across : policy.multistage_evidence).text(device);
  return plan;
}

namespace {

/// Whether results may leave "wgmma" by boxes: of 4 bytes, unchanged, in rows of multiples of 16 bytes (of
/// others tests failed), of more than a round of tiles. On an H200, us, before and so: 15520 x 3168 x 240
/// TF32 126, 113; 4096 x 4096 x 512 half to float 44, 40; 4096^3 int8 103, 98; of one round 3568 x 304 x 5744
/// TF32 52, 54. Results of 16 bits, and of batches, take the same time or up to 8 % more.
bool stores_boxes(const Device& device, const GemmProblem& problem, const nvidia::Wgmma& tile) {
  return size_of(problem.out) == 4 && problem.batch == 1 && !problem.listed && !problem.reads_c &&
         !problem.epilogue && problem.c_alignment >= 16 && problem.n % 4 == 0 && tile.of.tile_n >= 32 &&
         count(problem, tile.tile_m(), tile.of.tile_n) > device.compute_units;
}

/// Bytes of a tile of "wgmma" whose results leave by so many boxes of a warp.
std::size_t bytes_with_boxes(const GemmProblem& problem, const nvidia::Wgmma& tile, std::size_t number) {
  return tile.local_bytes(false, problem.b_along_k) + nvidia::kMapsBytes +
         number * tile.of.consumers * nvidia::kBoxBytes;
}

/// What producers and consumers have; 0: the compiler's choice.
nvidia::Registers registers_of(const GemmProblem& problem, const nvidia::Wgmma& tile, bool joins) {
  if (is_fp8(problem.in)) return tile.registers_of_fp8();
  const bool finishes = problem.reads_c || problem.epilogue;
  if (finishes && problem.listed && tile.of.tile_n > 192 && tile.of.consumers == 2 && tile.of.producers == 1)
    return nvidia::kRegistersOfLists;
  const bool takes_more = nvidia::loads_words(problem) || finishes;  // words of a step are in registers too
  if (joins || (takes_more && tile.joining_consumer_registers > 0))
    return {tile.joining_producer_registers, tile.joining_consumer_registers};
  return {tile.producer_registers, tile.consumer_registers};
}

}  // namespace

Attempt wgmma(const Device& device, const GemmProblem& given, const PlanOverrides& fixed,
              const Split& split) {
  refuse_all_but_tile(fixed, "wgmma");
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const auto& [as_chosen, is_exchanged] = nvidia::wgmma_of(policy, split.tile);
  const GemmProblem in_order = as_packed(nvidia::as_aligned(given), split.packing);
  const GemmProblem problem = is_exchanged ? nvidia::exchanged(in_order) : in_order;
  if (std::string reason = no_wgmma(device, problem); !reason.empty()) return reason;
  const bool joins = split.parts > 1;
  const nvidia::Wgmma tile = joins || is_exchanged ? as_chosen : nvidia::in_turns(device, problem, as_chosen);
  const std::size_t tiles = joins ? split.whole + split.parts : count(problem, tile.tile_m(), tile.of.tile_n);
  const std::size_t groups = std::clamp<std::size_t>(tiles, 1, device.compute_units);
  const bool boxes = nvidia::copies_boxes(device, problem, tile, groups);
  const std::size_t width = size_of(problem.out) == 2 && problem.c_alignment >= 16 ? 8 : pair_width(problem);
  const bool shares = nvidia::shares_join(device, problem, split);
  std::size_t bytes = tile.local_bytes(width != 2 || problem.epilogue || is_exchanged, problem.b_along_k) +
                      (boxes ? nvidia::kMapsBytes : 0);
  std::size_t boxes_of_warp = 0;
  if (boxes && !is_exchanged && !shares && stores_boxes(device, problem, tile)) {
    const auto with = [&](std::size_t number) { return bytes_with_boxes(problem, tile, number); };
    boxes_of_warp = with(2) <= device.local_bytes ? 2 : with(1) <= device.local_bytes ? 1 : 0;
    if (boxes_of_warp > 0) bytes = with(boxes_of_warp);
  }
  if (std::string reason = too_many(problem, tiles); !reason.empty()) return reason;
  if (bytes > device.local_bytes || tile.group() > device.max_work_group)
    return too_much(device, tile.group(), bytes);
  Plan plan = started(problem, split, "wgmma", "nvidia/gemm/wgmma.cl", "gemm_wgmma");
  plan.target = "sm_90a";
  set_sizes(plan, problem, tile.tile_m(), tile.of.tile_n, tile.group(), groups, bytes);
  if (shares) define(plan, "SHARED_JOIN", 1);
  if (is_exchanged) {
    define(plan, "EXCHANGED", 1);
    std::swap(plan.tile_rows, plan.tile_cols);
  }
  const nvidia::Registers registers = registers_of(problem, tile, joins);
  const std::size_t mma_n = tile.of.mma_n / (is_fp8(problem.in) && tile.halves_fp8() ? 2 : 1);
  define(plan, {{"CONSUMERS", tile.of.consumers},
                {"PRODUCERS", tile.of.producers},
                {"TILE_N", tile.of.tile_n},
                {"MMA_N", mma_n},
                {"STAGES", tile.of.stages},
                {"LAG", tile.of.lag},
                {"PRODUCER_REGISTERS", registers.producer},
                {"CONSUMER_REGISTERS", registers.consumer},
                {"LOOSE", tile.loose ? 1 : 0},
                {"TENSOR", boxes ? 1 : 0},
                {"C_VECTOR", width}});
  if (tile.finishes_rows()) define(plan, "FINISHES_ROWS", 1);
  if (tile.pingpong) define(plan, "PINGPONG", 1);
  if (boxes_of_warp > 0) define(plan, "BOXES_OF_WARP", boxes_of_warp);
  if (tile.loose && tile.of.consumers < tile.of.producers) define(plan, "LOOSE_BATCH", 2);
  if (tile.of.tile_n % mma_n != 0) define(plan, "MMA_REST", tile.of.tile_n % mma_n);
  // What reads C is half of the instructions of a tile's end, on which compilers take most of their time.
  // Four warpgroups that store single results spill for sm_90 without it.
  if (!problem.reads_c && (tile.of.consumers < 4 || width > 1)) define(plan, "READS_C", 0);
  if (boxes) add_scratch(plan, groups * nvidia::kMapsBytes + split.bytes);
  define(plan, "BAND", policy.band);
  if (problem.batch > 1 && count(problem, tile.tile_m(), tile.of.tile_n) == problem.batch)
    define(plan, "ONE_TILE", 1);
  count_for_matrix_units(problem, plan);
  plan.reason =
      "Hopper's matrix units; " +
      (boxes ? std::string("one work-item copies boxes to the tiles that the others multiply")
             : formatted("{} warp(s) in four fill the tiles that the others multiply",
                         4 * tile.of.producers / (tile.of.producers + tile.of.consumers))) +
      (tile.pingpong ? formatted("; {} groups of warps take tiles in turn", tile.of.consumers) : "") +
      (is_exchanged ? "; the rows of tiles are columns of C" : "") +
      (nvidia::loads_words(problem) ? "; words across k go through registers" : "") + in_parts(split, shares);
  if (split.packing.bytes > 0)
    plan.reason += formatted("; a launch before it packs {} bytes of factors", split.packing.bytes);
  plan.reason += predicted(device, given, "wgmma");
  const Evidence& of_packed = is_16_bit(given.in) ? policy.packed : policy.turned;
  plan.evidence = (is_fp8(problem.in)        ? policy.fp8_evidence
                   : split.packing.bytes > 0 ? of_packed
                                             : policy.wgmma_evidence)
                      .text(device);
  return plan;
}

namespace {

/// "mma" of double.
Attempt dmma(const Device& device, const GemmProblem& problem, const Split& split) {
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const nvidia::Dmma& tile = policy.dmma[split.tile];
  const std::size_t groups = count(problem, tile.tile_m(), tile.tile_n(), split.parts);
  constexpr std::size_t kAlignment = 128;  // of the tiles, also after the flag
  const std::size_t bytes =
      tile.local_bytes(problem.a_along_k, problem.b_along_k) + (split.parts > 1 ? kAlignment : 0);
  if (std::string reason = too_many(problem, groups); !reason.empty()) return reason;
  if (bytes > device.local_bytes || tile.group() > device.max_work_group)
    return too_much(device, tile.group(), bytes);
  Plan plan = started(problem, split, "mma", "nvidia/gemm/dmma.cl", "gemm_dmma");
  set_sizes(plan, problem, tile.tile_m(), tile.tile_n(), tile.group(), at_least_1(groups), bytes);
  const auto copied = [](std::size_t alignment) { return alignment >= 16 ? 2 : 1; };
  define(plan, {{"WARPS_M", tile.of.warps_m},
                {"WARPS_N", tile.of.warps_n},
                {"WARP_M", tile.of.warp_m},
                {"WARP_N", tile.of.warp_n},
                {"TILE_K", tile.of.tile_k},
                {"STAGES", tile.of.stages},
                {"MMA_K", compute_capability(device) >= 90 ? policy.dmma_k : 4},
                {"A_VECTOR", copied(problem.a_alignment)},
                {"B_VECTOR", copied(problem.b_alignment)},
                {"C_VECTOR", store_width(problem, 2)}});
  const bool alike = problem.a_along_k == problem.b_along_k;
  if (alike && tile.ordered >= (problem.a_along_k ? nvidia::Ordered::along : nvidia::Ordered::alike))
    plan.compiler_level = 1;
  count_for_matrix_units(problem, plan);
  plan.reason = "matrix units for double, and asynchronous copies that fill tiles ahead" + in_parts(split) +
                predicted(device, problem, "mma");
  plan.evidence = policy.dmma_evidence.text(device);
  return plan;
}

/// "mma" of many small products, of half, bfloat16 and double.
Attempt small(const Device& device, const GemmProblem& problem) {
  const nvidia::Policy& policy = nvidia::policy_of(device);
  const nvidia::Small& tile = nvidia::small_of(policy, problem);
  const std::size_t tiles = count(problem, tile.tile_m(), tile.tile_n());
  if (std::string reason = too_many(problem, tiles); !reason.empty()) return reason;
  Plan plan = started(problem, {}, "mma", "nvidia/gemm/small.cl", "gemm_small");
  const std::size_t most = at_least_1(device.compute_units) * tile.resident / tile.warps;
  set_sizes(plan, problem, tile.tile_m(), tile.tile_n(), 32 * tile.warps,
            std::clamp<std::size_t>(divide_up(tiles, tile.warps), 1, most), 0);
  plan.items_per_work_item = tile.tile_m() * tile.tile_n() / 32;
  plan.prediction.local_bytes = 0;
  const bool of_doubles = problem.in == Scalar::float64;
  define(plan, {{"WARPS", tile.warps},
                {"WHOLE", nvidia::loads_vectors(problem) ? 1 : 0},
                {"C_VECTOR", of_doubles ? store_width(problem, 2) * 2 : store_width(problem, 4)}});
  if (of_doubles) define(plan, "MMA_K", compute_capability(device) >= 90 ? policy.dmma_k : 4);
  count_for_matrix_units(problem, plan);
  plan.reason = "a warp for 16 x 16 results, with factors from memory to registers of matrix units" +
                predicted(device, problem, "mma");
  plan.evidence = policy.small_evidence.text(device);
  return plan;
}

}  // namespace

Attempt mma(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
            const Split& split) {
  refuse_all_but_tile(fixed, "mma");
  if (compute_capability(device) < 80) return "needs the matrix units of NVIDIA's sm_80 and later";
  if (nvidia::is_small(nvidia::policy_of(device), problem, split.tile)) return small(device, problem);
  if (problem.in == Scalar::float64) return dmma(device, problem, split);
  if (!has_units(problem)) return "multiplies double, half, bfloat16, int8, and where it may, TF32";
  nvidia::Mma tile = nvidia::policy_of(device).mma[split.tile];
  const std::size_t substeps = tile.substeps(size_of(problem.in), problem.k);
  if (substeps > 0) tile.of.stages = 1;
  const std::size_t groups = count(problem, tile.tile_m(), tile.tile_n(), split.parts);
  const std::size_t bytes = tile.local_bytes(rows_of_a(problem), rows_of_b(problem)) +
                            (split.parts > 1 ? nvidia::kMmaAlignment : 0);
  if (std::string reason = too_many(problem, groups); !reason.empty()) return reason;
  if (bytes > device.local_bytes || tile.group() > device.max_work_group)
    return too_much(device, tile.group(), bytes);
  Plan plan = started(problem, split, "mma", "nvidia/gemm/mma.cl", "gemm_mma");
  set_sizes(plan, problem, tile.tile_m(), tile.tile_n(), tile.group(), at_least_1(groups), bytes);
  define(plan, {{"WARPS_M", tile.of.warps_m},
                {"WARPS_N", tile.of.warps_n},
                {"WARP_M", tile.of.warp_m},
                {"WARP_N", tile.of.warp_n},
                {"ROW_BYTES", tile.of.row_bytes},
                {"STAGES", tile.of.stages}});
  if (substeps > 0) define(plan, "SUBSTEPS", substeps);
  const auto copied = [](std::size_t alignment) -> std::size_t {
    return alignment >= 16 ? 16 : alignment >= 8 ? 8 : alignment >= 4 ? 4 : 1;
  };
  define(plan, {{"A_ALIGNMENT", copied(problem.a_alignment)},
                {"B_ALIGNMENT", copied(problem.b_alignment)},
                {"C_VECTOR", pair_width(problem)}});
  const bool has_loose_words = std::min(problem.a_alignment, problem.b_alignment) < loose_below(problem);
  if (size_of(problem.in) == 2 && tile.has_loose_rows() && has_loose_words)
    define(plan, "LOOSE_BELOW", loose_below(problem));
  count_for_matrix_units(problem, plan);
  plan.reason = "matrix units, and asynchronous copies that fill tiles ahead" + in_parts(split) +
                predicted(device, problem, "mma");
  plan.evidence = nvidia::policy_of(device).mma_evidence.text(device);
  return plan;
}

}  // namespace smem::plan::gemm
