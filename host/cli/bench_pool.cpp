// smem bench pool: GB/s read and written by pooling, and the share of the device's own copy bandwidth.
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

struct Options : BenchOptions {
  std::string type = "float32", op = "max";
  std::size_t edge = 0, size = 2, stride = 0, planes = 1;
};

/// Compares some thousand results, and the last ones, with plain loops.
std::optional<std::string> check(const Context& context, const PoolCase& c, const cl::Buffer& results) {
  const Pooling windows = Pooling::square(c.size, c.stride);
  const std::size_t across = windows.across(c.edge), count = across * across * c.planes;
  std::vector<unsigned char> got(count * size_of(c.type));
  read_buffer(context, results, got.data(), got.size());
  for (std::size_t n = 0; n < 20000; ++n) {
    const std::size_t i = n < 100 ? count - 1 - n % count : (n * 0x9e3779b97f4a7c15U >> 8) % count;
    const std::size_t plane = i / (across * across), y = i / across % across, x = i % across;
    double most = 0, sum = 0;
    for (std::size_t j = 0; j < c.size; ++j) {
      for (std::size_t k = 0; k < c.size; ++k) {
        const double v = pixel_of((plane * c.edge + y * c.stride + j) * c.edge + x * c.stride + k);
        most = std::max(most, v);
        sum += v;
      }
    }
    const double wanted = c.op == PoolOp::max ? most : sum / static_cast<double>(c.size * c.size);
    const double value = pixel_at(c.type, got, i);
    const double error = is_float(c.type) ? wanted * 1e-3 : 0.5;
    if (!(std::abs(value - wanted) <= error))
      return fmt::format("element {} is {}, not {}", i, value, wanted);
  }
  return std::nullopt;
}

void run_case(BenchTable& table, const PoolCase& c, const std::vector<std::string>& variants) {
  const Pooling windows = Pooling::square(c.size, c.stride);
  const std::size_t across = windows.across(c.edge), count = c.edge * c.edge * c.planes;
  const std::string label =
      fmt::format("{} {} x {} / {} of {} x {} x {} {}", c.op == PoolOp::max ? "max" : "mean", c.size, c.size,
                  c.stride, c.planes, c.edge, c.edge, name_of(c.type));
  const auto buffers = table.buffers(label, count * size_of(c.type), 2);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, pixels(c.type, count));
  PoolProblem problem;
  problem.op = c.op;
  problem.in = problem.out = c.type;
  problem.width = problem.height = c.edge;
  problem.planes = c.planes;
  problem.windows = windows;
  const auto alignment = [&](std::size_t edge) {
    const std::size_t row = edge * size_of(c.type);
    return std::min<std::size_t>(64, row & (~row + 1));
  };
  problem.in_alignment = alignment(c.edge);
  problem.out_alignment = alignment(across);
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_pool(context.device(), problem, {.variant = name});
    };
    const auto call = [&](const measure::BufferPair& pair) {
      const GridLayout layout{.batch = c.planes};
      const Grid in(pair.in(), c.type, {c.edge, c.edge}, layout),
          out(pair.out(), c.type, {across, across}, layout);
      const CallOptions call_options{.variant = variant};
      return c.op == PoolOp::max ? max_pool2d(context, in, out, windows, call_options)
                                 : avg_pool2d(context, in, out, windows, false, call_options);
    };
    table.row({label, variant, c.goal}, *buffers, make_plan, call,
              [&] { return check(context, c, buffers->pairs.front().out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  std::vector<PoolCase> cases{{options.op == "max" ? PoolOp::max : PoolOp::average,
                               *parse_pixel(options.type), options.edge, options.size,
                               options.stride == 0 ? options.size : options.stride, 0, options.planes}};
  if (options.is_list()) cases = pool_goals(table.device().type, options.goals_small);
  for (const PoolCase& c : cases)
    run_case(table, c, options.variants_of(pool_variants()));
  return table.end();
}

}  // namespace

void ladder_pool(const LadderOptions& options) {
  climb(options, pool_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t edge = options.size(table.device(), 200, 4096, 16384);
    run_case(table, {PoolOp::max, Scalar::float32, edge, 2, 2}, variants);
  });
}

void add_bench_pool(Command bench, int& exit_code) {
  const Command command = bench.add_command("pool", "Speed of pooling, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option edge =
      command.add_option("--edge,--sizes", options->edge, "Cells of a row, and rows").between(64, 65536);
  command.add_option("--op", options->op, "max or average").show_default().one_of({"max", "average"});
  command.add_option("--size", options->size, "Of the windows").show_default().between(1, 64);
  command.add_option("--stride", options->stride, "From a window to the next; by default side by side")
      .between(1, 64);
  command.add_option("--planes", options->planes, "Of a batch").positive();
  command
      .add_option("--type", options->type, "uint8, uint16, half, float32 or float64; or as OpenCL C has it")
      .show_default()
      .check(pixel_validator());
  add_bench_options(command, *options, pool_variants(), {edge}, {edge}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
