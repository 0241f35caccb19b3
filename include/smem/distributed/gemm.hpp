/// smem: matrix products over all ranks.
#pragma once

#include <smem/distributed/data.hpp>

#include <cstddef>

namespace smem::distributed {

/// A distributed product: C = alpha A B + beta C.
struct Product {
  double alpha = 1;   ///< factor of the product
  double beta = 0;    ///< 0: C is not read
  bool tf32 = false;  ///< as Gemm::tf32
  /// The most rows of B that are multiplied at a time; 0: as many as a block of B has, at most 1024.
  std::size_t panel = 0;
  /// Ranks in a row of the grid of ranks: a divisor of the number of ranks. 0: chosen by the shape.
  std::size_t grid_columns = 0;
};

/// C = alpha A B + beta C: A is m x k, B is k x n, C is m x n, all divided into blocks of rows; A and C have
/// the same layout, B any. Types are those of smem::gemm(), except that C has the type of the sums: float32,
/// float64 or int32.
///
/// Collective, waits. SUMMA: the ranks form a grid of `pr` rows and `pc` columns, rank r in row r / pc. A
/// rank computes the columns of C that belong to its column of the grid, in all rows of C that ranks of its
/// row of the grid hold. Panels of A are sent along the rows of the grid and panels of B along its columns,
/// while the panels before them are multiplied; then sums are sent to the ranks that hold their rows. With
/// even layouts a rank receives m k (pc - 1) / P elements of A, less than k n / pc of B and m n (pc - 1) /
/// (pc P) sums, and holds three panels of both and m n / P sums. `pc` is the divisor of P for which the
/// predicted time of multiplication and exchange is least, by the default rates of MachineRates: 1 if B is
/// small, more on many ranks, for short and wide products, and if few ranks hold all rows.
///
/// int32 results have the same bits as on one device. Floating-point sums are computed panel by panel: the
/// same ranks, blocks and devices give the same bits. \throws Error on all ranks when shapes, types or
/// layouts do not fit, grid_columns does not divide the number of ranks, or A, B or, unless beta is 0, C has
/// no values.
///
/// R. A. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", Concurrency:
/// Practice and Experience 9, 1997.
SMEM_DISTRIBUTED_API void gemm(const Rows& a, const Rows& b, Rows& c, const Product& product = {});

}  // namespace smem::distributed
