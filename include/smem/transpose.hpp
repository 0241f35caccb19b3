/// smem: transpose.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/transpose_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

namespace smem {

/// out[j][i] = in[i][j], for every matrix of the batch: `in` is rows x cols, `out` is cols x rows.
///
/// Elements of any type of 1, 2, 4, 8 or 16 bytes. Views may have any offset, pitch and batch stride; nothing
/// is written between the rows. No host wait, no temporary memory; reads and writes each element once. An
/// empty matrix is a no-op, whose event completes with the wait list. \returns the event of the kernel.
/// \throws Error when shapes, batches or element types differ, a view leaves its buffer, input and output
/// overlap, or a buffer belongs to another context; nothing is enqueued then.
///
/// The tile in local memory that makes both the reads and the writes contiguous is from G. Ruetsch and
/// P. Micikevicius, "Optimizing Matrix Transpose in CUDA", NVIDIA, 2009.
SMEM_API cl::Event transpose(const Context& context, const ConstMatrix& in, const Matrix& out,
                             const CallOptions& options = {});

/// Exchanges rows and columns of square matrices where they lie. As transpose(), without a second buffer.
/// \throws Error also when the matrices are not square.
SMEM_API cl::Event transpose_in_place(const Context& context, const Matrix& matrix,
                                      const CallOptions& options = {});

}  // namespace smem
