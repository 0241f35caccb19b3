// smem bench histogram: GB/s read, and the share of the device's own copy bandwidth, for data with and
// without skew.
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/measure.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options {
  std::string device, type = "float32", spread = "uniform";
  std::size_t size = 0, bins = 256;
  std::vector<std::string> variants;
  bool all_variants = false, goals = false, goals_small = false;
};

constexpr const char* kRow = "{:<42}{:<18}{:>10}{:>9}{:>9}{:>9}{:>9}{:>7}  {}\n";
constexpr const char* kSpreads[] = {"uniform", "equal", "zipf"};

std::optional<Scalar> parse_scalar(const std::string& text) {
  for (const Scalar type : {Scalar::uint8, Scalar::uint16, Scalar::int32, Scalar::float32}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
}

std::optional<Spread> parse_spread(const std::string& text) {
  for (int i = 0; i < 3; ++i) {
    if (text == kSpreads[i]) return static_cast<Spread>(i);
  }
  return std::nullopt;
}

/// Where element i lies in [0, 1), by a hash of its number (SplitMix64's last steps).
double place_of(const HistogramCase& c, std::size_t i) {
  if (c.spread == Spread::equal) return 0.3;
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  const double part = static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-24;  // a float's digits
  if (c.spread == Spread::uniform) return part;
  const auto bins = static_cast<double>(c.bins);  // bin i about as often as 1 / (i + 1)
  return std::min(0.999, (std::exp(part * std::log(bins)) - 0.5) / bins);
}

/// Integers of 8 and 16 bits fill their type.
double range_of(Scalar type) {
  if (is_float(type)) return 1;
  return type == Scalar::int32 ? 0x1p20 : std::exp2(8.0 * static_cast<double>(size_of(type)));
}

template <class T>
std::vector<unsigned char> encode(const HistogramCase& c) {
  std::vector<unsigned char> bytes(c.size * sizeof(T));
  auto* to = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < c.size; ++i)
    to[i] = static_cast<T>(place_of(c, i) * range_of(c.type));
  return bytes;
}

/// By a plain loop. Bounds are powers of two, so that the products are exact but for one rounding.
template <class T>
std::vector<std::uint64_t> plain_counts(const HistogramCase& c, const std::vector<unsigned char>& bytes) {
  std::vector<std::uint64_t> counts(c.bins);
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  for (std::size_t i = 0; i < c.size; ++i) {
    if constexpr (is_float(scalar_of<T>)) {
      ++counts[std::min(static_cast<std::size_t>(values[i] * static_cast<T>(c.bins)), c.bins - 1)];
    } else {
      ++counts[static_cast<std::size_t>(values[i]) * c.bins / static_cast<std::size_t>(range_of(c.type))];
    }
  }
  return counts;
}

template <class Work>
auto with_type(Scalar type, const Work& work) {
  if (type == Scalar::uint8) return work(std::uint8_t{});
  if (type == Scalar::uint16) return work(std::uint16_t{});
  return type == Scalar::int32 ? work(std::int32_t{}) : work(float{});
}

struct Summary {
  std::size_t rows = 0, skipped = 0, missed = 0, wrong = 0;
};

class Bench {
 public:
  explicit Bench(const Context& context) : context_(context), meter_(context) {
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GB/s", "copy", "of copy", "goal", "");
    std::fflush(stdout);
  }

  void run(const HistogramCase& c, const std::vector<std::string>& variants) {
    const std::string label = fmt::format("{} {} {}, {} bins", c.size, kSpreads[static_cast<int>(c.spread)],
                                          name_of(c.type), c.bins);
    const std::size_t bytes = c.size * size_of(c.type);
    const Device& device = context_.device();
    if (bytes > device.max_allocation ||
        2.0 * static_cast<double>(bytes) > 0.8 * static_cast<double>(device.global_bytes)) {
      fmt::print("{:<42}skipped: does not fit the device's memory\n", label);
      ++summary_.skipped;
      return;
    }
    const measure::Buffers buffers = measure::make_buffers(context_, bytes);
    const std::vector<unsigned char> host =
        with_type(c.type, [&](auto zero) { return encode<decltype(zero)>(c); });
    const std::vector<std::uint64_t> expected =
        with_type(c.type, [&](auto zero) { return plain_counts<decltype(zero)>(c, host); });
    for (const measure::BufferPair& pair : buffers.pairs)
      write_buffer(context_, pair.in, host.data(), host.size());
    for (const std::string& variant : variants)
      run_variant(c, label, buffers, variant, expected);
  }

  const Summary& end() const {
    fmt::print(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %; GB/s: bytes "
        "read; "
        "copy: bytes\nread and written by {}, in turns with the histogram. {} case(s), all counts compared "
        "with a "
        "plain loop: {}.\n",
        copy_name_, summary_.rows,
        summary_.wrong == 0 ? "all right" : fmt::format("{} wrong", summary_.wrong));
    return summary_;
  }

 private:
  void run_variant(const HistogramCase& c, const std::string& label, const measure::Buffers& buffers,
                   const std::string& variant, const std::vector<std::uint64_t>& expected) {
    const bool automatic = variant.empty();
    const Array<std::uint32_t> counts(context_, c.bins);
    const Bins bins = Bins::even(c.bins, 0, range_of(c.type));
    const auto call = [&](const measure::BufferPair& pair) {
      return histogram(context_, Vector(pair.in(), c.type, c.size), counts.vector(), bins,
                       {.variant = variant});
    };
    HistogramProblem problem;
    problem.in = c.type;
    problem.rule = even_bins(c.type, c.bins, 0, range_of(c.type)).rule;
    problem.bins = c.bins;
    problem.cols = c.size;
    Plan plan;
    try {
      plan = plan_histogram(context_.device(), problem, variant);
    } catch (const Error& error) {
      if (automatic || error.details().argument != "variant") throw;
      fmt::print("{:<42}{:<18}skipped: does not run this on this device\n", label, variant);
      ++summary_.skipped;
      return;
    }
    call(buffers.pairs.front());
    const std::vector<std::uint32_t> got = counts.to_host();
    const bool right = std::equal(got.begin(), got.end(), expected.begin(), expected.end());
    const double bytes = static_cast<double>(c.size) * static_cast<double>(size_of(c.type));
    const measure::Measurement m = meter_.measure(buffers, bytes, call);
    copy_name_ = m.copy_name;

    const double goal = automatic ? c.goal : 0;
    const std::string verdict = !right ? "WRONG" : goal == 0 ? "" : m.share() >= goal ? "PASS" : "MISS";
    summary_.wrong += right ? 0 : 1;
    summary_.missed += m.share() < goal ? 1 : 0;
    ++summary_.rows;
    fmt::print(fmt::runtime(kRow), label, automatic ? fmt::format("auto: {}", plan.variant) : variant,
               fmt::format("{:.4f}", m.call.median * 1e3), fmt::format("{:.1f} %", 100 * m.call.spread()),
               fmt::format("{:.1f}", m.rate() * 1e-9), fmt::format("{:.1f}", m.copy_rate * 1e-9),
               fmt::format("{:.3f}", m.share()), goal > 0 ? fmt::format("{:.3f}", goal) : "",
               m.stable() ? verdict : fmt::format("{}{}unstable", verdict, verdict.empty() ? "" : " "));
    std::fflush(stdout);
  }

  Context context_;
  measure::Meter meter_;
  Summary summary_;
  std::string copy_name_ = "none";
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<HistogramCase> cases;
  if (options.goals || options.goals_small) {
    cases = histogram_goals(context.device().type, options.goals_small);
  } else {
    cases = {{*parse_scalar(options.type), options.bins, options.size, *parse_spread(options.spread)}};
  }
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  if (options.all_variants) {
    for (const std::string_view name : histogram_variants())
      variants.emplace_back(name);
  }
  fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
             context.device().driver);
  Bench bench(context);
  for (const HistogramCase& c : cases)
    bench.run(c, variants);
  const Summary& summary = bench.end();
  if (summary.wrong > 0) return kFailure;
  if (!options.goals && !options.goals_small && !options.all_variants && summary.skipped > 0) return kFailure;
  return options.goals && summary.missed > 0 ? kFailure : kGood;
}

}  // namespace

void add_bench_histogram(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("histogram", "Speed of histograms, beside the device's own copy");
  auto options = std::make_shared<Options>();
  command->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* size = command->add_option("--size", options->size, "Elements")->check(CLI::PositiveNumber);
  command->add_option("--bins", options->bins, "Of equal width")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, kMaxBins));
  command->add_option("--type", options->type, "uint8, uint16, int32 or float32; or as OpenCL C has it")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& text) { return parse_scalar(text) ? "" : "not one of the types: " + text; },
          "TYPE", "type"));
  command->add_option("--spread", options->spread, "Of the data: uniform, equal or zipf")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kSpreads), std::end(kSpreads))));
  CLI::Option* goals = command->add_flag("--goals", options->goals,
                                         "The list that smem is judged by; a missed goal is exit code 1");
  CLI::Option* goals_small =
      command->add_flag("--goals-small", options->goals_small, "The same at sizes for a quick look");
  goals->excludes(goals_small)->excludes(size);
  goals_small->excludes(size);
  const auto names = histogram_variants();
  command->add_option("--variant", options->variants, "Instead of the plan's own choice; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  command->add_flag("--all-variants", options->all_variants, "The plan's own choice, and then every variant");
  command->callback([options, &exit_code] {
    if (options->size == 0 && !options->goals && !options->goals_small)
      throw CLI::RequiredError("--size, --goals, or --goals-small");
    exit_code = run(*options);
  });
}

}  // namespace smem::cli
