/// smem: vectors of attention heads in a buffer: one for each token of each head of each sequence.
#pragma once

#include <smem/element.hpp>
#include <smem/opencl.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <type_traits>

namespace smem {

/// How many vectors there are, and how long they are.
struct HeadsShape {
  std::size_t batch = 1;   ///< sequences; of a paged cache its pages
  std::size_t heads = 1;   ///< of a token
  std::size_t tokens = 0;  ///< of a sequence or a page
  std::size_t size = 0;    ///< elements of a vector, which are neighbours in memory
  friend bool operator==(const HeadsShape&, const HeadsShape&) = default;
};

/// How the vectors lie in their buffer. All in elements. Where a stride is 0, they lie as [batch, heads,
/// tokens, size], packed.
struct HeadsLayout {
  std::size_t offset = 0;        ///< before the first one
  std::size_t token_stride = 0;  ///< from one token to the next; 0: packed, that is size
  std::size_t head_stride = 0;   ///< from one head to the next; 0: packed, that is tokens * token_stride
  std::size_t batch_stride = 0;  ///< from one sequence to the next; 0: packed, that is heads * head_stride
};

/// The layout of [batch, tokens, heads, size]: the heads of a token are neighbours.
constexpr HeadsLayout tokens_before_heads(const HeadsShape& shape, std::size_t offset = 0) {
  const std::size_t token = detail::size_product(shape.heads, shape.size);
  return {offset, token, shape.size, detail::size_product(shape.tokens, token)};
}

/// Vectors of heads, as an input.
struct ConstHeads {
  cl_mem buffer = nullptr;       ///< not owned
  ElementType type = {};         ///< of an element
  HeadsShape shape = {};         ///< how many
  std::size_t offset = 0;        ///< elements before the first one
  std::size_t token_stride = 0;  ///< elements
  std::size_t head_stride = 0;   ///< elements
  std::size_t batch_stride = 0;  ///< elements

  ConstHeads() = default;
  /// Where the layout says 0, tokens, heads and sequences follow each other.
  ConstHeads(cl_mem memory, ElementType element, const HeadsShape& of, const HeadsLayout& layout = {})
      : buffer(memory),
        type(element),
        shape(of),
        offset(layout.offset),
        token_stride(layout.token_stride == 0 ? of.size : layout.token_stride),
        head_stride(layout.head_stride == 0 ? detail::size_product(of.tokens, token_stride)
                                            : layout.head_stride),
        batch_stride(layout.batch_stride == 0 ? detail::size_product(of.heads, head_stride)
                                              : layout.batch_stride) {}
};

/// Vectors of heads, as an output.
struct Heads : ConstHeads {
  /// As of ConstHeads.
  Heads(cl_mem memory, ElementType element, const HeadsShape& of, const HeadsLayout& layout = {})
      : ConstHeads(memory, element, of, layout) {}
  /// A view for reading is no output.
  Heads(const ConstHeads&) = delete;  // no output: its elements are const
};

/// Vectors of heads of T in any OpenCL buffer, smem's or the caller's own; of const T an input.
template <class T>
struct HeadsView : detail::ViewBase<T, ConstHeads, Heads> {
  using value_type = std::remove_const_t<T>;  ///< of an element

  /// A view of the caller's buffer.
  HeadsView(const cl::Buffer& memory, const HeadsShape& of, const HeadsLayout& layout = {})
      : HeadsView(memory(), of, layout) {}
  /// The same of a handle.
  HeadsView(cl_mem memory, const HeadsShape& of, const HeadsLayout& layout = {})
      : detail::ViewBase<T, ConstHeads, Heads>(memory, element_of<T>, of, layout) {}

  /// A view for writing can be read.
  operator HeadsView<const T>() const requires(!std::is_const_v<T>) {
    return {this->buffer, this->shape,
            HeadsLayout{this->offset, this->token_stride, this->head_stride, this->batch_stride}};
  }
};

}  // namespace smem
