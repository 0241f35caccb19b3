// smem bench blur: GB/s read and written by blurs, and the share of the device's own copy bandwidth.
#include "cli/bench_grids.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

constexpr const char* kKinds[] = {"gaussian", "box", "median", "gradient", "unsharp"};

struct Options : BenchOptions {
  std::string type = "float32", kind = "gaussian";
  std::size_t edge = 0, size = 5, channels = 1;
};

SeparableProblem grids_of(const BlurCase& c) {
  SeparableProblem problem;
  problem.in = problem.out = c.type;
  problem.boundary = Boundary::mirror;
  problem.width = problem.height = c.edge;
  problem.channels = c.channels;
  problem.row_taps = problem.column_taps = c.size;
  problem.unsharp = c.kind == BlurKind::unsharp;
  problem.half_up = c.kind == BlurKind::gaussian && c.type == Scalar::uint8;
  const std::size_t row = c.edge * c.channels * size_of(c.type);
  problem.in_alignment = problem.out_alignment = std::min<std::size_t>(64, row & (~row + 1));
  return problem;
}

Plan plan_of(const Device& device, const BlurCase& c, const std::string& variant) {
  const SeparableProblem grids = grids_of(c);
  if (c.kind == BlurKind::box) return plan_box(device, {grids}, {.variant = variant});
  if (c.kind == BlurKind::median) return plan_window(device, {grids, WindowOp::median}, {.variant = variant});
  if (c.kind == BlurKind::gradient)
    return plan_window(device, {grids, WindowOp::gradient}, {.variant = variant});
  return plan_separable(device, grids, variant);
}

cl::Event call_of(const Context& context, const BlurCase& c, const Grid& in, const Grid& out,
                  const std::string& variant) {
  const CallOptions options{.variant = variant};
  switch (c.kind) {
    case BlurKind::gaussian:
      return gaussian_blur(context, in, out, Gaussian{.size = c.size}, {}, options);
    case BlurKind::box:
      return box_blur(context, in, out, c.size / 2, {}, options);
    case BlurKind::median:
      return median_blur(context, in, out, c.size, {}, options);
    case BlurKind::gradient:
      return sobel(context, in, out, Sobel::magnitude, c.size, {}, options);
    case BlurKind::unsharp:
      break;
  }
  return unsharp_mask(context, in, out, {.window = {.size = c.size}}, {}, options);
}

/// The window of a result, in rows; mirrored at the edges.
std::vector<double> window_of(const BlurCase& c, std::size_t x, std::size_t y, std::size_t channel) {
  const auto edge = static_cast<std::ptrdiff_t>(c.edge), radius = static_cast<std::ptrdiff_t>(c.size / 2);
  const auto inside = [&](std::ptrdiff_t i) { return i < 0 ? -i : i >= edge ? 2 * edge - 2 - i : i; };
  std::vector<double> window;
  for (std::ptrdiff_t j = -radius; j <= radius; ++j) {
    for (std::ptrdiff_t i = -radius; i <= radius; ++i) {
      const auto cell = static_cast<std::size_t>(inside(static_cast<std::ptrdiff_t>(y) + j) * edge +
                                                 inside(static_cast<std::ptrdiff_t>(x) + i));
      window.push_back(pixel_of(cell * c.channels + channel));
    }
  }
  return window;
}

double sum_of(const std::vector<double>& window, const std::vector<double>& row,
              const std::vector<double>& column) {
  double sum = 0;
  for (std::size_t j = 0; j < column.size(); ++j)
    for (std::size_t i = 0; i < row.size(); ++i)
      sum += column[j] * row[i] * window[j * row.size() + i];
  return sum;
}

double expected_of(const BlurCase& c, std::vector<double> window) {
  const std::size_t middle = window.size() / 2;
  const double own = window[middle];
  if (c.kind == BlurKind::median) {
    std::nth_element(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(middle), window.end());
    return window[middle];
  }
  if (c.kind == BlurKind::gradient) {
    const bool small = c.size == 3;
    const std::vector<double> slope =
        small ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
    const std::vector<double> smooth =
        small ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
    return std::hypot(sum_of(window, slope, smooth), sum_of(window, smooth, slope));
  }
  if (c.kind == BlurKind::box) {
    const std::vector<double> equal(c.size, 1.0 / static_cast<double>(c.size));
    return sum_of(window, equal, equal);
  }
  const bool sharp = c.kind == BlurKind::unsharp;
  const std::vector<double> weights = gaussian_weights({.size = c.size}, sharp ? Scalar::float64 : c.type);
  const double sum = sum_of(window, weights, weights);
  return sharp ? 2 * own - sum : sum;
}

/// Compares some thousand results, and those at the edges, with plain loops.
std::optional<std::string> check(const Context& context, const BlurCase& c, const cl::Buffer& results) {
  const std::size_t count = c.edge * c.edge * c.channels;
  std::vector<unsigned char> got(count * size_of(c.type));
  read_buffer(context, results, got.data(), got.size());
  const double most = c.type == Scalar::uint8 ? 255 : c.type == Scalar::uint16 ? 65535 : HUGE_VAL;
  const double least = is_float(c.type) ? -HUGE_VAL : 0;
  const std::size_t looks = std::max<std::size_t>(200, 2000000 / (c.size * c.size));
  for (std::size_t n = 0; n < looks; ++n) {
    const std::size_t place = n < 4 ? (n & 1) * (c.edge - 1) + (n >> 1) * (c.edge - 1) * c.edge
                                    : (n * 0x9e3779b97f4a7c15U >> 8) % (c.edge * c.edge);
    const std::size_t channel = n % c.channels, i = place * c.channels + channel;
    const double wanted =
        std::clamp(expected_of(c, window_of(c, place % c.edge, place / c.edge, channel)), least, most);
    const double value = pixel_at(c.type, got, i);
    const double error =
        is_float(c.type) ? std::abs(wanted) * (c.type == Scalar::half ? 1e-3 : 1e-5) + 1e-3 : 0.501;
    if (!(std::abs(value - wanted) <= error))
      return fmt::format("element {} is {}, not {}", i, value, wanted);
  }
  return std::nullopt;
}

void run_case(BenchTable& table, const BlurCase& c, const std::vector<std::string>& variants) {
  const std::size_t count = c.edge * c.edge * c.channels;
  const std::string label =
      fmt::format("{} {} x {} of {}^2 {}{}", kKinds[static_cast<int>(c.kind)], c.size, c.size, c.edge,
                  name_of(c.type), c.channels == 1 ? "" : fmt::format(" x {}", c.channels));
  const auto buffers = table.buffers(label, count * size_of(c.type), 2);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, pixels(c.type, count));
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) { return plan_of(context.device(), c, name); };
    const auto call = [&](const measure::BufferPair& pair) {
      const GridLayout layout{.channels = c.channels};
      return call_of(context, c, Grid(pair.in(), c.type, {c.edge, c.edge}, layout),
                     Grid(pair.out(), c.type, {c.edge, c.edge}, layout), variant);
    };
    table.row({label, variant, c.goal, 2.0 * static_cast<double>(count * size_of(c.type))}, *buffers,
              make_plan, call, [&] { return check(context, c, buffers->pairs.front().out); });
  }
}

std::vector<std::string_view> variants_of(BlurKind kind) {
  if (kind == BlurKind::box) return box_variants();
  return kind == BlurKind::median || kind == BlurKind::gradient ? window_variants() : separable_variants();
}

std::vector<std::string_view> all_variants() {
  std::vector<std::string_view> names = separable_variants();
  for (const auto& more : {box_variants(), window_variants()}) {
    for (const std::string_view name : more) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  const auto kind = static_cast<BlurKind>(std::find(std::begin(kKinds), std::end(kKinds), options.kind) -
                                          std::begin(kKinds));
  std::vector<BlurCase> cases{
      {kind, *parse_pixel(options.type), options.edge, options.size, 0, options.channels}};
  if (options.is_list()) cases = blur_goals(table.device().type, options.goals_small);
  for (const BlurCase& c : cases)
    run_case(table, c, options.variants_of(variants_of(c.kind)));
  return table.end();
}

}  // namespace

void ladder_separable(const LadderOptions& options) {
  climb(options, separable_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t edge = options.size(table.device(), 200, 2048, 8192);
    run_case(table, {BlurKind::gaussian, Scalar::float32, edge, 15}, variants);
  });
}

void add_bench_blur(Command bench, int& exit_code) {
  const Command command =
      bench.add_command("blur", "Speed of blurs, medians and edges, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option edge =
      command.add_option("--edge,--sizes", options->edge, "Cells of a row, and rows").between(64, 65536);
  command.add_option("--kind", options->kind, "gaussian, box, median, gradient or unsharp")
      .show_default()
      .one_of({std::begin(kKinds), std::end(kKinds)});
  command.add_option("--size", options->size, "Of the window, odd").show_default().between(1, 1001);
  command.add_option("--channels", options->channels, "Interleaved").show_default().between(1, 4);
  command
      .add_option("--type", options->type, "uint8, uint16, half, float32 or float64; or as OpenCL C has it")
      .show_default()
      .check(pixel_validator());
  add_bench_options(command, *options, all_variants(), {edge}, {edge}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
