// smem selftest: whether the kernels are right on a device, by the test program's own references.
#include "cli/selftest.hpp"

#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/whole_file.hpp"

#include <smem/error.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

namespace smem::cli {

const char* name_of(Verdict verdict) {
  constexpr const char* kNames[] = {"passed", "failed", "hung", "crashed", "refused", "skipped"};
  return kNames[static_cast<int>(verdict)];
}

std::string kind_text(const Kind& kind) {
  const auto& [operation, variant, type] = kind;
  return fmt::format("{} / {}, {}", operation, variant.empty() ? "(the plan's choice)" : variant, type);
}

void Count::add(Verdict verdict, double took) {
  ++of[static_cast<std::size_t>(verdict)];
  seconds += took;
}

void Count::add(const Count& other) {
  for (std::size_t i = 0; i < kVerdicts; ++i)
    of[i] += other.of[i];
  seconds += other.seconds;
}

std::size_t Selftest::tests_that(Verdict verdict) const {
  std::size_t count = 0;
  for (const TestResult& result : results)
    count += result.verdict == verdict ? 1 : 0;
  return count;
}

bool Selftest::is_good() const {
  const std::size_t passed = tests_that(Verdict::passed);
  return is_complete && passed > 0 && passed + tests_that(Verdict::skipped) == results.size();
}

std::map<Kind, Count> Selftest::counts() const {
  std::map<Kind, Count> sums;
  for (const TestResult& result : results) {
    for (const auto& [kind, count] : result.counts)
      sums[kind].add(count);
  }
  return sums;
}

namespace {

using Clock = std::chrono::steady_clock;

std::string random_seed() {
  const char* given = std::getenv("SMEM_SEED");
  return given != nullptr && *given != '\0' ? given : std::to_string(std::random_device{}());
}

/// "smem-selftest-nvidia-h200-2026-01-31-120000".
std::string report_prefix(const Selftest& selftest) {
  const auto facts = nlohmann::json::parse(selftest.facts, nullptr, false);
  std::string name;
  for (const char c : facts.is_object() ? facts.value("name", std::string()) : std::string()) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && (name.size() > 40 || name.back() == '-'))
    name.pop_back();
  return fmt::format("smem-selftest-{}-{:%Y-%m-%d-%H%M%S}", name.empty() ? "device" : name,
                     fmt::localtime(std::chrono::system_clock::to_time_t(selftest.start)));
}

bool write_file(const std::string& path, const std::string& text) {
  WholeFile file;
  file.open(path);
  file << text;
  return file.finish();
}

/// The files whose names begin as the options say. \returns whether both are there.
bool write_reports(const Selftest& selftest) {
  bool good = true;
  for (const auto& [end, text] :
       {std::pair{".txt", report_text(selftest)}, std::pair{".json", report_json(selftest)}}) {
    if (write_file(selftest.options.report + end, text)) continue;
    fmt::print(stderr, "smem: --report: {}{} cannot be written\n", selftest.options.report, end);
    good = false;
  }
  return good;
}

/// The first failures of a test, and of each the first lines.
void print_failures(const TestResult& result) {
  constexpr std::size_t kMostCases = 3, kMostLetters = 400;
  fmt::print("{} {}{}{}\n", painted(stdout, Paint::red, name_of(result.verdict)), result.test.name,
             result.why.empty() ? "" : ": ", result.why);
  for (std::size_t i = 0; i < result.failures.size() && i < kMostCases; ++i) {
    const Failure& failure = result.failures[i];
    fmt::print("  {} {}\n    {}\n    {}\n", name_of(failure.verdict), kind_text(failure.kind), failure.what,
               short_text(failure.why, kMostLetters));
  }
  if (result.failures.size() > kMostCases)
    fmt::print("  and {} more\n", count_text(result.failures.size() - kMostCases, "case"));
  if (result.failures.empty()) fmt::print("{}\n", short_text(result.output, 4 * kMostLetters));
  std::fflush(stdout);
}

int list(const std::vector<Test>& tests) {
  for (const Test& test : tests)
    fmt::print("{:<12}{}\n", test.operation.empty() ? "several" : test.operation, test.name);
  fmt::print("{}\n", count_text(tests.size(), "test case"));
  return kGood;
}

bool is_lost(const TestResult& result) {
  return result.verdict == Verdict::hung || result.verdict == Verdict::crashed;
}

bool has_passed_cases(const TestResult& result) {
  return std::any_of(result.counts.begin(), result.counts.end(),
                     [](const auto& count) { return count.second[Verdict::passed] > 0; });
}

/// A selftest that runs. The report is written after each test case, since a driver that fails may take the
/// whole machine along; and at an interrupt.
class Run {
 public:
  explicit Run(Selftest& selftest)
      : selftest_(selftest), start_(Clock::now()), at_interrupt_([this] { write_incomplete(); }) {}

  void run(const std::vector<Test>& tests) {
    Progress progress(tests.size());
    for (const Test& test : tests) {
      const auto show = [&](const Kind& kind, std::size_t cases) {
        progress.show(
            selftest_.results.size(),
            cases == 0 ? test.name : fmt::format("{}; {} done", kind_text(kind), count_text(cases, "case")));
      };
      set_running(test.name);
      show({}, 0);
      TestResult result = run_test(selftest_, test, show);
      progress.clear();
      if (is_bad(result.verdict)) print_failures(result);
      const std::string stopped = why_stop(result);
      const std::scoped_lock lock(mutex_);
      selftest_.results.push_back(std::move(result));
      selftest_.seconds = seconds();
      selftest_.running.clear();
      selftest_.stopped = stopped;
      if (!stopped.empty()) return;
    }
    const std::scoped_lock lock(mutex_);
    selftest_.is_complete = true;
  }

 private:
  void set_running(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    selftest_.running = name;
    if (!selftest_.results.empty()) write_reports(selftest_);
  }
  /// After a test case that was lost the device may answer no more: each further one would take its time
  /// limit, to say nothing of what it tests.
  std::string why_stop(const TestResult& result) {
    if (!is_lost(result) || has_passed_cases(result)) {
      lost_in_row_ = 0;
      return {};
    }
    constexpr std::size_t kEnough = 4;
    if (++lost_in_row_ >= kEnough)
      return fmt::format("nothing passed in {} test cases one after the other", lost_in_row_);
    try {
      return device_facts(selftest_.options.device, "selftest").empty() ? "the device is no longer there"
                                                                        : std::string();
    } catch (const Error& error) {
      return error.what();
    }
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// On another thread, while this one waits for a child; or writes the report, which is then good enough: it
  /// may wait for the interrupt to end, so this must not wait for it.
  void write_incomplete() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
      selftest_.seconds = seconds();
      write_reports(selftest_);
    }
    fmt::print(stderr, "smem: interrupted: {}.txt and .json hold {} of {}\n", selftest_.options.report,
               selftest_.results.size(), count_text(selftest_.tests, "test case"));
  }

  Selftest& selftest_;
  Clock::time_point start_;
  std::size_t lost_in_row_ = 0;
  std::mutex mutex_;
  OnInterrupt at_interrupt_;
};

int run(const SelftestOptions& options, bool list_only) {
  Selftest selftest{.options = options, .program = test_program(), .seed = random_seed()};
  const std::vector<Test> tests = selected_tests(selftest.program, options);
  if (list_only) return list(tests);
  if (tests.empty()) {
    throw Error({.operation = "selftest",
                 .expected = fmt::format("test cases of {}", selftest.program.string()),
                 .got = "none of this operation"});
  }
  selftest.facts = device_facts(options.device, "selftest");
  if (selftest.facts.empty()) return kFailure;
  selftest.tests = tests.size();
  if (options.report.empty()) selftest.options.report = report_prefix(selftest);
  if (!write_reports(selftest)) return kFailure;  // told before hours of tests rather than after them
  Run(selftest).run(tests);
  const bool is_written = write_reports(selftest);
  if (!selftest.stopped.empty()) fmt::print("the rest is not run: {}\n", selftest.stopped);
  fmt::print(
      "\n{}\n{}: {}\n", counts_table(selftest, true),
      selftest.is_good() ? painted(stdout, Paint::green, "passed") : painted(stdout, Paint::red, "FAILED"),
      summary(selftest));
  fmt::print("report: {0}.txt{1}\n        {0}.json\n", selftest.options.report,
             selftest.is_good() ? "" : " to read, and to attach to a bug report");
  return selftest.is_good() && is_written ? kGood : kFailure;
}

}  // namespace

void add_selftest(Command root, int& exit_code) {
  const Command command = root.add_command(
      "selftest", "Whether every operation, variant and type is right on a device; writes a report");
  auto options = std::make_shared<SelftestOptions>();
  auto quick = std::make_shared<bool>(false), full = std::make_shared<bool>(false);
  auto list_only = std::make_shared<bool>(false);
  command.add_option("operations", options->operations, "All, when none is named")
      .one_of(selftest_operations());
  add_device_option(command, options->device);
  const Option quick_flag = command.add_flag("--quick", *quick, "Every variant at small sizes alone");
  command.add_flag("--full", *full, "Also long sweeps, smaller devices, and data of gigabytes")
      .excludes(quick_flag);
  const Option limit = command.add_option("--time-limit", options->time_limit,
                                          "Seconds after which a case counts as hung: 120, with --full 600");
  limit.between(1.0, 86400.0).type_name("SECONDS");
  command.add_option("--report", options->report,
                     "The report's files, without .txt and .json: else by device and date, in this folder");
  command.add_flag("--list", *list_only, "Only say what would be run");
  command.on_run([=, &exit_code] {
    options->level = *quick ? "quick" : *full ? "full" : "usual";
    constexpr double kFullLimit = 600;
    if (*full && !limit.is_given()) options->time_limit = kFullLimit;
    exit_code = run(*options, *list_only);
  });
}

}  // namespace smem::cli
