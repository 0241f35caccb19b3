/// smem: views say where data lies in a buffer. They own nothing; OpenCL keeps a buffer alive while an
/// enqueued command uses it. ConstVector, ConstMatrix and ConstGrid are inputs; Vector, Matrix and Grid are
/// outputs, which can be read too. An output is always somewhere: it has no default.
#pragma once

#include <smem/element.hpp>
#include <smem/opencl.hpp>
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

/// One or more row-major matrices, as an input.
struct ConstMatrix {
  cl_mem buffer = nullptr;       ///< not owned
  ElementType type = {};         ///< of an element
  std::size_t rows = 0;          ///< of a matrix
  std::size_t cols = 0;          ///< elements in a row
  std::size_t offset = 0;        ///< elements before the first one
  std::size_t pitch = 0;         ///< elements, at least cols
  std::size_t batch = 1;         ///< matrices
  std::size_t batch_stride = 0;  ///< elements

  ConstMatrix() = default;
  /// Where the extent says 0, rows and matrices follow each other.
  ConstMatrix(cl_mem memory, ElementType element, std::size_t row_count, std::size_t col_count,
              const Extent& extent = {})
      : buffer(memory),
        type(element),
        rows(row_count),
        cols(col_count),
        offset(extent.offset),
        pitch(extent.pitch == 0 ? col_count : extent.pitch),
        batch(extent.batch),
        batch_stride(extent.batch_stride == 0 ? detail::size_product(row_count, pitch)
                                              : extent.batch_stride) {}
};

/// One or more row-major matrices, as an output.
struct Matrix : ConstMatrix {
  /// As of ConstMatrix.
  Matrix(cl_mem memory, ElementType element, std::size_t row_count, std::size_t col_count,
         const Extent& extent = {})
      : ConstMatrix(memory, element, row_count, col_count, extent) {}
  /// A view for reading is no output.
  Matrix(const ConstMatrix&) = delete;  // no output: its elements are const
};

/// Row-major matrices of T in any OpenCL buffer, smem's or the caller's own; of const T an input.
template <class T>
struct MatrixView : detail::ViewBase<T, ConstMatrix, Matrix> {
  using value_type = std::remove_const_t<T>;  ///< of an element

  /// A view of the caller's buffer.
  MatrixView(const cl::Buffer& memory, std::size_t row_count, std::size_t col_count,
             const Extent& extent = {})
      : MatrixView(memory(), row_count, col_count, extent) {}
  /// The same of a handle.
  MatrixView(cl_mem memory, std::size_t row_count, std::size_t col_count, const Extent& extent = {})
      : detail::ViewBase<T, ConstMatrix, Matrix>(memory, element_of<T>, row_count, col_count, extent) {}

  /// A view for writing can be read.
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {this->buffer, this->rows, this->cols,
            Extent{this->offset, this->pitch, this->batch, this->batch_stride}};
  }
};

/// Elements that follow each other, as an input.
struct ConstVector {
  cl_mem buffer = nullptr;  ///< not owned
  ElementType type = {};    ///< of an element
  std::size_t offset = 0;   ///< elements before the first one
  std::size_t size = 0;     ///< elements

  ConstVector() = default;
  /// From element `first` on.
  ConstVector(cl_mem memory, ElementType element, std::size_t element_count, std::size_t first = 0)
      : buffer(memory), type(element), offset(first), size(element_count) {}
};

/// Elements that follow each other, as an output.
struct Vector : ConstVector {
  /// As of ConstVector.
  Vector(cl_mem memory, ElementType element, std::size_t element_count, std::size_t first = 0)
      : ConstVector(memory, element, element_count, first) {}
  /// A view for reading is no output.
  Vector(const ConstVector&) = delete;  // no output: its elements are const
};

/// `size` elements of T from `offset` on, in any OpenCL buffer; of const T an input.
template <class T>
struct VectorView : detail::ViewBase<T, ConstVector, Vector> {
  using value_type = std::remove_const_t<T>;  ///< of an element

  /// A view of the caller's buffer, from element `first` on.
  VectorView(const cl::Buffer& memory, std::size_t element_count, std::size_t first = 0)
      : VectorView(memory(), element_count, first) {}
  /// The same of a handle.
  VectorView(cl_mem memory, std::size_t element_count, std::size_t first = 0)
      : detail::ViewBase<T, ConstVector, Vector>(memory, element_of<T>, element_count, first) {}

  /// A view for writing can be read.
  operator VectorView<const T>() const requires(!std::is_const_v<T>) {
    return {this->buffer, this->size, this->offset};
  }
};

}  // namespace smem
