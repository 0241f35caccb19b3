// smem bench banks: the conflict model beside what the device does, for the classic access patterns.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

// Each work-item reads one address of local memory over and over; `volatile` keeps every read. The sum is
// stored, so that no compiler leaves the loop out.
constexpr const char* kSource = R"(
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

constexpr std::size_t kLocalBytes = 16 * 1024;
constexpr std::size_t kUnroll = 16;
constexpr double kTolerance = 0.15;  // of the strides of words
constexpr double kRankNoise = 0.05;  // measured slowdowns closer than this count as equal

struct Pattern {
  std::string name;
  std::size_t bytes;                   // that a work-item reads at once
  std::vector<std::size_t> addresses;  // of one wave
  bool stride_of_words = false;        // 1 to 32, where the prediction is judged by its value
};

struct Result {
  const Pattern* pattern;
  double predicted = 1;
  double measured = 1;
};

std::vector<Pattern> patterns(const Device& device) {
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
  // The first pattern of each width is what the others are compared with.
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
    measure::set_arguments(kernel(), addresses_(), sums_(), rounds);
    double best = 1e9;
    for (int run = 0; run < 7; ++run) {
      const std::size_t global = group_ * groups_;
      cl_event handle = nullptr;
      const auto start = measure::Clock::now();
      measure::check(clEnqueueNDRangeKernel(context_.queue()(), kernel(), 1, nullptr, &global, &group_, 0,
                                            nullptr, &handle),
                     "clEnqueueNDRangeKernel");
      const cl::Event event(handle);
      measure::check(clFinish(context_.queue()()), "clFinish");
      const double time =
          measure::timed_by_events(context_) ? measure::event_seconds(event) : measure::seconds_since(start);
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
    kernel_ = measure::plain_kernel(context_, source.c_str(), "banks");
    bytes_ = bytes;
    return kernel_;
  }

  Context context_;
  std::size_t group_, groups_;
  cl::Buffer addresses_, sums_;
  std::size_t bytes_ = 0;
  cl::Kernel kernel_;
};

/// Pairs of patterns of one width that the prediction puts in an order which the device contradicts.
std::size_t wrong_order(const std::vector<Result>& results) {
  std::size_t wrong = 0;
  for (const Result& a : results) {
    for (const Result& b : results) {
      if (a.pattern->bytes != b.pattern->bytes || a.predicted >= b.predicted) continue;
      if (a.measured > b.measured * (1 + kRankNoise)) ++wrong;
    }
  }
  return wrong;
}

int run(const std::string& device_name) {
  const Context context({.device = device_name, .profiling = true});
  const Device& device = context.device();
  if (device.local_bytes < kLocalBytes) {
    throw Error({.operation = "bench",
                 .expected = fmt::format("{} bytes of local memory", kLocalBytes),
                 .got = fmt::format("{}", device.local_bytes),
                 .device = device.name});
  }
  print_fitted(fmt::format("{} ({}, driver {})\n", device.name, device.platform, device.driver));
  if (device.local_is_cache) {
    fmt::print("local memory is ordinary cached memory: no conflicts are predicted\n");
  } else {
    fmt::print("{} banks of {} bytes, waves of {}\n", device.local_banks, device.local_bank_bytes,
               device.sub_group_width);
  }
  fmt::print("{:<30}{:>6}{:>9}{:>11}{:>11}{:>8}\n", "pattern of a wave", "bytes", "degree", "predicted",
             "measured", "off");
  const std::vector<Pattern> all = patterns(device);
  Meter meter(context);
  std::vector<Result> results;
  double unit = 0, unit_predicted = 1, worst = 0;
  std::size_t width = 0;
  for (const Pattern& pattern : all) {
    const Conflicts conflicts = find_conflicts(device, pattern.addresses, pattern.bytes);
    const double seconds = meter.seconds(pattern);
    if (pattern.bytes != width) {
      width = pattern.bytes;
      unit = seconds;
      unit_predicted = static_cast<double>(conflicts.cycles);
    }
    const Result result{&pattern, static_cast<double>(conflicts.cycles) / unit_predicted, seconds / unit};
    results.push_back(result);
    const double off = result.measured / result.predicted - 1;
    if (pattern.stride_of_words) worst = std::max(worst, std::abs(off));
    fmt::print("{:<30}{:>6}{:>9}{:>11.2f}{:>11.2f}{:>+7.1f}%\n", pattern.name, pattern.bytes,
               conflicts.degree, result.predicted, result.measured, 100 * off);
  }
  const std::size_t wrong = wrong_order(results);
  if (device.local_is_cache) {
    print_fitted(
        "slowdowns are against the first pattern of the same width; without banks nothing is judged\n");
    return kGood;
  }
  const bool pass = worst <= kTolerance && wrong == 0;
  print_fitted(fmt::format(
      "slowdowns are against the first pattern of the same width. Strides 1 to 32 of words: {:.1f} % off at "
      "worst (goal {:.0f} %); pairs of patterns in the wrong order: {} (goal 0, {:.0f} % noise): {}\n",
      100 * worst, 100 * kTolerance, wrong, 100 * kRankNoise, pass ? "PASS" : "MISS"));
  return pass ? kGood : kFailure;
}

}  // namespace

void add_bench_banks(CLI::App* bench, Measurements& measurements, int& exit_code) {
  CLI::App* const command = bench->add_subcommand(
      "banks", "Bank conflicts of local memory: the model's prediction beside the measured slowdown");
  auto device = std::make_shared<std::string>();
  add_device_option(command, *device);
  command->callback([device, &measurements, &exit_code] {
    measurements.emplace_back([device, &exit_code] { exit_code = std::max(exit_code, run(*device)); });
  });
}

}  // namespace smem::cli
