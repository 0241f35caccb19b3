// smem bench gemm: GFLOP/s, and the shares of the device's measured fp32 rate and of the fastest variant.
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/gemm_case.hpp"
#include "cli/ladder.hpp"
#include "cli/results.hpp"
#include "cli/whole_file.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string shape, type = "float32", out;
  std::size_t batch = 1;
  bool transpose_a = false, transpose_b = false, tf32 = false, ladder = false;
};

constexpr const char* kRow = "{:<36}{:<24}{:>11}{:>9}{:>10}{:>9}{:>12}{:>7}  {}\n";

template <class T>
void store(std::vector<unsigned char>& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}

/// Of any type, as a number.
double number_at(const std::vector<unsigned char>& bytes, std::size_t i, Scalar type) {
  const auto load = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case Scalar::half:
      return static_cast<float>(load(half{}));
    case Scalar::bfloat16:
      return static_cast<float>(load(bfloat16{}));
    case Scalar::int8:
      return load(std::int8_t{});
    case Scalar::int32:
      return load(std::int32_t{});
    case Scalar::float64:
      return load(double{});
    default:
      return load(float{});
  }
}

/// Uniform in [-1, 1], of integers in [-128, 127].
std::vector<unsigned char> numbers(std::size_t count, Scalar type) {
  std::vector<unsigned char> bytes(count * size_of(type));
  std::minstd_rand random(7);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(random()) / 1073741823.5 - 1;
    switch (type) {
      case Scalar::half:
        store(bytes, i, half(static_cast<float>(x)));
        break;
      case Scalar::bfloat16:
        store(bytes, i, bfloat16(static_cast<float>(x)));
        break;
      case Scalar::int8:
        store(bytes, i, static_cast<std::int8_t>(127 * x));
        break;
      case Scalar::float64:
        store(bytes, i, x);
        break;
      default:
        store(bytes, i, static_cast<float>(x));
    }
  }
  return bytes;
}

/// Compares results all over C with sums in double precision. \returns what is wrong.
std::optional<std::string> check(const Context& context, const GemmCase& c,
                                 const std::vector<unsigned char>& in, const cl::Buffer& out) {
  const auto& [m, n, k] = c.shape;
  std::vector<unsigned char> got(m * n * c.batch * size_of(c.out));
  read_buffer(context, out, got.data(), got.size());
  const std::size_t total = m * n * c.batch, step = std::max<std::size_t>(total / 499, 1) | 1;
  const double unit = c.out == Scalar::half ? 0x1p-11 : c.out == Scalar::bfloat16 ? 0x1p-8 : 0x1p-24;
  for (std::size_t place = 0; place < total; place += step) {
    const std::size_t q = place / (m * n), i = place % (m * n) / n, j = place % n;
    double sum = 0, size = 0;
    for (std::size_t p = 0; p < k; ++p) {
      const double x = number_at(in, q * m * k + (c.transpose_a ? p * m + i : i * k + p), c.in);
      const double y =
          number_at(in, start_of_b(c) + q * k * n + (c.transpose_b ? j * k + p : p * n + j), c.in);
      sum += x * y;
      size += std::abs(x * y);
    }
    const double wanted =
        c.out == Scalar::int32
            ? static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)))
            : sum;
    const double error =
        c.out == Scalar::int32
            ? 0
            : (static_cast<double>(k + 2) * 0x1p-24 + (c.tf32 ? 0x1.01p-9 : 0)) * size + unit * std::abs(sum);
    const double result = number_at(got, place, c.out);
    if (!(std::abs(result - wanted) <= error))
      return fmt::format("({}, {}) of {}: {}, not {}", i, j, q, result, wanted);
  }
  return std::nullopt;
}

struct Row {
  std::string variant;  ///< as it was asked for
  std::string name;     ///< as it was chosen
  measure::Statistics seconds;
  std::optional<std::string> wrong;
  Plan plan;
  CallCosts costs;
};

class GemmTable {
 public:
  GemmTable(const Context& context, const Options& options)
      : context_(context), options_(options), meter_(context), rates_(measure_rates(context)) {
    if (!options_.csv.empty()) {
      csv_.open(options_.csv);
      if (!csv_)
        throw Error({.operation = "bench",
                     .argument = "--csv",
                     .expected = "a file that can be written",
                     .got = options_.csv});
      csv_ << "device,driver,case,asked,variant,median_ms,low_ms,high_ms,gflops,share_of_fp32,share_of_"
              "fastest,goal,result\n";
    }
    if (options_.quiet) return;
    const Device& device = context_.device();
    fmt::print("{} ({}, driver {}), fp32 {:.1f} GFLOP/s\n", device.name, device.platform, device.driver,
               rates_.fp32 * 1e-9);
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GFLOP/s", "of fp32", "of fastest",
               "goal", options_.ladder ? "what changed" : "");
    std::fflush(stdout);
  }

  void run_case(const GemmCase& c, const std::vector<std::string>& variants) {
    const std::string label = label_of(c);
    const std::size_t bytes = bytes_of(c);
    const Device& device = context_.device();
    if (bytes > device.max_allocation || (c.in == Scalar::float64 && !device.fp64)) {
      skip(label, "",
           bytes > device.max_allocation ? "does not fit the device's memory" : "the device has no fp64");
      return;
    }
    measure::Buffers buffers = measure::make_buffers(context_, bytes);
    buffers.pairs.resize(1);  // as a program that multiplies again and again
    const measure::BufferPair& pair = buffers.pairs.front();
    const std::vector<unsigned char> in = numbers(start_of_b(c) + c.shape.k * c.shape.n * c.batch, c.in);
    write_buffer(context_, pair.in, in.data(), in.size());
    std::vector<Row> rows;
    for (const std::string& variant : variants) {
      Plan plan;
      try {
        plan = plan_gemm(device, problem_of(c), variant);
      } catch (const Error& error) {
        if (variant.empty() || error.details().argument != "variant") throw;
        skip(label, variant, "does not run this on this device");
        continue;
      }
      const std::vector<unsigned char> poison(c.shape.m * c.shape.n * c.batch * size_of(c.out), 0xff);
      write_buffer(context_, pair.out, poison.data(), poison.size());
      const auto call = [&](const measure::BufferPair& both) {
        return run_gemm(context_, c, both, {.variant = variant});
      };
      const CallCosts costs = costs_of(context_, pair, call);
      Row row{variant, plan.variant, {}, check(context_, c, in, pair.out), plan, costs};
      row.seconds =
          meter_.measure(buffers, plan.prediction.bytes(), call, gemm_effort(context_, buffers, call)).call;
      rows.push_back(std::move(row));
    }
    double fastest = 0;
    for (const Row& row : rows)
      if (fastest == 0 || row.seconds.median < fastest) fastest = row.seconds.median;
    for (const Row& row : rows)
      print(c, label, row, fastest);
  }

  int end() {
    if (rows_ > 0 && !options_.quiet) {
      fmt::print(
          "ms: median; spread: the middle four fifths of the repetitions; GFLOP/s: 2 M N K operations a "
          "product;\n"
          "of fp32: of the device's measured fp32 rate (smem bench rates), whatever the type.\n"
          "{} result(s) compared with sums in double precision, at 500 places: {}.\n",
          rows_, wrong_ == 0 ? "all right" : fmt::format("{} wrong", wrong_));
    }
    if (csv_.is_open() && !csv_.finish())
      throw Error({.operation = "bench",
                   .argument = "--csv",
                   .expected = "a file that can be written",
                   .got = "a write that failed"});
    if (wrong_ > 0) return kFailure;
    if (!options_.is_list() && !options_.all_variants && !options_.ladder && skipped_ > 0) return kFailure;
    return options_.goals && missed_ > 0 ? kFailure : kGood;
  }

 private:
  void skip(const std::string& label, const std::string& variant, const std::string& why) {
    if (!options_.quiet) fmt::print("{:<36}{:<24}skipped: {}\n", label, variant, why);
    ++skipped_;
  }
  void print(const GemmCase& c, const std::string& label, const Row& row, double fastest) {
    const bool automatic = row.variant.empty();
    const double goal = automatic ? c.goal : 0;
    const double rate = 2.0 * static_cast<double>(c.shape.m) * static_cast<double>(c.shape.n) *
                        static_cast<double>(c.shape.k) * static_cast<double>(c.batch) / row.seconds.median;
    const double share = rates_.fp32 > 0 ? rate / rates_.fp32 : 0;
    std::string verdict = goal == 0 ? "" : share >= goal ? "PASS" : "MISS";
    if (options_.ladder && !automatic) verdict = gemm_step(row.variant);
    if (row.wrong) verdict = fmt::format("WRONG: {}", *row.wrong);
    ++rows_;
    wrong_ += row.wrong ? 1 : 0;
    missed_ += share < goal ? 1 : 0;
    Result result{.operation = "gemm",
                  .label = label,
                  .asked = automatic ? "auto" : row.variant,
                  .seconds = row.seconds,
                  .bytes = row.plan.prediction.bytes(),
                  .operations = rate * row.seconds.median,
                  .fp32_rate = rates_.fp32,
                  .goal = goal,
                  .wrong = row.wrong.value_or(""),
                  .costs = row.costs};
    set_plan(result, context_.device(), row.plan);
    record(context_.device(), std::move(result));
    if (options_.quiet) return;
    fmt::print(fmt::runtime(kRow), label, automatic ? fmt::format("auto: {}", row.name) : row.variant,
               fmt::format("{:.4f}", row.seconds.median * 1e3),
               fmt::format("{:.1f} %", 100 * row.seconds.spread()), fmt::format("{:.1f}", rate * 1e-9),
               fmt::format("{:.3f}", share), fmt::format("{:.3f}", fastest / row.seconds.median),
               goal > 0 ? fmt::format("{:.3f}", goal) : "", verdict);
    std::fflush(stdout);
    if (!csv_.is_open()) return;
    csv_ << fmt::format(
        "\"{}\",\"{}\",\"{}\",{},{},{:.6f},{:.6f},{:.6f},{:.3f},{:.4f},{:.4f},{},{}\n",
        context_.device().name, context_.device().driver, label, automatic ? "auto" : row.variant, row.name,
        row.seconds.median * 1e3, row.seconds.low * 1e3, row.seconds.high * 1e3, rate * 1e-9, share,
        fastest / row.seconds.median, goal > 0 ? fmt::format("{}", goal) : "", row.wrong ? "wrong" : "right");
  }

  Context context_;
  Options options_;
  measure::Meter meter_;
  Rates rates_;
  WholeFile csv_;
  std::size_t rows_ = 0, skipped_ = 0, missed_ = 0, wrong_ = 0;
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<GemmCase> cases;
  if (options.is_list()) {
    cases = gemm_goals(context.device().type, options.goals_small);
  } else {
    GemmCase c;
    c.shape = *parse_product(options.shape);
    c.in = *parse_gemm_type(options.type);
    c.out = options.out.empty() ? usual_gemm_result(c.in) : *parse_gemm_type(options.out);
    c.batch = options.batch;
    c.transpose_a = options.transpose_a;
    c.transpose_b = options.transpose_b;
    c.tf32 = options.tf32;
    cases = {c};
  }
  std::vector<std::string> variants = options.variants_of(gemm_variants());
  if (options.ladder) {
    variants.clear();
    for (const std::string_view variant : gemm_variants())
      variants.emplace_back(variant);
  }
  GemmTable table(context, options);
  for (const GemmCase& c : cases)
    table.run_case(c, variants);
  return table.end();
}

}  // namespace

void ladder_gemm(const LadderOptions& ladder) {
  Options options;
  options.device = ladder.device;
  options.quiet = options.ladder = true;
  const Context context({.device = ladder.device, .profiling = true});
  GemmTable table(context, options);
  std::vector<std::string> variants;
  for (const std::string_view variant : gemm_variants())
    variants.emplace_back(variant);
  const std::size_t edge = ladder.size(context.device(), 100, 512, 4096);
  table.run_case({{edge, edge, edge}}, variants);
  table.end();
}

void add_bench_gemm(Command bench, int& exit_code) {
  const Command command =
      bench.add_command("gemm", "Speed of products of matrices, beside the device's fp32 rate");
  auto options = std::make_shared<Options>();
  const Option shape = command.add_option("--size,--sizes", options->shape, "Of the product: MxNxK")
                           .check(product_validator());
  command.add_option("--type", options->type, "Of A and B: float, double, half, bfloat16 or int8")
      .show_default()
      .check(gemm_type_validator())
      .needs(shape);
  command.add_option("--out", options->out, "Type of C; else that of the sums")
      .check(gemm_type_validator())
      .needs(shape);
  command.add_option("--batch", options->batch, "Number of products").positive().needs(shape);
  command.add_flag("--transpose-a", options->transpose_a, "A is K x M").needs(shape);
  command.add_flag("--transpose-b", options->transpose_b, "B is N x K").needs(shape);
  command.add_flag("--tf32", options->tf32, "Let matrix units cut float to TF32").needs(shape);
  command
      .add_flag("--ladder", options->ladder,
                "Every variant in turn, and what it does that the one before does not")
      .needs(shape);
  add_bench_options(command, *options, gemm_variants(), {shape}, {shape}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
