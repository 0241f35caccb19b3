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
  std::size_t head_size = 0;  ///< elements of a head, of which a row has several; 0: all of the row
  std::size_t rotated = 0;    ///< even: the first elements of a head, which are rotated; 0: all
  RotaryPairs pairs = RotaryPairs::halves;  ///< which elements are rotated together
  double base = 10000;                      ///< above 0: of the angles
  double scale = 1;                         ///< of positions: -1 undoes a rotation. At most 1024 in size
  /// The position of row 0 of each matrix, where no positions are given: at most 2^31 in size.
  std::int64_t first_position = 0;
  /// The position of each row, int32: `rows` of them, which all matrices share, or rows * batch. Empty: row r
  /// has position first_position + r.
  ConstVector positions = {};
};

/// Rotates pair k of each head of a row, (x, y), by the angle a = scale * position * base^(-2 k / rotated):
/// to (x cos a - y sin a, y cos a + x sin a). Other elements of heads are copied.
///
/// Rows are tokens: [tokens, heads, head size] is a matrix of `tokens` rows of heads * head_size elements,
/// with any pitch, and a batch of them; [heads, tokens, head size] is a batch of `heads` matrices. `in`:
/// half, bfloat16 or float32; `out`: the same type and shape; it may be `in` itself. Computed in float32.
/// Angles are found by products of whole numbers modulo 2^64, which are modulo one turn: cosines are right to
/// 1e-6 at all positions of 32 bits, with a scale of 1. No table of cosines is read.
///
/// Each element is read once and written once. No host wait, and no temporary memory. The same bits in every
/// run of the same plan. \returns the event after which the results are there. \throws Error when shapes or
/// types do not fit, a number of `what` is out of its range, a view leaves its buffer or belongs to another
/// context, `out` overlaps `in` without being `in`, or the positions, or the variant cannot run; it names the
/// argument, and nothing is enqueued then.
///
/// J. Su et al., "RoFormer: Enhanced transformer with rotary position embedding", 2021.
SMEM_API cl::Event rotary(const Context& context, const ConstMatrix& in, const Matrix& out,
                          const Rotary& what = {}, const CallOptions& options = {});

}  // namespace smem
