/// smem: the greatest or least elements of vectors and of rows, by selection.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/top_k_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// Which elements top_k() selects, and how it orders them.
///
/// Elements are ordered as sort() orders keys: floating-point ones by their values, -0 equal to 0, and NaN
/// greater than all else and equal to any other NaN; with `total_order` as IEEE 754's totalOrder has it.
struct TopK {
  bool least = false;        ///< the least elements, the least first; else the greatest, the greatest first
  bool sorted = true;        ///< results in that order; else in the order of their places
  bool total_order = false;  ///< of floating-point elements
};

/// values: the k greatest elements of `in`, k being how many `values` has, and places: where they are, so
/// that values[i] is in[places[i]]. Of equal elements those at the lowest places are selected, and come
/// first. So results do not depend on the variant, nor on what else is computed beside them. Each value keeps
/// its own bits.
///
/// Elements are integers of 8 to 64 bits, half, bfloat16, float32 or float64; no device needs fp16 or fp64
/// for them. At most 2^32 - 65536 of them, and from 0 to all of them are selected. `values` has the type of
/// `in`; `places` is as long, of uint32 or uint64. No two views overlap.
///
/// Few results of many elements take one reading of these; else each digit of 11 bits takes one. Temporary
/// memory, as the plan states: Plan::scratch_bytes. The same bits in every run. No host wait. \returns the
/// event after which the results are there. \throws Error when `values` is longer than `in`, types or sizes
/// do not fit, a view leaves its buffer, overlaps an output or belongs to another context, or the variant
/// cannot run. It names the argument; no kernel is enqueued then.
///
/// A. Gaihre et al., "Dr. Top-k: delegate-centric top-k on GPUs", SC 2021; T. Alabi, J. D. Blanchard,
/// B. Gordon and R. Steinbach, "Fast k-selection algorithms for graphics processing units", ACM JEA 17, 2012.
SMEM_API cl::Event top_k(const Context& context, const ConstVector& in, const Vector& values,
                         const Vector& places, const TopK& which = {}, const CallOptions& options = {});

/// The same of each row of each matrix of the batch: values and places have k columns, and the rows and
/// matrices of `in`. Places count from the beginning of their row.
SMEM_API cl::Event top_k_rows(const Context& context, const ConstMatrix& in, const Matrix& values,
                              const Matrix& places, const TopK& which = {}, const CallOptions& options = {});

/// Which element nth_element() selects: the one at place `n`, from 0 on, of the elements in ascending order,
/// or with `descending` in descending order.
struct NthElement {
  std::size_t n = 0;         ///< less than the number of elements
  bool descending = false;   ///< the greatest element has place 0; NaN counts as the greatest
  bool total_order = false;  ///< of floating-point elements
};

/// out[0]: the element that sort() would put at place n, with the same bits, found by selection. `out` has
/// one element of the type of `in`. Else as top_k().
SMEM_API cl::Event nth_element(const Context& context, const ConstVector& in, const Vector& out,
                               const NthElement& which, const CallOptions& options = {});

}  // namespace smem
