/// smem: an array of T in a device's memory.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace smem {

/// How many elements an Array has: Array<float>(context, smem::Count{1000}).
struct Count {
  std::size_t elements;  ///< how many
  /// A number of elements.
  constexpr explicit Count(std::size_t number) : elements(number) {}
};

/// Owns a buffer of `size()` elements. Every call that takes a vector takes an Array. Copies share the
/// buffer, as cl::Buffer does. After a move, an array can only be assigned to or destroyed; other calls throw
/// Error.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "the elements of a buffer are copied byte by byte");

 public:
  using value_type = T;  ///< of an element

  /// Uninitialised elements. \throws Error when they are more than the device's memory holds.
  Array(const Context& context, Count count)
      : context_(context), size_(count.elements), buffer_(make_buffer(context, checked_bytes(size_))) {}
  /// Copies elements from the host before it returns.
  Array(const Context& context, std::span<const T> host) : Array(context, Count(host.size())) { write(host); }
  /// The same of a vector.
  Array(const Context& context, const std::vector<T>& host) : Array(context, std::span<const T>(host)) {}
  /// The elements in braces: Array<int>(context, {5}) holds one element, 5.
  Array(const Context& context, std::initializer_list<T> elements)
      : Array(context, std::span<const T>(elements.begin(), elements.size())) {}
  /// Deleted, because its meaning is unclear: a number of elements is a Count, elements are in braces.
  template <std::integral Number>
  Array(const Context&, Number) = delete;  // Count{1000} is a number of elements, {1000} is an element

  /// The number of elements.
  std::size_t size() const {
    context_.runtime("Array");
    return size_;
  }
  /// The OpenCL buffer, for your own calls.
  const cl::Buffer& buffer() const {
    context_.runtime("Array");
    return buffer_;
  }

  /// Copies `host` to the start of the array. \throws Error when it is longer than the array.
  void write(std::span<const T> host) {
    if (host.size() > size()) {
      throw Error({.operation = "Array::write",
                   .argument = "host",
                   .expected = "at most " + std::to_string(size_) + " elements",
                   .got = std::to_string(host.size()) + " elements"});
    }
    write_buffer(context_, buffer_, host.data(), host.size_bytes());
  }
  /// Waits for the queue, and returns a copy of the elements.
  std::vector<T> to_host() const {
    std::vector<T> host(size());
    read_buffer(context_, buffer_, host.data(), size_ * sizeof(T));
    return host;
  }

  /// The array as a vector.
  VectorView<T> vector() const { return VectorView<T>(buffer(), size_); }
  /// The same, wherever a vector is wanted.
  operator VectorView<T>() const { return vector(); }
  /// `count` elements from element `offset` on.
  VectorView<T> vector(std::size_t offset, std::size_t count) const {
    return VectorView<T>(buffer(), count, offset);
  }

  /// The array as row-major matrices.
  MatrixView<T> matrix(std::size_t rows, std::size_t cols, const Extent& extent = {}) const {
    return MatrixView<T>(buffer(), rows, cols, extent);
  }

  /// The array as grids: a signal, an image, a volume.
  GridView<T> grid(const GridSize& cells, const GridLayout& layout = {}) const {
    return GridView<T>(buffer(), cells, layout);
  }

 private:
  static std::size_t checked_bytes(std::size_t size) {
    if (size > SIZE_MAX / sizeof(T)) {
      throw Error({.operation = "Array",
                   .argument = "size",
                   .expected = "at most " + std::to_string(SIZE_MAX / sizeof(T)) + " elements of " +
                               std::to_string(sizeof(T)) + " bytes",
                   .got = std::to_string(size)});
    }
    return size * sizeof(T);
  }

  Context context_;
  std::size_t size_;
  cl::Buffer buffer_;
};

}  // namespace smem
