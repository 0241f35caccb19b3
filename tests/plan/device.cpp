// Device facts as values: clamps and names.
#include <smem/device.hpp>

#include "plan/ballots.hpp"
#include "plan/matrix_unit.hpp"
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
  CHECK(smem::clamp(whole, "allocation=64K").max_allocation == 64 * 1024);
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
  const smem::Device cpu = test::target("cpu");
  CHECK(smem::clamp(cpu, "vector=16").vector_bytes == 16);
  CHECK(smem::clamp(cpu, "vector=64").wide_vectors);
  CHECK_FALSE(smem::clamp(smem::clamp(cpu, "vector=64"), "vector=32").wide_vectors);
  smem::Device vnni = cpu;
  vnni.avx512_vnni = vnni.avx_vnni = true;
  CHECK(smem::clamp(vnni, "vnni=1") == vnni);
  CHECK(smem::clamp(vnni, "vnni=0") == cpu);
  smem::Device with_builtin = whole;
  with_builtin.prefetch_builtin = true;
  CHECK(smem::clamp(with_builtin, "prefetch_builtin=1").prefetch_builtin);
  CHECK_FALSE(smem::clamp(with_builtin, "prefetch_builtin=0").prefetch_builtin);
}

TEST_CASE("clamp: a matrix unit is emulated, unless it is the device's own") {
  using smem::MatrixUnit;
  const smem::Device without = test::target("sm_75"), own = test::target("gfx1100");
  CHECK(without.matrix_unit == MatrixUnit::none);
  CHECK(own.matrix_unit == MatrixUnit::wmma);
  const smem::Device emulated = smem::clamp(without, "matrix_unit=dpas8");
  CHECK(emulated.matrix_unit == MatrixUnit::dpas8);
  CHECK(emulated.emulated_unit);
  CHECK_FALSE(smem::clamp(own, "matrix_unit=wmma").emulated_unit);
  CHECK(smem::clamp(own, "matrix_unit=mfma").emulated_unit);
  CHECK(smem::clamp(emulated, "matrix_unit=dpas8").emulated_unit);
  const smem::Device none = smem::clamp(own, "matrix_unit=none");
  CHECK(none.matrix_unit == MatrixUnit::none);
  CHECK_FALSE(none.emulated_unit);
}

TEST_CASE("device: which matrix unit a platform should have") {
  using smem::MatrixUnit;
  using smem::plan::expected_matrix_unit;
  const auto amd = [](const char* name, std::size_t lanes, const char* platform) {
    smem::Device device = test::targets::gpu(name, smem::Vendor::amd, lanes, 1024, 65536);
    device.platform = platform;
    return expected_matrix_unit(device, 0);
  };
  const char* const rocm = "AMD Accelerated Parallel Processing";
  CHECK(amd("gfx90a", 64, rocm) == MatrixUnit::mfma);
  CHECK(amd("gfx942", 64, rocm) == MatrixUnit::mfma_cdna3);
  CHECK(amd("gfx950", 64, rocm) == MatrixUnit::mfma_cdna3);
  CHECK(amd("gfx1100", 32, rocm) == MatrixUnit::wmma);
  CHECK(amd("gfx1201", 32, rocm) == MatrixUnit::wmma_rdna4);
  CHECK(amd("gfx1100", 64, rocm) == MatrixUnit::none);
  CHECK(amd("gfx906", 64, rocm) == MatrixUnit::none);
  CHECK(amd("gfx1030", 32, rocm) == MatrixUnit::none);
  CHECK(amd("gfx90a", 64, "rusticl") == MatrixUnit::none);
  CHECK(amd("gfx90a", 64, "Clover") == MatrixUnit::none);
  smem::Device arc = test::target("dg2-g10");
  CHECK(expected_matrix_unit(arc, 8) == MatrixUnit::dpas8);
  CHECK(expected_matrix_unit(arc, 16) == MatrixUnit::dpas16);
  CHECK(expected_matrix_unit(arc, 0) == MatrixUnit::none);
  arc.platform = "rusticl";
  CHECK(expected_matrix_unit(arc, 8) == MatrixUnit::none);
  CHECK(expected_matrix_unit(test::target("cpu"), 16) == MatrixUnit::none);
}

TEST_CASE("clamp: what is not understood is refused by name") {
  const smem::Device whole = test::targets::nvidia("sm_90");
  for (const char* text : {"local",
                           "local=",
                           "local=K",
                           "local=32Q",
                           "local=32KB",
                           "local=-1",
                           "local=1.5",
                           "memory=3",
                           "work_group=0",
                           "sub_group=0",
                           "compute_units=0",
                           "vector=0",
                           "vector=48",
                           "=",
                           "=5",
                           "local= 5",
                           "matrix_unit=",
                           "matrix_unit=cuda",
                           "local=99999999999999999999",
                           "local=18446744073709551615K"}) {
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
  CHECK(smem::name_of(smem::MatrixUnit::none) == "none");
  CHECK(smem::name_of(smem::MatrixUnit::mfma_cdna3) == "mfma_cdna3");
  CHECK(smem::name_of(smem::MatrixUnit::dpas16) == "dpas16");
}

TEST_CASE("clamp: ballots of sub-groups of another size, or none") {
  const smem::Device with = test::target("pvc"), without = test::target("gfx90a");
  CHECK(with.ballot_width == 16);
  CHECK(smem::clamp(with, "ballots=0").ballot_width == 0);
  CHECK(smem::clamp(with, "ballots=64").ballot_width == 64);
  CHECK(smem::clamp(without, "ballots=16").ballot_width == 0);
  for (const char* wrong : {"ballots=24", "ballots=128", "ballots=", "ballots=x"})
    CHECK(test::failure_of([&] { smem::clamp(with, wrong); }).argument == "SMEM_CLAMP");
}

TEST_CASE("device: of which sub-groups a platform should have ballots") {
  using smem::plan::expected_ballot_width;
  const std::string ballots = "cl_khr_subgroups cl_khr_subgroup_ballot cl_khr_fp64";
  smem::Device arc = test::targets::gpu("Arc", smem::Vendor::intel, 32, 1024, 65536);
  CHECK(expected_ballot_width(arc, ballots, {8, 16, 32}) == 0);  // no language has them
  arc.sub_groups = true;
  CHECK(expected_ballot_width(arc, ballots, {8, 16, 32}) == 16);
  CHECK(expected_ballot_width(arc, ballots, {16, 32}) == 16);
  CHECK(expected_ballot_width(arc, ballots, {64, 32}) == 32);
  CHECK(expected_ballot_width(arc, ballots, {4, 8}) == 8);
  CHECK(expected_ballot_width(arc, ballots, {1, 128}) == 0);
  CHECK(expected_ballot_width(arc, ballots, {}) == 0);  // of an unknown size
  CHECK(expected_ballot_width(arc, "cl_khr_subgroups cl_khr_subgroup_ballot_of_others", {16}) == 0);
  smem::Device amd = test::targets::gpu("gfx90a", smem::Vendor::amd, 64, 1024, 65536);
  amd.sub_groups = true;
  CHECK(expected_ballot_width(amd, "cl_khr_subgroups", {}) == 0);
  CHECK(expected_ballot_width(amd, ballots, {}) == 64);
  CHECK(expected_ballot_width(amd, ballots, {32, 64}) == 32);
  smem::Device nvidia = test::target("sm_90"), pocl = test::target("cpu");
  nvidia.sub_groups = pocl.sub_groups = true;
  CHECK(expected_ballot_width(nvidia, ballots, {32}) == 0);
  CHECK(expected_ballot_width(pocl, ballots, {16}) == 16);
  pocl.platform = "Portable Computing Language";
  CHECK(expected_ballot_width(pocl, ballots, {16}) == 0);
}
