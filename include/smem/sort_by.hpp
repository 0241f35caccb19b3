/// smem: sorts of vectors by a caller's comparison.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort_by_plan.hpp>
#include <smem/view.hpp>

#include <string>

namespace smem {

/// Which of two elements comes first.
struct Comparison {
  /// An expression in OpenCL C of elements `a` and `b`, not zero where `a` must come before `b`: "a < b",
  /// "a.x < b.x". Its functions can be called.
  std::string precedes = {};
  /// The elements' type in OpenCL C: "float2", "uchar4". Of numbers it may be left out.
  std::string type = {};
};

/// out: the elements of `in` in the order of a comparison. Stable: elements of which none must come first
/// stay in their order.
///
/// Elements are numbers but half and bfloat16, or opaque ones of 1, 2, 4, 8 or 16 bytes, of which `order`
/// says the type. `out` has the type and size of `in`. They may be the very same elements; else they must not
/// overlap. The comparison must be a strict weak order. Where it is none, the call ends all the same, and
/// `out` has some of the elements in any order.
///
/// O(n log n): merge sort. Keys that are numbers sort() sorts faster. Temporary memory: as much as the
/// elements take. The same bits in every run. No host wait. \returns the event after which the result is
/// there. \throws Error when types or sizes do not fit, the device has no fp64 and the type is a double, the
/// comparison does not compile, a view leaves its buffer, overlaps an output or belongs to another context,
/// or the variant cannot run. It names the argument; no kernel is enqueued then.
///
/// O. Green, R. McColl and D. A. Bader, "GPU Merge Path: a GPU merging algorithm", ICS 2012.
SMEM_API cl::Event sort_by(const Context& context, const ConstVector& in, const Vector& out,
                           const Comparison& order, const CallOptions& options = {});

}  // namespace smem
