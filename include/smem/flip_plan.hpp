/// smem: plans for mirror images and rotation by 180 degrees. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A copy whose rows or columns may run backwards: what flip() and rotate() by 180 degrees launch.
struct FlipProblem {
  std::size_t element_bytes = 4;  ///< 1, 2, 4, 8 or 16
  std::size_t rows = 0;           ///< of a matrix
  std::size_t cols = 0;           ///< elements in a row
  std::size_t batch = 1;          ///< matrices
  bool reverse_cols = true;       ///< whether each row is written backwards

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "flip"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("element_bytes", element_bytes), extent("rows", rows), extent("cols", cols),
                extent("batch", batch), choice("reverse_cols", reverse_cols));
  }
};

/// The plan that flip() and rotate() by 180 degrees would use on `device`. Variants: "items", one element at
/// a time, "vector", several at once, and "packs", which writes aligned packs of 16 bytes. Overrides:
/// `variant` and `work_items`, a power of two. \throws Error as plan_transpose() does.
SMEM_API Plan plan_flip(const Device& device, const FlipProblem& problem,
                        const PlanOverrides& overrides = {});
/// The names of the variants, the simplest first.
SMEM_API std::vector<std::string_view> flip_variants();

}  // namespace smem
