/// What descriptions of reductions and scans share: operations, types of results, and numbers whose results
/// are exact.
#pragma once

#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include <smem/reduce_plan.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smem::operations {

/// A vector or a matrix.
struct Extents {
  bool is_matrix = false;
  std::size_t rows = 1, cols = 0, batch = 1;

  std::size_t elements() const { return detail::size_product(rows, cols, batch); }
  /// "3 of 100 x 200", "70001".
  std::string text() const;
};

/// Words of an array's shape, type and of how many there are, and `more`. \throws Error naming the batch of a
/// vector.
std::vector<WordRule> extent_rules(const std::vector<WordRule>& more);
Extents extents_of(std::string_view operation, const Words& words);

/// A word for an operation from sum to `last`.
WordRule reduction_rule(ReduceOp last);

/// Of sums and products of integers the widest; float32 for sums, means and norms of floats.
Scalar usual_result(ReduceOp op, Scalar in);

/// Numbers of `type` whose results, of `count` elements each, are exact.
Fill fill_for(ReduceOp op, Scalar type, std::size_t count);

/// Whole numbers whose runs have `mean` elements in the mean: a number begins one, and so does the zero after
/// it, 2 q - q^2 of the elements.
Fill runs_of(double mean);

/// `a`, which is an identity or a result, and the element `b`, by one of sum to all.
double combined(ReduceOp op, double a, double b);

/// The variants of reductions.
std::vector<Step> reduction_steps();
/// Variants whose programs differ: of the three variants with trees, which differ in the tree alone, one.
std::vector<std::string> reduction_variants(ReduceOp op, Scalar type);

}  // namespace smem::operations
