/// From a type of elements to its type in C++.
#pragma once

#include <smem/scalar.hpp>

#include <cstdint>

namespace smem {

/// `visit(zero)`, a number of the type.
template <class Visit>
auto with_type(Scalar type, const Visit& visit) {
  switch (type) {
    case Scalar::int8:
      return visit(std::int8_t{});
    case Scalar::int16:
      return visit(std::int16_t{});
    case Scalar::int32:
      return visit(std::int32_t{});
    case Scalar::int64:
      return visit(std::int64_t{});
    case Scalar::uint8:
      return visit(std::uint8_t{});
    case Scalar::uint16:
      return visit(std::uint16_t{});
    case Scalar::uint32:
      return visit(std::uint32_t{});
    case Scalar::uint64:
      return visit(std::uint64_t{});
    case Scalar::half:
      return visit(half{});
    case Scalar::bfloat16:
      return visit(bfloat16{});
    case Scalar::e4m3:
      return visit(e4m3{});
    case Scalar::e5m2:
      return visit(e5m2{});
    case Scalar::float64:
      return visit(double{});
    case Scalar::float32:
      break;
  }
  return visit(float{});
}

}  // namespace smem
