/// smem: scans over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/scan.hpp>

namespace smem::distributed {

/// out[i] = in[0] op in[1] op ... op in[i], over the elements of all ranks in their order.
///
/// Operations and types are those of smem::inclusive_scan(), also custom ones that are not commutative. `out`
/// has the layout of `in` and is not `in` itself. Collective, waits.
///
/// Each block except the last is reduced. Then each block is scanned, beginning with the total of the blocks
/// before it. So a block is read twice and written once, except the first one, which is read once. One number
/// for each block is exchanged. Integers have the same bits as on one device. Floating-point numbers have the
/// same bits for the same blocks on the same devices. \throws Error on all ranks as smem::inclusive_scan()
/// does, or when layouts differ, or data has no values or belongs to another session.
///
/// G. E. Blelloch, "Prefix sums and their applications", 1990.
SMEM_DISTRIBUTED_API void inclusive_scan(const Rows& in, Rows& out,
                                         const Reduction& operation = ReduceOp::sum);

}  // namespace smem::distributed
