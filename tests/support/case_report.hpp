/// What `smem selftest` reads: a line for each case that begins or ends.
///
/// Where the environment variable SMEM_TEST_REPORT names a file, each case of each sweep adds lines of JSON
/// to it, written at once, so that the last line is the case that ran when the process crashed or hung:
///   {"case": 3, "begin": "text", "operation": "gemm", "variant": "tiled", "type": "half"}
///   {"case": 3, "outcome": "passed", "why": "", "seconds": 0.1}        or failed, refused, skipped
/// A file that has lines already is that of a process which was lost in the middle of the same test case:
/// what ended is not run again, the case that was lost counts as wrong, and others of its operation, variant
/// and type are skipped. They are so too after some that are wrong, and the sweep goes on with other
/// variants. Where processes share a lock on the device (support/device_lock.cpp), there is a line for each
/// change:
///   {"device": "waits"}                                                or runs, idle
/// The quick selftest reports the variants of an operation that it tests, and those that it leaves out
/// (support/level.hpp):
///   {"variants": "gemm", "tested": ["cpu"], "left_out": ["naive", "tiled"]}
#pragma once

#include "support/outcome.hpp"

#include <smem/scalar.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// What a case tries.
struct Tested {
  std::string operation;
  std::string variant;  ///< empty: the plan chooses
  std::string type;
};

/// "half", or "half to float32".
inline std::string types_text(smem::Scalar in, smem::Scalar out) {
  const std::string from(smem::name_of(in));
  return in == out ? from : from + " to " + std::string(smem::name_of(out));
}

/// After so many wrong cases the others are not run.
inline constexpr int kEnoughFaults = 5;

/// Whether SMEM_TEST_REPORT, or report_to(), asks for lines.
bool is_reporting();

/// From now on lines go to this file, as those of another test case.
void report_to(const std::string& path);

/// Reports a change of the device's state, where reports are requested.
void report_device(const char* state);

/// Reports the variants of an operation that are tested, where reports are requested.
void report_variants(std::string_view operation, const std::vector<std::string_view>& tested,
                     const std::vector<std::string_view>& left_out);

namespace detail {

struct Begun {
  std::size_t number = 0;
  std::optional<Outcome> known;  ///< of a case that is not run again
};
Begun begin_case(const Tested& tested, const std::string& text);
void end_case(const Begun& begun, const Tested& tested, const Outcome& outcome, double seconds);

}  // namespace detail

/// Runs the case `c` by `run()`, and reports it where that is requested. `c.tested()` and `c.text()` say what
/// it is.
template <class OneCase, class Run>
Outcome reported(const OneCase& c, const Run& run) {
  if (!is_reporting()) return run();
  const Tested tested = c.tested();
  const detail::Begun begun = detail::begin_case(tested, c.text());
  if (begun.known) return *begun.known;
  const auto start = std::chrono::steady_clock::now();
  const auto end = [&](const Outcome& outcome) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    detail::end_case(begun, tested, outcome, took.count());
  };
  try {
    Outcome outcome = run();
    end(outcome);
    return outcome;
  } catch (const std::exception& error) {
    end({false, error.what(), {}});
    throw;
  }
}

}  // namespace test
