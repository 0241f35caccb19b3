/// smem: plans for selections of the greatest or least elements. Includes no OpenCL header.
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

/// Which of the k selected elements are written.
enum class TopKOp {
  top_k,       ///< all of them, and their places
  nth_element  ///< only the last one in their order
};
/// "top_k" or "nth_element".
SMEM_API std::string_view name_of(TopKOp op);

/// A selection without its data: all that a plan depends on.
struct TopKProblem {
  TopKOp op = TopKOp::top_k;       ///< what is written
  Scalar type = Scalar::float32;   ///< of elements
  Scalar places = Scalar::uint32;  ///< type of the places: uint32 or uint64
  std::size_t rows = 1;            ///< of a matrix; a vector is one row
  std::size_t cols = 0;            ///< elements of a row
  std::size_t k = 1;               ///< selected elements of a row
  std::size_t batch = 1;           ///< matrices
  bool least = false;              ///< whether the least elements are selected
  bool sorted = true;              ///< whether results are in order
  bool total_order = false;        ///< of floating-point elements: IEEE 754's totalOrder
  bool nan_least = false;          ///< of floating-point elements: NaN is less than all others
  /// The largest power of two, at most 16, that divides the byte address of every row.
  std::size_t row_alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "top_k"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("type", type), choice("places", places), extent("rows", rows),
                extent("cols", cols), extent("k", k), extent("batch", batch), choice("least", least),
                choice("sorted", sorted), choice("total_order", total_order), choice("nan_least", nan_least),
                aligned("row_alignment", row_alignment));
  }
};

/// The plan that top_k(), top_k_rows() and nth_element() use on `device`. Overrides: `variant`, and
/// `work_items`, a power of two, for all variants but "cpu". \throws Error when a member is out of
/// its range, the variant is unknown or cannot run this problem on this device, or another field is fixed.
/// The error names the field.
SMEM_API Plan plan_top_k(const Device& device, const TopKProblem& problem,
                         const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> top_k_variants();

}  // namespace smem
