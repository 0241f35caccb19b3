// smem bench moving_mean: GB/s read and written, and the share of the device's own copy bandwidth.
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
  std::string type = "float32";
  MovingMeanCase one;
};

/// Compares every mean with that of a plain loop, whose sums are whole numbers.
std::optional<std::string> check(const Context& context, const MovingMeanCase& c, const cl::Buffer& results) {
  std::vector<unsigned char> got(c.rows * c.size * size_of(c.type));
  read_buffer(context, results, got.data(), got.size());
  const double relative = c.type == Scalar::half ? 0x1p-10 : 1e-5;
  for (std::size_t row = 0; row < c.rows; ++row) {
    const std::size_t start = row * c.size;
    std::uint64_t sum = 0;
    // The window of x begins window / 2 before it; [first, end) of it are in the row.
    std::size_t first = 0, end = 0;
    for (std::size_t x = 0; x < c.size; ++x) {
      const std::size_t from = x - std::min(x, c.window / 2);
      const std::size_t to = std::min(c.size, x + c.window - c.window / 2);
      while (end < to)
        sum += pixel_of(start + end++);
      while (first < from)
        sum -= pixel_of(start + first++);
      const double wanted = static_cast<double>(sum) / static_cast<double>(to - from);
      const double value = pixel_at(c.type, got, start + x);
      const double error = is_float(c.type) ? relative * wanted : 0.5;
      if (!(std::abs(value - wanted) <= error))
        return fmt::format("element {} of row {} is {}, not {}", x, row, value, wanted);
    }
  }
  return std::nullopt;
}

void run_case(BenchTable& table, const MovingMeanCase& c, const std::vector<std::string>& variants) {
  const std::size_t count = c.rows * c.size, bytes = count * size_of(c.type);
  const std::string label =
      fmt::format("means of {} of {}{} {}", c.window, c.rows == 1 ? "" : fmt::format("{} x ", c.rows), c.size,
                  name_of(c.type));
  // "blocks" has temporary memory of as much as both, at most.
  const auto buffers = table.buffers(label, bytes, 4);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, pixels(c.type, count));
  const MovingMeanProblem problem{c.type, c.type, c.size, c.rows, c.window};
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_moving_mean(context.device(), problem, {.variant = name});
    };
    const auto call = [&](const measure::BufferPair& pair) {
      const GridSize size{c.size, c.rows};
      return moving_mean(context, Grid(pair.in(), c.type, size), Grid(pair.out(), c.type, size), c.window,
                         MeanEnds::shrink, {.variant = variant});
    };
    table.row({label, variant, 0, 2.0 * static_cast<double>(bytes)}, *buffers, make_plan, call,
              [&] { return check(context, c, buffers->pairs.front().out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  MovingMeanCase one = options.one;
  one.type = *parse_pixel(options.type);
  std::vector<MovingMeanCase> cases{one};
  if (options.is_list()) cases = moving_mean_goals(table.device().type, options.goals_small);
  for (const MovingMeanCase& c : cases)
    run_case(table, c, options.variants_of(moving_mean_variants()));
  return table.end();
}

}  // namespace

void ladder_moving_mean(const LadderOptions& options) {
  climb(options, moving_mean_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t bits = options.size(table.device(), 16, 22, 28);
    run_case(table, {.size = std::size_t{1} << bits, .window = 101}, variants);
  });
}

void add_bench_moving_mean(Command bench, int& exit_code) {
  const Command command =
      bench.add_command("moving_mean", "Speed of moving means, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->one.size, "Elements of a row").positive();
  command.add_option("--rows", options->one.rows, "Of a matrix").positive();
  command.add_option("--window", options->one.window, "Elements").show_default().positive();
  command
      .add_option("--type", options->type, "uint8, uint16, half, float32 or float64; or as OpenCL C has it")
      .show_default()
      .check(pixel_validator());
  add_bench_options(command, *options, moving_mean_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
