/// smem: plans for reductions. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem {

/// What a reduction computes; see reduce.hpp for the results' types.
enum class ReduceOp {
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  any,     ///< whether any element is not zero
  all,     ///< whether every element is not zero
  minmax,  ///< min and max in one pass
  argmin,
  argmax,
  mean,
  norm,  ///< the 2-norm
  dot,   ///< of two vectors, or of each row or column and a vector: what dot(), matvec() and vecmat() launch
  custom
};

/// "sum", "product", ..., as the names in the program.
SMEM_API std::string_view name_of(ReduceOp op);

/// How sums of floating-point numbers are computed. Both modes give the same bits in every run for the same
/// plan, input and offset in its buffer: the order of all operations is fixed.
enum class FloatMode {
  reproducible,  ///< plain additions
  compensated    ///< carries rounding errors along: as exact as a sum with twice the digits
};

/// An operation with its options.
struct Reduction {
  ReduceOp op = ReduceOp::sum;               ///< what is combined
  FloatMode mode = FloatMode::reproducible;  ///< of sums of floating-point numbers
  std::string expression = {};               ///< of custom(): OpenCL C, of `a` and `b`
  std::string identity = {};                 ///< of custom(): OpenCL C, a constant
  bool commutes = true;                      ///< false: elements are combined in their order

  /// An operation; default: a sum.
  Reduction(ReduceOp operation = ReduceOp::sum)  // NOLINT(google-explicit-constructor): an op is one
      : op(operation) {}
  /// An operation with its mode.
  Reduction(ReduceOp operation, FloatMode float_mode) : op(operation), mode(float_mode) {}

  /// The caller's own operation, e.g. custom("b == 0 ? a : b", "0"), the last element that is not 0. It must
  /// be associative, and `identity` must be its identity element, which stands for missing elements. `a`,
  /// which comes before `b`, and the value of the expression have the element's type, but int for int8 and
  /// int16, uint for uint8 and uint16, float for half. It may call the functions of OpenCL C.
  /// Both have at most 16384 characters, and at most 1000 prefix operators and casts.
  static Reduction custom(std::string expression, std::string identity) {
    Reduction reduction(ReduceOp::custom);
    reduction.expression = std::move(expression);
    reduction.identity = std::move(identity);
    reduction.commutes = false;
    return reduction;
  }
  /// The same for operations that are commutative too, e.g. commutative("a > b ? a : b", "0"). Reductions are
  /// then faster, because the plan may choose the order in which elements are combined. Scans
  /// are the same for both.
  static Reduction commutative(std::string expression, std::string identity) {
    Reduction reduction = custom(std::move(expression), std::move(identity));
    reduction.commutes = true;
    return reduction;
  }

  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("mode", mode), untuned("expression", expression),
                untuned("identity", identity), choice("commutes", commutes));
  }
};

/// Which elements are reduced to one result.
enum class ReduceShape { vector, rows, columns, segments };

/// A reduction without its data: all that a plan depends on.
struct ReduceProblem {
  Reduction reduction = ReduceOp::sum;      ///< what is computed
  ReduceShape shape = ReduceShape::vector;  ///< of what
  Scalar in = Scalar::float32;              ///< of the elements
  Scalar out = Scalar::float32;             ///< of the results
  std::size_t rows = 1;                     ///< of a matrix; segments; 1 for a vector
  std::size_t cols = 0;                     ///< of a matrix; elements of a vector, whole or segmented
  std::size_t batch = 1;                    ///< matrices
  Scalar bounds = Scalar::uint32;           ///< type of the segments' offsets: uint32 or uint64
  /// The largest power of two, at most 16, that divides the byte addresses of the buffers; for columns also
  /// that of every row's first element, for a dot product of vectors the distance between their offsets.
  std::size_t alignment = 16;
  /// For the product of a matrix and a vector by rows: the same of the distance in bytes between every row's
  /// first element and the vector's. So packs of both are aligned at the same elements.
  std::size_t other_alignment = 16;
  /// Of rows that follow each other without gaps, in all matrices: the largest power of two, at most 16, that
  /// divides the byte address of every row's first element; for columns, of one matrix's first element. Else
  /// 0.
  std::size_t packed_alignment = 0;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "reduce"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("reduction", reduction), choice("shape", shape), choice("in", in), choice("out", out),
                extent("rows", rows), extent("cols", cols), extent("batch", batch), choice("bounds", bounds),
                aligned("alignment", alignment), aligned("other_alignment", other_alignment),
                aligned("packed_alignment", packed_alignment));
  }
  /// Elements of a result; of a vector's segments, of all.
  std::size_t count() const { return shape == ReduceShape::columns ? rows : cols; }
  std::size_t results() const {
    return detail::size_product(shape == ReduceShape::columns ? cols : rows, batch);
  }  ///< the number of results
};

/// The plan that the reductions would use on `device`. Overrides: `variant`, and `work_items`, a power of
/// two, for all variants but "cpu". Fixed fields are never shrunk. \throws Error when the types do not fit
/// the operation or the device, the variant is unknown or cannot run this problem on this device, or another
/// field was fixed; it names the field.
SMEM_API Plan plan_reduce(const Device& device, const ReduceProblem& problem,
                          const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> reduce_variants();

}  // namespace smem
