/// Buffers of which a device has room for few.
#pragma once

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace test {

/// A buffer of `bytes`, or nothing, and a message why: the device cannot hold `in_all` bytes, or other
/// processes have its memory. Drivers give a buffer memory when it is first used, so it is used here.
inline std::optional<cl::Buffer> large_buffer(const smem::Context& context, std::size_t bytes,
                                              std::size_t in_all) {
  const smem::Device& device = context.device();
  if (device.max_allocation < bytes || device.global_bytes < in_all) {
    MESSAGE("skipped: needs buffers of " << bytes << " bytes, " << in_all << " in all; " << device.name
                                         << " has " << device.max_allocation << " and "
                                         << device.global_bytes);
    return std::nullopt;
  }
  try {
    cl::Buffer buffer = smem::make_buffer(context, bytes);
    const cl_uchar last = 0;
    const cl_int status =
        clEnqueueWriteBuffer(context.queue()(), buffer(), CL_TRUE, bytes - 1, 1, &last, 0, nullptr, nullptr);
    if (status == CL_SUCCESS) return buffer;
    const bool is_full = status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
                         status == CL_OUT_OF_HOST_MEMORY;
    REQUIRE_MESSAGE(is_full, "the first write returned " << status);
    MESSAGE("skipped: " << device.name << " has no " << bytes
                        << " bytes at hand, other processes may have them: "
                        << "the first write returned " << status);
  } catch (const smem::Error& error) {
    MESSAGE("skipped: " << error.what());
  }
  return std::nullopt;
}

/// Fills a buffer with a byte: in pieces and by words, since a fill of more than 2^31 single bytes is much to
/// ask of a driver. The 3 bytes after the last word stay.
inline void fill_words(const smem::Context& context, const cl::Buffer& buffer, std::size_t bytes,
                       cl_uchar value) {
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  const cl_uint word = 0x01010101U * value;
  for (std::size_t first = 0; first < bytes / 4 * 4; first += kPiece) {
    REQUIRE(clEnqueueFillBuffer(context.queue()(), buffer(), &word, sizeof word, first,
                                std::min(kPiece, bytes / 4 * 4 - first), 0, nullptr, nullptr) == CL_SUCCESS);
  }
}

}  // namespace test
