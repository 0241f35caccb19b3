/// Division by numbers that are the same for all work-items.
#pragma once

#include <smem/opencl.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace smem::ops {

/// A number by which kernels divide numbers n below 2^31: n / value is n * inverse >> shift, in 64 bits. See
/// divided() in cl/common/divisor.clh.
struct Divisor {
  cl_uint value, inverse, shift;

  explicit Divisor(std::size_t by) : value(static_cast<cl_uint>(std::max<std::size_t>(by, 1))) {
    shift = 31 + static_cast<cl_uint>(std::bit_width(value - 1));
    inverse = static_cast<cl_uint>(((std::uint64_t{1} << shift) + value - 1) / value);
  }
};

}  // namespace smem::ops
