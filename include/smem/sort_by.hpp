/// smem: sorts of vectors by a comparison of the caller.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort_by_plan.hpp>
#include <smem/view.hpp>

#include <string>

namespace smem {

/// Which of two elements comes first.
struct Comparison {
  /// An expression in OpenCL C of elements `a` and `b`, not zero if `a` must precede `b`: "a < b",
  /// "a.x < b.x". It may call the functions of OpenCL C. At most 16384 characters, and 1000 prefix operators
  /// and casts.
  std::string precedes = {};
  /// The type of the elements in OpenCL C: "float2", "uchar4". Empty: that of the view, which has numbers.
  std::string type = {};
};

/// Sorts the elements of `in` by a comparison. The sort is stable: equivalent elements keep their relative
/// order.
///
/// Elements are integers, float32 or float64, or elements of 1, 2, 4, 8 or 16 bytes of the type that `order`
/// names: a number or vector of OpenCL C, but not of half. `out` has the type and size of `in`. It may be
/// `in` itself; otherwise they must not overlap. The comparison must be a strict weak ordering. Otherwise the
/// call still ends, and `out` receives some of the elements in any order.
///
/// O(n log n): merge sort. For numbers, sort() is faster. Temporary memory: the size of the elements. The
/// same bits in every run. No host wait. \returns the event that completes with the result. \throws Error
/// when types or sizes do not fit, the type is double and the device has no fp64, the comparison does not
/// compile, a view exceeds its buffer, overlaps an output or belongs to another context, or the variant
/// cannot run. The error names the argument, and nothing is enqueued.
///
/// O. Green, R. McColl and D. A. Bader, "GPU Merge Path: a GPU merging algorithm", ICS 2012.
SMEM_API cl::Event sort_by(const Context& context, const ConstVector& in, const Vector& out,
                           const Comparison& order, const CallOptions& options = {});

}  // namespace smem
