// What failed the selftest, kept for the plans of this device and driver.
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/selftest.hpp"
#include "cli/text.hpp"

#include <smem/error.hpp>
#include <smem/explain.hpp>
#include <smem/failures.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace smem::cli {

namespace {

/// The operations whose plans have the variants of one that test cases name.
std::vector<std::string> planned(const std::string& operation) {
  static const std::map<std::string, std::set<std::string>> others{
      {"flip", {"rotate"}},
      {"global_pool", {"global_max_pool", "global_avg_pool"}},
      {"pool", {"max_pool2d", "avg_pool2d"}},
      {"reduce", {"matvec", "vecmat"}},
      {"select", {"copy_if", "copy_flagged", "partition", "unique", "run_length_encode"}},
      {"separable", {"convolve2d", "gaussian_blur", "unsharp_mask"}},
      {"stencil", {"convolve2d"}},
      {"transpose", {"rotate", "transpose_in_place"}},
  };
  for (const char* base : {"reduce", "scan"})
    if (operation.starts_with(fmt::format("{}_", base))) return {base};
  std::vector<std::string> names;
  for (const auto& [name, planned_by_it] : others)
    if (planned_by_it.contains(operation)) names.push_back(name);
  return names.empty() ? std::vector{operation} : names;
}

/// As BrokenVariant::type has it: "half" of "half to float32", "4 B" of "4 bytes".
std::string input_type(const std::string& type) {
  const std::string first = type.substr(0, type.find(' '));
  return type.find(" byte") == std::string::npos ? first : first + " B";
}

/// "failed smem selftest on 2026-01-31, driver 3.1".
std::string reason_of(Verdict verdict, const Selftest& selftest, const Device& device) {
  const char* const what = verdict == Verdict::hung      ? "hung in"
                           : verdict == Verdict::crashed ? "crashed in"
                                                         : "failed";
  return fmt::format("{} smem selftest on {:%Y-%m-%d}, driver {}", what,
                     fmt::localtime(std::chrono::system_clock::to_time_t(selftest.start)), device.driver);
}

}  // namespace

bool remember(const Selftest& selftest) {
  const Device device = device_from_json(selftest.facts);
  std::vector<BrokenVariant> broken;
  std::size_t nameless = 0;
  for (const TestResult& result : selftest.results) {
    if (is_bad(result.verdict) && result.failures.empty()) ++nameless;
    for (const Failure& failure : result.failures) {
      const auto& [operation, variant, type] = failure.kind;
      if (variant.empty()) {
        ++nameless;
        continue;
      }
      for (const std::string& name : planned(operation)) {
        const BrokenVariant one{name, variant, input_type(type),
                                reason_of(failure.verdict, selftest, device)};
        const bool is_known = std::any_of(broken.begin(), broken.end(), [&](const BrokenVariant& other) {
          return std::tie(other.operation, other.variant, other.type) ==
                 std::tie(one.operation, one.variant, one.type);
        });
        if (!is_known) broken.push_back(one);
      }
    }
  }
  if (nameless > 0)
    fmt::print("{} outside of variants: plans cannot avoid them\n", count_text(nameless, "failure"));
  if (broken.empty()) return true;
  try {
    remember_failures(device, broken);
  } catch (const Error& error) {
    fmt::print(stderr, "smem: --remember: {}\n", error.what());
    return false;
  }
  for (const BrokenVariant& one : broken)
    fmt::print("plans avoid {} / {}, {}\n", one.operation, one.variant, one.type);
  fmt::print("until the driver changes, or smem selftest --forget is run\n");
  return true;
}

int forget(const std::string& device) {
  const bool was_there = forget_failures(device_from_json(device_facts(device, "selftest")));
  fmt::print("{}\n", was_there ? "plans avoid nothing any more" : "nothing was kept");
  return kGood;
}

}  // namespace smem::cli
