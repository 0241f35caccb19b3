// What is known to be wrong with drivers, and of their compilers' languages.
#include <smem/explain.hpp>
#include <smem/smem.hpp>

#include "operations/list.hpp"
#include "plan/driver_faults.hpp"
#include "runtime/devices.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/driver_faults.hpp"
#include "runtime/local_memory.hpp"
#include "runtime/programs.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/reductions.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Device;
using smem::plan::Version;
using smem::runtime::HostFacts;
using smem::runtime::LanguageFacts;
using smem::runtime::why_platform_aborts;
using test::contains;

namespace {

/// Intel's CPU runtime, without the faults that are known of it.
Device intel_cpu() {
  Device device = test::targets::cpu();
  device.platform = "Intel(R) OpenCL";
  device.driver = "2026.22.10.0.01_160000";
  return device;
}

}  // namespace

TEST_CASE("driver faults: versions as drivers write them") {
  CHECK(smem::plan::version_in("6.0+debian") == Version{6, 0});
  CHECK(smem::plan::version_in("580.159.04") == Version{580, 159});
  CHECK(smem::plan::version_in("OpenCL C 1.2 PoCL") == Version{1, 2});
  CHECK(smem::plan::version_in("7") == Version{7, 0});
  CHECK(smem::plan::version_in("") == Version{});
  CHECK(smem::plan::version_in("99999999999999999999.1") == Version{});
  CHECK(Version{3, 1} < Version{5, 0});
}

TEST_CASE("driver faults: each names an operation and one of its variants") {
  std::size_t faults = 0;
  const auto check = [&](const smem::BrokenVariant& broken) {
    ++faults;
    CAPTURE(broken.operation);
    CAPTURE(broken.variant);
    bool is_known = false;
    for (const smem::operations::Operation& operation : smem::operations::all())
      if (operation.name == broken.operation)
        for (const std::string_view variant : operation.variants())
          is_known |= variant == broken.variant;
    CHECK(is_known);
  };
  for (const char* const platform : {"Portable Computing Language", "rusticl", "Intel(R) OpenCL"}) {
    for (const char* const driver : {"5.0", "6.0", "22.3.6", "2026.22"}) {
      Device device;
      device.platform = platform;
      device.type = smem::DeviceType::cpu;
      device.event_language = "CL1.2";
      device.driver = driver;
      for (const smem::BrokenVariant& broken : smem::plan::known_faults(device))
        check(broken);
      for (const smem::plan::LaunchFault& fault : smem::plan::known_launch_faults(device))
        check(fault.broken);
    }
  }
  CHECK(faults >= 14);
}

TEST_CASE("driver faults: a platform that would end the process is told before it does") {
  const std::string pocl6 = "OpenCL 3.0 PoCL 6.0+debian  Linux, LLVM 18.1.8";
  CHECK(why_platform_aborts(pocl6, {}).empty());
  CHECK(contains(why_platform_aborts(pocl6, {.cpu_topology = false}), "PoCL 6.0"));
  CHECK(contains(why_platform_aborts(pocl6, {.cpu_topology = false}), "/sys"));
  CHECK(contains(why_platform_aborts(pocl6, {.data_limit = 100 << 20}), "ulimit -d"));
  CHECK(why_platform_aborts(pocl6, {.data_limit = 128 << 20}).empty());
  CHECK_FALSE(why_platform_aborts("OpenCL 3.0 PoCL 3.1+debian  Linux", {.cpu_topology = false}).empty());
  CHECK(why_platform_aborts("OpenCL 3.0 PoCL 7.0", {.cpu_topology = false}).empty());
  CHECK(why_platform_aborts("OpenCL 3.0 CUDA 12.9.0", {.cpu_topology = false}).empty());
}

TEST_CASE("driver faults: PoCL's compiler is corrected where it loads values again behind barriers") {
  using smem::runtime::compiler_variable;
  CHECK(compiler_variable("OpenCL 3.0 PoCL 6.0+debian  Linux, LLVM 18.1.8").empty());
  CHECK(compiler_variable("OpenCL 3.0 PoCL 7.0") == "POCL_PREGION_VALUE_REMAT");
  CHECK(compiler_variable("OpenCL 3.0 PoCL 7.1+debian  Linux, LLVM 21.1.8") == "POCL_PREGION_VALUE_REMAT");
  CHECK(compiler_variable("OpenCL 3.0 CUDA 12.9.0").empty());
}

TEST_CASE("driver faults: the language that has sub-groups, and the one whose waits for copies link") {
  const auto languages = [](const char* platform, const LanguageFacts& facts, const char* opencl_c) {
    Device device;
    device.platform = platform;
    device.opencl_c = opencl_c;
    smem::runtime::set_languages(facts, device);
    return device;
  };
  const char* const pocl = "Portable Computing Language";
  const std::vector<Version> without_two{{1, 0}, {1, 1}, {1, 2}, {3, 0}};
  // PoCL 6.0: OpenCL C 3.0 with sub-groups, and no 2.0.
  Device device = languages(
      pocl,
      {without_two, " __opencl_c_generic_address_space __opencl_c_subgroups", "cl_khr_subgroups cl_khr_fp64"},
      "OpenCL C 1.2 PoCL");
  CHECK(device.sub_groups);
  CHECK(device.sub_group_language == "CL3.0");
  CHECK(device.event_language == "CL3.0");
  // PoCL 3.1 has neither.
  device = languages(pocl, {without_two, " __opencl_c_images", "cl_khr_fp64"}, "OpenCL C 1.2 PoCL");
  CHECK_FALSE(device.sub_groups);
  CHECK(device.event_language == "CL1.2");
  // Intel's of OpenCL 2.1, which has no list of versions; and one of 3.0 that still takes 2.0.
  CHECK(languages("Intel(R) OpenCL", {{}, "", "cl_khr_subgroups"}, "OpenCL C 2.0").sub_group_language ==
        "CL2.0");
  CHECK(languages("Intel(R) OpenCL", {{{1, 2}, {2, 0}, {3, 0}}, " __opencl_c_subgroups", "cl_khr_subgroups"},
                  "OpenCL C 1.2")
            .sub_group_language == "CL2.0");
  CHECK(languages("Intel(R) OpenCL", {{}, "", "cl_intel_subgroups"}, "OpenCL C 1.2").sub_group_language ==
        "CL1.2");
  // The extension alone, without a language that has it.
  CHECK_FALSE(languages("other", {without_two, "", "cl_khr_subgroups"}, "OpenCL C 1.2").sub_groups);
  // Another maker's kernels keep the language of all others.
  CHECK(languages("NVIDIA CUDA", {without_two, " __opencl_c_generic_address_space", ""}, "OpenCL C 1.2")
            .event_language == "CL1.2");
}

TEST_CASE("driver faults: the variants that a driver breaks, by its version") {
  Device device = test::targets::cpu();
  device.platform = "Portable Computing Language";
  const auto broken_in = [&](const char* driver) {
    device.driver = driver;
    return smem::plan::known_faults(device);
  };
  REQUIRE(broken_in("6.0+debian").size() == 4);
  CHECK(broken_in("6.0+debian")[1].operation == "conv2d");
  CHECK(broken_in("6.0+debian")[2].operation == "attention");
  CHECK(broken_in("6.0+debian")[2].variant == "matrix_units");
  CHECK(broken_in("6.0+debian").back().operation == "attention");
  CHECK(broken_in("6.0+debian").back().variant == "tiled");
  CHECK(broken_in("5.0+debian").front().operation == "gemm");
  CHECK(broken_in("5.0+debian").front().variant == "async");
  CHECK(contains(broken_in("5.0+debian").front().reason, "PoCL"));
  CHECK(broken_in("3.1+debian").empty());
  device.event_language = "CL3.0";
  CHECK(broken_in("6.0+debian").size() == 3);
  CHECK(broken_in("7.0").empty());
  // Attention has another variant there.
  device.driver = "6.0+debian";
  device.broken = smem::plan::known_faults(device);
  smem::AttentionProblem problem;
  problem.heads = problem.kv_heads = 4;
  problem.queries = problem.keys = 256;
  problem.head_size = problem.value_size = 64;
  CHECK(smem::plan_attention(device, problem).variant != "tiled");
  CHECK(contains(test::failure_of([&] { smem::plan_attention(device, problem, {.variant = "tiled"}); }).got,
                 "PoCL 6"));
  device.driver = "5.0+debian";
  device.broken = smem::plan::known_faults(device);
  smem::StencilProblem bytes = smem::stencil_problem(smem::Scalar::uint8, {1000, 1000, 1}, {1, 1, 0});
  bytes.int8_weights = true;
  CHECK(contains(test::failure_of([&] { smem::plan_stencil(device, bytes, {.variant = "units"}); }).got,
                 "PoCL 5"));
  // Sorts of rows with values, and places, are the same variant.
  for (const smem::SortPayload payload :
       {smem::SortPayload::none, smem::SortPayload::values, smem::SortPayload::places}) {
    const smem::SortRowsProblem rows{.rows = 10,
                                     .cols = 1000,
                                     .payload = payload,
                                     .value_bytes = payload == smem::SortPayload::none ? 0U : 4U};
    CHECK(smem::plan_sort_rows(device, rows).variant != "tile");
    CHECK(contains(test::failure_of([&] { smem::plan_sort_rows(device, rows, {.variant = "tile"}); }).got,
                   "PoCL 5"));
  }
}

TEST_CASE("driver faults: a variant that a driver breaks in small work-groups alone is refused in these") {
  Device device = test::targets::cpu();
  device.platform = "Portable Computing Language";
  device.driver = "5.0+debian";
  const char* const why = "groups of at most 64";
  const smem::ReduceProblem columns{.shape = smem::ReduceShape::columns, .rows = 1000, .cols = 1000};
  const auto refusal = [&](const Device& d, const smem::PlanOverrides& fixed) {
    return test::failure_of([&] { smem::plan_reduce(d, columns, fixed); });
  };
  CHECK(smem::plan_reduce(device, columns, {.variant = "several"}).work_items() > 64);
  CHECK(smem::plan_reduce(device, columns, {.variant = "several", .work_items = 128}).work_items() == 128);
  const smem::ErrorDetails small = refusal(device, {.variant = "several", .work_items = 64});
  CHECK(small.argument == "variant");
  CHECK(contains(small.got, why));
  // By a clamp, which leaves no larger group.
  device.max_work_group = 64;
  CHECK(contains(refusal(device, {.variant = "several"}).got, why));
  const smem::Plan chosen = smem::plan_reduce(device, columns);
  CHECK(chosen.variant == "cpu");
  CHECK(contains(smem::explain(chosen, device), why));
  // Where it would be chosen, another one is, or none is left; never this one.
  Device slow = device;
  slow.long_loops = false;
  CHECK(contains(refusal(slow, {}).got, why));
  // Other shapes, versions and drivers are not concerned.
  CHECK(smem::plan_reduce(device, {.cols = 1 << 20}, {.variant = "several"}).work_items() <= 64);
  for (const char* driver : {"3.1+debian", "6.0+debian"}) {
    device.driver = driver;
    CHECK(smem::plan_reduce(device, columns, {.variant = "several"}).work_items() <= 64);
  }
  device.platform = "Intel(R) OpenCL";
  device.driver = "5.0";
  CHECK(smem::plan_reduce(device, columns, {.variant = "several"}).work_items() <= 64);
}

TEST_CASE("driver faults: GELU of halves by a variant that a driver cannot compile is refused there alone") {
  Device device = intel_cpu();
  smem::Conv2dProblem problem{.in_channels = 5,
                              .width = 23,
                              .height = 19,
                              .out_channels = 11,
                              .window = {3, 3},
                              .out_width = 21,
                              .out_height = 17};
  problem.type = problem.out = smem::Scalar::half;
  problem.activation = smem::Activation::gelu;
  const auto refusal = test::failure_of([&] { smem::plan_conv2d(device, problem, {.variant = "cpu"}); });
  CHECK(refusal.argument == "variant");
  CHECK(contains(refusal.got, "Intel's CPU runtime"));
  const smem::Plan chosen = smem::plan_conv2d(device, problem);
  CHECK(chosen.variant != "cpu");
  CHECK(contains(smem::explain(chosen, device), "Intel's CPU runtime"));
  // Other activations, types, versions and drivers are not concerned.
  const auto is_chosen = [&](const Device& d, const smem::Conv2dProblem& p) {
    return smem::plan_conv2d(d, p).variant == "cpu";
  };
  smem::Conv2dProblem other = problem;
  other.activation = smem::Activation::relu;
  CHECK(is_chosen(device, other));
  other = problem;
  other.type = other.out = smem::Scalar::float32;
  CHECK(is_chosen(device, other));
  device.driver = "2025.20";
  CHECK(is_chosen(device, problem));
  device.driver = "2026.22";
  device.platform = "Portable Computing Language";
  CHECK(is_chosen(device, problem));
}

TEST_CASE(
    "driver faults: selections in groups that do not fill a vector are refused where it is misassembled") {
  Device device = intel_cpu();
  device.broken = smem::plan::known_faults(device);
  smem::TopKProblem problem;
  problem.cols = 1500;
  problem.k = 1;
  for (const char* variant : {"delegates", "row_delegates"}) {
    CAPTURE(variant);
    const auto work_items = [&](const Device& d, std::size_t wanted) {
      const smem::Plan plan = smem::plan_top_k(d, problem, {.variant = variant, .work_items = wanted});
      return plan.launches().front()->work_items();
    };
    const auto refusal = [&](const Device& d, std::size_t wanted) {
      return test::failure_of([&] { work_items(d, wanted); });
    };
    CHECK(work_items(device, 0) >= 16);
    CHECK(work_items(device, 16) == 16);
    Device small = device;
    small.max_work_group = 8;  // by a clamp
    CHECK(contains(refusal(small, 0).got, "fewer than 16"));
    CHECK(refusal(device, 8).argument == "variant");
    CHECK(contains(refusal(device, 8).got, "Intel's CPU runtime"));
    // Where it would be chosen, another one is.
    const smem::Plan chosen = smem::plan_top_k(small, problem);
    CHECK(chosen.variant != variant);
    // Other versions and drivers are not concerned.
    small.driver = "2025.20";
    CHECK(work_items(small, 0) == 8);
    small.driver = device.driver;
    small.platform = "Portable Computing Language";
    CHECK(work_items(small, 0) == 8);
  }
}

TEST_CASE(
    "driver faults: launches whose compilation ends the process now and then are refused, and no others") {
  Device device = intel_cpu();
  device.broken = smem::plan::known_faults(device);
  const auto refused = [&](const smem::TopKProblem& problem, const char* variant, std::size_t work_items) {
    try {
      smem::plan_top_k(device, problem, {.variant = variant, .work_items = work_items});
    } catch (const smem::Error& error) {
      CHECK(contains(error.details().got, "across barriers"));
      return true;
    }
    return false;
  };
  smem::TopKProblem problem;
  problem.cols = 1500;
  problem.k = 1;
  for (const auto& [type, is_short] : {std::pair{smem::Scalar::float32, false},
                                       {smem::Scalar::uint32, false},
                                       {smem::Scalar::half, true},
                                       {smem::Scalar::int8, true}}) {
    problem.type = type;
    CHECK(refused(problem, "row_delegates", 0) == is_short);
    CHECK(refused(problem, "tile", 64));
    CHECK_FALSE(refused(problem, "tile", 128));
    CHECK_FALSE(refused(problem, "radix_select", 64));
    if (is_short) CHECK(smem::plan_top_k(device, problem).variant != "row_delegates");
  }
  problem.cols = 20;
  CHECK(refused(problem, "registers", 8));
  CHECK_FALSE(refused(problem, "registers", 64));
  device.driver = "2025.20";
  CHECK_FALSE(refused(problem, "registers", 8));
  CHECK_FALSE(refused(problem, "tile", 64));
}

TEST_CASE("driver faults: so many spans that groups share them are refused where the driver miscounts them") {
  Device device = test::targets::cpu();
  device.platform = "Portable Computing Language";
  smem::TopKProblem many;
  many.cols = 200003;
  many.k = 5000;
  smem::TopKProblem few = many;
  few.k = 64;
  for (const char* driver : {"3.1+debian", "5.0-pre", "6.0+debian"}) {
    CAPTURE(driver);
    device.driver = driver;
    const bool is_broken = device.driver.starts_with("5");
    for (const smem::TopKOp op : {smem::TopKOp::top_k, smem::TopKOp::nth_element}) {
      many.op = few.op = op;
      if (is_broken) {
        const auto error =
            test::failure_of([&] { smem::plan_top_k(device, many, {.variant = "delegates"}); });
        CHECK(error.argument == "variant");
        CHECK(contains(error.got, "PoCL 5"));
      } else {
        CHECK(smem::plan_top_k(device, many, {.variant = "delegates"}).variant == "delegates");
      }
      // Where few are listed, a group counts them; and all other variants stay.
      CHECK(smem::plan_top_k(device, few, {.variant = "delegates"}).variant == "delegates");
      CHECK(smem::plan_top_k(device, many, {.variant = "radix_select"}).variant == "radix_select");
      CHECK(smem::plan_top_k(device, many).variant == "cpu");
    }
  }
}

TEST_CASE("driver faults: columns with gaps have the groups of their own alignment, not those of packs") {
  Device device = test::targets::cpu();
  device.platform = "Portable Computing Language";
  device.driver = "5.0+debian";
  device.local_bytes = 512;
  // What the test of clamped devices reduces: no row but the first begins where a pack may.
  test::ReduceCase c;
  c.shape = smem::ReduceShape::columns;
  c.variant = "several";
  c.rows = 301;
  c.cols = 67;
  c.layout = test::strided(c.rows, c.cols, 2);
  CHECK(test::problem_of(c).alignment == 4);
  CHECK(test::has_plan(device, c));  // 128 work-items
  c.layout = test::packed();
  c.cols = 64;
  CHECK(test::problem_of(c).alignment == 16);
  CHECK_FALSE(test::has_plan(device, c));  // 32
}

TEST_CASE("driver faults: a large buffer that NVIDIA's driver refuses names the variable that lifts it") {
  Device device = test::targets::nvidia("sm_90");
  device.driver = "610.12";
  device.max_allocation = std::size_t{20} << 30;
  const test::Variable unset("NVCL_DISABLE_MAX_MEM_ALLOC_SIZE_CHECK", "");
  const auto why = [&](std::size_t gib) { return smem::runtime::why_allocation_fails(device, gib << 30); };
  CHECK(contains(why(21), "NVCL_DISABLE_MAX_MEM_ALLOC_SIZE_CHECK=1"));
  CHECK(contains(why(21), std::to_string(device.max_allocation)));
  CHECK(why(20).empty());
  device.driver = "580.159.04";
  CHECK(why(21).empty());
  device.driver = "611.0";
  const test::Variable lifted("NVCL_DISABLE_MAX_MEM_ALLOC_SIZE_CHECK", "1");
  CHECK(why(21).empty());
}

TEST_CASE("driver faults: local memory beyond what is reported is tried on NVIDIA's GPUs from sm_80 on") {
  const auto sizes = [](const char* architecture) {
    return smem::runtime::local_sizes_to_try(test::targets::nvidia(architecture));
  };
  CHECK(sizes("sm_75").empty());
  CHECK(sizes("sm_80") == std::vector<std::size_t>{163 * 1024, 99 * 1024});
  CHECK(sizes("sm_86") == std::vector<std::size_t>{99 * 1024});
  CHECK(sizes("sm_89") == std::vector<std::size_t>{99 * 1024});
  CHECK(sizes("sm_100").front() == 227 * 1024);
  CHECK(sizes("sm_120") == std::vector<std::size_t>{99 * 1024});
  // What is known is not tried.
  CHECK(smem::runtime::local_sizes_to_try(test::targets::nvidia("sm_90", 227 * 1024)).empty());
  CHECK(smem::runtime::local_sizes_to_try(test::targets::cpu()).empty());
  // The trial itself runs on any device.
  const smem::Context context;
  CHECK(smem::runtime::runs_with_local(context.cl_device()(), context.device().local_bytes / 2));
}

TEST_CASE("driver faults: the local memory that was found is kept with the cached programs, for its driver") {
  const smem::Context context;  // keeps facts of its own elsewhere
  const test::CacheFolder folder;
  Device device = test::targets::nvidia("sm_80");
  const auto usable = [&](const char* driver) {
    device.driver = driver;
    return smem::runtime::usable_local_bytes(context.cl_device()(), device);
  };
  const auto kept = [&](const char* driver, const std::string& text) {
    device.driver = driver;
    const auto disk = smem::runtime::DiskCache::from_environment();
    REQUIRE(disk.store(smem::runtime::device_key(device) + "fact=local_bytes\n", {text.begin(), text.end()}));
  };
  const std::size_t found = usable("found here");  // the trial runs on any device
  CHECK(found >= device.local_bytes);
  const auto entries = smem::runtime::DiskCache::from_environment().entries();
  REQUIRE(entries.size() == 1);
  CHECK(contains(entries[0].key, "found here"));
  // What another process found is not tried again; a number that cannot be is.
  kept("found by another", std::to_string(99 * 1024));
  CHECK(usable("found by another") == 99 * 1024);
  kept("found by another", std::to_string(163 * 1024));
  CHECK(usable("found by another") == 99 * 1024);  // once a process
  kept("damaged", "7");
  CHECK(usable("damaged") == found);
}
