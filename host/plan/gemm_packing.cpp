// Factors that a launch copies to temporary memory before NVIDIA's own gemm kernels multiply them, as they
// read them fastest: by pack.cl to aligned rows, by turn.cl to lines along k, or across it, too.
#include "formatted.hpp"
#include "plan/gemm_nvidia.hpp"

#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace smem::plan::gemm {

namespace {

/// Elements that lie side by side in memory, and how many such lines there are: of A or B.
struct Lines {
  std::size_t count, along;
};
Lines lines_of_a(const GemmProblem& p) { return p.a_along_k ? Lines{p.m, p.k} : Lines{p.k, p.m}; }
Lines lines_of_b(const GemmProblem& p) { return p.b_along_k ? Lines{p.n, p.k} : Lines{p.k, p.n}; }

/// Work-items that pack.cl has for one factor: one for each 16 bytes of some lines.
std::size_t pack_items(const nvidia::Pack& pack, const Lines& lines) {
  return divide_up(lines.along, 8) * divide_up(lines.count, pack.lines);
}

/// Whether turn.cl packs the factors, and not pack.cl.
bool is_turned(const GemmProblem& problem) { return !is_16_bit(problem.in); }

/// Blocks of both factors that turn.cl packs.
std::size_t turned_blocks(const nvidia::Pack& pack, const GemmProblem& problem, const Packing& packing) {
  const auto blocks = [&](std::size_t rows) {
    const Lines packed = packing.across ? Lines{problem.k, rows} : Lines{rows, problem.k};
    return divide_up(packed.count, pack.turned_lines) *
           divide_up(packed.along * size_of(problem.in), pack.turned_bytes);
  };
  return (packing.a_pitch > 0 ? blocks(problem.m) : 0) + (packing.b_pitch > 0 ? blocks(problem.n) : 0);
}

/// Work-items of a group of turn.cl.
std::size_t turn_group(const Device& device) {
  const std::size_t most = std::bit_floor(at_least_1(device.max_work_group));
  return std::min(nvidia::policy_of(device).pack.group, most);
}

/// Whether the device has a group of turn.cl, and its block.
bool runs_turn(const Device& device) {
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  return turn_group(device) >= policy.least_group &&
         policy.turned_lines * policy.turned_bytes <= device.local_bytes;
}

bool has_room(const Device& device, const Packing& packing) {
  return packing.bytes > 0 && (device.max_allocation == 0 || packing.bytes <= device.max_allocation);
}

/// Whether "multistage" reads a factor fastest as it lies.
bool lies_across(bool along_k, std::size_t alignment) { return !along_k && alignment >= 16; }

}  // namespace

bool is_16_bit(Scalar type) { return type == Scalar::half || type == Scalar::bfloat16; }

bool lies_across(const GemmProblem& problem) {
  if (problem.m == 0 || problem.n == 0 || problem.k == 0) return true;
  return lies_across(problem.a_along_k, problem.a_alignment) &&
         lies_across(problem.b_along_k, problem.b_alignment);
}

std::string Packing::factors() const { return a_pitch == 0 ? "B" : b_pitch == 0 ? "A" : "A and B"; }

std::vector<Packing> packings_of(const Device& device, const GemmProblem& problem) {
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  const bool turned = is_turned(problem);
  const double products = real(problem.m, problem.n, problem.k);
  if (!no_wgmma_at_all(device, problem).empty() || problem.listed || problem.batch != 1 ||
      products < (turned ? policy.least_turned : policy.least))
    return {};
  std::vector<Packing> all;
  if (turned) {
    const std::size_t pitch = policy.turned_bytes / size_of(problem.in);
    const bool a_lies_well = problem.a_along_k && problem.a_alignment >= 16;
    const bool b_lies_well = problem.b_along_k && problem.b_alignment >= 16;
    for (const auto& [of_a, of_b] : {std::pair{true, false}, {false, true}, {true, true}}) {
      if ((of_a && a_lies_well) || (of_b && b_lies_well)) continue;
      Packing packing;
      if (of_a) packing.a_pitch = round_up(problem.k, pitch);
      if (of_b) packing.b_pitch = round_up(problem.k, pitch);
      packing.b_at = problem.m * packing.a_pitch;
      packing.bytes = (packing.b_at + problem.n * packing.b_pitch) * size_of(problem.in);
      if (has_room(device, packing) && turned_blocks(policy, problem, packing) < kMaxTiles)
        all.push_back(packing);
    }
    return all;
  }
  const Lines a = lines_of_a(problem), b = lines_of_b(problem);
  Packing packing;
  if (problem.a_alignment < 16) packing.a_pitch = round_up(a.along, policy.pitch);
  if (problem.b_alignment < 16) packing.b_pitch = round_up(b.along, policy.pitch);
  packing.b_at = a.count * packing.a_pitch;
  packing.bytes = (packing.b_at + b.count * packing.b_pitch) * size_of(problem.in);
  const std::size_t items = pack_items(policy, a) + pack_items(policy, b);
  if (has_room(device, packing) && items < kMaxTiles) all.push_back(packing);
  return all;
}

std::vector<Packing> packings_across(const Device& device, const GemmProblem& problem) {
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  std::vector<Packing> all;
  if (problem.in != Scalar::float32 || problem.listed || problem.batch != 1 || lies_across(problem) ||
      !runs_turn(device))
    return all;
  const bool a_lies_well = lies_across(problem.a_along_k, problem.a_alignment);
  const bool b_lies_well = lies_across(problem.b_along_k, problem.b_alignment);
  const std::size_t multiple = policy.turned_bytes / size_of(problem.in);
  for (const auto& [of_a, of_b] : {std::pair{true, false}, {false, true}, {true, true}}) {
    if ((of_a && a_lies_well) || (of_b && b_lies_well)) continue;
    Packing packing;
    packing.across = true;
    if (of_a) packing.a_pitch = round_up(problem.m, multiple);
    if (of_b) packing.b_pitch = round_up(problem.n, multiple);
    packing.b_at = size_product(problem.k, packing.a_pitch);
    const std::size_t elements = packing.b_at + size_product(problem.k, packing.b_pitch);
    packing.bytes = size_product(elements, size_of(problem.in));
    if (has_room(device, packing) && turned_blocks(policy, problem, packing) < kMaxTiles)
      all.push_back(packing);
  }
  return all;
}

GemmProblem as_packed(GemmProblem problem, const Packing& packing) {
  if (packing.a_pitch > 0) problem.a_alignment = 64;
  if (packing.b_pitch > 0) problem.b_alignment = 64;
  if (is_turned(problem)) {
    if (packing.a_pitch > 0) problem.a_along_k = !packing.across;
    if (packing.b_pitch > 0) problem.b_along_k = !packing.across;
  }
  return problem;
}

double time_of_packing(const Device& device, const GemmProblem& problem, const Packing& packing) {
  if (packing.bytes == 0) return 0;
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  const double rate = !is_turned(problem) ? policy.memory
                      : problem.tf32      ? policy.turned_words
                                          : policy.turned_memory;
  return policy.launch + 2 * real(packing.bytes) / rate;
}

namespace {

/// The launch of turn.cl.
Launch turn(const Device& device, const GemmProblem& problem, const Packing& packing) {
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  const std::size_t group = turn_group(device);
  const bool of_a = packing.a_pitch > 0, of_b = packing.b_pitch > 0;
  Launch launch = named_plan("gemm", "pack", "nvidia/gemm/turn.cl", "gemm_turn");
  const bool words = (!of_a || problem.a_alignment >= 4) && (!of_b || problem.b_alignment >= 4);
  define(launch, {{"GROUP", group},
                  {"ELEMENT_BYTES", size_of(problem.in)},
                  {"A_TURNED", problem.a_along_k == packing.across ? 1 : 0},
                  {"B_TURNED", problem.b_along_k == packing.across ? 1 : 0},
                  {"ALIGNMENT", words ? 4 : 1}});
  launch.work_group = {group, 1, 1};
  launch.global = {turned_blocks(policy, problem, packing) * group, 1, 1};
  launch.local_bytes = policy.turned_lines * policy.turned_bytes;
  launch.prediction.bytes_read =
      real((of_a ? problem.m * problem.k : 0) + (of_b ? problem.n * problem.k : 0)) *
      real(size_of(problem.in));
  launch.prediction.bytes_written = real(packing.bytes);
  launch.reason =
      packing.across
          ? formatted("moves {} to where k is outermost, in lines at multiples of 128 bytes",
                      packing.factors())
          : formatted("moves {} to where rows lie along k, at multiples of 128 bytes", packing.factors());
  return launch;
}

}  // namespace

Launch pack(const Device& device, const GemmProblem& problem, const Packing& packing) {
  if (is_turned(problem)) return turn(device, problem, packing);
  const nvidia::Pack& policy = nvidia::policy_of(device).pack;
  const bool of_a = packing.a_pitch > 0, of_b = packing.b_pitch > 0;
  Launch launch = named_plan("gemm", "pack", "nvidia/gemm/pack.cl", "gemm_pack");
  define(launch, {{"GROUP", policy.group}, {"LINES", policy.lines}});
  const Lines a = lines_of_a(problem), b = lines_of_b(problem);
  const std::size_t items = (of_a ? pack_items(policy, a) : 0) + (of_b ? pack_items(policy, b) : 0);
  launch.work_group = {policy.group, 1, 1};
  launch.global = {round_up(items, policy.group), 1, 1};
  launch.items_per_work_item = 8 * policy.lines;
  launch.vector_width = 8;
  const std::size_t elements = (of_a ? a.count * a.along : 0) + (of_b ? b.count * b.along : 0);
  launch.prediction.bytes_read = real(elements * size_of(problem.in));
  launch.prediction.bytes_written = real(packing.bytes);
  launch.reason = formatted("moves {} to where rows begin at multiples of 128 bytes", packing.factors());
  return launch;
}

}  // namespace smem::plan::gemm
