/// smem: grids of one to three dimensions in a buffer: signals, images, volumes.
#pragma once

#include <smem/element.hpp>
#include <smem/opencl.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <type_traits>

namespace smem {

/// Cells along each dimension. What is not there is 1.
struct GridSize {
  std::size_t width = 0;   ///< along a row, where cells are neighbours in memory
  std::size_t height = 1;  ///< rows; 1 in one dimension
  std::size_t depth = 1;   ///< planes; 1 in one or two dimensions
  friend bool operator==(const GridSize&, const GridSize&) = default;
};

/// How grids lie in their buffer. All in elements; a cell of an image of four channels has four.
struct GridLayout {
  std::size_t channels = 1;      ///< interleaved in each cell: 1 to 4; more in conv2d() only
  std::size_t offset = 0;        ///< before the first one
  std::size_t pitch = 0;         ///< from one row to the next; 0: packed, that is width * channels
  std::size_t plane = 0;         ///< from one plane to the next; 0: packed, that is height * pitch
  std::size_t batch = 1;         ///< number of grids: planar channels, or pictures of one size
  std::size_t batch_stride = 0;  ///< from one grid to the next; 0: packed, that is depth * plane
};

/// One or more grids, as an input.
struct ConstGrid {
  cl_mem buffer = nullptr;       ///< not owned
  ElementType type = {};         ///< of an element
  GridSize size = {};            ///< of one grid
  std::size_t channels = 1;      ///< elements of a cell, side by side
  std::size_t offset = 0;        ///< elements before the first cell
  std::size_t pitch = 0;         ///< elements, at least width * channels
  std::size_t plane = 0;         ///< elements from one plane to the next
  std::size_t batch = 1;         ///< grids
  std::size_t batch_stride = 0;  ///< elements from one grid to the next

  ConstGrid() = default;
  /// Where the layout says 0, rows, planes and grids follow each other.
  ConstGrid(cl_mem memory, ElementType element, const GridSize& cells, const GridLayout& layout = {})
      : buffer(memory),
        type(element),
        size(cells),
        channels(layout.channels),
        offset(layout.offset),
        pitch(layout.pitch == 0 ? detail::size_product(cells.width, layout.channels) : layout.pitch),
        plane(layout.plane == 0 ? detail::size_product(cells.height, pitch) : layout.plane),
        batch(layout.batch),
        batch_stride(layout.batch_stride == 0 ? detail::size_product(cells.depth, plane)
                                              : layout.batch_stride) {}

  /// Elements of a row that hold data.
  std::size_t row_elements() const { return detail::size_product(size.width, channels); }
};

/// One or more grids, as an output.
struct Grid : ConstGrid {
  /// As of ConstGrid.
  Grid(cl_mem memory, ElementType element, const GridSize& cells, const GridLayout& layout = {})
      : ConstGrid(memory, element, cells, layout) {}
  /// A view for reading is no output.
  Grid(const ConstGrid&) = delete;  // no output: its elements are const
};

/// Grids of T in any OpenCL buffer, smem's or the caller's own; of const T an input.
template <class T>
struct GridView : detail::ViewBase<T, ConstGrid, Grid> {
  using value_type = std::remove_const_t<T>;  ///< of an element

  /// A view of the caller's buffer.
  GridView(const cl::Buffer& memory, const GridSize& cells, const GridLayout& layout = {})
      : GridView(memory(), cells, layout) {}
  /// The same of a handle.
  GridView(cl_mem memory, const GridSize& cells, const GridLayout& layout = {})
      : detail::ViewBase<T, ConstGrid, Grid>(memory, element_of<T>, cells, layout) {}

  /// A view for writing can be read.
  operator GridView<const T>() const requires(!std::is_const_v<T>) {
    return {
        this->buffer, this->size,
        GridLayout{this->channels, this->offset, this->pitch, this->plane, this->batch, this->batch_stride}};
  }
};

}  // namespace smem
