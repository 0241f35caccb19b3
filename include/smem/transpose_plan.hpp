/// smem: plans for transpose. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A transpose without its data: all that a plan depends on.
struct TransposeProblem {
  std::size_t element_bytes = 4;  ///< 1, 2, 4, 8 or 16
  std::size_t rows = 0;           ///< of the input
  std::size_t cols = 0;           ///< elements in a row of the input
  std::size_t batch = 1;          ///< matrices
  bool in_place = false;          ///< whether input and output are the same square matrices
  /// The largest power of two, at most 64, that divides the byte address of every input row's first element.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;  ///< the same of the output
  /// The same of the buffers' own addresses. Less than 64 only for buffers over host memory of the caller's.
  std::size_t base_alignment = 64;
  /// Whether the rows of the input, and the matrices of its batch, follow each other without gaps.
  bool in_packed = false;
  bool out_packed = false;  ///< the same of the output

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "transpose"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("element_bytes", element_bytes), extent("rows", rows), extent("cols", cols),
                extent("batch", batch), choice("in_place", in_place), aligned("in_alignment", in_alignment),
                aligned("out_alignment", out_alignment), aligned("base_alignment", base_alignment),
                choice("in_packed", in_packed), choice("out_packed", out_packed));
  }
};

/// The plan that transpose() would use on `device`. Tile and work-group shrink until they fit; if no tile
/// fits, the plan is "naive" and says so.
///
/// Overrides: `variant`; for "tiled", "padded" and "swizzled" `tile_rows` (equal to `tile_cols`, a power of
/// two) and `work_items`; for "vector" `tile_rows`, `tile_cols` and `work_items`, powers of two; for those
/// four `layout`, which for the first three must be of the variant's kind; for "strips" `work_items` and
/// `tile_cols`, the elements of a group. Fixed fields are never shrunk. \throws Error when the element size
/// is not supported, the variant is unknown, or what was fixed contradicts itself or does not fit the device;
/// it names the field.
SMEM_API Plan plan_transpose(const Device& device, const TransposeProblem& problem,
                             const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> transpose_variants();

}  // namespace smem
