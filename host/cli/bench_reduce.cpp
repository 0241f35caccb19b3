// smem bench reduce: GB/s read, and the share of the device's own copy bandwidth.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/measure.hpp"

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

struct Options {
  std::string device, op = "sum", type = "float32";
  std::size_t size = 0, rows = 0, cols = 0;
  std::vector<std::string> variants;
  bool columns = false, compensated = false, all_variants = false, goals = false, goals_small = false;
};

constexpr const char* kRow = "{:<34}{:<18}{:>10}{:>9}{:>9}{:>9}{:>9}{:>6}  {}\n";

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

struct Summary {
  std::size_t rows = 0, skipped = 0, missed = 0, wrong = 0;
};

class Bench {
 public:
  explicit Bench(const Context& context) : context_(context), meter_(context) {
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GB/s", "copy", "of copy", "goal", "");
    std::fflush(stdout);
  }

  void run(const ReduceCase& c, const std::vector<std::string>& variants) {
    ReduceProblem problem;
    problem.reduction = {c.op, c.compensated ? FloatMode::compensated : FloatMode::reproducible};
    problem.in = c.type;
    problem.out = usual_result(c.op, c.type);
    problem.shape = c.rows == 0 ? ReduceShape::vector : c.columns ? ReduceShape::columns : ReduceShape::rows;
    problem.rows = std::max<std::size_t>(c.rows, 1);
    problem.cols = c.cols;
    const std::size_t bytes = problem.rows * problem.cols * size_of(c.type);
    const std::string label =
        fmt::format("{}{} of {}{} {}", c.compensated ? "compensated " : "", name_of(c.op),
                    c.rows == 0 ? "" : fmt::format("{} x ", c.rows), c.cols,
                    c.rows == 0 ? std::string(name_of(c.type))
                                : fmt::format("{} {}", name_of(c.type), c.columns ? "cols" : "rows"));
    const Device& device = context_.device();
    if (bytes > device.max_allocation ||
        2.0 * static_cast<double>(bytes) > 0.8 * static_cast<double>(device.global_bytes)) {
      fmt::print("{:<34}skipped: does not fit the device's memory\n", label);
      ++summary_.skipped;
      return;
    }
    const measure::Buffers buffers = measure::make_buffers(context_, bytes);
    const std::vector<unsigned char> host = encode(c.type, problem.rows * problem.cols);
    for (const measure::BufferPair& pair : buffers.pairs)
      write_buffer(context_, pair.in, host.data(), host.size());
    for (const std::string& variant : variants)
      run_variant(c, problem, label, buffers, variant);
  }

  const Summary& end() const {
    fmt::print(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %; GB/s: bytes "
        "read; copy: "
        "bytes\nread and written by {}, in turns with the reduction. {} case(s), all results compared with a "
        "plain "
        "loop: {}.\n",
        copy_name_, summary_.rows,
        summary_.wrong == 0 ? "all right" : fmt::format("{} wrong", summary_.wrong));
    return summary_;
  }

 private:
  void run_variant(const ReduceCase& c, const ReduceProblem& problem, const std::string& label,
                   const measure::Buffers& buffers, const std::string& variant) {
    const bool automatic = variant.empty();
    Plan plan;
    try {
      plan = plan_reduce(context_.device(), problem, variant);
    } catch (const Error& error) {
      if (automatic || error.details().argument != "variant") throw;
      fmt::print("{:<34}{:<18}skipped: does not run this on this device\n", label, variant);
      ++summary_.skipped;
      return;
    }
    const Vector out(buffers.pairs.front().out(), problem.out,
                     problem.results() * (c.op == ReduceOp::minmax ? 2 : 1));
    const cl::Buffer results = make_buffer(context_, std::max<std::size_t>(out.size * size_of(out.type), 64));
    Vector to = out;
    to.buffer = results();
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions options{.variant = variant};
      if (c.rows == 0)
        return reduce(context_, Vector(pair.in(), problem.in, problem.cols), to, problem.reduction, options);
      const Matrix in(pair.in(), size_of(problem.in), problem.rows, problem.cols);
      return c.columns ? reduce_columns(context_, in, problem.in, to, problem.reduction, options)
                       : reduce_rows(context_, in, problem.in, to, problem.reduction, options);
    };
    call(buffers.pairs.front());
    const std::optional<std::string> wrong = check(c, problem, results);
    const measure::Measurement m = meter_.measure(buffers, plan.prediction.bytes(), call);
    copy_name_ = m.copy_name;

    const double goal = automatic ? c.goal : 0;
    std::string verdict = goal == 0 ? "" : m.share() >= goal ? "PASS" : "MISS";
    if (wrong) verdict = "WRONG: " + *wrong;
    summary_.wrong += wrong ? 1 : 0;
    summary_.missed += m.share() < goal ? 1 : 0;
    ++summary_.rows;
    fmt::print(fmt::runtime(kRow), label, automatic ? "auto: " + plan.variant : variant,
               fmt::format("{:.4f}", m.call.median * 1e3), fmt::format("{:.1f} %", 100 * m.call.spread()),
               fmt::format("{:.1f}", m.rate() * 1e-9), fmt::format("{:.1f}", m.copy_rate * 1e-9),
               fmt::format("{:.3f}", m.share()), goal > 0 ? fmt::format("{:.2f}", goal) : "",
               verdict + (m.stable()        ? ""
                          : verdict.empty() ? "unstable"
                                            : " unstable"));
    std::fflush(stdout);
  }

  /// Compares every result with a plain loop's. Sums of small integers are exact in float32 up to 2^24.
  std::optional<std::string> check(const ReduceCase& c, const ReduceProblem& problem,
                                   const cl::Buffer& results) {
    const std::size_t each = (c.op == ReduceOp::minmax ? 2 : 1) * size_of(problem.out);
    std::vector<unsigned char> got(problem.results() * each);
    read_buffer(context_, results, got.data(), got.size());
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

  Context context_;
  measure::Meter meter_;
  Summary summary_;
  std::string copy_name_ = "none";
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<ReduceCase> cases;
  if (options.goals || options.goals_small) {
    cases = reduce_goals(context.device().type, options.goals_small);
  } else {
    ReduceCase one{*parse_reduce_op(options.op), *parse_scalar(options.type), options.rows, options.cols};
    if (options.size > 0) one.cols = options.size;
    one.columns = options.columns;
    one.compensated = options.compensated;
    cases = {one};
  }
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  if (options.all_variants) {
    for (const std::string_view name : reduce_variants())
      variants.emplace_back(name);
  }
  fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
             context.device().driver);
  Bench bench(context);
  for (const ReduceCase& c : cases)
    bench.run(c, variants);
  const Summary& summary = bench.end();
  if (summary.wrong > 0) return kFailure;
  if (!options.goals && !options.goals_small && !options.all_variants && summary.skipped > 0) return kFailure;
  return options.goals && summary.missed > 0 ? kFailure : kGood;
}

}  // namespace

void add_bench_reduce(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("reduce", "Speed of reductions, beside the device's own copy");
  auto options = std::make_shared<Options>();
  command->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* size =
      command->add_option("--size", options->size, "Elements of a vector")->check(CLI::PositiveNumber);
  CLI::Option* rows = command->add_option("--rows", options->rows, "Of a matrix: a result for each row")
                          ->check(CLI::PositiveNumber)
                          ->excludes(size);
  CLI::Option* cols = command->add_option("--cols", options->cols, "Of a matrix")->check(CLI::PositiveNumber);
  rows->needs(cols);
  cols->needs(rows);
  command->add_flag("--columns", options->columns, "A result for each column instead")->needs(rows);
  command->add_option("--op", options->op, "sum, product, min, max, bit_and, ..., mean or norm")
      ->capture_default_str()
      ->check(reduce_op_validator());
  command
      ->add_option("--type", options->type, "int8 to uint64, half, float32 or float64; or as OpenCL C has it")
      ->capture_default_str()
      ->check(scalar_validator());
  command->add_flag("--compensated", options->compensated, "With the rounding errors carried along");
  CLI::Option* goals = command->add_flag("--goals", options->goals,
                                         "The list that smem is judged by; a missed goal is exit code 1");
  CLI::Option* goals_small =
      command->add_flag("--goals-small", options->goals_small, "The same at sizes for a quick look");
  goals->excludes(goals_small)->excludes(size)->excludes(rows);
  goals_small->excludes(size)->excludes(rows);
  const auto names = reduce_variants();
  command->add_option("--variant", options->variants, "Instead of the plan's own choice; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  command->add_flag("--all-variants", options->all_variants, "The plan's own choice, and then every variant");
  command->callback([options, &exit_code] {
    if (options->size == 0 && options->rows == 0 && !options->goals && !options->goals_small)
      throw CLI::RequiredError("--size, --rows and --cols, --goals, or --goals-small");
    exit_code = run(*options);
  });
}

}  // namespace smem::cli
