/// smem: plans for scans. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// Which elements are scanned together: all of a vector, each row or column of a matrix, each segment of a
/// vector, by offsets or by keys.
enum class ScanShape { vector, rows, columns, segments, keys };

/// A scan without its data: all that a plan depends on.
struct ScanProblem {
  Reduction operation = ReduceOp::sum;  ///< what is combined
  ScanShape shape = ScanShape::vector;  ///< along what
  bool exclusive = false;               ///< whether a result excludes its own element
  Scalar in = Scalar::float32;          ///< of the elements
  Scalar out = Scalar::float32;         ///< of the results
  std::size_t rows = 1;                 ///< of a matrix; 1 for a vector
  std::size_t cols = 0;                 ///< of a matrix; elements of a vector
  std::size_t batch = 1;                ///< matrices
  Scalar marks = Scalar::uint32;        ///< type of the segments' offsets, or of the keys
  /// The largest power of two, at most 16, that divides the byte address of every row's first element.
  std::size_t in_alignment = 16;
  std::size_t out_alignment = 16;  ///< the same of the results
  /// Of scans along rows that follow each other without gaps, in `in` and in the results: the largest power
  /// of two, at most 16, that divides the byte addresses of both first elements. Else 0.
  std::size_t packed_alignment = 0;
  std::size_t marks_alignment = 16;  ///< of keys, as in_alignment

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "scan"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("operation", operation), choice("shape", shape), choice("exclusive", exclusive),
                choice("in", in), choice("out", out), extent("rows", rows), extent("cols", cols),
                extent("batch", batch), choice("marks", marks), aligned("in_alignment", in_alignment),
                aligned("out_alignment", out_alignment), aligned("packed_alignment", packed_alignment),
                aligned("marks_alignment", marks_alignment));
  }
};

/// The plan that the scans use on `device`. If one launch cannot combine the parts of a row, a launch before
/// it, "first", computes the aggregate of each part. Overrides: `variant`, and `work_items`, a power of two,
/// for all variants but "cpu". Fixed fields are never shrunk. \throws Error when the types do not fit the
/// operation or the device, the variant is unknown or cannot run this problem on this device, or another
/// field was fixed; it names the field.
SMEM_API Plan plan_scan(const Device& device, const ScanProblem& problem,
                        const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> scan_variants();

}  // namespace smem
