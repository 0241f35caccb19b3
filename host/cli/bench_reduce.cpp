// smem bench reduce: GB/s read, and the share of the device's own copy bandwidth.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string op = "sum", type = "float32";
  std::size_t size = 0, rows = 0, cols = 0;
  bool columns = false, compensated = false;
};

/// Element i of the data: small integers, whose sums a plain loop gives exactly, from one byte each.
unsigned char pattern(std::size_t i) { return static_cast<unsigned char>((i * 0x9e3779b97f4a7c15u) >> 61); }

/// Writes the pattern as elements of T; any T, since half, float and double have their own encodings.
std::vector<unsigned char> encode(Scalar type, std::size_t count) {
  std::vector<unsigned char> bytes(count * size_of(type));
  const auto fill = [&](auto zero) {
    auto* to = reinterpret_cast<decltype(zero)*>(bytes.data());
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<decltype(zero)>(static_cast<float>(pattern(i)));
  };
  switch (type) {
    case Scalar::half:
      fill(half());
      break;
    case Scalar::float32:
      fill(float{});
      break;
    case Scalar::float64:
      fill(double{});
      break;
    default:
      for (std::size_t i = 0; i < count; ++i)
        bytes[i * size_of(type)] = pattern(i);  // little-endian
  }
  return bytes;
}

/// What a plain loop makes of elements first, first + step, ...
double plain_result(ReduceOp op, std::size_t count, std::size_t first, std::size_t step) {
  double sum = 0, squares = 0, product = 1;
  unsigned least = 255, greatest = 0, both = 255, either = 0;
  std::size_t least_at = 0, greatest_at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned v = pattern(first + i * step);
    sum += v;
    squares += double{1.0} * v * v;
    product *= v;
    both &= v;
    either |= v;
    if (v < least) least = v, least_at = i;
    if (v > greatest) greatest = v, greatest_at = i;
  }
  switch (op) {
    case ReduceOp::sum:
      return sum;
    case ReduceOp::product:
      return product;
    case ReduceOp::max:
      return greatest;
    case ReduceOp::bit_and:
      return both;
    case ReduceOp::bit_or:
      return either;
    case ReduceOp::any:
      return either != 0;
    case ReduceOp::all:
      return least != 0;
    case ReduceOp::argmin:
      return static_cast<double>(least_at);
    case ReduceOp::argmax:
      return static_cast<double>(greatest_at);
    case ReduceOp::mean:
      return sum / static_cast<double>(count);
    case ReduceOp::norm:
      return std::sqrt(squares);
    default:
      return least;  // min, and the first of minmax
  }
}

double decode(Scalar type, const unsigned char* bytes) {
  const auto as = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case Scalar::half: {
      half value;
      std::memcpy(&value, bytes, sizeof value);
      return static_cast<double>(static_cast<float>(value));
    }
    case Scalar::float32:
      return as(float{});
    case Scalar::float64:
      return as(double{});
    case Scalar::int8:
    case Scalar::uint8:
      return as(std::uint8_t{});
    case Scalar::int16:
    case Scalar::uint16:
      return as(std::uint16_t{});
    case Scalar::int32:
    case Scalar::uint32:
      return as(std::uint32_t{});
    default:
      return as(std::uint64_t{});
  }
}

/// Compares every result with a plain loop's. Sums of small integers are exact in float32 up to 2^24.
std::optional<std::string> check(const Context& context, const ReduceCase& c, const ReduceProblem& problem,
                                 const cl::Buffer& results) {
  const std::size_t each = (c.op == ReduceOp::minmax ? 2 : 1) * size_of(problem.out);
  std::vector<unsigned char> got(problem.results() * each);
  read_buffer(context, results, got.data(), got.size());
  const std::size_t count = c.columns ? problem.rows : problem.cols;
  const double tolerance = is_float(problem.out) ? 1e-7 * std::sqrt(static_cast<double>(count)) + 1e-6 : 0;
  for (std::size_t r = 0; r < problem.results(); ++r) {
    const double expected =
        plain_result(c.op, count, c.columns ? r : r * problem.cols, c.columns ? problem.cols : 1);
    const double value = decode(problem.out, got.data() + r * each);
    if (std::abs(value - expected) > tolerance * std::abs(expected))
      return fmt::format("result {} is {}, not {}", r, value, expected);
  }
  return std::nullopt;
}

void run_case(BenchTable& table, const ReduceCase& c, const std::vector<std::string>& variants) {
  ReduceProblem problem;
  problem.reduction = {c.op, c.compensated ? FloatMode::compensated : FloatMode::reproducible};
  problem.in = c.type;
  problem.out = usual_result(c.op, c.type);
  problem.shape = c.rows == 0 ? ReduceShape::vector : c.columns ? ReduceShape::columns : ReduceShape::rows;
  problem.rows = std::max<std::size_t>(c.rows, 1);
  problem.cols = c.cols;
  const std::string label =
      fmt::format("{}{} of {}{} {}", c.compensated ? "compensated " : "", name_of(c.op),
                  c.rows == 0 ? "" : fmt::format("{} x ", c.rows), c.cols,
                  c.rows == 0 ? std::string(name_of(c.type))
                              : fmt::format("{} {}", name_of(c.type), c.columns ? "cols" : "rows"));
  const auto buffers = table.buffers(label, problem.rows * problem.cols * size_of(c.type), 2);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, encode(c.type, problem.rows * problem.cols));
  const std::size_t count = problem.results() * (c.op == ReduceOp::minmax ? 2 : 1);
  const cl::Buffer results = make_buffer(context, std::max<std::size_t>(count * size_of(problem.out), 64));
  const Vector out(results(), problem.out, count);
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_reduce(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions options{.variant = variant};
      if (c.rows == 0)
        return reduce(context, Vector(pair.in(), problem.in, problem.cols), out, problem.reduction, options);
      const Matrix in(pair.in(), size_of(problem.in), problem.rows, problem.cols);
      return c.columns ? reduce_columns(context, in, problem.in, out, problem.reduction, options)
                       : reduce_rows(context, in, problem.in, out, problem.reduction, options);
    };
    table.row({label, variant, c.goal}, *buffers, make_plan, call,
              [&] { return check(context, c, problem, results); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read");
  ReduceCase one{*parse_reduce_op(options.op), *parse_scalar(options.type), options.rows, options.cols};
  if (options.size > 0) one.cols = options.size;
  one.columns = options.columns;
  one.compensated = options.compensated;
  std::vector<ReduceCase> cases{one};
  if (options.is_list()) cases = reduce_goals(table.device().type, options.goals_small);
  for (const ReduceCase& c : cases)
    run_case(table, c, options.variants_of(reduce_variants()));
  return table.end();
}

}  // namespace

void ladder_reduce(const LadderOptions& options) {
  climb(options, reduce_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t bits = options.size(table.device(), 16, 26, 28);
    run_case(table, {.cols = std::size_t{1} << bits}, variants);
  });
}

void add_bench_reduce(Command bench, int& exit_code) {
  const Command command = bench.add_command("reduce", "Speed of reductions, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->size, "Elements of a vector").positive();
  const Option rows = command.add_option("--rows", options->rows, "Of a matrix: a result for each row")
                          .positive()
                          .excludes(size);
  const Option cols = command.add_option("--cols", options->cols, "Of a matrix").positive();
  rows.needs(cols);
  cols.needs(rows);
  command.add_flag("--columns", options->columns, "A result for each column instead").needs(rows);
  command.add_option("--op", options->op, "sum, product, min, max, bit_and, ..., mean or norm")
      .show_default()
      .check(reduce_op_validator());
  command
      .add_option("--type", options->type, "int8 to uint64, half, float32 or float64; or as OpenCL C has it")
      .show_default()
      .check(scalar_validator());
  command.add_flag("--compensated", options->compensated, "With the rounding errors carried along");
  add_bench_options(command, *options, reduce_variants(), {size, rows}, {size, rows}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
