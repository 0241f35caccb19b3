/// smem: plans for rotary position embeddings. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// Which elements of a head make a pair.
enum class RotaryPairs {
  halves,     ///< elements k and k + rotated / 2
  neighbours  ///< elements 2 k and 2 k + 1
};

/// "halves", "neighbours".
SMEM_API std::string_view name_of(RotaryPairs pairs);

/// A rotary position embedding without its data: all that a plan depends on.
struct RotaryProblem {
  Scalar type = Scalar::float32;            ///< of the elements: half, bfloat16, float32
  RotaryPairs pairs = RotaryPairs::halves;  ///< which elements are rotated together
  std::size_t rows = 0;                     ///< of a matrix: tokens
  std::size_t heads = 1;                    ///< of a row
  std::size_t head_size = 0;                ///< elements of a head
  std::size_t rotated = 0;                  ///< of those, from the first on: an even number
  std::size_t batch = 1;                    ///< matrices
  bool own_positions = false;               ///< whether each matrix has positions of its own
  /// The largest power of two, at most 16, that divides the byte address of every row of both views.
  std::size_t row_alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "rotary"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("type", type), choice("pairs", pairs), extent("rows", rows), extent("heads", heads),
                extent("head_size", head_size), extent("rotated", rotated), extent("batch", batch),
                choice("own_positions", own_positions), aligned("row_alignment", row_alignment));
  }
};

/// The plan that rotary() uses on `device`. Overrides: `variant`, and `work_items`, a power of two, for all
/// variants but "cpu". \throws Error when the device cannot compute the problem, the variant is unknown or
/// cannot run this problem on this device, or another field is fixed. The error names the field.
SMEM_API Plan plan_rotary(const Device& device, const RotaryProblem& problem,
                          const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> rotary_variants();

}  // namespace smem
