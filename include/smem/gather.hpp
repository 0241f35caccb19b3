/// smem: moves of elements and rows by their places.
#pragma once

#include <smem/context.hpp>
#include <smem/gather_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <cstddef>

namespace smem {

/// How places are taken.
struct PlaceOptions {
  /// Whether the call waits until the device has looked at all places, and refuses them where one is outside;
  /// then nothing is written. Without, places outside are left out: what they would move stays unwritten.
  bool check = false;
};

/// out[i] = in[places[i]]: NumPy's take. Elements of any type of 1 to 16 bytes; `out` has the type of `in`,
/// and as many elements as `places`, which are of type uint32 or uint64. `in` may have any number of
/// elements. The outputs of all these calls overlap no input.
///
/// Each element is read once and written once. No host wait, unless places are checked. \returns the event
/// after which the result is there. \throws Error when types or sizes do not fit, a checked place is outside,
/// a view leaves its buffer, overlaps an output or belongs to another context, or the variant cannot run. It
/// names the argument; nothing is written then.
SMEM_API cl::Event gather(const Context& context, const ConstVector& in, const ConstVector& places,
                          const Vector& out, const PlaceOptions& how = {}, const CallOptions& options = {});

/// out[places[i]] = in[i]: NumPy's put. `in` has as many elements as `places`; elements of `out` that no
/// place names stay as they are. Of elements that go to one place, any is there in the end. Else as gather().
SMEM_API cl::Event scatter(const Context& context, const ConstVector& in, const ConstVector& places,
                           const Vector& out, const PlaceOptions& how = {}, const CallOptions& options = {});

/// Row i of `out` = row places[i] of `in`, an embedding's look-up. `out` has as many rows as there are
/// places, and the columns of `in`; a batch of one matrix each. Else as gather().
SMEM_API cl::Event gather_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                               const Matrix& out, const PlaceOptions& how = {},
                               const CallOptions& options = {});

/// Row places[i] of `out` = row i of `in`. Else as scatter() and gather_rows().
SMEM_API cl::Event scatter_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                                const Matrix& out, const PlaceOptions& how = {},
                                const CallOptions& options = {});

/// The rows of `in` in another order, as argsort() of a column gives it: gather_rows() of as many places as
/// `in` has rows.
SMEM_API cl::Event permute_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                                const Matrix& out, const PlaceOptions& how = {},
                                const CallOptions& options = {});

/// Waits for the device. \throws Error naming the first of the `places` that is not less than `size`.
SMEM_API void check_places(const Context& context, const ConstVector& places, std::size_t size);

}  // namespace smem
