/// smem: products of matrices over all ranks.
#pragma once

#include <smem/distributed/data.hpp>

#include <cstddef>

namespace smem::distributed {

/// A distributed product: C = alpha A B + beta C.
struct Product {
  double alpha = 1;   ///< of the product
  double beta = 0;    ///< 0: C is not read
  bool tf32 = false;  ///< as Gemm::tf32
  /// Rows of B that are multiplied at a time; 0: as many as a block of B has, at most 1024.
  std::size_t panel = 0;
};

/// C = alpha A B + beta C: A is m x k, B is k x n, C is m x n, all by blocks of rows; A and C in one layout,
/// B in any. Types as of smem::gemm(), but C has the type of sums: float32, float64 or int32.
///
/// Collective, waits. The SUMMA scheme on a column of ranks: C stays where it is, and B goes round the ring
/// of ranks in panels of rows, each while the ones before it are multiplied; a rank receives and sends B
/// once, n * k elements, and holds three panels of it. int32 has the same bits as on one device;
/// floating-point sums are made panel by panel: the same bits for the same blocks on the same devices.
/// \throws Error on all ranks when shapes, types or layouts do not fit, or A, B, or for beta C, has no
/// values.
///
/// R. A. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency:
/// Practice and Experience 9, 1997.
SMEM_DISTRIBUTED_API void gemm(const Rows& a, const Rows& b, Rows& c, const Product& product = {});

}  // namespace smem::distributed
