/// smem: sorts of the rows and of the columns of matrices.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/sort_rows_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// Sorts each row of each matrix of the batch by itself, in ascending order or as `order` says. As in sort(),
/// equal keys keep their relative order, and keys keep their bits.
///
/// `out` has the type and shape of `keys`. It may be `keys` itself; otherwise they must not overlap.
///
/// Rows that fit local memory are read once and written once. Longer rows take O(n) for each digit of 8 bits,
/// all rows in one pass, and slightly more temporary memory than the size of the keys: Plan::scratch_bytes.
/// The same bits in every run. No host wait. \returns the event that completes with the result. \throws Error
/// when `out` has another type or shape, the selected bits exceed the key, a view exceeds its buffer,
/// overlaps an output or belongs to another context, or the variant cannot run. The error names the argument,
/// and nothing is enqueued.
///
/// K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; N. Satish, M. Harris and M. Garland,
/// "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.
SMEM_API cl::Event sort_rows(const Context& context, const ConstMatrix& keys, const Matrix& out,
                             const SortOrder& order = {}, const CallOptions& options = {});

/// Sorts keys together with values: each value moves with its key. `values` has the shape of `keys`, and
/// elements of any type of 1 to 16 bytes; `out_values` has its type and shape. Keys, values or both may be
/// sorted in place. All else as sort_rows().
SMEM_API cl::Event sort_pairs_rows(const Context& context, const ConstMatrix& keys, const ConstMatrix& values,
                                   const Matrix& out_keys, const Matrix& out_values,
                                   const SortOrder& order = {}, const CallOptions& options = {});

/// Writes the places of the keys of each row in sorted order, counted from the beginning of the row. `places`
/// has the shape of `keys`, and is uint32, or uint64, which rows of more than 2^32 keys need. All else
/// as sort_rows().
SMEM_API cl::Event argsort_rows(const Context& context, const ConstMatrix& keys, const Matrix& places,
                                const SortOrder& order = {}, const CallOptions& options = {});

/// Sorts each column of each matrix by itself. A transpose into temporary memory makes columns rows,
/// sort_rows() sorts these in place, and a second transpose writes the result. `options` apply to the sort.
/// All else as sort_rows().
SMEM_API cl::Event sort_columns(const Context& context, const ConstMatrix& keys, const Matrix& out,
                                const SortOrder& order = {}, const CallOptions& options = {});

/// As sort_pairs_rows() and sort_columns(). Values have 1, 2, 4, 8 or 16 bytes.
SMEM_API cl::Event sort_pairs_columns(const Context& context, const ConstMatrix& keys,
                                      const ConstMatrix& values, const Matrix& out_keys,
                                      const Matrix& out_values, const SortOrder& order = {},
                                      const CallOptions& options = {});

/// As argsort_rows() and sort_columns(): places are row numbers.
SMEM_API cl::Event argsort_columns(const Context& context, const ConstMatrix& keys, const Matrix& places,
                                   const SortOrder& order = {}, const CallOptions& options = {});

}  // namespace smem
