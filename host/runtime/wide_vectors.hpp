/// What the vectors of this machine's cores do.
#pragma once

namespace smem::runtime {

/// Whether this machine's cores multiply and add vectors of 64 bytes at clearly more than the rate of those
/// of 32 bytes: measured once, which takes less than a millisecond. False where there are no such vectors.
bool has_fast_wide_vectors();

/// Whether they have AVX-512 VNNI, for all sizes of vectors, and AVX-VNNI.
bool has_avx512_vnni();
bool has_avx_vnni();

}  // namespace smem::runtime
