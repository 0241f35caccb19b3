// Variants that failed smem selftest: kept for a device and its driver, and avoided.
#include <smem/smem.hpp>

#include "runtime/failures.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/others.hpp"
#include "support/tuning_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

namespace {

/// Failures are avoided, and kept in a folder of their own, for the length of a scope.
class FailuresFolder : public test::TuningFolder {
 private:
  test::Variable on_{"SMEM_FAILURES", "1"};
};

const smem::BrokenVariant kVector{"transpose", "vector", "4 B", "failed smem selftest on a Monday"};

smem::Device of_driver(const char* driver) {
  smem::Device device;
  device.name = "A device";
  device.driver = driver;
  return device;
}

}  // namespace

TEST_CASE("failures: kept for a driver until they are forgotten") {
  const FailuresFolder folder;
  const smem::Device device = of_driver("1.0");
  CHECK(smem::remembered_failures(device).empty());
  CHECK_FALSE(smem::forget_failures(device));
  smem::remember_failures(device, {kVector, {"gemm", "async", "half", "crashed"}});
  smem::BrokenVariant again = kVector;
  again.reason = "hung";
  smem::remember_failures(device, {again});
  const auto failures = smem::remembered_failures(device);
  REQUIRE(failures.size() == 2);
  CHECK(failures[0] == again);
  CHECK(failures[1].variant == "async");
  CHECK(test::mode_of(smem::failures_file(device)) == 0600);
  CHECK(smem::remembered_failures(of_driver("1.1")).empty());
  CHECK(smem::runtime::with_failures(device).broken == failures);
  {
    const test::Variable off("SMEM_FAILURES", "0");
    CHECK(smem::runtime::with_failures(device).broken.empty());
  }
  CHECK(smem::forget_failures(device));
  CHECK(smem::remembered_failures(device).empty());
}

TEST_CASE("failures: files of others, and of a wrong form, are not read") {
  const FailuresFolder folder;
  const smem::Device device = of_driver("1.0");
  smem::remember_failures(device, {kVector});
  const fs::path path = smem::failures_file(device);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(smem::runtime::failures_in(text, device).size() == 1);
  CHECK(smem::runtime::failures_in(text, of_driver("1.1")).empty());
  for (const std::string& wrong : {std::string(), text.substr(0, text.size() / 2), std::string(50000, '['),
                                   std::string(R"({"smem_failures": 1, "key": 3, "failures": {}})")})
    CHECK(smem::runtime::failures_in(wrong, device).empty());
  std::string nameless = text;
  nameless.replace(nameless.find("\"vector\""), 8, "\"\"");
  CHECK(smem::runtime::failures_in(nameless, device).empty());
  test::set_mode(path, 0666);
  CHECK(smem::remembered_failures(device).empty());
  const test::Variable nowhere("SMEM_TUNING_DIR", "/dev/null/nowhere");
  CHECK(smem::remembered_failures(device).empty());
  CHECK_THROWS_AS(smem::remember_failures(device, {kVector}), smem::Error);
}

TEST_CASE("failures: contexts that open avoid them, and say why") {
  const FailuresFolder folder;
  const smem::Context before;
  smem::remember_failures(before.device(), {{"transpose", "tiled", "", kVector.reason}});
  const smem::Context context;
  const smem::Array<float> in(context, smem::Count{6}), out(context, smem::Count{6});
  smem::CallOptions options;
  options.variant = "tiled";
  const auto error =
      test::failure_of([&] { smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), options); });
  CHECK(error.argument == "variant");
  CHECK(test::contains(error.got, kVector.reason));
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 64;
  const smem::Plan plan = smem::plan_transpose(context.device(), problem);
  CHECK(plan.variant != "tiled");
  CHECK(std::any_of(plan.alternatives.begin(), plan.alternatives.end(), [](const smem::Alternative& other) {
    return other.variant == "tiled" && other.why_not == kVector.reason;
  }));
}
