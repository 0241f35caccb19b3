/// Checks of views that operations share, and the way a matrix is handed to a kernel.
#pragma once

#include "formatted.hpp"
#include "plan/sizes.hpp"
#include "runtime/runtime.hpp"

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/sizes.hpp>
#include <smem/view.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace smem::ops {

/// A vector as a matrix of one row, for the checks of views.
inline ConstMatrix as_matrix(const ConstVector& vector) {
  return {vector.buffer, vector.type, 1, vector.size, {.offset = vector.offset}};
}

// What every check that is not one of the plans' ends with.
using plan::refuse;
/// The same where a number is wrong.
template <class Number>
[[noreturn]] void refuse(const char* operation, const char* argument, std::string_view expected,
                         Number got) requires(std::is_arithmetic_v<Number>) {
  refuse(operation, argument, expected, formatted("{}", got));
}

/// The type that a view's elements are computed with. \throws Error naming `argument` when they are opaque or
/// of no known type.
Scalar number_type(const char* operation, const char* argument, const ElementType& type);

/// \throws Error naming `argument` unless its elements are those of the input `in_name`; opaque ones are of
/// as many bytes.
void check_type(const char* operation, const char* argument, const ElementType& type, const ElementType& in,
                const char* in_name = "in");

/// What is known of a view's buffer once it is checked.
struct Memory {
  cl_mem root = nullptr;   ///< the buffer itself, or the one that a sub-buffer is cut from
  std::size_t origin = 0;  ///< of the sub-buffer in it, in bytes
  std::uintptr_t host_address =
      0;                   ///< of a buffer over the caller's memory; 0: the driver's, which is aligned
  cl_mem_flags flags = 0;  ///< of the buffer, and of the one that it is cut from

  /// The largest power of two, at most 64, that divides the buffer's address.
  std::size_t alignment() const { return std::size_t{1} << std::countr_zero(64 | host_address); }
};

/// a * b + c, or the largest size when it does not fit.
inline std::size_t multiply_add(std::size_t a, std::size_t b, std::size_t c) {
  return detail::size_sum(detail::size_product(a, b), c);
}

/// \throws Error naming `argument`, when the view leaves its buffer, its rows or matrices overlap, or the
/// buffer belongs to another context, is none, or is not for kernels to read, or where `written` to write.
Memory check_view(const Context& context, const char* operation, const char* argument,
                  const ConstMatrix& view, bool written);

/// \throws Error naming `argument` when kernels may only write the buffer: for outputs that are read, too.
void require_readable(const char* operation, const char* argument, const Memory& memory);

/// \throws Error naming the written view when the two may share an element.
void check_apart(const char* operation, const ConstMatrix& in, const Memory& in_memory,
                 const ConstMatrix& out, const Memory& out_memory, const char* in_name = "in",
                 const char* out_name = "out");

/// The buffers of a call's input and output.
struct Memories {
  Memory in, out;
};
/// Checks an "in" and an "out" that share no element. \throws Error as the checks of each.
Memories check_views(const Context& context, const char* operation, const ConstMatrix& in,
                     const ConstMatrix& out);

/// \throws Error naming `argument` unless it has `wanted` elements, as the view `in_name` has.
inline void check_size(const char* operation, const char* argument, std::size_t size, std::size_t wanted,
                       const char* in_name = "in") {
  if (size != wanted) refuse(operation, argument, formatted("{} elements, as {} has", wanted, in_name), size);
}
/// \throws Error naming `argument` unless results of `needed` elements fit.
inline void check_room(const char* operation, const char* argument, std::size_t size, std::size_t needed) {
  if (size < needed) refuse(operation, argument, formatted("at least {} elements", needed), size);
}

/// \throws Error when batch counts or element types differ, or `out` is not rows x cols.
void check_shape(const char* operation, const ConstMatrix& in, const ConstMatrix& out, std::size_t rows,
                 std::size_t cols);

/// Whether rows and matrices follow each other without gaps.
inline bool is_packed(const ConstMatrix& m) {
  return (m.rows == 1 || m.pitch == m.cols) && (m.batch == 1 || m.batch_stride == m.rows * m.cols);
}

/// Whether the view has no element.
inline bool is_empty(const ConstMatrix& view) { return view.rows == 0 || view.cols == 0 || view.batch == 0; }

/// The largest power of two, at most 64, that divides the byte address of each row.
std::size_t row_alignment(const ConstMatrix& view, const Memory& memory);

/// A matrix as kernels take it: with a signed pitch, so that rows can run backwards.
struct KernelMatrix {
  cl_mem buffer;
  cl_ulong offset;
  cl_long pitch;
  cl_ulong stride;

  explicit KernelMatrix(const ConstMatrix& view)
      : buffer(view.buffer),
        offset(view.offset),
        pitch(static_cast<cl_long>(view.pitch)),
        stride(view.batch_stride) {}

  /// The same matrix from its last row to its first.
  KernelMatrix backwards(std::size_t rows) const {
    KernelMatrix m = *this;
    m.offset += (rows - 1) * static_cast<cl_ulong>(pitch);
    m.pitch = static_cast<cl_long>(0 - static_cast<cl_ulong>(pitch));
    return m;
  }
};

}  // namespace smem::ops
