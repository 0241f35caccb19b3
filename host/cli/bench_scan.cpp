// smem bench scan: GB/s read and written, and the share of the device's own copy bandwidth.
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/measure.hpp"

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

struct Options {
  std::string device, type = "float32";
  std::size_t size = 0;
  std::vector<std::string> variants;
  bool exclusive = false, all_variants = false, goals = false, goals_small = false;
};

constexpr const char* kRow = "{:<34}{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>6}  {}\n";

std::optional<Scalar> parse_type(const std::string& text) {
  for (const Scalar type : {Scalar::int32, Scalar::uint32, Scalar::float32, Scalar::int64, Scalar::uint64}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
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

  void run(const ScanCase& c, const std::vector<std::string>& variants) {
    ScanProblem problem;
    problem.in = problem.out = c.type;
    problem.exclusive = c.exclusive;
    problem.cols = c.size;
    const std::size_t bytes = c.size * size_of(c.type);
    const std::string label =
        fmt::format("{} sum of {} {}", c.exclusive ? "exclusive" : "inclusive", c.size, name_of(c.type));
    const Device& device = context_.device();
    if (bytes > device.max_allocation ||
        3.0 * static_cast<double>(bytes) > 0.8 * static_cast<double>(device.global_bytes)) {
      fmt::print("{:<34}skipped: does not fit the device's memory\n", label);
      ++summary_.skipped;
      return;
    }
    const measure::Buffers buffers = measure::make_buffers(context_, bytes);
    const std::vector<unsigned char> host = data(c);
    for (const measure::BufferPair& pair : buffers.pairs)
      write_buffer(context_, pair.in, host.data(), host.size());
    for (const std::string& variant : variants)
      run_variant(c, problem, label, buffers, variant);
  }

  const Summary& end() const {
    fmt::print(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %; GB/s: bytes "
        "read "
        "and written\nonce each, and so in the copy, {}, in turns with the scan. {} case(s), all results "
        "compared with a plain loop: {}.\n",
        copy_name_, summary_.rows,
        summary_.wrong == 0 ? "all right" : fmt::format("{} wrong", summary_.wrong));
    return summary_;
  }

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
      fmt::print("{:<34}{:<24}skipped: does not run this on this device\n", label, variant);
      ++summary_.skipped;
      return;
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
  Summary summary_;
  std::string copy_name_ = "none";
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<ScanCase> cases;
  if (options.goals || options.goals_small) {
    cases = scan_goals(context.device().type, options.goals_small);
  } else {
    cases = {{*parse_type(options.type), options.size, 0, options.exclusive}};
  }
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  if (options.all_variants) {
    for (const std::string_view name : scan_variants())
      variants.emplace_back(name);
  }
  fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
             context.device().driver);
  Bench bench(context);
  for (const ScanCase& c : cases)
    bench.run(c, variants);
  const Summary& summary = bench.end();
  if (summary.wrong > 0) return kFailure;
  if (!options.goals && !options.goals_small && !options.all_variants && summary.skipped > 0) return kFailure;
  return options.goals && summary.missed > 0 ? kFailure : kGood;
}

}  // namespace

void add_bench_scan(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("scan", "Speed of scans, beside the device's own copy");
  auto options = std::make_shared<Options>();
  command->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* size =
      command->add_option("--size", options->size, "Elements of a vector")->check(CLI::PositiveNumber);
  command
      ->add_option("--type", options->type, "int32, uint32, int64, uint64 or float32; or as OpenCL C has it")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& text) { return parse_type(text) ? "" : "not one of these types: " + text; },
          "TYPE", "type"));
  command->add_flag("--exclusive", options->exclusive, "Without the element itself");
  CLI::Option* goals = command->add_flag("--goals", options->goals,
                                         "The list that smem is judged by; a missed goal is exit code 1");
  CLI::Option* goals_small =
      command->add_flag("--goals-small", options->goals_small, "The same at sizes for a quick look");
  goals->excludes(goals_small)->excludes(size);
  goals_small->excludes(size);
  const auto names = scan_variants();
  command->add_option("--variant", options->variants, "Instead of the plan's own choice; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  command->add_flag("--all-variants", options->all_variants, "The plan's own choice, and then every variant");
  command->callback([options, &exit_code] {
    if (options->size == 0 && !options->goals && !options->goals_small)
      throw CLI::RequiredError("--size, --goals, or --goals-small");
    exit_code = run(*options);
  });
}

}  // namespace smem::cli
