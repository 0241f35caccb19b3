/// What the subcommands of `smem bench` share that measure one operation in cases and variants: their options
/// and their table.
#pragma once

#include "cli/commands.hpp"
#include "cli/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

struct BenchOptions {
  std::string device;
  std::size_t size = 0;
  std::vector<std::string> variants;
  bool all_variants = false, goals = false, goals_small = false;

  bool has_cases() const { return size > 0 || goals || goals_small; }
};

/// Adds the options; `options` must live as long as the command.
inline void add_bench_options(CLI::App& command, BenchOptions& options,
                              const std::vector<std::string_view>& variants) {
  command.add_option("-d,--device", options.device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* size =
      command.add_option("--size", options.size, "Elements of a vector")->check(CLI::PositiveNumber);
  CLI::Option* goals = command.add_flag("--goals", options.goals,
                                        "The list that smem is judged by; a missed goal is exit code 1");
  CLI::Option* goals_small =
      command.add_flag("--goals-small", options.goals_small, "The same at sizes for a quick look");
  goals->excludes(goals_small)->excludes(size);
  goals_small->excludes(size);
  command.add_option("--variant", options.variants, "Instead of the plan's own choice; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(variants.begin(), variants.end())));
  command.add_flag("--all-variants", options.all_variants, "The plan's own choice, and then every variant");
}

/// A row for each case and variant, beside the copy that was measured in turns with it.
class BenchTable {
 public:
  explicit BenchTable(const Context& context) {
    fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
               context.device().driver);
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GB/s", "copy", "of copy", "goal", "");
    std::fflush(stdout);
  }

  void skip(const std::string& label, const std::string& variant, const char* why) {
    fmt::print("{:<42}{:<24}skipped: {}\n", label, variant, why);
    ++skipped_;
  }

  /// `goal`: least share of the copy bandwidth, 0: none. `wrong`: what is, if anything.
  void add(const std::string& label, const std::string& variant, const measure::Measurement& m, double goal,
           const std::optional<std::string>& wrong) {
    std::string verdict = goal == 0 ? "" : m.share() >= goal ? "PASS" : "MISS";
    if (wrong) verdict = "WRONG: " + *wrong;
    wrong_ += wrong ? 1 : 0;
    missed_ += m.share() < goal ? 1 : 0;
    ++rows_;
    copy_name_ = m.copy_name;
    if (!m.stable()) verdict += verdict.empty() ? "unstable" : " unstable";
    fmt::print(fmt::runtime(kRow), label, variant, fmt::format("{:.4f}", m.call.median * 1e3),
               fmt::format("{:.1f} %", 100 * m.call.spread()), fmt::format("{:.1f}", m.rate() * 1e-9),
               fmt::format("{:.1f}", m.copy_rate * 1e-9), fmt::format("{:.3f}", m.share()),
               goal > 0 ? fmt::format("{:.2f}", goal) : "", verdict);
    std::fflush(stdout);
  }

  /// Prints what the columns mean, `bytes` being those of GB/s. \returns the exit code.
  int end(const BenchOptions& options, const char* bytes) const {
    fmt::print(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %;\nGB/s: {};\n"
        "copy: bytes read and written by {}, in turns with the calls.\n"
        "{} case(s), all results compared with a plain loop: {}.\n",
        bytes, copy_name_, rows_, wrong_ == 0 ? "all right" : fmt::format("{} wrong", wrong_));
    if (wrong_ > 0) return kFailure;
    if (!options.goals && !options.goals_small && !options.all_variants && skipped_ > 0) return kFailure;
    return options.goals && missed_ > 0 ? kFailure : kGood;
  }

 private:
  static constexpr const char* kRow = "{:<42}{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>6}  {}\n";
  std::size_t rows_ = 0, skipped_ = 0, missed_ = 0, wrong_ = 0;
  std::string copy_name_ = "none";
};

/// Calls `run(case, variant)` for all of them; an empty variant is the plan's own choice.
template <class Cases, class Run>
void for_cases(const BenchOptions& options, const Cases& cases,
               const std::vector<std::string_view>& all_variants, const Run& run) {
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  if (options.all_variants) {
    for (const std::string_view name : all_variants)
      variants.emplace_back(name);
  }
  for (const auto& c : cases)
    run(c, variants);
}

/// Whether so many buffers of the cases' data fit the device.
inline bool fits(const Device& device, std::size_t bytes, double buffers) {
  return bytes <= device.max_allocation &&
         buffers * static_cast<double>(bytes) <= 0.8 * static_cast<double>(device.global_bytes);
}

}  // namespace smem::cli
