/// smem: sorts of the rows and of the columns of matrices.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sort.hpp>
#include <smem/sort_rows_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// out: each row of each matrix of the batch, its keys in ascending order, or as `order` says. Each row as if
/// sort() had it: stable, and keys keep their own bits.
///
/// `out` has the type and shape of `keys`. They may be the very same elements; else they must not overlap.
///
/// Rows that fit local memory are read once and written once; longer ones take O(n) for each digit of 8 bits,
/// all rows at once, and temporary memory as much as the keys take and little more: Plan::scratch_bytes. The
/// same bits in every run. No host wait. \returns the event after which the result is there. \throws Error
/// when `out` has another type or shape, the bits are none of the key's, a view leaves its buffer, overlaps
/// an output or belongs to another context, or the variant cannot run. It names the argument; no kernel is
/// enqueued then.
///
/// K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; N. Satish, M. Harris and M. Garland,
/// "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.
SMEM_API cl::Event sort_rows(const Context& context, const ConstMatrix& keys, const Matrix& out,
                             const SortOrder& order = {}, const CallOptions& options = {});

/// The same of keys with values: each value goes where its key goes. `values` has the shape of `keys`, and
/// elements of any type of 1 to 16 bytes; `out_values` has its type and shape. Both, or one of them, may be
/// sorted in place.
SMEM_API cl::Event sort_pairs_rows(const Context& context, const ConstMatrix& keys, const ConstMatrix& values,
                                   const Matrix& out_keys, const Matrix& out_values,
                                   const SortOrder& order = {}, const CallOptions& options = {});

/// places: those of the keys of each row in the order that sort_rows() gives them, counted from the beginning
/// of the row. Of type uint32, or uint64, which rows of more than 2^32 keys need; of the shape of `keys`.
SMEM_API cl::Event argsort_rows(const Context& context, const ConstMatrix& keys, const Matrix& places,
                                const SortOrder& order = {}, const CallOptions& options = {});

/// out: each column of each matrix, its keys in their order. Columns become rows by a transpose into
/// temporary memory, where sort_rows() sorts them in place, and a second transpose writes them. `options` are
/// those of the sort. Else as sort_rows().
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
