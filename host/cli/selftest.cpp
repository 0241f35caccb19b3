// smem selftest: whether the kernels are right on a device, by the test program's own references.
#include "cli/selftest.hpp"

#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/whole_file.hpp"
#include "measure/measure.hpp"

#include <smem/error.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

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

bool TestResult::has_passed_cases() const {
  return std::any_of(counts.begin(), counts.end(),
                     [](const auto& count) { return count.second[Verdict::passed] > 0; });
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

std::map<std::string, Tried> Selftest::tried() const {
  std::map<std::string, Tried> all;
  for (const TestResult& result : results) {
    for (const auto& [operation, tried] : result.tried) {
      all[operation].tested.insert(tried.tested.begin(), tried.tested.end());
      all[operation].left_out.insert(tried.left_out.begin(), tried.left_out.end());
    }
  }
  for (auto& [operation, tried] : all)
    std::erase_if(tried.left_out, [&](const std::string& variant) { return tried.tested.contains(variant); });
  return all;
}

namespace {

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

/// "about 3 min left", where `done` of all test cases took so many seconds; empty at the beginning.
std::string left_text(std::size_t done, std::size_t all, std::size_t processes, double seconds) {
  if (done < 2 || done < processes) return {};
  const double left = seconds * static_cast<double>(all - done) / static_cast<double>(done);
  constexpr double kMinute = 60;
  return left < 2 * kMinute ? fmt::format("about {:.0f} s left", std::max(left, 1.0))
                            : fmt::format("about {:.0f} min left", left / kMinute);
}

/// A selftest that runs. The report is written before each test case, since a driver that fails may take the
/// whole machine along; and at an interrupt.
class Run {
 public:
  Run(Selftest& selftest, const std::vector<Test>& tests)
      : selftest_(selftest),
        tests_(tests),
        progress_(tests.size()),
        at_interrupt_([this] { write_incomplete(); }) {}

  void run() {
    // What fills the device's memory runs alone, after the others.
    std::vector<std::size_t> large;
    for (std::size_t i = 0; i < tests_.size(); ++i)
      (tests_[i].name.starts_with("large") ? large : waiting_).push_back(i);
    run_waiting(selftest_.processes);
    waiting_ = large;
    run_waiting(1);
    const std::scoped_lock lock(mutex_);
    selftest_.seconds = seconds();
    selftest_.is_complete = selftest_.stopped.empty();
  }

 private:
  struct Running {
    std::size_t number;
    std::string what;
  };

  void run_waiting(std::size_t processes) {
    std::reverse(waiting_.begin(), waiting_.end());  // the first is taken first
    processes_ = std::min(processes, waiting_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < processes_; ++i)
      threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads)
      thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  /// One process after the other, each for as many test cases as it can run.
  void work() {
    try {
      TestRunner runner(selftest_);
      std::optional<std::size_t> last;
      while (const std::optional<std::size_t> number = begin_next()) {
        std::optional<TestResult> result = runner.run(
            tests_[*number], [&](const Kind& kind, std::size_t cases) { return tell(*number, kind, cases); });
        if (!result) return;
        result->number = *number;
        end_one(std::move(*result));
        last = number;
      }
      if (const std::string wrong = runner.finish(); !wrong.empty() && last) end_process(*last, wrong);
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      failure_ = std::current_exception();
      waiting_.clear();
    }
  }
  std::optional<std::size_t> begin_next() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty() || !selftest_.stopped.empty()) return std::nullopt;
    const std::size_t number = waiting_.back();
    waiting_.pop_back();
    running_.push_back({number, tests_[number].name});
    set_running();
    if (!selftest_.results.empty()) write_reports(selftest_);
    return number;
  }
  bool tell(std::size_t number, const Kind& kind, std::size_t cases) {
    const std::scoped_lock lock(mutex_);
    for (Running& one : running_) {
      if (one.number == number && cases > 0)
        one.what = fmt::format("{}; {} done", kind_text(kind), count_text(cases, "case"));
    }
    // The one that has run for longest is shown.
    if (running_.front().number == number) show();
    return selftest_.stopped.empty() && !failure_;
  }
  void end_one(TestResult result) {
    {
      const std::scoped_lock lock(mutex_);
      progress_.clear();
      if (is_bad(result.verdict)) print_failures(result);
    }
    const std::string stopped = why_stop(result);
    const std::scoped_lock lock(mutex_);
    std::erase_if(running_, [&](const Running& one) { return one.number == result.number; });
    set_running();
    const auto place = std::upper_bound(
        selftest_.results.begin(), selftest_.results.end(), result,
        [](const TestResult& left, const TestResult& right) { return left.number < right.number; });
    selftest_.results.insert(place, std::move(result));
    selftest_.seconds = seconds();
    if (selftest_.stopped.empty()) selftest_.stopped = stopped;
  }
  /// A process that had run `last` and others before did not end well.
  void end_process(std::size_t last, const std::string& wrong) {
    const std::scoped_lock lock(mutex_);
    for (TestResult& result : selftest_.results) {
      if (result.number != last) continue;
      result.verdict = Verdict::crashed;
      result.why = wrong;
      progress_.clear();
      print_failures(result);
    }
  }
  void set_running() {
    selftest_.running.clear();
    for (const Running& one : running_)
      selftest_.running.push_back(tests_[one.number].name);
  }
  void show() {
    const std::size_t done = selftest_.results.size();
    std::string text = left_text(done, tests_.size(), processes_, seconds());
    text += fmt::format("{}{}", text.empty() ? "" : "; ", running_.front().what);
    if (running_.size() > 1) text += fmt::format("; and {} more", running_.size() - 1);
    progress_.show(done, text);
  }
  /// After a test case that was lost the device may answer no more: each further one would take its time
  /// limit, to say nothing of what it tests.
  std::string why_stop(const TestResult& result) {
    if (result.is_left) return "the driver keeps a process from ending";
    if (!is_lost(result.verdict) || result.has_passed_cases()) {
      lost_in_row_ = 0;
      return {};
    }
    constexpr std::size_t kEnough = 4;
    const std::size_t lost = ++lost_in_row_;
    if (lost >= kEnough) return fmt::format("nothing passed in {} test cases one after the other", lost);
    try {
      return device_facts(selftest_.options.device, "selftest").empty() ? "the device is no longer there"
                                                                        : std::string();
    } catch (const Error& error) {
      return error.what();
    }
  }
  double seconds() const { return measure::seconds_since(start_); }
  /// On another thread, while others wait for their processes; or write the report, which is then good
  /// enough: they may wait for the interrupt to end, so this must not wait for them.
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
  const std::vector<Test>& tests_;
  measure::Clock::time_point start_ = measure::Clock::now();
  std::atomic<std::size_t> lost_in_row_ = 0;
  std::mutex mutex_;
  Progress progress_;
  std::vector<std::size_t> waiting_;  ///< test cases, the next one last
  std::vector<Running> running_;      ///< in the order in which they began
  std::size_t processes_ = 1;
  std::exception_ptr failure_;
  OnInterrupt at_interrupt_;
};

/// Of this machine's memory, what programs can still have; 0: not known.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, rest; file >> name && std::getline(file, rest);) {
    if (name == "MemAvailable:") return std::strtoull(rest.c_str(), nullptr, 10) << 10;
  }
  return 0;
}

/// As many as cores, each with room for a driver and its compiler, and on a GPU for its context and data.
std::size_t processes_for(const nlohmann::json& facts) {
  constexpr std::size_t kRoom = std::size_t{1} << 30;
  std::size_t processes = std::thread::hardware_concurrency();
  if (const std::size_t bytes = available_bytes(); bytes > 0) processes = std::min(processes, bytes / kRoom);
  if (facts.value("type", "") != "cpu")
    processes = std::min(processes, facts.value("global_bytes", std::size_t{0}) / kRoom);
  return std::max(processes, std::size_t{1});
}

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
  selftest.tests = tests.size();
  if (options.report.empty()) selftest.options.report = report_prefix(selftest);
  const auto facts = nlohmann::json::parse(selftest.facts);
  selftest.processes = options.processes > 0 ? options.processes : processes_for(facts);
  const TemporaryFolder folder;
  if (facts.value("type", "") != "cpu" && selftest.processes > 1)
    selftest.device_lock = folder.path() / "device.lock";
  if (!write_reports(selftest)) return kFailure;  // reported before hours of tests, not after them
  Run(selftest, tests).run();
  bool is_written = write_reports(selftest);
  if (!selftest.stopped.empty()) fmt::print("the rest is not run: {}\n", selftest.stopped);
  fmt::print(
      "\n{}\n{}: {}\n", counts_table(selftest, true),
      selftest.is_good() ? painted(stdout, Paint::green, "passed") : painted(stdout, Paint::red, "FAILED"),
      summary(selftest));
  if (const std::string variants = variants_text(selftest); !variants.empty())
    fmt::print("variants: {}\n", variants);
  fmt::print("report: {0}.txt{1}\n        {0}.json\n", selftest.options.report,
             selftest.is_good() ? "" : " to read, and to attach to a bug report");
  if (options.remember) is_written = remember(selftest) && is_written;
  return selftest.is_good() && is_written ? kGood : kFailure;
}

}  // namespace

void add_selftest(CLI::App* root, int& exit_code) {
  CLI::App* const command = root->add_subcommand(
      "selftest", "Check every operation, variant and type on a device, and write a report");
  auto options = std::make_shared<SelftestOptions>();
  auto quick = std::make_shared<bool>(false), full = std::make_shared<bool>(false);
  auto list_only = std::make_shared<bool>(false), forget_only = std::make_shared<bool>(false);
  command->add_option("operations", options->operations, "Only these operations")
      ->check(CLI::IsMember(selftest_operations()));
  add_device_option(command, options->device);
  CLI::Option* const quick_flag = command->add_flag(
      "--quick", *quick, "Only the variants that plans choose on the device, at small sizes");
  command->add_flag("--full", *full, "Also long sweeps, clamped devices, and gigabytes of data")
      ->excludes(quick_flag);
  CLI::Option* const limit =
      command->add_option("--time-limit", options->time_limit,
                          "Seconds after which a test case counts as hung; default: 120, with --full 600");
  limit->check(CLI::Range(1.0, 86400.0))->type_name("SECONDS");
  command
      ->add_option("--processes", options->processes,
                   "Test processes at a time; default: as many as cores and memory allow")
      ->check(CLI::Range(1, 1024))
      ->type_name("NUMBER");
  add_output_option(command, "--report", options->report,
                    "Path of the report, without .txt and .json; default: device and date, in this folder");
  command->add_flag("--remember", options->remember,
                    "Remember what fails on this device and driver, so that plans avoid it");
  command->add_flag("--forget", *forget_only, "Forget what was remembered, and test nothing");
  command->add_flag("--list", *list_only, "List the tests, and run nothing");
  command->callback([=, &exit_code] {
    options->level = *quick ? "quick" : *full ? "full" : "usual";
    constexpr double kFullLimit = 600;
    if (*full && limit->count() == 0) options->time_limit = kFullLimit;
    exit_code = *forget_only ? forget(options->device) : run(*options, *list_only);
  });
}

}  // namespace smem::cli
