// smem bench conv2d: GFLOP/s of convolutions of many channels, and the share of the device's measured fp32
// rate.
#include "cli/bench_grids.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/ladder.hpp"
#include "cli/results.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

/// Square planes and windows, with as much padding as keeps the size, but for the stride.
struct Conv2dCase {
  std::size_t images = 1, channels = 0, edge = 0, filters = 0, window = 3, stride = 1, groups = 1;
  Scalar type = Scalar::float32;

  std::size_t out_edge() const {
    return convolved_size(edge, window, stride, 1, window / 2, (window - 1) / 2);
  }
  std::size_t inputs() const { return images * channels * edge * edge; }
  std::size_t weights() const { return filters * channels / groups * window * window; }
  std::size_t results() const { return images * filters * out_edge() * out_edge(); }
  /// Where the weights begin behind the input, in elements.
  std::size_t weights_at() const { return (inputs() + 63) / 64 * 64; }
};

struct Options : BenchOptions {
  Conv2dCase one;
  std::string type = "float32";
};

/// Layers of ResNet-50 and MobileNet.
std::vector<Conv2dCase> conv2d_goals(DeviceType type, bool small) {
  const std::size_t n = type == DeviceType::cpu ? 1 : small ? 8 : 64;
  std::vector<Conv2dCase> cases{{n, 3, 224, 64, 7, 2},      {n, 64, 56, 64, 3, 1},
                                {n, 64, 56, 256, 1, 1},     {n, 128, 28, 128, 3, 1},
                                {n, 256, 14, 256, 3, 1},    {n, 256, 56, 512, 1, 2},
                                {n, 512, 7, 512, 3, 1},     {n, 16, 112, 16, 3, 1},
                                {n, 32, 112, 32, 3, 1, 32}, {n, 256, 14, 256, 5, 1, 256}};
  if (type == DeviceType::cpu) return cases;
  const std::size_t count = cases.size();
  for (std::size_t i = 0; i < count; ++i) {
    cases.push_back(cases[i]);
    cases.back().type = Scalar::half;
  }
  return cases;
}

std::string label_of(const Conv2dCase& c) {
  return fmt::format("{} x {} x {}^2, {} of {}^2 / {}{} {}", c.images, c.channels, c.edge, c.filters,
                     c.window, c.stride, c.groups > 1 ? fmt::format(", {} groups", c.groups) : "",
                     name_of(c.type));
}

Conv2d how_of(const Conv2dCase& c) {
  Conv2d how;
  how.stride_x = how.stride_y = c.stride;
  how.padding = {c.window / 2, c.window / 2, (c.window - 1) / 2, (c.window - 1) / 2};
  how.groups = c.groups;
  return how;
}

Conv2dProblem problem_of(const Conv2dCase& c) {
  Conv2dProblem p;
  p.type = c.type;
  p.images = c.images;
  p.in_channels = c.channels;
  p.width = p.height = c.edge;
  p.out_channels = c.filters;
  p.window_width = p.window_height = c.window;
  p.out_width = p.out_height = c.out_edge();
  p.stride_x = p.stride_y = c.stride;
  p.pad_left = p.pad_top = c.window / 2;
  p.groups = c.groups;
  const auto alignment = [&](std::size_t elements) {
    const std::size_t bytes = elements * size_of(c.type);
    return std::min<std::size_t>(64, bytes & (~bytes + 1));
  };
  p.in_alignment = alignment(c.edge * c.edge);
  p.out_alignment = alignment(c.out_edge() * c.out_edge());
  p.weight_alignment = alignment(c.weights() / c.filters);
  return p;
}

/// Input and weights: pixels over 256, so that sums of half stay in its range.
float value_of(std::size_t i) { return static_cast<float>(pixel_of(i)) / 256; }

/// Compares results all over the output with sums in double precision. \returns what is wrong.
std::optional<std::string> check(const Context& context, const Conv2dCase& c, const cl::Buffer& out) {
  std::vector<unsigned char> got(c.results() * size_of(c.type));
  read_buffer(context, out, got.data(), got.size());
  const std::size_t edge = c.out_edge(), group = c.channels / c.groups, taps = c.window * c.window;
  const std::size_t step = std::max<std::size_t>(c.results() / 499, 1) | 1;
  for (std::size_t place = 0; place < c.results(); place += step) {
    const std::size_t x = place % edge, y = place / edge % edge, k = place / edge / edge % c.filters,
                      n = place / edge / edge / c.filters;
    double sum = 0;
    for (std::size_t i = 0; i < group * taps; ++i) {
      const std::size_t channel = i / taps + k / (c.filters / c.groups) * group;
      const std::size_t row = y * c.stride + i % taps / c.window - c.window / 2;
      const std::size_t col = x * c.stride + i % c.window - c.window / 2;
      if (row >= c.edge || col >= c.edge) continue;
      sum += static_cast<double>(value_of(((n * c.channels + channel) * c.edge + row) * c.edge + col)) *
             static_cast<double>(value_of(c.weights_at() + k * group * taps + i));
    }
    const double error =
        (static_cast<double>(group * taps + 3) * 0x1p-24 + (c.type == Scalar::half ? 0x1p-11 : 0x1p-24)) *
        sum;
    const double result = pixel_at(c.type, got, place);
    if (!(std::abs(result - sum) <= error)) return fmt::format("element {}: {}, not {}", place, result, sum);
  }
  return std::nullopt;
}

std::vector<unsigned char> numbers(const Conv2dCase& c) {
  const std::size_t count = c.weights_at() + c.weights();
  std::vector<unsigned char> bytes(count * size_of(c.type));
  with_pixel(c.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const T value(static_cast<T>(value_of(i)));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

constexpr const char* kRow = "{:<50}{:<18}{:>11}{:>9}{:>10}{:>9}  {}\n";

/// Rows of one benchmark.
class Table {
 public:
  explicit Table(const Options& options)
      : options_(options),
        context_({.device = options.device, .profiling = true}),
        meter_(context_),
        rates_(measure_rates(context_)) {
    if (options_.quiet) return;
    const Device& device = context_.device();
    fmt::print("{} ({}, driver {}), fp32 {:.1f} GFLOP/s\n", device.name, device.platform, device.driver,
               rates_.fp32 * 1e-9);
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GFLOP/s", "of fp32", "");
  }
  const Context& context() const { return context_; }

  void run_case(const Conv2dCase& c, const std::vector<std::string>& variants) {
    const std::size_t bytes = std::max(c.weights_at() + c.weights(), c.results()) * size_of(c.type);
    if (bytes > context_.device().max_allocation) {
      skip(label_of(c), "", "does not fit the device's memory");
      return;
    }
    measure::Buffers buffers = measure::make_buffers(context_, bytes);
    buffers.pairs.resize(1);  // as a network whose layer stays where it is
    const measure::BufferPair& pair = buffers.pairs.front();
    const std::vector<unsigned char> in = numbers(c);
    write_buffer(context_, pair.in, in.data(), in.size());
    for (const std::string& variant : variants)
      run_variant(c, variant, buffers);
  }
  int end() const {
    if (!options_.quiet) print_end();
    return wrong_ > 0 || (rows_ == 0 && skipped_ > 0) ? kFailure : kGood;
  }

 private:
  void print_end() const {
    fmt::print("{} result(s) compared with sums in double precision, at 500 places: {}.\n", rows_,
               wrong_ == 0 ? "all right" : fmt::format("{} wrong", wrong_));
  }
  void skip(const std::string& label, const std::string& variant, const char* why) {
    if (!options_.quiet) fmt::print("{:<50}{:<18}skipped: {}\n", label, variant, why);
    ++skipped_;
  }
  void run_variant(const Conv2dCase& c, const std::string& variant, const measure::Buffers& buffers) {
    const std::string label = label_of(c);
    Plan plan;
    try {
      plan = plan_conv2d(context_.device(), problem_of(c), {.variant = variant});
    } catch (const Error& error) {
      if (variant.empty() || error.details().argument != "variant") throw;
      skip(label, variant, "does not run this on this device");
      return;
    }
    const std::vector<unsigned char> poison(c.results() * size_of(c.type), 0xff);
    write_buffer(context_, buffers.pairs.front().out, poison.data(), poison.size());
    const Conv2d how = how_of(c);
    const auto call = [&](const measure::BufferPair& pair) {
      return conv2d(context_, Grid(pair.in(), c.type, {c.edge, c.edge, c.channels}, {.batch = c.images}),
                    Grid(pair.in(), c.type, {c.window, c.window, c.channels / c.groups},
                         {.offset = c.weights_at(), .batch = c.filters}),
                    Grid(pair.out(), c.type, {c.out_edge(), c.out_edge(), c.filters}, {.batch = c.images}),
                    how, {.variant = variant});
    };
    const CallCosts costs = costs_of(context_, buffers.pairs.front(), call);
    const std::optional<std::string> wrong = check(context_, c, buffers.pairs.front().out);
    const measure::Statistics seconds =
        meter_.measure(buffers, plan.prediction.bytes(), call, effort_of(context_, buffers, call)).call;
    const std::size_t taps = c.channels / c.groups * c.window * c.window;
    const double operations = 2.0 * static_cast<double>(c.results()) * static_cast<double>(taps);
    Result result{.operation = "conv2d",
                  .label = label,
                  .asked = variant.empty() ? "auto" : variant,
                  .seconds = seconds,
                  .bytes = plan.prediction.bytes(),
                  .operations = operations,
                  .fp32_rate = rates_.fp32,
                  .wrong = wrong.value_or(""),
                  .costs = costs};
    set_plan(result, context_.device(), plan);
    ++rows_;
    wrong_ += wrong ? 1 : 0;
    if (!options_.quiet) print_row(result);
    record(context_.device(), std::move(result));
  }
  static void print_row(const Result& r) {
    const double seconds = r.seconds.median;
    fmt::print(fmt::runtime(kRow), r.label, r.asked == "auto" ? fmt::format("auto: {}", r.variant) : r.asked,
               fmt::format("{:.4f}", seconds * 1e3), fmt::format("{:.1f} %", 100 * r.seconds.spread()),
               fmt::format("{:.1f}", r.rate() * 1e-9), fmt::format("{:.3f}", r.share()),
               r.wrong.empty() ? "" : fmt::format("WRONG: {}", r.wrong));
    std::fflush(stdout);
  }

  Options options_;
  Context context_;
  measure::Meter meter_;
  Rates rates_;
  std::size_t rows_ = 0, wrong_ = 0, skipped_ = 0;
};

int run(const Options& options) {
  Table table(options);
  Conv2dCase one = options.one;
  one.type = *parse_pixel(options.type);
  std::vector<Conv2dCase> cases{one};
  if (options.is_list()) cases = conv2d_goals(table.context().device().type, options.goals_small);
  for (const Conv2dCase& c : cases)
    table.run_case(c, options.variants_of(conv2d_variants()));
  return table.end();
}

}  // namespace

void ladder_conv2d(const LadderOptions& ladder) {
  Options options;
  options.device = ladder.device;
  options.quiet = true;
  Table table(options);
  const Device& device = table.context().device();
  const std::size_t images = ladder.size(device, 1, 1, 64), edge = ladder.size(device, 14, 56, 56);
  std::vector<std::string> variants;
  for (const std::string_view variant : conv2d_variants())
    variants.emplace_back(variant);
  table.run_case({images, 64, edge, 64, 3}, variants);
}

void add_bench_conv2d(Command bench, int& exit_code) {
  const Command command =
      bench.add_command("conv2d", "Speed of convolutions of many channels, beside the device's fp32 rate");
  auto options = std::make_shared<Options>();
  Conv2dCase& one = options->one;
  const auto number = [&](const char* name, std::size_t& value, const char* what, std::size_t most) {
    return command.add_option(name, value, what).between(std::size_t{1}, most);
  };
  const Option edge = number("--edge,--sizes", one.edge, "Rows and columns of a plane of the input", 65536);
  const Option channels = number("--channels", one.channels, "Of an image", 65536);
  const Option filters = number("--filters", one.filters, "Channels of the output", 65536);
  edge.needs(channels).needs(filters);
  number("--images", one.images, "Of the batch", 65536);
  number("--window", one.window, "Rows and columns of a filter", 64).show_default();
  number("--stride", one.stride, "From a window to the next", 64).show_default();
  number("--groups", one.groups, "Of channels", 65536).show_default();
  command.add_option("--type", options->type, "half, float32 or float64")
      .show_default()
      .one_of({"half", "float32", "float64", "float", "double"});
  add_bench_options(command, *options, conv2d_variants(), {edge}, {edge}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
