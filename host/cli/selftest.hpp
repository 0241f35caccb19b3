/// The selftest: what is tested, and what came of it.
#pragma once

#include "cli/process.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace smem::cli {

struct SelftestOptions {
  std::vector<std::string> operations;  ///< all, when empty
  std::string device;
  std::string level = "usual";  ///< or quick, or full
  double time_limit = 120;      ///< seconds in which a case must begin or end
  std::string report;           ///< the report's files, without .json and .txt
  std::size_t processes = 0;    ///< side by side; 0: as many as there are cores
  bool remember = false;        ///< what fails, so that plans avoid it
};

/// One test case of the test program.
struct Test {
  std::string name;
  std::string operation;  ///< empty: of several
};

/// Of a case: `refused` where the device cannot run a variant; `skipped` after one of the same kind was lost.
/// Of a test case: `skipped` where it has nothing to do on this device.
enum class Verdict { passed, failed, hung, crashed, refused, skipped };
inline constexpr std::size_t kVerdicts = 6;
const char* name_of(Verdict verdict);
constexpr bool is_bad(Verdict v) {
  return v == Verdict::failed || v == Verdict::hung || v == Verdict::crashed;
}
constexpr bool is_lost(Verdict v) { return v == Verdict::hung || v == Verdict::crashed; }

/// Operation, variant, type. The variant is empty where the plan chose it.
using Kind = std::tuple<std::string, std::string, std::string>;
/// "transpose / tiled, 4 bytes".
std::string kind_text(const Kind& kind);

struct Count {
  std::size_t of[kVerdicts] = {};
  double seconds = 0;
  void add(Verdict verdict, double took);
  void add(const Count& other);
  std::size_t operator[](Verdict verdict) const { return of[static_cast<std::size_t>(verdict)]; }
};

/// Which of an operation's variants a quick selftest runs: those that plans choose on the device.
struct Tried {
  std::set<std::string> tested, left_out;
};

struct Failure {
  Verdict verdict = Verdict::failed;
  Kind kind;
  std::string what;  ///< the case
  std::string why;
};

struct TestResult {
  Test test;
  Verdict verdict = Verdict::passed;
  std::string why;         ///< of a test that hung, crashed or was skipped
  std::size_t number = 0;  ///< of the tests that were selected
  double seconds = 0;
  std::size_t processes = 0;
  std::map<Kind, Count> counts;
  std::vector<Failure> failures;
  std::map<std::pair<Kind, std::string>, std::size_t> refusals;  ///< by reason
  std::map<std::string, Tried> tried;                            ///< by operation
  std::string output;                                            ///< of a test that is not right
  bool is_left = false;  ///< one of its processes does not end in spite of SIGKILL

  bool has_passed_cases() const;
};

struct Selftest {
  SelftestOptions options;
  std::string facts;  ///< of the device, as JSON
  std::filesystem::path program;
  std::string seed;  ///< of the random data, SMEM_SEED
  std::chrono::system_clock::time_point start = std::chrono::system_clock::now();
  double seconds = 0;
  std::size_t tests = 0;      ///< how many there are to run
  std::size_t processes = 1;  ///< that run side by side
  /// Locked by the one that has kernels on the device; empty: all may.
  std::filesystem::path device_lock;
  bool is_complete = false;
  std::vector<std::string> running;  ///< the test cases that run now
  std::string stopped;               ///< why the rest is not run
  std::vector<TestResult> results;

  /// Test cases that ended so.
  std::size_t tests_that(Verdict verdict) const;
  bool is_good() const;
  /// All cases, by operation, variant and type.
  std::map<Kind, Count> counts() const;
  /// By operation. No variant is left out that some test case runs.
  std::map<std::string, Tried> tried() const;
};

// selftest_program.cpp

/// Operations that can be named.
std::vector<std::string> selftest_operations();
/// smem_tests, beside this command where it is installed or built. \throws Error when it is not there.
std::filesystem::path test_program();
/// What the options ask for. \throws Error when the program does not list them.
std::vector<Test> selected_tests(const std::filesystem::path& program, const SelftestOptions& options);

// selftest_run.cpp

/// Told some times a second: the kind that is tested now, and how many cases have ended. \returns whether to
/// go on.
using Told = std::function<bool(const Kind& kind, std::size_t cases)>;

class CaseLog;

/// Runs test cases, one after the other, in a process for as many as are right.
class TestRunner {
 public:
  explicit TestRunner(const Selftest& selftest);
  ~TestRunner();
  TestRunner(const TestRunner&) = delete;
  TestRunner& operator=(const TestRunner&) = delete;

  /// Empty where `tell` returned false.
  std::optional<TestResult> run(const Test& test, const Told& tell);
  /// Ends the process. \returns what was wrong then; empty: nothing.
  std::string finish();

 private:
  struct End;
  void start();
  std::optional<End> run_once(const Test& test, const std::filesystem::path& lines, CaseLog& log,
                              const Told& tell);
  std::optional<TestResult> attempt(const Test& test, const Told& tell, bool goes_on);

  const Selftest& selftest_;
  std::unique_ptr<Worker> process_;
  std::vector<std::string> tests_;  ///< that the process has run
};

// selftest_remember.cpp

/// Adds what failed to the file of the device's failures (smem/failures.hpp), and says so. \returns whether
/// it is written.
bool remember(const Selftest& selftest);
/// Removes the file of the device, and says so. \returns an exit code.
int forget(const std::string& device);

// selftest_report.cpp

/// The report as JSON, and for people.
std::string report_json(const Selftest& selftest);
std::string report_text(const Selftest& selftest);
/// Operations, variants and how many cases ended how. `colours`: for the terminal.
std::string counts_table(const Selftest& selftest, bool colours);
/// "41 of 198, those that plans choose on this device": which variants a quick selftest runs. Empty where
/// none is left out.
std::string variants_text(const Selftest& selftest);
/// "21 test cases: 20 passed, 1 failed; ...".
std::string summary(const Selftest& selftest);

}  // namespace smem::cli
