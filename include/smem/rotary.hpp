/// smem: rotary position embedding.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/rotary_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>

namespace smem {

/// A rotary position embedding.
struct Rotary {
  std::size_t head_size = 0;  ///< elements of a head; a row has several heads; 0: the row is one head
  std::size_t rotated = 0;    ///< how many first elements of a head are rotated: even, up to 65536; 0: all
  RotaryPairs pairs = RotaryPairs::halves;  ///< which elements are rotated together
  double base = 10000;                      ///< of the angles; 1 or more
  double scale = 1;                         ///< of positions: -1 undoes a rotation; from -1024 to 1024
  /// The position of row 0 of each matrix, if no positions are given: from -2^31 to 2^31.
  std::int64_t first_position = 0;
  /// The position of each row, int32: `rows` positions, which all matrices share, or rows * batch. Empty: row
  /// r has position first_position + r.
  ConstVector positions = {};
};

/// Rotates pair k of each head, (x, y), by the angle a = scale * position * base^(-2 k / rotated):
/// to (x cos a - y sin a, y cos a + x sin a). Other elements of a head are copied.
///
/// Rows are tokens: [tokens, heads, head size] is a matrix of `tokens` rows of heads * head_size elements,
/// with any pitch, and a batch of such matrices; [heads, tokens, head size] is a batch of `heads` matrices.
/// `in` is half, bfloat16 or float32. `out` has its type and shape, and may be `in` itself. Arithmetic is
/// float32. Angles are computed modulo one turn by integer products modulo 2^64, so with a scale of 1 cosines
/// are accurate to 1e-6 at all 32-bit positions. No table of cosines is read.
///
/// Each element is read once and written once. No host wait, no temporary memory. A plan gives the same bits
/// in every run. \returns the event that completes with the results. \throws Error when shapes or types do
/// not fit, a number of `what` is out of its range, a row has more than 2^30 elements, a view exceeds its
/// buffer or belongs to another context, `out` overlaps the positions, or `in` without being `in`, or the
/// variant cannot run. The error names the argument, and nothing is enqueued.
///
/// J. Su et al., "RoFormer: Enhanced transformer with rotary position embedding", 2021.
SMEM_API cl::Event rotary(const Context& context, const ConstMatrix& in, const Matrix& out,
                          const Rotary& what = {}, const CallOptions& options = {});

}  // namespace smem
