/// Tests of more than 2^31 elements, on GPUs: a CPU would take minutes. The device makes and checks all data.
///
/// SMEM_TEST_HALVINGS=12 divides all sizes by 2^12, and runs the tests on every device: it tests the checks,
/// not the sizes.
#pragma once

#include "support/large_buffer.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

/// How often sizes are halved: 0 to 20.
inline std::size_t halvings() {
  const char* wanted = std::getenv("SMEM_TEST_HALVINGS");
  return wanted == nullptr ? 0 : std::min<std::size_t>(std::strtoull(wanted, nullptr, 10), 20);
}

/// 2^bits elements and `more`.
inline std::size_t wide_size(std::size_t bits, std::size_t more) {
  return (std::size_t{1} << (bits - std::min(bits, halvings()))) + more;
}

/// Buffers of these bytes, or none and a message why. `scratch`: bytes that calls take besides.
inline std::optional<std::vector<cl::Buffer>> wide_buffers(const smem::Context& context,
                                                           const std::vector<std::size_t>& bytes,
                                                           std::size_t scratch = 0) {
  const smem::Device& device = context.device();
  if (device.type != smem::DeviceType::gpu && halvings() == 0) {
    MESSAGE("skipped: for GPUs, " << device.name << " would take minutes");
    return std::nullopt;
  }
  // What drivers and other processes keep besides.
  constexpr std::size_t kReserve = std::size_t{1} << 28;
  const std::size_t in_all = std::accumulate(bytes.begin(), bytes.end(), scratch) + (kReserve >> halvings());
  std::vector<cl::Buffer> buffers;
  for (const std::size_t each : bytes) {
    std::optional<cl::Buffer> buffer = large_buffer(context, each, in_all);
    if (!buffer) return std::nullopt;
    buffers.push_back(std::move(*buffer));
  }
  return buffers;
}

/// What a loop over elements has found.
struct Found {
  std::uint32_t wrong = 0;  ///< not 0: something is; each work-item adds at most 1024
  std::uint32_t sum = 0;
  bool operator==(const Found&) const = default;
};

/// A loop over elements on the device, in OpenCL C.
struct Loop {
  std::array<std::string, 4> types{"uchar", "uchar", "uchar", "uchar"};  ///< of the elements of a, b, c and d
  std::string functions = {};                                            ///< that the body calls
  /// For each `ulong i` below `size`: it may read and write a[i] and others, and add to the uints `wrong` and
  /// `sum`. `size`, `p` and `q` are ulongs. hash_of() makes a random ulong of an ulong, sum_of() a uint that
  /// makes sums depend on positions.
  std::string body;

  Loop& with(std::string_view text) {
    body = text;
    return *this;
  }
};

/// Runs the loop; its body defines p and q.
inline Found run_loop(const smem::Context& context, const Loop& loop, std::size_t size,
                      const std::vector<cl::Buffer>& buffers, std::size_t p = 0, std::size_t q = 0) {
  constexpr const char* kBefore = R"(
ulong hash_of(ulong z) {
  z = (z + 1) * 0x9e3779b97f4a7c15ul;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
  return z ^ z >> 29;
}
uint sum_of(ulong z) { return (uint)(hash_of(z) >> 32); }
)";
  constexpr const char* kBegin = R"(
kernel void each(global A* a, global B* b, global C* c, global D* d, ulong size, ulong p, ulong q, global uint* found) {
  uint wrong = 0, sum = 0;
#if THREADS
  const ulong each = size / get_global_size(0) + 1, begin = get_global_id(0) * each, end = min(begin + each, size);
  for (ulong i = begin; i < end; ++i) {
#else
  for (ulong i = get_global_id(0); i < size; i += get_global_size(0)) {
#endif
)";
  constexpr const char* kEnd = R"(
  }
  atomic_add(&found[0], min(wrong, 1024u));
  atomic_add(&found[1], sum);
}
)";
  const auto& [a, b, c, d] = loop.types;
  // A thread of a CPU has neighbouring elements: at large distances each would be a cache line of its own.
  const bool threads = context.device().type == smem::DeviceType::cpu;
  const smem::Kernel kernel = context.build({.source = kBefore + loop.functions + kBegin + loop.body + kEnd,
                                             .entry_point = "each",
                                             .defines = {{"THREADS", threads ? 1 : 0}},
                                             .text_defines = {{"A", a}, {"B", b}, {"C", c}, {"D", d}}});
  const smem::Array<cl_uint> found(context, std::vector<cl_uint>(2));
  const auto buffer = [&](std::size_t i) { return buffers.at(i < buffers.size() ? i : 0); };
  // At most 2^18 work-items, so that `wrong` does not overflow.
  const std::size_t group = threads ? 1 : 128;
  const std::size_t groups = std::min<std::size_t>(std::size_t{1} << 11, size / 128 + 1);
  kernel({{groups * group, 1, 1}, {group, 1, 1}}, buffer(0), buffer(1), buffer(2), buffer(3), cl_ulong{size},
         cl_ulong{p}, cl_ulong{q}, found);
  const std::vector<cl_uint> all = found.to_host();
  return {all[0], all[1]};
}

/// Overwrites elements, so that results of an earlier call do not pass for those of the next one.
inline void poison(const smem::Context& context, const cl::Buffer& buffer, const char* type,
                   std::size_t size) {
  run_loop(context, {.types = {type, type, type, type}, .body = "a[i] = (A)0x5bd1e9955bd1e995ul;"}, size,
           {buffer});
}

/// Calls `call(variant)` for each variant that the device and the problem allow. \returns how many.
template <class Call>
std::size_t each_variant(const std::vector<std::string_view>& variants, const Call& call) {
  std::size_t ran = 0;
  for (const std::string_view variant : variants) {
    CAPTURE(variant);
    try {
      call(std::string(variant));
      ++ran;
    } catch (const smem::Error& error) {
      if (error.details().argument != "variant") throw;
    }
  }
  return ran;
}

}  // namespace test
