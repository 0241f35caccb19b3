/// smem: views say where data lies in a buffer. They own nothing; OpenCL keeps a buffer alive while an
/// enqueued command uses it.
#pragma once

#include <smem/opencl.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <type_traits>

namespace smem {

/// How the matrices of a view lie in its buffer. All in elements.
struct Extent {
  std::size_t offset = 0;  ///< elements before the first one of the view
  std::size_t pitch = 0;   ///< from one row to the next, the "leading dimension"; 0: packed, that is cols
  std::size_t batch = 1;   ///< number of matrices
  std::size_t batch_stride = 0;  ///< from one matrix to the next; 0: packed, that is rows * pitch
};

/// One or more row-major matrices of untyped elements.
struct Matrix {
  cl_mem buffer = nullptr;        ///< not owned; one that kernels may read, or write
  std::size_t element_bytes = 0;  ///< 1, 2, 4, 8 or 16 in most calls
  std::size_t rows = 0;           ///< of a matrix
  std::size_t cols = 0;           ///< elements in a row
  std::size_t offset = 0;         ///< elements
  std::size_t pitch = 0;          ///< elements, at least cols
  std::size_t batch = 1;          ///< matrices
  std::size_t batch_stride = 0;   ///< elements

  Matrix() = default;
  /// Where the extent says 0, rows and matrices follow each other.
  Matrix(cl_mem memory, std::size_t bytes_of_an_element, std::size_t row_count, std::size_t col_count,
         const Extent& extent = {})
      : buffer(memory),
        element_bytes(bytes_of_an_element),
        rows(row_count),
        cols(col_count),
        offset(extent.offset),
        pitch(extent.pitch == 0 ? col_count : extent.pitch),
        batch(extent.batch),
        batch_stride(extent.batch_stride == 0 ? detail::size_product(row_count, pitch)
                                              : extent.batch_stride) {}
};

/// Row-major matrices of T in any OpenCL buffer, smem's or the caller's own. `MatrixView<const T>` is an
/// input.
template <class T>
struct MatrixView : Matrix {
  static_assert(std::is_trivially_copyable_v<T>, "the elements of a buffer are copied byte by byte");

  MatrixView() { element_bytes = sizeof(T); }
  /// A view of the caller's buffer.
  MatrixView(const cl::Buffer& memory, std::size_t row_count, std::size_t col_count,
             const Extent& extent = {})
      : Matrix(memory(), sizeof(T), row_count, col_count, extent) {}
  /// The same of a handle.
  MatrixView(cl_mem memory, std::size_t row_count, std::size_t col_count, const Extent& extent = {})
      : Matrix(memory, sizeof(T), row_count, col_count, extent) {}

  /// A view for writing can be read.
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return MatrixView<const T>(buffer, rows, cols, {offset, pitch, batch, batch_stride});
  }
};

/// Numbers that follow each other.
struct Vector {
  cl_mem buffer = nullptr;        ///< not owned; one that kernels may read, or write
  Scalar type = Scalar::float32;  ///< of an element
  std::size_t offset = 0;         ///< elements before the first one
  std::size_t size = 0;           ///< elements

  Vector() = default;
  /// A view of a handle, from element `first` on.
  Vector(cl_mem memory, Scalar type_of_an_element, std::size_t element_count, std::size_t first = 0)
      : buffer(memory), type(type_of_an_element), offset(first), size(element_count) {}
};

/// `size` elements of T from `offset` on, in any OpenCL buffer. `VectorView<const T>` is an input.
template <class T>
struct VectorView : Vector {
  VectorView() { type = scalar_of<T>; }
  /// A view of the caller's buffer, from element `first` on.
  VectorView(const cl::Buffer& memory, std::size_t element_count, std::size_t first = 0)
      : Vector(memory(), scalar_of<T>, element_count, first) {}
  /// The same of a handle.
  VectorView(cl_mem memory, std::size_t element_count, std::size_t first = 0)
      : Vector(memory, scalar_of<T>, element_count, first) {}

  /// A view for writing can be read.
  operator VectorView<const T>() const requires(!std::is_const_v<T>) {
    return VectorView<const T>(buffer, size, offset);
  }
};

}  // namespace smem
