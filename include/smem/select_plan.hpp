/// smem: plans for selections. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem {

/// What is selected, and what is written; see select.hpp.
enum class SelectOp {
  copy_if,
  copy_flagged,
  partition,
  partition_flagged,
  partition_reversed,
  partition_flagged_reversed,
  unique,
  run_length_encode
};

/// "copy_if", ...: as the called function is named.
SMEM_API std::string_view name_of(SelectOp op);

/// A selection without its data: all that a plan depends on.
struct SelectProblem {
  SelectOp op = SelectOp::copy_if;  ///< what is selected
  Scalar in = Scalar::float32;      ///< of the elements
  std::size_t size = 0;             ///< elements
  std::string predicate = {};       ///< of copy_if and partitions without flags: OpenCL C, a function of `x`
  Scalar flags = Scalar::uint8;     ///< their type, of the operations with flags
  /// The largest power of two, at most 16, that divides the byte address of the first element.
  std::size_t in_alignment = 16;
  std::size_t flags_alignment = 16;  ///< the same of the flags

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "select"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), extent("size", size),
                ignored("predicate", predicate),  // which costs little beside moving the elements
                choice("flags", flags), aligned("in_alignment", in_alignment),
                aligned("flags_alignment", flags_alignment));
  }
};

/// The plan that the selections use on `device`. If one launch cannot combine the parts, a launch before it,
/// "first", counts the selected elements of each part, or of all. The predicted bytes assume that half of the
/// elements are selected; a partition writes all. Overrides: `variant`; `work_items`, a power of two, for all
/// variants but "cpu"; and `tile_cols`, the elements of a work-group, a power of two, for "look_back". Fixed
/// fields are never shrunk. \throws Error when the types do not fit the operation or the device, the variant
/// is unknown or cannot run this problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_select(const Device& device, const SelectProblem& problem,
                          const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> select_variants();

}  // namespace smem
