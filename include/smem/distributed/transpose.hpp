/// smem: transpose over all ranks.
#pragma once

#include <smem/distributed/data.hpp>

namespace smem::distributed {

/// out[j][i] = in[i][j]: `in` is rows x cols, `out` is cols x rows, both divided into blocks of rows in any
/// layout. Elements have any type of 1, 2, 4, 8 or 16 bytes.
///
/// Collective, waits. Each pair of a block of `in` and a block of `out` shares a tile, which the device with
/// the input transposes. A tile for another rank is sent as one message, while other tiles are transposed;
/// with even layouts (ranks - 1) / ranks of the matrix are sent. Temporary memory holds the messages that are
/// being sent. \throws Error on all ranks when shapes or types differ, or `in` has no values.
SMEM_DISTRIBUTED_API void transpose(const Rows& in, Rows& out);

}  // namespace smem::distributed
