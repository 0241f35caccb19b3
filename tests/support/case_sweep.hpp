/// Runs many cases of one operation, and counts those that really ran.
#pragma once

#include "support/case_report.hpp"
#include "support/matrices.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace test {

namespace detail {

/// Outside of the class, whose member of that name would hide the overloads.
template <class OneCase>
Outcome run_one(const smem::Context& context, const OneCase& c, Random& random) {
  return run(context, c, random);
}

}  // namespace detail

/// Runs cases by `run(context, case, random)` and fails the test for each that is wrong; gives up after some,
/// since all would fail alike.
template <class OneCase>
class CaseSweep {
 public:
  explicit CaseSweep(const smem::Context& context, std::uint64_t stream = 5)
      : context_(context), random_(stream) {}

  void run(const OneCase& c) {
    const Outcome outcome = reported(c, [&] { return detail::run_one(context_, c, random_); });
    if (!outcome.fault.empty()) {
      FAIL_CHECK(c.text() << "\n  " << outcome.fault);
      if (!is_reporting()) REQUIRE_MESSAGE(++faults_ < kEnoughFaults, "too many faults, the rest is not run");
    } else if (!outcome.refused) {
      ++ran_;
    }
  }
  const smem::Context& context() const { return context_; }
  /// How many cases ran since the last question.
  std::size_t ran() { return std::exchange(ran_, 0); }

 private:
  const smem::Context& context_;
  Random random_;
  std::size_t ran_ = 0;
  int faults_ = 0;
};

/// A case without a sweep.
struct SingleCase {
  Tested what;
  std::string name;
  const Tested& tested() const { return what; }
  const std::string& text() const { return name; }
};

/// Runs a case by `run()`, which returns an Outcome, and fails the test when it is wrong.
template <class Run>
void check_case(const Tested& what, const std::string& name, const Run& run) {
  const Outcome outcome = reported(SingleCase{what, name}, run);
  CHECK_MESSAGE(outcome.fault.empty(), name << "\n  " << outcome.fault);
}

}  // namespace test
