/// smem: transpose over all ranks.
#pragma once

#include <smem/distributed/data.hpp>

namespace smem::distributed {

/// out[j][i] = in[i][j]: `in` is rows x cols, `out` cols x rows, both by blocks of rows in any layout, of
/// elements of any type of 1, 2, 4, 8 or 16 bytes.
///
/// Collective, waits. Each pair of a block of `in` and a block of `out` has a tile, which the device of the
/// input transposes. Tiles between ranks travel as one message each: (ranks - 1) / ranks of the matrix for
/// even layouts, while other tiles are transposed. Temporary memory for the messages under way.
/// \throws Error on all ranks when shapes or types differ, or `in` has no values.
SMEM_DISTRIBUTED_API void transpose(const Rows& in, Rows& out);

}  // namespace smem::distributed
