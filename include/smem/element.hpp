/// smem: the elements of a buffer: numbers, or bytes that are moved as they are. Includes no OpenCL header.
#pragma once

#include <smem/scalar.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>

namespace smem {

/// The type of a view's elements: a Scalar, or only a size, which is enough for operations that move
/// elements.
struct ElementType {
  std::size_t bytes = 4;                           ///< of an element
  std::optional<Scalar> scalar = Scalar::float32;  ///< nothing where elements are opaque

  constexpr ElementType() = default;
  /// Numbers of the type.
  constexpr ElementType(Scalar type)  // NOLINT(google-explicit-constructor): a scalar is one
      : bytes(detail::scalar_bytes(type)), scalar(type) {}
  /// Opaque elements, which are moved but not computed with.
  static constexpr ElementType of_bytes(std::size_t bytes) { return {bytes, std::nullopt}; }
  friend constexpr bool operator==(const ElementType&, const ElementType&) = default;

 private:
  constexpr ElementType(std::size_t size, std::optional<Scalar> number) : bytes(size), scalar(number) {}
};

namespace detail {

/// What a view of T is: an input of const elements, else an output.
template <class T, class Input, class Output>
using ViewBase = std::conditional_t<std::is_const_v<T>, Input, Output>;

template <class T>
constexpr ElementType element_for() {
  static_assert(std::is_trivially_copyable_v<T>, "the elements of a buffer are copied byte by byte");
  if constexpr (is_scalar<T>) {
    return scalar_for<T>();
  } else {
    return ElementType::of_bytes(sizeof(T));
  }
}

}  // namespace detail

/// The element type of a C++ type: its Scalar where it is a number, else opaque.
template <class T>
inline constexpr ElementType element_of = detail::element_for<T>();

}  // namespace smem
