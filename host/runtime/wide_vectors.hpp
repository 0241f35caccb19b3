/// Whether a CPU gains by its widest vectors.
#pragma once

namespace smem::runtime {

/// Whether this machine's cores multiply and add vectors of 64 bytes at clearly more than the rate of those
/// of 32 bytes: measured once, which takes less than a millisecond. False where there are no such vectors.
bool has_fast_wide_vectors();

}  // namespace smem::runtime
