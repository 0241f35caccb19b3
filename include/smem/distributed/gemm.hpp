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
  /// The most rows of B that are multiplied at a time; 0: as many as a block of B has, at most 1024.
  std::size_t panel = 0;
  /// Ranks in a row of the grid of ranks: a divisor of their number. 0: by the shape.
  std::size_t grid_columns = 0;
};

/// C = alpha A B + beta C: A is m x k, B is k x n, C is m x n, all by blocks of rows; A and C in one layout,
/// B in any. Types as of smem::gemm(), but C has the type of sums: float32, float64 or int32.
///
/// Collective, waits. SUMMA: the ranks form a grid of `pr` rows and `pc` columns, rank r in row r / pc. A
/// rank computes the columns of C that belong to its column of the grid, in all rows of C that ranks of its
/// row of the grid hold. Panels of A go round the rows of the grid, panels of B along its columns, each while
/// the ones before it are multiplied; then sums go to the ranks that hold their rows. Of even layouts a rank
/// receives m k (pc - 1) / P elements of A, less than k n / pc of B and m n (pc - 1) / (pc P) sums, and holds
/// three panels of both and m n / P sums. `pc` is the divisor of P for which multiplications and exchange
/// take least by the assumed rates of MachineRates: 1 where B is small, more on many ranks, for short and
/// wide products, and where few ranks hold all rows.
///
/// int32 has the same bits as on one device; floating-point sums are made panel by panel: the same bits for
/// the same ranks and blocks on the same devices. \throws Error on all ranks when shapes, types or layouts do
/// not fit, grid_columns does not divide the ranks, or A, B, or for beta C, has no values.
///
/// R. A. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency:
/// Practice and Experience 9, 1997.
SMEM_DISTRIBUTED_API void gemm(const Rows& a, const Rows& b, Rows& c, const Product& product = {});

}  // namespace smem::distributed
