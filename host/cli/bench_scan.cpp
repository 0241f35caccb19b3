// smem bench scan: GB/s read and written, and the share of the device's own copy bandwidth.
#include "cli/bench_table.hpp"
#include "cli/goals.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string type = "float32";
  bool exclusive = false;
};

std::optional<Scalar> parse_type(const std::string& text) {
  for (const Scalar type : {Scalar::int32, Scalar::uint32, Scalar::float32, Scalar::int64, Scalar::uint64}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
}

class Bench {
 public:
  explicit Bench(const Context& context) : context_(context), meter_(context), table_(context) {}

  void run(const ScanCase& c, const std::vector<std::string>& variants) {
    ScanProblem problem;
    problem.in = problem.out = c.type;
    problem.exclusive = c.exclusive;
    problem.cols = c.size;
    const std::size_t bytes = c.size * size_of(c.type);
    const std::string label =
        fmt::format("{} sum of {} {}", c.exclusive ? "exclusive" : "inclusive", c.size, name_of(c.type));
    if (!fits(context_.device(), bytes, 3)) return table_.skip(label, "", "does not fit the device's memory");
    const measure::Buffers buffers = measure::make_buffers(context_, bytes);
    const std::vector<unsigned char> host = data(c);
    for (const measure::BufferPair& pair : buffers.pairs)
      write_buffer(context_, pair.in, host.data(), host.size());
    for (const std::string& variant : variants)
      run_variant(c, problem, label, buffers, variant);
  }

  int end(const Options& options) const { return table_.end(options, "bytes read and written once each"); }

 private:
  /// Element i: 0, 1 and -1 in a fixed mixture, so that sums of floats stay exact.
  static int element(std::size_t i) {
    const std::size_t bits = (i * 0x9e3779b97f4a7c15U) >> 60;
    return i % 2 == 1 ? -static_cast<int>((((i - 1) * 0x9e3779b97f4a7c15U) >> 60) & 1)
                      : static_cast<int>(bits & 1);
  }
  template <class Visit>
  static auto with_type(Scalar type, const Visit& visit) {
    if (type == Scalar::float32) return visit(float{});
    return size_of(type) == 4 ? visit(std::int32_t{}) : visit(std::int64_t{});
  }
  static std::vector<unsigned char> data(const ScanCase& c) {
    std::vector<unsigned char> bytes(c.size * size_of(c.type));
    with_type(c.type, [&](auto zero) {
      auto* to = reinterpret_cast<decltype(zero)*>(bytes.data());
      for (std::size_t i = 0; i < c.size; ++i)
        to[i] = static_cast<decltype(zero)>(element(i));
    });
    return bytes;
  }

  void run_variant(const ScanCase& c, const ScanProblem& problem, const std::string& label,
                   const measure::Buffers& buffers, const std::string& variant) {
    const bool automatic = variant.empty();
    Plan plan;
    try {
      plan = plan_scan(context_.device(), problem, variant);
    } catch (const Error& error) {
      if (automatic || error.details().argument != "variant") throw;
      return table_.skip(label, variant, "does not run this on this device");
    }
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions options{.variant = variant};
      const Vector in(pair.in(), c.type, c.size), out(pair.out(), c.type, c.size);
      return c.exclusive ? exclusive_scan(context_, in, out, ReduceOp::sum, {}, options)
                         : inclusive_scan(context_, in, out, ReduceOp::sum, options);
    };
    call(buffers.pairs.front());
    const std::optional<std::string> wrong = check(c, buffers.pairs.front().out);
    const measure::Measurement m = meter_.measure(buffers, plan.prediction.bytes(), call);
    table_.add(label, automatic ? "auto: " + plan.variant : variant, m, automatic ? c.goal : 0, wrong);
  }

  /// Compares every result with a plain loop's.
  std::optional<std::string> check(const ScanCase& c, const cl::Buffer& results) {
    std::vector<unsigned char> got(c.size * size_of(c.type));
    read_buffer(context_, results, got.data(), got.size());
    return with_type(c.type, [&](auto zero) -> std::optional<std::string> {
      const auto* values = reinterpret_cast<const decltype(zero)*>(got.data());
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < c.size; ++i) {
        const std::int64_t before = sum;
        sum += element(i);
        const std::int64_t expected = c.exclusive ? before : sum;
        if (values[i] != static_cast<decltype(zero)>(expected))
          return fmt::format("element {} is {}, not {}", i, values[i], expected);
      }
      return std::nullopt;
    });
  }

  Context context_;
  measure::Meter meter_;
  BenchTable table_;
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<ScanCase> cases;
  if (options.goals || options.goals_small) {
    cases = scan_goals(context.device().type, options.goals_small);
  } else {
    cases = {{*parse_type(options.type), options.size, 0, options.exclusive}};
  }
  Bench bench(context);
  for_cases(options, cases, scan_variants(),
            [&](const ScanCase& c, const std::vector<std::string>& variants) { bench.run(c, variants); });
  return bench.end(options);
}

}  // namespace

void add_bench_scan(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("scan", "Speed of scans, beside the device's own copy");
  auto options = std::make_shared<Options>();
  add_bench_options(*command, *options, scan_variants());
  command
      ->add_option("--type", options->type, "int32, uint32, int64, uint64 or float32; or as OpenCL C has it")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& text) { return parse_type(text) ? "" : "not one of these types: " + text; },
          "TYPE", "type"));
  command->add_flag("--exclusive", options->exclusive, "Without the element itself");
  command->callback([options, &exit_code] {
    if (!options->has_cases()) throw CLI::RequiredError("--size, --goals, or --goals-small");
    exit_code = run(*options);
  });
}

}  // namespace smem::cli
