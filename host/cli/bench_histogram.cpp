// smem bench histogram: GB/s read, and the share of the device's own copy bandwidth, for data with and
// without skew.
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

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

struct Options : BenchOptions {
  std::string type = "float32", spread = "uniform";
  std::size_t size = 0, bins = 256;
};

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

void run_case(BenchTable& table, const HistogramCase& c, const std::vector<std::string>& variants) {
  const std::string label =
      fmt::format("{} {} {}, {} bins", c.size, kSpreads[static_cast<int>(c.spread)], name_of(c.type), c.bins);
  const auto buffers = table.buffers(label, c.size * size_of(c.type), 2);
  if (!buffers) return;
  const Context& context = table.context();
  const std::vector<unsigned char> host =
      with_type(c.type, [&](auto zero) { return encode<decltype(zero)>(c); });
  const std::vector<std::uint64_t> expected =
      with_type(c.type, [&](auto zero) { return plain_counts<decltype(zero)>(c, host); });
  table.fill(*buffers, host);
  HistogramProblem problem;
  problem.in = c.type;
  problem.rule = even_bins(c.type, c.bins, 0, range_of(c.type)).rule;
  problem.bins = c.bins;
  problem.cols = c.size;
  const Array<std::uint32_t> counts(context, c.bins);
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_histogram(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      return histogram(context, Vector(pair.in(), c.type, c.size), counts.vector(),
                       Bins::even(c.bins, 0, range_of(c.type)), {.variant = variant});
    };
    table.row({label, variant, c.goal}, *buffers, make_plan, call, [&]() -> std::optional<std::string> {
      const std::vector<std::uint32_t> got = counts.to_host();
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] != expected[i]) return fmt::format("bin {} is {}, not {}", i, got[i], expected[i]);
      }
      return std::nullopt;
    });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read");
  std::vector<HistogramCase> cases{
      {*parse_scalar(options.type), options.bins, options.size, *parse_spread(options.spread)}};
  if (options.is_list()) cases = histogram_goals(table.device().type, options.goals_small);
  for (const HistogramCase& c : cases)
    run_case(table, c, options.variants_of(histogram_variants()));
  return table.end();
}

}  // namespace

void ladder_histogram(const LadderOptions& options) {
  climb(options, histogram_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t bits = options.size(table.device(), 16, 24, 28);
    run_case(table, {.size = std::size_t{1} << bits}, variants);
  });
}

void add_bench_histogram(Command bench, int& exit_code) {
  const Command command = bench.add_command("histogram", "Speed of histograms, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->size, "Elements").positive();
  command.add_option("--bins", options->bins, "Of equal width")
      .show_default()
      .between(std::size_t{1}, kMaxBins);
  command.add_option("--type", options->type, "uint8, uint16, int32 or float32; or as OpenCL C has it")
      .show_default()
      .check({[](const std::string& text) { return parse_scalar(text).has_value(); }, "TYPE",
              "not one of the types"});
  command.add_option("--spread", options->spread, "Of the data: uniform, equal or zipf")
      .show_default()
      .one_of({std::begin(kSpreads), std::end(kSpreads)});
  add_bench_options(command, *options, histogram_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
