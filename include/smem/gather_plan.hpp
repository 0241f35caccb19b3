/// smem: plans for moves of elements and rows by their places. Includes no OpenCL header.
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

/// What the indices refer to.
enum class GatherOp {
  gather,  ///< the rows that are read
  scatter  ///< the rows that are written
};
/// "gather" or "scatter".
SMEM_API std::string_view name_of(GatherOp op);

/// A move of rows without its data: all that a plan depends on. A vector's elements are rows.
struct GatherProblem {
  GatherOp op = GatherOp::gather;  ///< what the indices refer to
  Scalar places = Scalar::uint32;  ///< their type: uint32 or uint64
  std::size_t rows = 0;            ///< as many as places
  std::size_t row_bytes = 4;       ///< of a row
  std::size_t alignment =
      4;  ///< the largest power of two, at most 16, that divides rows' bytes and their byte addresses

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "gather"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("places", places), extent("rows", rows),
                extent("row_bytes", row_bytes), aligned("alignment", alignment));
  }
};

/// The plan that gather(), scatter() and their siblings use on `device`. Overrides: `variant`, and
/// `work_items`, a power of two, for "teams". \throws Error when the problem is not valid, the variant is
/// unknown or cannot run it on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_gather(const Device& device, const GatherProblem& problem,
                          const PlanOverrides& overrides = {});

/// The names of all variants; the one for CPUs last.
SMEM_API std::vector<std::string_view> gather_variants();

}  // namespace smem
