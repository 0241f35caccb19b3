/// smem: the greatest or least elements of vectors and of rows, by selection.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/top_k_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// Which elements top_k() selects, and their order.
///
/// Elements compare as keys of sort() do: floating-point elements by their values, -0 equal to 0, and NaN
/// greater than all others, or with `nan_least` less, and equal to any other NaN; with `total_order`, which
/// excludes `nan_least`, by IEEE 754's totalOrder.
struct TopK {
  bool least = false;        ///< selects the least elements, the least first; else the greatest first
  bool sorted = true;        ///< results in that order; else in the order of their places
  bool total_order = false;  ///< for floating-point elements
  bool nan_least = false;    ///< for floating-point elements: NaN is less than all others
};

/// Writes the k greatest elements of `in` to `values`, where k is the size of `values`, and their places to
/// `places`: values[i] is in[places[i]]. Of equal elements the one at the lowest place is selected first, so
/// results depend neither on the variant nor on other calls. Values keep their bits.
///
/// Elements are integers of 8 to 64 bits, half, bfloat16, float32 or float64; the device needs neither fp16
/// nor fp64. `in` has at most 2^32 - 65536 elements, and k is from 0 to that number. `values` has the type of
/// `in`; `places` has k elements of uint32 or uint64. No two views overlap.
///
/// If at most about one element in thirty is selected, the call reads the input once, and then parts of it.
/// Otherwise it reads the input once for each digit of 11 bits, and twice more. Temporary memory:
/// Plan::scratch_bytes. The same bits in every run. No host wait. \returns the event that completes with the
/// results. \throws Error when `values` is longer than `in`, types or sizes do not fit, a view exceeds its
/// buffer, overlaps an output or belongs to another context, or the variant cannot run. The error names the
/// argument, and nothing is enqueued.
///
/// A. Gaihre et al., "Dr. Top-k: delegate-centric top-k on GPUs", SC 2021; T. Alabi, J. D. Blanchard,
/// B. Gordon and R. Steinbach, "Fast k-selection algorithms for graphics processing units", ACM JEA 17, 2012.
SMEM_API cl::Event top_k(const Context& context, const ConstVector& in, const Vector& values,
                         const Vector& places, const TopK& which = {}, const CallOptions& options = {});

/// The same for each row of each matrix of the batch: `values` and `places` have k columns, and as many rows
/// and matrices as `in`. Places count from the beginning of the row.
SMEM_API cl::Event top_k_rows(const Context& context, const ConstMatrix& in, const Matrix& values,
                              const Matrix& places, const TopK& which = {}, const CallOptions& options = {});

/// Which element nth_element() selects: element `n`, counted from 0, of the elements in ascending order, or,
/// with `descending`, in descending order.
struct NthElement {
  std::size_t n = 0;         ///< less than the number of elements
  bool descending = false;   ///< element 0 is the greatest; NaN counts as the greatest
  bool total_order = false;  ///< for floating-point elements
  bool nan_least = false;    ///< for floating-point elements: NaN is less than all others
};

/// out[0] = the element that sort() would put at place n, with the same bits, found by selection. `out` has
/// one element of the type of `in`. All else as top_k().
SMEM_API cl::Event nth_element(const Context& context, const ConstVector& in, const Vector& out,
                               const NthElement& which, const CallOptions& options = {});

}  // namespace smem
