/// What gemm and complex_gemm share: the shape of a product.
#pragma once

#include "formatted.hpp"
#include "ops/views.hpp"

#include <smem/gemm.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <string>

namespace smem::ops {

/// An m x n result of k products each. `turned`: matrices are column-major.
struct ProductShape {
  bool turned = false;
  std::size_t m = 0, n = 0, k = 0;
};

/// \throws Error unless the matrices' shapes fit each other.
template <class Product>
ProductShape check_product(const char* operation, const Product& product, const ConstMatrix& a,
                           const ConstMatrix& b, const Matrix& c) {
  const bool turned = product.order == Order::column_major;
  if (!turned && product.order != Order::row_major) {
    refuse(operation, "order", "row_major or column_major",
           formatted("number {}", static_cast<int>(product.order)));
  }
  // Rows and columns of the matrices, whatever the order in memory.
  const auto rows = [&](const ConstMatrix& view) { return turned ? view.cols : view.rows; };
  const auto cols = [&](const ConstMatrix& view) { return turned ? view.rows : view.cols; };
  const std::size_t m = product.transpose_a ? cols(a) : rows(a);
  const std::size_t k = product.transpose_a ? rows(a) : cols(a);
  const std::size_t b_rows = product.transpose_b ? cols(b) : rows(b);
  const std::size_t n = product.transpose_b ? rows(b) : cols(b);
  const auto named = [](const char* name, bool transposed) {
    return transposed ? formatted("the transpose of {}", name) : std::string(name);
  };
  if (b_rows != k) {
    refuse(operation, "b",
           formatted("{} rows of {}, as {} has columns", k, named("b", product.transpose_b),
                     named("a", product.transpose_a)),
           b_rows);
  }
  if (rows(c) != m || cols(c) != n)
    refuse(operation, "c", formatted("{} x {}", m, n), formatted("{} x {}", rows(c), cols(c)));
  return {turned, m, n, k};
}

}  // namespace smem::ops
