// smem bench transpose: GB/s, and the share of the device's own copy bandwidth.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/measure.hpp"
#include "cli/pattern.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options {
  std::string device, type = "float", csv;
  std::size_t rows = 0, cols = 0, batch = 1;
  std::vector<std::string> variants;
  bool all_variants = false, goals = false, goals_small = false;
};

constexpr const char* kRow = "{:<26}{:<16}{:>10}{:>9}{:>9}{:>9}{:>9}{:>6}  {}\n";

struct Summary {
  std::size_t rows = 0;
  std::size_t skipped = 0;
  std::size_t missed = 0;
  std::size_t wrong = 0;
};

class Bench {
 public:
  Bench(const Context& context, const std::string& csv) : context_(context), meter_(context) {
    if (csv.empty()) return;
    csv_.open(csv);
    if (!csv_) refuse_csv(csv);
    csv_ << "device,driver,element_bytes,rows,cols,batch,asked,variant,median_ms,low_ms,high_ms,gb_per_s,"
            "copy,copy_gb_per_s,share,goal,stable,result\n";
  }

  void header() const {
    fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GB/s", "copy", "of copy", "goal", "");
    std::fflush(stdout);
  }

  /// Measures the variants on one case; an empty name is the plan's own choice.
  void run(const TransposeCase& problem_case, const std::vector<std::string>& variants) {
    const TransposeProblem problem = packed_problem(
        problem_case.element_bytes, {problem_case.rows, problem_case.cols}, problem_case.batch);
    const double bytes = static_cast<double>(problem.element_bytes) * static_cast<double>(problem.rows) *
                         static_cast<double>(problem.cols) * static_cast<double>(problem.batch);
    const std::string label =
        fmt::format("{}{} x {}, {} B", problem.batch == 1 ? "" : fmt::format("{} of ", problem.batch),
                    problem.rows, problem.cols, problem.element_bytes);
    const Device& device = context_.device();
    if (bytes > static_cast<double>(device.max_allocation) ||
        2 * bytes > 0.8 * static_cast<double>(device.global_bytes)) {
      fmt::print("{:<26}skipped: does not fit the device's memory\n", label);
      ++summary_.skipped;
      return;
    }
    const measure::Buffers buffers = measure::make_buffers(context_, static_cast<std::size_t>(bytes));
    write_pattern(context_, problem, buffers.pairs.front().in);
    for (std::size_t i = 1; i < buffers.pairs.size();
         ++i)  // the same data everywhere: it may cost the same power
      copy_buffer(buffers.pairs.front().in, buffers.pairs[i].in, buffers.bytes);
    for (const std::string& variant : variants)
      run_variant(problem_case, problem, label, buffers, variant);
  }

  void end() {
    if (summary_.rows > 0) {
      fmt::print(
          "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %; GB/s: bytes "
          "read and\n"
          "written; copy: {}, in turns with the transpose. {} result(s) compared with a plain loop: {}.\n",
          copy_name_, summary_.rows,
          summary_.wrong == 0 ? "all right" : fmt::format("{} wrong", summary_.wrong));
    }
    if (!csv_.is_open()) return;
    csv_.close();
    if (!csv_) refuse_csv("a write that failed");
  }
  const Summary& summary() const { return summary_; }

 private:
  void copy_buffer(const cl::Buffer& from, const cl::Buffer& to, std::size_t bytes) const {
    measure::check(clEnqueueCopyBuffer(context_.queue()(), from(), to(), 0, 0, bytes, 0, nullptr, nullptr),
                   "clEnqueueCopyBuffer");
  }

  [[noreturn]] static void refuse_csv(const std::string& got) {
    throw Error(
        {.operation = "bench", .argument = "--csv", .expected = "a file that can be written", .got = got});
  }

  void run_variant(const TransposeCase& problem_case, const TransposeProblem& problem,
                   const std::string& label, const measure::Buffers& buffers, const std::string& variant) {
    const bool automatic = variant.empty();
    const Plan plan = [&] {
      try {
        return plan_transpose(context_.device(), problem, variant);
      } catch (const Error& error) {
        if (automatic) throw;
        return Plan();  // this variant cannot run here
      }
    }();
    const std::string name = automatic ? "auto: " + plan.variant : variant;
    if (plan.variant.empty()) {
      fmt::print("{:<26}{:<16}skipped: does not fit this device\n", label, name);
      ++summary_.skipped;
      return;
    }
    const Extent packed{.batch = problem.batch};
    const auto call = [&](const measure::BufferPair& pair) {
      return transpose(context_, Matrix(pair.in(), problem.element_bytes, problem.rows, problem.cols, packed),
                       Matrix(pair.out(), problem.element_bytes, problem.cols, problem.rows, packed),
                       {.variant = variant});
    };
    const measure::BufferPair& first = buffers.pairs.front();
    poison(context_, first.out, buffers.bytes);
    call(first);
    const std::optional<std::string> wrong = check_transposed(context_, problem, first.out);
    const measure::Measurement m = meter_.measure(buffers, plan.prediction.bytes(), call);
    copy_name_ = m.copy_name;

    const double goal = automatic ? problem_case.goal : 0;
    std::string verdict = goal == 0 ? "" : m.share() >= goal ? "PASS" : "MISS";
    if (wrong) verdict = "WRONG at " + *wrong;
    summary_.wrong += wrong ? 1 : 0;
    summary_.missed += m.share() < goal ? 1 : 0;
    ++summary_.rows;
    fmt::print(fmt::runtime(kRow), label, name, fmt::format("{:.4f}", m.call.median * 1e3),
               fmt::format("{:.1f} %", 100 * m.call.spread()), fmt::format("{:.1f}", m.rate() * 1e-9),
               fmt::format("{:.1f}", m.copy_rate * 1e-9), fmt::format("{:.3f}", m.share()),
               goal > 0 ? fmt::format("{:.2f}", goal) : "",
               verdict + (m.stable()        ? ""
                          : verdict.empty() ? "unstable"
                                            : " unstable"));
    std::fflush(stdout);
    if (csv_.is_open()) {
      csv_ << fmt::format(
          "\"{}\",\"{}\",{},{},{},{},{},{},{:.6f},{:.6f},{:.6f},{:.3f},\"{}\",{:.3f},{:.4f},{},{},{}\n",
          context_.device().name, context_.device().driver, problem.element_bytes, problem.rows, problem.cols,
          problem.batch, automatic ? "auto" : variant, plan.variant, m.call.median * 1e3, m.call.low * 1e3,
          m.call.high * 1e3, m.rate() * 1e-9, m.copy_name, m.copy_rate * 1e-9, m.share(),
          goal > 0 ? fmt::format("{}", goal) : "", m.stable() ? "yes" : "no", wrong ? "wrong" : "right");
    }
  }

  Context context_;
  measure::Meter meter_;
  std::ofstream csv_;
  Summary summary_;
  std::string copy_name_ = "none";
};

int run(const Options& options) {
  const Context context({.device = options.device, .profiling = true});
  std::vector<TransposeCase> cases;
  if (options.goals || options.goals_small) {
    cases = transpose_goals(context.device().type, options.goals_small);
  } else {
    cases = {{*parse_element(options.type), options.rows, options.cols, options.batch}};
  }
  std::vector<std::string> variants = options.variants;
  if (variants.empty()) variants.emplace_back();
  if (options.all_variants) {
    for (const std::string_view name : transpose_variants())
      variants.emplace_back(name);
  }

  fmt::print("{} ({}, driver {})\n", context.device().name, context.device().platform,
             context.device().driver);
  Bench bench(context, options.csv);
  bench.header();
  for (const TransposeCase& problem_case : cases)
    bench.run(problem_case, variants);
  bench.end();
  const Summary& summary = bench.summary();
  if (summary.wrong > 0) {
    std::fflush(stdout);
    fmt::print(stderr, "smem: {} wrong result(s)\n", summary.wrong);
    return kFailure;
  }
  // Lists go on without what a device cannot do; what was asked for by itself must have been done.
  if (!options.goals && !options.goals_small && !options.all_variants && summary.skipped > 0) return kFailure;
  // At small sizes a miss says little, so only the full goals decide the exit code.
  return options.goals && summary.missed > 0 ? kFailure : kGood;
}

}  // namespace

void add_bench_transpose(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("transpose", "Speed of transpose, beside the device's own copy");
  auto options = std::make_shared<Options>();
  command->add_option("-d,--device", options->device, "Index, part of a name, gpu, cpu or accelerator");
  CLI::Option* rows =
      command->add_option("--rows", options->rows, "Of the input")->check(CLI::PositiveNumber);
  CLI::Option* cols =
      command->add_option("--cols", options->cols, "Of the input")->check(CLI::PositiveNumber);
  rows->needs(cols);
  cols->needs(rows);
  CLI::Option* batch = command->add_option("--batch", options->batch, "Number of matrices")
                           ->check(CLI::PositiveNumber)
                           ->needs(rows);
  CLI::Option* type =
      command->add_option("--type", options->type, "Element type, or its bytes")
          ->capture_default_str()
          ->check(CLI::Validator(
              [](const std::string& text) {
                return parse_element(text) ? "" : "not a type of 1, 2, 4, 8 or 16 bytes: " + text;
              },
              "TYPE", "type"))
          ->needs(rows);
  CLI::Option* goals = command->add_flag("--goals", options->goals,
                                         "The list that smem is judged by; a missed goal is exit code 1");
  CLI::Option* goals_small =
      command->add_flag("--goals-small", options->goals_small, "The same at sizes for a quick look");
  for (CLI::Option* of_one : {rows, cols, batch, type})
    of_one->excludes(goals)->excludes(goals_small);
  goals->excludes(goals_small);
  const auto names = transpose_variants();
  command->add_option("--variant", options->variants, "Instead of the plan's own choice; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
  command->add_flag("--all-variants", options->all_variants, "The plan's own choice, and then every variant");
  command->add_option("--csv", options->csv, "Write the rows to this file too");
  command->callback([options, &exit_code] {
    if (options->rows == 0 && !options->goals && !options->goals_small)
      throw CLI::RequiredError("--rows and --cols, --goals, or --goals-small");
    exit_code = run(*options);
  });
}

}  // namespace smem::cli
