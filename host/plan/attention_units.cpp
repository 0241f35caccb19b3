// The plan of attention by the matrix units of AMD and Intel: see cl/attention/matrix_units.cl.
#include "formatted.hpp"
#include "plan/attention_checks.hpp"
#include "plan/attention_units_policy.hpp"
#include "plan/attention_variants.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace smem::plan::attention {

namespace {

constexpr std::size_t kPadding = 8;  // elements behind each row in local memory: 16 bytes
constexpr std::size_t kZero = 8;     // floats of local memory that a zero takes, with its alignment

/// A tile as a device has it.
struct Sizes {
  UnitShape unit;
  std::size_t group;        ///< work-items
  std::size_t head_k;       ///< elements of a query, filled up to whole fragments
  std::size_t keys_each;    ///< keys of a sub-group
  std::size_t values_each;  ///< columns of the results of a sub-group
  std::size_t bytes;        ///< of local memory
};

/// Without layouts: their bytes follow from the padding.
Sizes sizes_of(const Device& device, const AttentionProblem& p, const units::Tile& tile) {
  Sizes sizes{.unit = shape_of(device.matrix_unit, p.in, tile.unit_m)};
  const std::size_t subs = tile.subs_m * tile.subs_n, bytes = size_of(p.in);
  sizes.group = subs * sizes.unit.lanes;
  sizes.head_k = round_up(p.head_size, sizes.unit.k);
  sizes.keys_each = tile.keys / tile.subs_n;
  sizes.values_each = round_up(divide_up(p.value_size, tile.subs_n), sizes.unit.n);
  const std::size_t of_keys = tile.keys * (sizes.head_k + kPadding);
  const std::size_t of_values = tile.subs_n * sizes.values_each * (tile.keys + kPadding);
  const std::size_t vectors = tile.rows() * (sizes.head_k + kPadding) +
                              (tile.ahead ? of_keys + of_values : std::max(of_keys, of_values));
  // Logits, the largest ones of work-items, and factors of rows.
  const std::size_t floats = tile.rows() * (tile.keys + 4) + sizes.group + tile.rows() + kZero;
  sizes.bytes = vectors * bytes + floats * sizeof(float);
  if (device.emulated_unit) sizes.bytes += subs * sizes.unit.emulated_bytes;
  return sizes;
}

/// The first tile that serves the sizes and fits; null: none does.
const units::Tile* tile_for(const Device& device, const AttentionProblem& p) {
  for (const units::Tile& tile : units::policy_of(device).tiles) {
    const Sizes sizes = sizes_of(device, p, tile);
    if (std::max(p.head_size, p.value_size) <= tile.most_size && sizes.bytes <= device.local_bytes &&
        sizes.group <= std::min(device.max_work_group, device.max_work_items[0]))
      return &tile;
  }
  return nullptr;
}

}  // namespace

bool prefers_matrix_units(const Device& device, const AttentionProblem& p) {
  return device.matrix_unit != MatrixUnit::none && !device.emulated_unit && unit_multiplies(p.in);
}

const Evidence& evidence_of_units(const Device& device) { return units::policy_of(device).evidence; }

Attempt matrix_units(const Device& device, const AttentionProblem& p) {
  if (device.matrix_unit == MatrixUnit::none) return "needs a matrix unit of AMD or Intel";
  if (!unit_multiplies(p.in)) return "multiplies half and bfloat16 only";
  const units::Tile* tile = tile_for(device, p);
  if (tile == nullptr) return no_tile_fits(device);
  const Sizes sizes = sizes_of(device, p, *tile);
  Plan plan = base_plan(p, "matrix_units", "attention/matrix_units.cl", "attention_matrix_units");
  if (std::string reason = set_tiles(plan, p, tile->rows(), sizes.group); !reason.empty()) return reason;
  const std::size_t bytes = size_of(p.in), value_cols = tile->subs_n * sizes.values_each;
  const LocalLayout of_keys =
      gemm::rows_along_k(device, tile->keys, sizes.head_k, bytes, sizes.unit.n, sizes.group);
  const LocalLayout of_values =
      gemm::rows_along_k(device, value_cols, tile->keys, bytes, sizes.unit.n, sizes.group);
  plan.tile_cols = tile->keys;
  plan.vector_width = 8;
  plan.items_per_work_item = tile->rows() * tile->keys / sizes.group;
  plan.local_bytes = sizes.bytes;
  define_unit(device, sizes.unit, plan);
  define(plan, {{"SUBS_M", tile->subs_m},
                {"SUBS_N", tile->subs_n},
                {"SUB_M", tile->sub_m},
                {"SUB_N", sizes.keys_each},
                {"SUB_V", sizes.values_each},
                {"HEAD_K", sizes.head_k},
                {"Q_STRIDE", of_keys.stride},
                {"V_STRIDE", of_values.stride},
                {"AHEAD", tile->ahead ? 1 : 0},
                {"ALIGNED", p.alignment >= 16 ? 1 : 0}});
  plan.layout = gemm::both_layouts(of_keys, of_values);
  // Sub-groups read the queries and weights of their rows, and all together the tile's keys and values;
  // logits are written and read.
  const double rows = real(tile->sub_m), own = real(tile->subs_n) / real(tile->keys);
  plan.prediction.local_bytes =
      attention_pairs(p) * (real(bytes) * (real(sizes.head_k) * (1 / rows + own) + real(value_cols) / rows +
                                           real(1 + tile->subs_n)) +
                            2 * sizeof(float));
  count_for_matrix_units(plan.prediction);
  plan.reason = formatted(
      "matrix units{}: {} rows loop over tiles of {} keys; a sub-group of {} makes {} x {} logits and {} x "
      "{} "
      "sums by fragments of {} x {} x {}, weights go through local memory",
      device.emulated_unit ? ", emulated" : "", tile->rows(), tile->keys, sizes.unit.lanes, tile->sub_m,
      sizes.keys_each, tile->sub_m, sizes.values_each, sizes.unit.m, sizes.unit.n, sizes.unit.k);
  return plan;
}

}  // namespace smem::plan::attention
