// Device facts as values: clamps and names.
#include <smem/device.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

TEST_CASE("clamp: makes a device smaller and never larger") {
  const smem::Device whole = test::targets::nvidia("sm_90", 227 * 1024);
  CHECK(smem::clamp(whole, "") == whole);
  smem::Device d = smem::clamp(whole, "local=32K");
  CHECK(d.local_bytes == 32 * 1024);
  CHECK(d.local_bytes_reported == 32 * 1024);
  CHECK(smem::clamp(whole, "local=1M").local_bytes == whole.local_bytes);
  CHECK(smem::clamp(whole, "local=512").local_bytes == 512);
  CHECK(smem::clamp(whole, "local=0").local_bytes == 0);
  CHECK(smem::clamp(whole, "cache=1K").cache_bytes == 1024);
  CHECK(smem::clamp(whole, "cache=1000M").cache_bytes == whole.cache_bytes);
  d = smem::clamp(whole, "work_group=64,sub_group=16,compute_units=4,fp64=0");
  CHECK(d.max_work_group == 64);
  CHECK(d.max_work_items == std::array<std::size_t, 3>{64, 64, 64});
  CHECK(d.sub_group_width == 16);
  CHECK(d.compute_units == 4);
  CHECK_FALSE(d.fp64);
  CHECK(smem::clamp(whole, "work_group=100000").max_work_group == whole.max_work_group);
  CHECK(smem::clamp(whole, "fp64=1").fp64);
  CHECK(smem::clamp(whole, "forward_progress=1").forward_progress);
  CHECK_FALSE(smem::clamp(whole, "forward_progress=0").forward_progress);
  CHECK_FALSE(smem::clamp(smem::Device(), "forward_progress=1").forward_progress);
  CHECK(smem::clamp(whole, "poll_limit=0").poll_limit == 0);
  CHECK(smem::clamp(smem::clamp(whole, "poll_limit=1"), "poll_limit=7").poll_limit == 1);
  CHECK(smem::clamp(whole, "ordered_start=1").ordered_start);
  CHECK_FALSE(smem::clamp(whole, "ordered_start=0").ordered_start);
  CHECK(smem::clamp(whole, "retargeting=1").retargeting);
  CHECK_FALSE(smem::clamp(whole, "retargeting=0").retargeting);
}

TEST_CASE("clamp: what is not understood is refused by name") {
  const smem::Device whole = test::targets::nvidia("sm_90");
  for (const char* text : {"local", "local=", "local=K", "local=32Q", "local=32KB", "local=-1", "local=1.5",
                           "memory=3", "work_group=0", "sub_group=0", "compute_units=0", "=", "=5",
                           "local= 5", "local=99999999999999999999", "local=18446744073709551615K"}) {
    CAPTURE(text);
    const auto error = test::failure_of([&] { smem::clamp(whole, std::string("fp64=1,") + text); });
    CHECK(error.operation == "clamp");
    CHECK(error.argument == "SMEM_CLAMP");
    CHECK(error.got == std::string("\"") + text + "\"");
    CHECK(test::contains(error.expected, "local=32K"));
  }
}

TEST_CASE("device: names of types and vendors") {
  CHECK(smem::name_of(smem::DeviceType::gpu) == "gpu");
  CHECK(smem::name_of(smem::DeviceType::cpu) == "cpu");
  CHECK(smem::name_of(smem::DeviceType::accelerator) == "accelerator");
  CHECK(smem::name_of(smem::Vendor::nvidia) == "nvidia");
  CHECK(smem::name_of(smem::Vendor::amd) == "amd");
  CHECK(smem::name_of(smem::Vendor::intel) == "intel");
  CHECK(smem::name_of(smem::Vendor::other) == "other");
}
