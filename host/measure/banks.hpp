/// Bank conflicts of local memory, measured: the classic access patterns of a wave, and how long each takes.
#pragma once

#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace smem::measure::banks {

// Each work-item reads one address of local memory over and over; `volatile` keeps every read. The sum is
// stored, so that no compiler leaves the loop out.
inline constexpr const char* kSource = R"(
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void banks(global const uint* addresses, global uint* sums, uint rounds) {
  local uint4 memory[LOCAL_BYTES / 16];
  const uint item = get_local_id(0);
  for (uint i = item; i < LOCAL_BYTES / 16; i += GROUP) memory[i] = (uint4)(i);
  barrier(CLK_LOCAL_MEM_FENCE);
  volatile local TYPE* p = (volatile local TYPE*)((local uchar*)memory + addresses[item]);
  TYPE sum = (TYPE)(0);
  for (uint round = 0; round < rounds; ++round) {
#pragma unroll
    for (uint k = 0; k < 16; ++k) sum ^= *p;
  }
  sums[get_global_id(0)] = FOLD(sum);
}
)";

inline constexpr std::size_t kLocalBytes = 16 * 1024;
/// What a wave reads at once.
struct Pattern {
  std::string name;
  std::size_t bytes;                   // that a work-item reads at once
  std::vector<std::size_t> addresses;  // of one wave
  bool stride_of_words = false;        // 1 to 32, where the prediction is judged by its value
};

/// The first pattern of each width is what the others are compared with.
inline std::vector<Pattern> patterns(const Device& device) {
  // Where work-items run one by one, pairs of them are patterns all the same.
  const std::size_t wave = std::max<std::size_t>(device.sub_group_width, 2);
  std::vector<Pattern> all;
  const auto add = [&](std::string name, std::size_t bytes, const auto& address, bool stride = false) {
    Pattern pattern{std::move(name), bytes, {}, stride};
    for (std::size_t k = 0; k < wave; ++k)
      pattern.addresses.push_back(address(k) % kLocalBytes / bytes * bytes);
    all.push_back(std::move(pattern));
  };
  const auto strides = [&](std::size_t bytes, std::initializer_list<std::size_t> list) {
    for (const std::size_t stride : list)
      add(fmt::format("stride {}", stride), bytes, [&](std::size_t k) { return k * stride * bytes; });
  };
  for (std::size_t stride = 1; stride <= 33; ++stride)
    add(
        fmt::format("stride {}", stride), 4, [&](std::size_t k) { return k * stride * 4; }, stride <= 32);
  add("one word for all", 4, [](std::size_t) { return std::size_t{0}; });
  add("two words of one bank", 4, [](std::size_t k) { return k % 2 * 128; });
  add("pairs share a word", 4, [](std::size_t k) { return k / 2 * 4; });
  add("backwards", 4, [&](std::size_t k) { return (wave - 1 - k) * 4; });
  std::mt19937 generator(7);
  for (int i = 0; i < 3; ++i)
    add("random", 4, [&](std::size_t) { return std::size_t{generator() % 1024} * 4; });
  const Tile tile{32, 32, 4, 32, {Access::columns(32, false)}};
  for (const auto kind : {LocalLayout::Kind::plain, LocalLayout::Kind::padded, LocalLayout::Kind::swizzled}) {
    const LocalLayout layout = infer_layout(device, tile, {.kind = kind});
    add(fmt::format("column of 32 x 32, {}", name_of(kind)), 4, [&](std::size_t k) {
      return layout.address_of({k % 32, k / 32});
    });
  }
  strides(1, {1, 4, 32, 33, 128});
  strides(2, {1, 2, 32, 33, 64});
  add("pairs in one bank", 2, [](std::size_t k) { return k * 2; });
  strides(8, {1, 2, 3, 4, 8, 16, 17});
  add("one item for all", 8, [](std::size_t) { return std::size_t{0}; });
  add("halves of the wave alike", 8, [&](std::size_t k) { return k % (wave / 2) * 8; });
  add("halves overlap", 8, [&](std::size_t k) { return k % (wave / 2 + 1) * 8; });
  add("neighbours alike", 8, [](std::size_t k) { return k / 2 * 8; });
  add("every other alike", 8, [](std::size_t k) { return (k & ~std::size_t{2}) * 8; });
  add("fours alike", 8, [](std::size_t k) { return k / 4 * 8; });
  add("eights apart alike", 8, [](std::size_t k) { return k % 8 * 8; });
  strides(16, {1, 2, 3, 4, 8, 9});
  add("neighbours alike", 16, [](std::size_t k) { return k / 2 * 16; });
  add("every other alike", 16, [](std::size_t k) { return (k & ~std::size_t{2}) * 16; });
  add("one item for all", 16, [](std::size_t) { return std::size_t{0}; });
  add("quarters of the wave alike", 16, [](std::size_t k) { return k % 8 * 16; });
  add("halves of the wave alike", 16, [](std::size_t k) { return k % 16 * 16; });
  return all;
}

/// Measures patterns on a device.
class Meter {
 public:
  explicit Meter(const Context& context)
      : context_(context),
        group_(std::bit_floor(std::min<std::size_t>(1024, context.device().max_work_group))),
        groups_(context.device().compute_units * 4),
        addresses_(make_buffer(context, group_ * sizeof(std::uint32_t))),
        sums_(make_buffer(context, group_ * groups_ * sizeof(std::uint32_t))) {}

  /// Seconds of a pattern: the least of a few runs, since nothing makes a run faster by chance.
  double seconds(const Pattern& pattern) {
    std::vector<std::uint32_t> addresses(group_);
    for (std::size_t k = 0; k < group_; ++k)
      addresses[k] = static_cast<std::uint32_t>(pattern.addresses[k % pattern.addresses.size()]);
    write_buffer(context_, addresses_, addresses.data(), addresses.size() * sizeof(std::uint32_t));
    const cl::Kernel kernel = kernel_for(pattern.bytes);
    const auto rounds = static_cast<cl_uint>(context_.device().type == DeviceType::cpu ? 16 : 128);
    set_arguments(kernel(), addresses_(), sums_(), rounds);
    double best = 1e9;
    for (int run = 0; run < 7; ++run) {
      const std::size_t global = group_ * groups_;
      cl_event handle = nullptr;
      const auto start = Clock::now();
      check(clEnqueueNDRangeKernel(context_.queue()(), kernel(), 1, nullptr, &global, &group_, 0, nullptr,
                                   &handle),
            "clEnqueueNDRangeKernel");
      const cl::Event event(handle);
      check(clFinish(context_.queue()()), "clFinish");
      const double time = timed_by_events(context_) ? event_seconds(event) : seconds_since(start);
      if (run > 0) best = std::min(best, time);
    }
    return best;
  }

 private:
  cl::Kernel kernel_for(std::size_t bytes) {
    if (bytes == bytes_) return kernel_;
    const char* const types[] = {"uchar", "ushort", "uint", "uint2", "uint4"};
    const char* const folds[] = {"v", "v", "v", "v.x ^ v.y", "v.x ^ v.y ^ v.z ^ v.w"};
    const int index = std::countr_zero(bytes);
    const std::string source =
        fmt::format("#define GROUP {}\n#define LOCAL_BYTES {}\n#define TYPE {}\n#define FOLD(v) ({})\n{}",
                    group_, kLocalBytes, types[index], folds[index], kSource);
    kernel_ = plain_kernel(context_, source.c_str(), "banks");
    bytes_ = bytes;
    return kernel_;
  }

  Context context_;
  std::size_t group_, groups_;
  cl::Buffer addresses_, sums_;
  std::size_t bytes_ = 0;
  cl::Kernel kernel_;
};

}  // namespace smem::measure::banks
