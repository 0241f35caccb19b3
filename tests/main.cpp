// The test program. Its kernels are cached in the build folder, so that tests leave the user's cache alone.
// Options of its own:
//   --selftest=LEVEL      quick, usual or full: only the test cases that `smem selftest` runs at that level
//   --worker              runs the test cases that the standard input names, a line each: the report's file
//                         (support/case_report.hpp), a tab, and the test case. It answers each there, since
//                         that is a socket, with its exit status
//   --without-optimiser   PoCL 3 compiles kernels without its optimiser, in a third of the time
//   --optimiser-turns=N   the same, but for each test case in one of N turns, and where SMEM_TEST_TURN is not
//   set
//   --turns=N             with one test case: run in one of N turns, else skipped (exit status 77). The turn
//                         is SMEM_TEST_TURN; where that is not set, every test case is run
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/case_report.hpp"
#include "support/device_lock.hpp"
#include "support/level.hpp"
#include "support/random.hpp"
#include "support/turn.hpp"
#include "sweeps.hpp"

#include <smem/smem.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// What the selftest of a device need not show: that wrong calls are refused, and what plans do elsewhere.
constexpr const char* kNoFiles = "*/tests/plan/*,*/tests/runtime/*,*/tests/opencv/*";
#define SMEM_TEST_ELSEWHERE \
  "bad input*,*refuse*,*nothing to do,check_segments*,*malformed*,child:*,failures:*"

void choose_level(doctest::Context& context, std::string_view level) {
  context.addFilter("source-file-exclude", kNoFiles);
  test::is_quick() = level == "quick";
  if (test::is_quick()) {
    context.addFilter("test-suite", "small");
    context.addFilter("test-case-exclude", "small: transpose*1-byte*");
  }
  // Smaller devices than the one at hand are for --full, and what takes long.
  context.addFilter("test-case-exclude", level == "full" ? SMEM_TEST_ELSEWHERE
                                                         : SMEM_TEST_ELSEWHERE
                                             ",clamped:*," SMEM_TEST_SWEEPS);
}

/// Newer versions crash on some kernels that are not optimised.
bool is_pocl_3() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  return std::any_of(platforms.begin(), platforms.end(), [](const cl::Platform& platform) {
    const std::string version = platform.getInfo<CL_PLATFORM_VERSION>();
    return version.find("pocl 3.") != std::string::npos || version.find("PoCL 3.") != std::string::npos;
  });
}

/// PoCL reads the variable at each build.
void leave_out_optimiser() {
  static const bool can = is_pocl_3();
  if (!can) return;
  setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);
  test::has_optimiser() = false;
}

/// FNV-1a: the same turn on every machine.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

/// Where a test has its turn.
struct Turn {
  std::uint64_t own = 0;
  std::uint64_t now = 0;
  bool is_own() const { return own == now; }
};

/// The turn of a test among `turns`. Without SMEM_TEST_TURN each has its own.
Turn turn_of(std::string_view test, std::uint64_t turns) {
  const std::optional<std::uint64_t> now = test::turn_of_run();
  if (!now || turns == 0) return {};
  return {hash(test) % turns, *now % turns};
}

/// Of how many turns each test case has one with PoCL's optimiser; 0: nothing is decided here.
std::uint64_t& optimiser_turns() {
  static std::uint64_t turns = 0;
  return turns;
}

/// Lets each test case have its optimiser, or not.
struct OptimiserTurns final : doctest::IReporter {
  explicit OptimiserTurns(const doctest::ContextOptions& /*options*/) {}
  void test_case_start(const doctest::TestCaseData& test_case) override {
    if (optimiser_turns() == 0) return;
    if (turn_of(test_case.m_name, optimiser_turns()).is_own()) {
      unsetenv("POCL_EXTRA_BUILD_FLAGS");
      test::has_optimiser() = true;
    } else {
      leave_out_optimiser();
    }
  }
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*run*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*test_case*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*test_case*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test_case*/) override {}
};
REGISTER_LISTENER("optimiser_turns", 1, OptimiserTurns);

/// A context of a CPU, held while test cases open and close theirs: PoCL loads its compiler's library anew,
/// which takes half a second, where there is none. Null for other devices, whose memory it would take.
std::unique_ptr<smem::Context> held_context() {
  try {
    auto context = std::make_unique<smem::Context>();
    if (context->device().type == smem::DeviceType::cpu) return context;
  } catch (const smem::Error&) {  // NOLINT(bugprone-empty-catch): each test case reports it
  }
  return nullptr;
}

/// A name as a filter that matches it alone.
std::string filter_of(std::string_view name) {
  std::string filter;
  for (const char c : name) {
    if (c == ',' || c == '\\') filter += '\\';
    filter += c;
  }
  return filter;
}

int work(int argc, char** argv) {
  const std::unique_ptr<smem::Context> held = held_context();
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) return EXIT_FAILURE;
    test::report_to(line.substr(0, tab));
    doctest::Context context(argc, argv);
    context.addFilter("test-case", filter_of(std::string_view(line).substr(tab + 1)).c_str());
    const std::string answer = std::to_string(context.run()) + "\n";
    test::release_device();
    std::fflush(nullptr);  // what it printed comes before its answer
    if (::write(STDIN_FILENO, answer.data(), answer.size()) < 0) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SMEM_CACHE_DIR", SMEM_TEST_CACHE, 0);
  setenv("SMEM_TUNING", "0", 1);  // plans are compared with what smem ships
  setenv("SMEM_FAILURES", "0", 1);
  doctest::Context context(argc, argv);
  constexpr std::string_view kLevel = "--selftest=", kCase = "--test-case=", kTurns = "--turns=",
                             kOptimiserTurns = "--optimiser-turns=";
  std::string_view test_case;
  std::uint64_t turns = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kLevel)) choose_level(context, word.substr(kLevel.size()));
    if (word == "--worker") return work(argc, argv);
    if (word == "--without-optimiser") leave_out_optimiser();
    if (word.starts_with(kCase)) test_case = word.substr(kCase.size());
    if (word.starts_with(kTurns)) turns = std::strtoull(argv[i] + kTurns.size(), nullptr, 10);
    if (word.starts_with(kOptimiserTurns))
      optimiser_turns() = std::strtoull(argv[i] + kOptimiserTurns.size(), nullptr, 10);
  }
  if (const Turn turn = turn_of(test_case, turns); !turn.is_own()) {
    std::printf("skipped: runs in turn %llu of %llu, this is %llu\n",
                static_cast<unsigned long long>(turn.own), static_cast<unsigned long long>(turns),
                static_cast<unsigned long long>(turn.now));
    constexpr int kSkipped = 77;
    return kSkipped;
  }
  const int result = context.run();
  if (!context.shouldExit() && result != 0) {
    std::fprintf(stderr, "repeat the random data with SMEM_SEED=%llu\n",
                 static_cast<unsigned long long>(test::seed()));
  }
  return result;
}
