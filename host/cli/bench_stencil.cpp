// smem bench stencil: GB/s read and written, and the share of the device's own copy bandwidth.
#include "cli/bench_grids.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string size, radius = "1x1", type = "float32", shape = "box";
  std::size_t channels = 1;
};

/// Element i: a whole number from 0 to 15, so that sums are exact in every type.
std::uint8_t element(std::size_t i) { return static_cast<std::uint8_t>((i * 0x9e3779b97f4a7c15U) >> 60); }

std::vector<unsigned char> data(const StencilCase& c) {
  std::vector<unsigned char> bytes(elements_of(c) * size_of(c.type));
  with_pixel(c.type, [&](auto zero) {
    using T = decltype(zero);
    auto* to = reinterpret_cast<T*>(bytes.data());
    for (std::size_t i = 0; i < elements_of(c); ++i)
      to[i] = T(static_cast<float>(element(i)));
  });
  return bytes;
}

/// By a plain loop.
double expected_at(const StencilCase& c, const Stencil& stencil, std::size_t x, std::size_t y, std::size_t z,
                   std::size_t channel) {
  const auto n = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  double sum = 0;
  std::size_t number = 0;
  for (std::ptrdiff_t dz = -n(c.radius[2]); dz <= n(c.radius[2]); ++dz) {
    for (std::ptrdiff_t dy = -n(c.radius[1]); dy <= n(c.radius[1]); ++dy) {
      for (std::ptrdiff_t dx = -n(c.radius[0]); dx <= n(c.radius[0]); ++dx) {
        if (c.shape == StencilShape::star && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
        const auto at = [](std::size_t i, std::ptrdiff_t d, std::size_t size) {
          return static_cast<std::size_t>(std::clamp(static_cast<std::ptrdiff_t>(i) + d, std::ptrdiff_t{0},
                                                     static_cast<std::ptrdiff_t>(size) - 1));
        };
        const std::size_t cell =
            (at(z, dz, c.size[2]) * c.size[1] + at(y, dy, c.size[1])) * c.size[0] + at(x, dx, c.size[0]);
        sum += stencil.weights[number++] * element(cell * c.channels + channel);
      }
    }
  }
  return sum;
}

/// Compares results with a plain loop's: all of small grids, of large ones those near the edges and some
/// others.
std::optional<std::string> check(const Context& context, const StencilCase& c, const cl::Buffer& results) {
  std::vector<unsigned char> got(elements_of(c) * size_of(c.type));
  read_buffer(context, results, got.data(), got.size());
  const Stencil stencil = weights_of(c);
  constexpr double kMostWork = 2e7;
  const auto work = static_cast<double>(elements_of(c)) * static_cast<double>(stencil.weights.size());
  const auto step = static_cast<std::size_t>(std::max(1.0, work / kMostWork));
  return with_pixel(c.type, [&](auto zero) -> std::optional<std::string> {
    using T = decltype(zero);
    const auto* values = reinterpret_cast<const T*>(got.data());
    const std::size_t row = c.size[0] * c.channels, edge = 2 * row;
    for (std::size_t i = 0; i < elements_of(c); i += i < edge || i + edge >= elements_of(c) ? 1 : step) {
      const std::size_t cell = i / c.channels, x = cell % c.size[0], rest = cell / c.size[0];
      double expected = expected_at(c, stencil, x, rest % c.size[1], rest / c.size[1], i % c.channels);
      if (!is_float(c.type))
        expected = std::min(std::nearbyint(expected), c.type == Scalar::uint8 ? 255.0 : 65535.0);
      if (static_cast<double>(values[i]) != static_cast<double>(T(static_cast<float>(expected))))
        return fmt::format("element {} is {}, not {}", i, static_cast<double>(values[i]), expected);
    }
    return std::nullopt;
  });
}

void run_case(BenchTable& table, const StencilCase& c, const std::vector<std::string>& variants) {
  if (c.type == Scalar::float64 && !table.device().fp64) return;
  const auto buffers = table.buffers(label_of(c), elements_of(c) * size_of(c.type), 3);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, data(c));
  const StencilProblem problem = problem_of(c);
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_stencil(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      return run_stencil(context, c, pair, {.variant = variant});
    };
    table.row({label_of(c), variant, c.goal}, *buffers, make_plan, call,
              [&] { return check(context, c, buffers->pairs.front().out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  std::vector<StencilCase> cases;
  if (options.is_list()) {
    cases = stencil_goals(table.device().type, options.goals_small);
  } else {
    cases = {{*parse_pixel(options.type), options.shape == "star" ? StencilShape::star : StencilShape::box,
              *parse_extent(options.size, 1), *parse_extent(options.radius, 0), options.channels}};
  }
  for (const StencilCase& c : cases)
    run_case(table, c, options.variants_of(stencil_variants()));
  return table.end();
}

}  // namespace

void ladder_stencil(const LadderOptions& options) {
  climb(options, stencil_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t edge = options.size(table.device(), 200, 2048, 8192);
    run_case(table, {Scalar::float32, StencilShape::box, {edge, edge, 1}, {2, 2, 0}}, variants);
  });
}

void add_bench_stencil(Command bench, int& exit_code) {
  const Command command = bench.add_command("stencil", "Speed of stencils, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size =
      command.add_option("--size,--sizes", options->size, "Cells of the grid: X, XxY or XxYxZ")
          .check(extent_validator(1));
  command.add_option("--radius", options->radius, "Of the window: X, XxY or XxYxZ")
      .show_default()
      .check(extent_validator(0));
  command.add_option("--type", options->type, "uint8, uint16, half, float32 or float64")
      .show_default()
      .check(pixel_validator());
  command.add_option("--shape", options->shape, "box or star").show_default().one_of({"box", "star"});
  command.add_option("--channels", options->channels, "Interleaved in each cell")
      .show_default()
      .between(1, 4);
  add_bench_options(command, *options, stencil_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
