// Plans for attention: which rows a group has, and where its tiles of keys, values and weights lie.
#include <smem/attention_plan.hpp>

#include "formatted.hpp"
#include "plan/attention_checks.hpp"
#include "plan/attention_policy.hpp"
#include "plan/attention_variants.hpp"
#include "plan/matrix_unit.hpp"
#include "plan/rows.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;
using namespace plan::attention;

constexpr const char* kAttention = "attention";

void define_problem(Launch& launch, const AttentionProblem& p) {
  define_row_types(launch, p.in, p.out);
  define(launch, {{"HEAD_SIZE", p.head_size}, {"VALUE_SIZE", p.value_size}});
  const std::size_t bias = !p.bias ? 0 : p.bias_type == p.in ? 1 : 2;
  const std::pair<const char*, std::size_t> parts[] = {{"RIGHT_LIMIT", p.right_limit},
                                                       {"LEFT_LIMIT", p.left_limit},
                                                       {"SOFT_CAP", p.soft_cap},
                                                       {"LSE", p.lse},
                                                       {"BIAS", bias},
                                                       {"SLOPES", p.slopes},
                                                       {"SINK_LOGITS", p.sink_logits},
                                                       {"KEY_LENGTHS", p.key_lengths},
                                                       {"RAGGED", p.ragged},
                                                       {"PAGED", p.paged}};
  for (const auto& [name, value] : parts)
    if (value != 0) define(launch, name, value);
}

}  // namespace

std::string plan::attention::no_vectors_of_units(const AttentionProblem& p) {
  if (p.in == Scalar::float32) return "multiplies half and bfloat16 only";
  if (p.alignment < 16) return "needs vectors that are aligned to 16 bytes";
  return {};
}

Plan plan::attention::base_plan(const AttentionProblem& p, std::string_view variant, const char* file,
                                const char* entry) {
  Plan plan = named_plan(kAttention, variant, file, entry);
  define_problem(plan, p);
  const double queries = real(p.ragged ? 1 : p.batch, p.heads, p.queries);
  const double keys = real(p.ragged ? 1 : p.batch, p.kv_heads, p.keys);
  plan.prediction.bytes_read =
      (queries * real(p.head_size) + keys * real(p.head_size + p.value_size)) * real(size_of(p.in));
  plan.prediction.bytes_written = queries * (real(p.value_size) * real(size_of(p.out)) + (p.lse ? 4 : 0));
  plan.prediction.operations = 2 * attention_pairs(p) * real(p.head_size + p.value_size);
  return plan;
}

std::string plan::attention::set_tiles(Plan& plan, const AttentionProblem& p, std::size_t high,
                                       std::size_t group) {
  const std::size_t tiles = at_least_1(count_tiles(p, high, sharing(p)));
  const std::size_t groups = size_product(tiles, p.kv_heads, p.ragged ? 1 : p.batch);
  if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);
  set_groups(plan, group, groups);
  plan.numbers = {{"tiles", tiles}};
  plan.tile_rows = high;
  // Each tile of rows reads all keys and values.
  const double read = real(p.kv_heads, p.ragged ? 1 : p.batch) * real(p.keys) * real(tiles - 1);
  plan.prediction.bytes_read += read * real(p.head_size + p.value_size) * real(size_of(p.in));
  return {};
}

std::size_t plan::attention::unit_pitch(std::size_t size) { return round_up(size, 64) * 2; }

std::size_t plan::attention::results_at_once(const AttentionProblem& p) {
  if (size_of(p.out) == 2 && p.value_size % 8 == 0 && p.out_alignment >= 16) return 8;
  return p.value_size % 2 == 0 && p.out_alignment >= 2 * size_of(p.out) ? 2 : 1;
}

std::string plan::attention::unit_bound(const AttentionProblem& p, double at_once) {
  constexpr double kExponentials = 16;  // of a compute unit in a clock: CUDA C++ programming guide
  const double products = real(p.head_size + p.value_size) / at_once;
  const double exponentials = (p.soft_cap ? 3 : 1) / kExponentials;
  const bool by_products = products >= exponentials;
  const double share = by_products ? exponentials / products : products / exponentials;
  return formatted("{} bound it, {} take {:.0f} % of their time",
                   by_products ? "multiplications" : "exponentials",
                   by_products ? "exponentials" : "multiplications", 100 * share);
}

namespace {

Attempt naive(const Device& device, const AttentionProblem& p) {
  if (!device.long_loops && p.keys > 20000) return "its loops are shorter than there are keys";
  const std::size_t group = group_for(device, attention_policy(device).naive_group, 0);
  const std::size_t tiles = at_least_1(count_tiles(p, 1, 1));
  const std::size_t rows = size_product(tiles, p.heads, p.ragged ? 1 : p.batch);
  if (rows > kMaxTiles) return formatted("{} rows are more than it counts", rows);
  const std::size_t row_bytes = at_least_1(p.keys) * sizeof(float);
  const std::size_t most = device.max_allocation == 0
                               ? attention_policy(device).logits_bytes
                               : std::min(attention_policy(device).logits_bytes, device.max_allocation);
  const std::size_t slice = std::min(at_least_1(most / row_bytes), at_least_1(rows));
  if (row_bytes > most) return formatted("a row of logits takes {} bytes; there are {}", row_bytes, most);
  const auto launch = [&](const char* what, const char* entry, std::size_t items) {
    Plan plan = attention::base_plan(p, what, "attention/naive.cl", entry);
    set_groups(plan, group, divide_up(items, group));
    plan.numbers = {{"tiles", tiles}, {"rows", rows}, {"slice", slice}};
    return plan;
  };
  Plan plan = launch("naive", "attention_results", size_product(slice, p.value_size));
  Launch first = launch("logits", "attention_logits", size_product(slice, at_least_1(p.keys)));
  Launch second = launch("weights", "attention_weights", slice);
  const double logits = real(rows) * real(row_bytes), of_keys = real(size_of(p.in)) * real(p.head_size);
  first.reason = "a work-item computes a logit";
  first.prediction.bytes_written = logits;
  first.prediction.bytes_read = real(rows) * of_keys + real(p.keys, p.kv_heads) * of_keys;
  second.reason = "a work-item computes the softmax of a row of logits";
  second.prediction.bytes_read = 3 * logits, second.prediction.bytes_written = 2 * logits;
  plan.prediction.bytes_read = logits + real(p.keys, p.kv_heads, p.value_size) * real(size_of(p.in));
  first.prediction.operations = 2 * attention_pairs(p) * real(p.head_size);
  second.prediction.operations = 5 * attention_pairs(p);
  plan.prediction.operations = 2 * attention_pairs(p) * real(p.value_size);
  plan.reason = "all weights go through global memory, three times each way";
  plan.before = {std::move(first), std::move(second)};
  plan.rounds = at_least_1(divide_up(rows, slice));
  add_scratch(plan, slice * row_bytes);
  return plan;
}

/// What cl/attention/tiled.cl makes of a tile, for values of one size.
struct Tiled {
  std::size_t across, group, cols, width, v_depth, bytes;
};
Tiled tiled_of(const AttentionTile& tile, std::size_t depth, std::size_t value_size) {
  Tiled made{};
  made.across = tile.n / 4;
  made.group = made.across * (tile.m / tile.each_m);
  made.cols = round_up(divide_up(value_size, made.across), 2);
  made.width = made.across * made.cols;
  const std::size_t chunk = depth * (tile.m + tile.n + 8);
  made.v_depth = depth;
  while (made.v_depth > 1 && made.v_depth * made.width > chunk)
    made.v_depth /= 2;
  const std::size_t chunks = 2 * std::max(chunk, made.v_depth * made.width);
  made.bytes = (chunks + tile.n * (tile.m + 4) + tile.m * (made.across + 4)) * sizeof(float);
  return made;
}

Attempt tiled(const Device& device, const AttentionProblem& p) {
  const AttentionPolicy& policy = attention_policy(device);
  for (const AttentionTile& tile : policy.tiles) {
    const Tiled made = tiled_of(tile, policy.depth, p.value_size);
    if (p.value_size > tile.most_value || made.bytes > local_room(device) ||
        group_for(device, made.group, 0) != made.group)
      continue;
    Plan plan = attention::base_plan(p, "tiled", "attention/tiled.cl", "attention_tiled");
    if (std::string reason = set_tiles(plan, p, tile.m, made.group); !reason.empty()) return reason;
    const bool packs = p.head_size % 4 == 0 && p.value_size % 4 == 0 && p.alignment >= 4 * size_of(p.in);
    plan.tile_cols = tile.n;
    plan.vector_width = packs ? 4 : 1;
    plan.items_per_work_item = tile.each_m * 4;
    plan.local_bytes = made.bytes;
    define(plan, {{"TILE_M", tile.m},
                  {"TILE_N", tile.n},
                  {"EACH_M", tile.each_m},
                  {"DEPTH", policy.depth},
                  {"V_DEPTH", made.v_depth},
                  {"UNROLL", policy.unroll},
                  {"PACK", plan.vector_width}});
    define_sub_group(device, plan);
    // Of each pair a work-item reads its rows and keys, then its rows' weights and values.
    const double each = real(tile.each_m);
    plan.prediction.local_bytes = attention_pairs(p) * sizeof(float) *
                                  (real(p.head_size) * (each + 4) / (4 * each) +
                                   real(made.width) * (each + real(made.cols)) / (each * real(made.cols)));
    plan.reason = formatted(
        "{} rows loop over tiles of {} keys in local memory; a work-item has {} x 4 logits and {} x {} sums",
        tile.m, tile.n, tile.each_m, tile.each_m, made.cols);
    return plan;
  }
  return no_tile_fits(device);
}

// Multiply-adds of half a clock, of an SM of an A100: its data sheet.
constexpr double kUnitSm80 = 1024;

Attempt mma(const Device& device, const AttentionProblem& p) {
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80)
    return "needs matrix units of sm_80 or later";
  if (std::string reason = no_vectors_of_units(p); !reason.empty()) return reason;
  for (const AttentionMma& tile : attention_policy(device).mma) {
    const std::size_t bytes =
        (tile.rows() + tile.keys) * unit_pitch(p.head_size) + tile.keys * unit_pitch(p.value_size);
    const std::size_t group = 32 * tile.warps;
    if (std::max(p.head_size, p.value_size) > tile.most_size || bytes > device.local_bytes ||
        group_for(device, group, 0) != group)
      continue;
    Plan plan = attention::base_plan(p, "mma", "nvidia/attention/mma.cl", "attention_mma");
    count_for_matrix_units(plan.prediction);
    if (std::string reason = set_tiles(plan, p, tile.rows(), group); !reason.empty()) return reason;
    plan.tile_cols = tile.keys;
    plan.vector_width = 8;
    plan.items_per_work_item = tile.rows() * tile.keys / group;
    plan.local_bytes = bytes;
    define(plan, {{"WARPS", tile.warps},
                  {"MS", tile.sixteens},
                  {"TILE_N", tile.keys},
                  {"Q_REGISTERS", tile.keeps_queries ? 1 : 0},
                  {"OUT_VECTOR", results_at_once(p)}});
    // Each warp reads the tile's keys and values, and its rows' queries.
    const double rows = real(16 * tile.sixteens);
    plan.prediction.local_bytes =
        attention_pairs(p) * 2 *
        (real(p.head_size) * (1 / rows + (tile.keeps_queries ? 0 : 1 / real(tile.keys))) +
         real(p.value_size) / rows);
    plan.reason = formatted(
        "{} warps of {} rows loop over tiles of {} keys; weights stay in registers between the products",
        tile.warps, 16 * tile.sixteens, tile.keys);
    if (compute_capability(device) == 80) plan.reason += "; " + unit_bound(p, kUnitSm80);
    return plan;
  }
  return no_tile_fits(device);
}

constexpr std::size_t kBlockM = 6;  // of cl/attention/cpu.cl

/// Rows and keys of a thread's tile.
struct CpuTile {
  std::size_t lanes, vectors, m, n;

  std::size_t block_n() const { return lanes * vectors; }
  std::size_t bytes(const AttentionProblem& p) const {
    const std::size_t sums = round_up(p.value_size, block_n());
    return (m * (p.head_size + sums + n + 2) + n * (p.head_size + sums)) * sizeof(float);
  }
};

Attempt cpu(const Device& device, const AttentionProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const AttentionPolicy& policy = attention_policy(device);
  // A register of 64 bytes comes with 31 others, which vectors of 32 bytes use as well; one of 32 with 15.
  const std::size_t vector_bytes =
      std::clamp<std::size_t>(device.vector_bytes, 16, device.wide_vectors ? 64 : 32);
  CpuTile tile{vector_bytes / sizeof(float), device.vector_bytes == 32 ? 2u : 4u, policy.cpu_rows,
               policy.cpu_keys};
  const std::size_t rows = p.queries * sharing(p), sequences = p.ragged ? 1 : p.batch;
  const std::size_t wanted = policy.groups_a_unit * device.compute_units;
  const auto is_too_high = [&] {
    return tile.m / 2 >= rows || (divide_up(rows, tile.m) * p.kv_heads * sequences < wanted && tile.m > 24);
  };
  while (tile.m > kBlockM && is_too_high())
    tile.m = tile.m / 2;
  const std::size_t room = std::min(policy.cache_bytes, local_room(device));
  while (tile.bytes(p) > room) {
    const bool has_fewest_keys = tile.n <= tile.block_n();
    if (tile.m > kBlockM && (tile.m >= tile.n / 4 || has_fewest_keys)) {
      tile.m /= 2;
    } else if (!has_fewest_keys) {
      tile.n /= 2;
    } else {
      return no_tile_fits(device);
    }
  }
  Plan plan = attention::base_plan(p, "cpu", "attention/cpu.cl", "attention_cpu");
  if (std::string reason = set_tiles(plan, p, tile.m, 1); !reason.empty()) return reason;
  plan.tile_cols = tile.n;
  plan.vector_width = tile.lanes;
  plan.items_per_work_item = tile.m * tile.n;
  plan.local_bytes = tile.bytes(p);
  define(plan, {{"LANES", tile.lanes}, {"VECTORS", tile.vectors}, {"TILE_M", tile.m}, {"TILE_N", tile.n}});
  plan.reason = formatted("a thread keeps {} rows and {} keys in its cache, {} x {} at a time in registers",
                          tile.m, tile.n, kBlockM, tile.block_n());
  return plan;
}

Attempt plan_variant(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "naive") return naive(device, p);
  if (variant == "tiled") return tiled(device, p);
  if (variant == "mma") return mma(device, p);
  if (variant == "wgmma") return wgmma(device, p);
  if (variant == "matrix_units") return matrix_units(device, p);
  if (variant == "split_keys") return split_keys(device, p, fixed);
  if (variant == "split_mma") return split_mma(device, p, fixed);
  return cpu(device, p);
}

std::vector<std::string_view> preference(const Device& device, const AttentionProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "tiled", "naive"};
  const AttentionSplit& split = attention_policy(device).split;
  const bool fills = 16 * p.kv_heads * p.batch >= split.wgmma_sixteenths * device.compute_units &&
                     p.keys >= split.wgmma_keys && std::max(p.head_size, p.value_size) >= split.wgmma_head &&
                     !p.ragged && !p.key_lengths;
  if (is_for_split_keys(device, p) && fills && device.retargeting && p.in != Scalar::float32)
    return {"wgmma", "split_mma", "split_keys", "mma", "tiled", "naive"};
  std::vector<std::string_view> all;
  if (is_for_split_keys(device, p)) all = {"split_mma", "split_keys"};
  all.insert(all.end(), {"wgmma", "mma"});
  if (prefers_matrix_units(device, p)) all.emplace_back("matrix_units");
  all.insert(all.end(), {"tiled", "naive"});
  return all;
}

std::string why_not(const Device& device, const AttentionProblem& p, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "naive") return "all weights go through global memory";
  if (chosen.variant == "split_mma" && variant == "split_keys")
    return "products without matrix units take longer than reads";
  if (chosen.variant.starts_with("split")) return "only a few work-groups would read all the keys";
  if (variant == "matrix_units" && device.emulated_unit) return "its unit is emulated, for tests";
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant.starts_with("split") && !is_for_split_keys(device, p))
    return "for a few queries with many keys; with more queries it reads keys repeatedly";
  if (variant.starts_with("split")) return "wgmma's tiles fill the device, and read keys faster";
  if (variant == "mma") return "its warps wait for their own copies and products";
  return "matrix units multiply faster";
}

const Evidence& evidence(const Device& device, const AttentionProblem& /*p*/, const Plan& plan) {
  const AttentionPolicy& policy = attention_policy(device);
  if (plan.variant == "mma" || plan.variant == "wgmma") return policy.units;
  if (plan.variant == "split_mma") return policy.split.mma_evidence;
  if (plan.variant == "matrix_units") return evidence_of_units(device);
  return plan.variant == "split_keys" ? policy.split.evidence : policy.evidence;
}

constexpr Operation<AttentionProblem> kAttentionOperation{
    .what = "attention",
    .name = [](const AttentionProblem&) { return kAttention; },
    .variants = attention_variants,
    .check = check_attention,
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = "a thread has a tile",
    .with_tile = {"split"}};

void require_tokens(const char* argument, std::size_t tokens) {
  if (tokens <= kMostTokens) return;
  refuse(kAttention, argument, "at most 2^29 tokens", formatted("{}", tokens));
}

}  // namespace

void plan::check_attention(const Device& /*device*/, const AttentionProblem& p) {
  require_known(kAttention, "q", p.in);
  require_known(kAttention, "out", p.out);
  require_known(kAttention, "bias", p.bias_type);
  require_one_of(kAttention, "q", p.in, {Scalar::half, Scalar::bfloat16, Scalar::float32});
  if (p.out != p.in) require_one_of(kAttention, "out", p.out, {Scalar::float32});
  if (p.bias && p.bias_type != p.in) require_one_of(kAttention, "bias", p.bias_type, {Scalar::float32});
  require_head_size(kAttention, "q", p.head_size);
  require_head_size(kAttention, "v", p.value_size);
  require_tokens("q", p.queries);
  require_tokens("k", p.keys);
  require_elements(kAttention, "q", {p.batch, p.heads, p.queries, p.head_size});
  require_elements(kAttention, "k", {p.batch, p.kv_heads, p.keys, p.head_size});
  require_elements(kAttention, "v", {p.batch, p.kv_heads, p.keys, p.value_size});
  require_elements(kAttention, "out", {p.batch, p.heads, p.queries, p.value_size});
  if (p.kv_heads == 0 || p.heads % p.kv_heads != 0) {
    refuse(kAttention, "k", formatted("heads that divide the {} of q", p.heads), formatted("{}", p.kv_heads));
  }
  constexpr std::size_t kMostRows = std::size_t{1} << 31;
  if (size_product(p.queries, sharing(p)) > kMostRows)
    refuse(kAttention, "q", "at most 2^31 queries of all heads that share one of k", "more");
  if (p.ragged && p.bias) refuse(kAttention, "bias", "none with a ragged batch", "one");
  if (p.paged && !p.key_lengths)
    refuse(kAttention, "key_lengths", "the length of each sequence in a paged cache", "none");
}

std::vector<std::string_view> attention_variants() {
  return {"naive", "tiled", "split_keys", "split_mma", "mma", "wgmma", "matrix_units", "cpu"};
}

Plan plan_attention(const Device& device, const AttentionProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kAttentionOperation, kAttention, problem.in, device, problem, overrides);
}

}  // namespace smem
