/// smem: gathers and scatters elements and rows by index.
#pragma once

#include <smem/context.hpp>
#include <smem/gather_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// How invalid places are treated.
struct PlaceOptions {
  /// Validates all places first, and throws if one is out of range; the host waits for the device then. By
  /// default, places out of range are skipped: their elements are not written.
  bool check = false;
};

/// out[i] = in[places[i]]: NumPy's take. Elements of any type of 1 to 16 bytes; `out` has the type of `in`,
/// and as many elements as `places`, which is uint32 or uint64. `in` may have any number of elements. In all
/// calls of this header, outputs overlap no input.
///
/// Each element is read once and written once. No host wait, unless `check` is set. \returns the event that
/// completes with the result. \throws Error when types or sizes do not fit, a checked place is out of range,
/// a view exceeds its buffer, overlaps an output or belongs to another context, or the variant cannot run.
/// The error names the argument, and nothing is written.
SMEM_API cl::Event gather(const Context& context, const ConstVector& in, const ConstVector& places,
                          const Vector& out, const PlaceOptions& how = {}, const CallOptions& options = {});

/// out[places[i]] = in[i]: NumPy's put. `in` has as many elements as `places`. Elements of `out` at no place
/// do not change. If several elements have the same place, one of them is written. All else as gather().
SMEM_API cl::Event scatter(const Context& context, const ConstVector& in, const ConstVector& places,
                           const Vector& out, const PlaceOptions& how = {}, const CallOptions& options = {});

/// Row i of `out` = row places[i] of `in`: an embedding look-up. `out` has as many rows as `places` has
/// elements, and as many columns as `in`. Both are single matrices. All else as gather().
SMEM_API cl::Event gather_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                               const Matrix& out, const PlaceOptions& how = {},
                               const CallOptions& options = {});

/// Row places[i] of `out` = row i of `in`. All else as scatter() and gather_rows().
SMEM_API cl::Event scatter_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                                const Matrix& out, const PlaceOptions& how = {},
                                const CallOptions& options = {});

/// Permutes the rows of `in`, for example by argsort() of a column: gather_rows() with as many places as `in`
/// has rows. All else as gather_rows().
SMEM_API cl::Event permute_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                                const Matrix& out, const PlaceOptions& how = {},
                                const CallOptions& options = {});

/// Checks places, and waits for the device. \throws Error naming the first of the `places` that is not less
/// than `size`.
SMEM_API void check_places(const Context& context, const ConstVector& places, std::size_t size);

}  // namespace smem
