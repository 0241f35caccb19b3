/// What plans of single variants along rows share.
#pragma once

#include "formatted.hpp"
#include "plan/row_variants.hpp"
#include "plan/rows.hpp"

#include <cstddef>
#include <string_view>

namespace smem::plan {

inline std::size_t results_of(const RowWork& w) { return size_product(w.rows, w.batch); }
inline std::size_t value_bytes(const RowWork& w) { return size_of(row_value(w.in)); }

/// `kernel`: its file without the ending. `readings`: of each element.
inline Plan base_plan(const RowWork& w, std::string_view variant, std::string_view kernel, double readings) {
  Plan plan = named_plan(w.operation, variant, formatted("{}/{}.cl", w.family, kernel),
                         formatted("{}_{}", w.family, kernel));
  define_row_types(plan, w.in, w.out);
  for (const Define& one : w.defines)
    define(plan, one.name, one.value);
  const double rows = real(w.rows, w.batch), elements = rows * real(w.cols);
  plan.prediction.bytes_read = readings * elements * w.element_read + w.read_once;
  plan.prediction.bytes_written = rows * w.row_written + elements * w.element_written;
  plan.prediction.operations = w.operations * elements;
  return plan;
}

/// Elements of a pack, and packs of a row.
struct Packs {
  std::size_t pack, packs;
};
inline Packs packs_of(const RowWork& w) {
  const std::size_t pack = row_pack(w.policy.pack_bytes, w.alignment, w.in, w.out);
  return {pack, row_packs(w.cols, pack, w.in, w.row_alignment)};
}

/// Whether every pack of a row is whole; kernels on NVIDIA's GPUs have a define for it.
inline bool has_whole_packs(const Device& device, const RowWork& w, std::size_t pack) {
  return is_nvidia_gpu(device) && w.cols % pack == 0 && w.row_alignment >= pack * size_of(w.in);
}

/// NVIDIA's cp.async copies packs of 16 bytes.
inline bool copies_async(const Device& device, const RowWork& w, std::size_t pack) {
  return is_nvidia_gpu(device) && compute_capability(device) >= 80 && pack * size_of(w.in) == 16;
}

/// Whole rows in a tile.
Attempt short_rows(const Device& device, const RowWork& w, std::size_t wanted);

/// Of areas that hold words with epochs (cl/common/part_statuses.clh): no kernel with others has this number.
inline constexpr std::size_t kRowStatuses = std::size_t{1} << 16;

/// Rows in local memory of groups, or of teams of groups, that go from row to row.
Attempt persistent_rows(const Device& device, const RowWork& w, const PlanOverrides& fixed);

/// Rows that groups share, which publish statistics to each other.
Attempt cooperative_rows(const Device& device, const RowWork& w, const PlanOverrides& fixed);

}  // namespace smem::plan
