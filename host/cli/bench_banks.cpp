// smem bench banks: the conflict model beside what the device does, for the classic access patterns.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "measure/banks.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

using measure::banks::Pattern;

constexpr double kTolerance = 0.15;  // of the strides of words
constexpr double kRankNoise = 0.05;  // measured slowdowns closer than this count as equal

struct PatternResult {
  const Pattern* pattern;
  double predicted = 1;
  double measured = 1;
};

/// Pairs of patterns of one width that the prediction puts in an order which the device contradicts.
std::size_t wrong_order(const std::vector<PatternResult>& results) {
  std::size_t wrong = 0;
  for (const PatternResult& a : results) {
    for (const PatternResult& b : results) {
      if (a.pattern->bytes != b.pattern->bytes || a.predicted >= b.predicted) continue;
      if (a.measured > b.measured * (1 + kRankNoise)) ++wrong;
    }
  }
  return wrong;
}

int run(const std::string& device_name) {
  const Context context({.device = device_name, .profiling = true});
  const Device& device = context.device();
  using measure::banks::kLocalBytes;
  if (device.local_bytes < kLocalBytes) {
    throw Error({.operation = "bench",
                 .expected = fmt::format("{} bytes of local memory", kLocalBytes),
                 .got = fmt::format("{}", device.local_bytes),
                 .device = device.name});
  }
  print_fitted(device_text(device) + "\n");
  if (device.local_is_cache) {
    fmt::print("local memory is ordinary cached memory: no conflicts are predicted\n");
  } else {
    fmt::print("{} banks of {} bytes, waves of {}\n", device.local_banks, device.local_bank_bytes,
               device.sub_group_width);
  }
  fmt::print("{:<30}{:>6}{:>9}{:>11}{:>11}{:>8}\n", "pattern of a wave", "bytes", "degree", "predicted",
             "measured", "off");
  const std::vector<Pattern> all = measure::banks::patterns(device);
  measure::banks::Meter meter(context);
  std::vector<PatternResult> results;
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
    const PatternResult result{&pattern, static_cast<double>(conflicts.cycles) / unit_predicted,
                               seconds / unit};
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

void add_bench_banks(CLI::App* bench, Measurements& measurements) {
  CLI::App* const command = bench->add_subcommand(
      "banks", "Bank conflicts of local memory: the model's prediction beside the measured slowdown");
  auto device = std::make_shared<std::string>();
  add_device_option(command, *device);
  command->callback(
      [device, &measurements] { measurements.emplace_back([device] { return run(*device); }); });
}

}  // namespace smem::cli
