// The choice of a device, and machines that have none.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

using test::contains;

TEST_CASE("devices: facts are filled in") {
  const std::vector<smem::Device> devices = smem::devices();
  REQUIRE_FALSE(devices.empty());
  for (const smem::Device& d : devices) {
    CAPTURE(d.name);
    CHECK_FALSE(d.name.empty());
    CHECK_FALSE(d.platform.empty());
    CHECK_FALSE(d.platform_version.empty());
    CHECK_FALSE(d.driver.empty());
    CHECK(d.compute_units > 0);
    CHECK(d.max_work_group > 0);
    CHECK(d.local_bytes > 0);
    CHECK(d.global_bytes > 0);
    CHECK(d.max_allocation > 0);
    CHECK(d.max_allocation <= d.global_bytes);
    CHECK(d.cache_line_bytes > 0);
    for (const std::size_t items : d.max_work_items)
      CHECK(items > 0);
    if (d.type == smem::DeviceType::cpu) CHECK(d.sub_group_width == 1);
    // Drivers pad names with spaces.
    CHECK(d.name.back() != ' ');
    CHECK(d.name.back() != '\0');
  }
}

TEST_CASE("devices: chosen by index and by name and by type") {
  const std::vector<smem::Device> devices = smem::devices();
  REQUIRE_FALSE(devices.empty());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    CHECK(smem::Context(smem::ContextOptions{.device = std::to_string(i)}).device() == devices[i]);
    const test::Variable by_index("SMEM_DEVICE", std::to_string(i));
    CHECK(smem::Context().device() == devices[i]);
    const test::Variable by_type("SMEM_DEVICE", std::string(smem::name_of(devices[i].type)));
    CHECK(smem::Context().device().type == devices[i].type);
    for (std::string name : {devices[i].name.substr(0, 5), devices[i].platform}) {
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
      const test::Variable by_name("SMEM_DEVICE", name);
      CHECK_NOTHROW(smem::Context());
    }
  }
  // What the program says comes before what the environment says.
  const test::Variable nonsense("SMEM_DEVICE", "no such device");
  CHECK_NOTHROW(smem::Context(smem::ContextOptions{.device = "0"}));
}

TEST_CASE("devices: an unknown one is refused with the list of those that exist") {
  const smem::Device first = smem::devices().front();
  for (const char* wanted : {"no such device", "99", "-1", "0x0", "accelerator"}) {
    CAPTURE(wanted);
    const test::Variable variable("SMEM_DEVICE", wanted);
    const auto error = test::failure_of([] { smem::Context context; });
    CHECK(error.operation == "Context");
    CHECK(error.argument == "SMEM_DEVICE");
    CHECK(error.got == std::string("\"") + wanted + "\"");
    CHECK(contains(error.expected, first.name));
    CHECK(contains(error.expected, first.platform));
  }
  const auto error =
      test::failure_of([] { smem::Context context(smem::ContextOptions{.device = "no such device"}); });
  CHECK(error.argument == "device");
}

TEST_CASE("child: there is no platform" * doctest::skip()) {
  CHECK(smem::devices().empty());
  const auto error = test::failure_of([] { smem::Context context; });
  CHECK(error.operation == "Context");
  CHECK(error.argument == "device");
  CHECK(error.expected == "an OpenCL device");
  CHECK(contains(error.got, "no OpenCL platform"));
  CHECK(contains(error.got, "pocl-opencl-icd"));
}

TEST_CASE("devices: no platform at all") {
  const test::Folder empty;
  for (const std::string& vendors : {empty.string(), empty.string() + "/absent"}) {
    const test::Ended child = test::run_child("child: there is no platform",
                                              {{"OCL_ICD_VENDORS", vendors}, {"OCL_ICD_FILENAMES", ""}});
    CHECK_MESSAGE(child.passed(), child.output);
  }
}

TEST_CASE("child: there is a platform without a device" * doctest::skip()) {
  if (!smem::devices().empty()) {
    MESSAGE("another platform has a device");
    return;
  }
  const auto error = test::failure_of([] { smem::Context context; });
  CHECK(error.operation == "Context");
  CHECK(error.argument == "device");
  CHECK(contains(error.got, "without any device"));
}

TEST_CASE("devices: a platform without any device") {
  // PoCL has no device when POCL_DEVICES names none that it has.
  const test::Ended child =
      test::run_child("child: there is a platform without a device", {{"POCL_DEVICES", "none"}});
  CHECK_MESSAGE(child.passed(), child.output);
}

TEST_CASE("child: less memory than PoCL takes" * doctest::skip()) {
  const rlimit limit{100UL << 20, RLIM_INFINITY};
  REQUIRE(::setrlimit(RLIMIT_DATA, &limit) == 0);
  std::string got;
  try {
    if (!smem::devices().empty()) return;  // of another platform, or of a PoCL that needs no more
  } catch (const smem::Error& error) {
    CHECK(error.details().argument == "platform");
    got = error.details().got;
  }
  CHECK_MESSAGE(contains(got, "ulimit -d"), got);
}

TEST_CASE("devices: a driver that would end the process is not asked, and named") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("skipped: a sanitizer needs more memory than the limit");
#else
  // PoCL aborts with "Not enough memory to run on this device", up to 6.0. Others crash with so little.
  const std::vector<smem::Device> all = smem::devices();
  if (std::none_of(all.begin(), all.end(),
                   [](const smem::Device& each) { return each.platform == "Portable Computing Language"; })) {
    MESSAGE("skipped: there is no PoCL");
    return;
  }
  const test::Ended child = test::run_child("child: less memory than PoCL takes", {});
  CHECK_MESSAGE(child.passed(), child.output);
#endif
}
