/// smem: scans, also called prefix sums.
#pragma once

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/scan_plan.hpp>
#include <smem/view.hpp>

#include <cstdint>
#include <type_traits>

namespace smem {

/// The first element of an exclusive scan: a number, else the identity of the operation.
class Initial {
 public:
  Initial() = default;
  /// A number of any type.
  template <class T>
  Initial(T value)  // NOLINT(google-explicit-constructor): a number is one
      : is_set_(true), type_(scalar_of<T>) {
    if constexpr (is_float(scalar_of<T>)) {
      real_ = static_cast<double>(value);
    } else {
      integer_ = static_cast<std::uint64_t>(value);  // sign-extended
      real_ = static_cast<double>(value);
    }
  }
  bool is_set() const { return is_set_; }             ///< whether one was given
  Scalar type() const { return type_; }               ///< int64, uint64 or float64: what was given
  std::uint64_t integer() const { return integer_; }  ///< of an integer, its bits
  double real() const { return real_; }               ///< of a floating-point number

 private:
  bool is_set_ = false;
  Scalar type_ = Scalar::int32;
  std::uint64_t integer_ = 0;
  double real_ = 0;
};

/// out[i] = in[0] op in[1] op ... op in[i].
///
/// | operation | elements | `out` |
/// |---|---|---|
/// | sum, product | integers | any integer type: the exact value modulo its size |
/// | sum, product | half, float32, float64 | half, float32 or float64 |
/// | min, max | any | the element's type; NaNs are left out, as by fmin and fmax |
/// | bit_and, bit_or | integers | the element's type |
/// | any, all | any; NaN counts as not zero | uint8: 0 or 1 |
/// | custom | any | the element's type |
///
/// Here "any" is an integer type, half, float32 or float64.
///
/// Other operations of reductions are refused, because they are not associative or their results are not
/// numbers; so are compensated sums. A custom operation must be associative, but need not be commutative: `a`
/// always precedes `b`. Sums and products of half and float32 are computed in float32, or in float64 if `out`
/// is float64.
///
/// `in` and `out` have the same number of elements. They may be the same elements if both types have one
/// size; otherwise they must not overlap.
///
/// The plan determines how floating-point sums are grouped: the same plan, alignment and input give the same
/// bits in every run, whichever work-group starts first.
///
/// Single-pass variants ("look_back", and "cpu" where work-groups that have started keep running) read and
/// write each element once, the others read it twice: O(n). Temporary memory comes from the context. No host
/// wait. \returns the event that completes with the result. \throws Error when types do not fit (see the
/// table), `out` has another size, a view exceeds its buffer, overlaps `out` or belongs to another context, a
/// type is float64 and the device has no fp64, the variant cannot run, or a custom expression does not
/// compile. The error names the argument, and no kernel is enqueued.
///
/// D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002,
/// 2016; G. E. Blelloch, "Prefix sums and their applications", 1990; W. D. Hillis and G. L. Steele, "Data
/// parallel algorithms", CACM 29, 1986.
SMEM_API cl::Event inclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                                  const Reduction& operation = ReduceOp::sum,
                                  const CallOptions& options = {});
/// The same after an initial value, as exclusive_scan() takes it: out[i] = initial op in[0] op ... op in[i].
SMEM_API cl::Event inclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                                  const Reduction& operation, const Initial& initial,
                                  const CallOptions& options);
/// out[i] = initial op in[0] op ... op in[i - 1]; out[0] is `initial`. For integers `initial` is an integer
/// of any type, of which the low bits are used; for floating-point elements it is any number. All else as
/// inclusive_scan().
SMEM_API cl::Event exclusive_scan(const Context& context, const ConstVector& in, const Vector& out,
                                  const Reduction& operation = ReduceOp::sum, const Initial& initial = {},
                                  const CallOptions& options = {});

/// Scans each row of each matrix by itself. All else as inclusive_scan().
SMEM_API cl::Event inclusive_scan_rows(const Context& context, const ConstMatrix& in, const Matrix& out,
                                       const Reduction& operation = ReduceOp::sum,
                                       const CallOptions& options = {});
/// As inclusive_scan_rows() and exclusive_scan().
SMEM_API cl::Event exclusive_scan_rows(const Context& context, const ConstMatrix& in, const Matrix& out,
                                       const Reduction& operation = ReduceOp::sum,
                                       const Initial& initial = {}, const CallOptions& options = {});
/// Scans each column of each matrix by itself. All else as inclusive_scan().
SMEM_API cl::Event inclusive_scan_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                          const Reduction& operation = ReduceOp::sum,
                                          const CallOptions& options = {});
/// As inclusive_scan_columns() and exclusive_scan().
SMEM_API cl::Event exclusive_scan_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                          const Reduction& operation = ReduceOp::sum,
                                          const Initial& initial = {}, const CallOptions& options = {});

/// Scans each segment of a vector by itself. A segment begins at each of the ascending `offsets`, of type
/// uint32 or uint64, and ends before the next one. The elements before the first offset are a segment too, as
/// are those from the last offset on. So `offsets` may hold the start of each segment only, or also the end
/// of the last one. Equal offsets delimit an empty segment; offsets beyond `in` are ignored. Descending
/// offsets give wrong segments, but no access outside the views; check_segments() finds them. As
/// inclusive_scan().
SMEM_API cl::Event inclusive_scan_segments(const Context& context, const ConstVector& in,
                                           const ConstVector& offsets, const Vector& out,
                                           const Reduction& operation = ReduceOp::sum,
                                           const CallOptions& options = {});
/// As inclusive_scan_segments() and exclusive_scan(): each segment begins with `initial`.
SMEM_API cl::Event exclusive_scan_segments(const Context& context, const ConstVector& in,
                                           const ConstVector& offsets, const Vector& out,
                                           const Reduction& operation = ReduceOp::sum,
                                           const Initial& initial = {}, const CallOptions& options = {});

/// Scans each run of equal neighbouring keys by itself. `keys` has as many elements as `in`, of any type but
/// fp8.
/// Keys compare bit by bit, so a NaN equals itself, and zeros of both signs differ. All else as
/// inclusive_scan().
SMEM_API cl::Event inclusive_scan_by_key(const Context& context, const ConstVector& keys,
                                         const ConstVector& in, const Vector& out,
                                         const Reduction& operation = ReduceOp::sum,
                                         const CallOptions& options = {});
/// As inclusive_scan_by_key() and exclusive_scan(): each run begins with `initial`.
SMEM_API cl::Event exclusive_scan_by_key(const Context& context, const ConstVector& keys,
                                         const ConstVector& in, const Vector& out,
                                         const Reduction& operation = ReduceOp::sum,
                                         const Initial& initial = {}, const CallOptions& options = {});

}  // namespace smem
