// Occupancy and roofline against figures worked out by hand.
#include <smem/attention_plan.hpp>
#include <smem/complex_gemm_plan.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/explain.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/rates_plan.hpp>
#include <smem/transpose_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

smem::Plan group_of(std::size_t work_items, std::size_t local_bytes) {
  smem::Plan plan;
  plan.work_group = {work_items, 1, 1};
  plan.local_bytes = local_bytes;
  return plan;
}

}  // namespace

TEST_CASE("roofline: resident groups of compute capability 9.0") {
  const smem::Device device = test::targets::nvidia("sm_90", 227 * 1024);
  CHECK(device.unit.local_bytes == 228 * 1024);
  // 2048 work-items: 8 groups of 256, without another limit.
  CHECK(occupancy(device, group_of(256, 0)) == smem::Occupancy{8, 2048, 1.0, "work-items"});
  CHECK(occupancy(device, group_of(32, 0)) == smem::Occupancy{32, 1024, 0.5, "groups"});
  // 227 KiB and the KiB that the system takes of each group: one group.
  CHECK(occupancy(device, group_of(1024, 227 * 1024)) == smem::Occupancy{1, 1024, 0.5, "local memory"});
  CHECK(occupancy(device, group_of(128, 37 * 1024)) == smem::Occupancy{6, 768, 0.375, "local memory"});
  // 64 registers: 2048 a warp, 32 warps. 65 round up to 72.
  CHECK(occupancy(device, group_of(256, 0), 64) == smem::Occupancy{4, 1024, 0.5, "registers"});
  CHECK(occupancy(device, group_of(256, 0), 65) == smem::Occupancy{3, 768, 0.375, "registers"});
  CHECK(occupancy(device, group_of(256, 0), 32) == smem::Occupancy{8, 2048, 1.0, "work-items"});
  // 33 work-items are two warps.
  CHECK(occupancy(device, group_of(33, 0)).groups == 32);
  CHECK(occupancy(device, group_of(33, 0)).share == 1.0);
}

TEST_CASE("roofline: resident groups of other architectures") {
  const smem::Device turing = test::targets::nvidia("sm_75");
  CHECK(occupancy(turing, group_of(256, 0)) == smem::Occupancy{4, 1024, 1.0, "work-items"});
  CHECK(occupancy(turing, group_of(256, 33 * 1024)).groups == 1);
  const smem::Device cdna = test::targets::gpu("gfx90a", smem::Vendor::amd, 64, 1024, 65536);
  // 4 SIMDs of 8 waves; 128 registers a lane leave 4 waves a SIMD.
  CHECK(occupancy(cdna, group_of(256, 0)).groups == 8);
  CHECK(occupancy(cdna, group_of(256, 0), 128) == smem::Occupancy{4, 1024, 0.5, "registers"});
  CHECK(occupancy(cdna, group_of(256, 40 * 1024)).groups == 1);
  const smem::Device xe = test::targets::gpu("pvc", smem::Vendor::intel, 32, 1024, 128 * 1024);
  CHECK(occupancy(xe, group_of(1024, 0)) == smem::Occupancy{2, 2048, 1.0, "work-items"});
  CHECK(occupancy(xe, group_of(1024, 0), 64).groups == 2);   // 128 registers a thread
  CHECK(occupancy(xe, group_of(1024, 0), 128).groups == 1);  // 256
  // Unknown limits stay unknown.
  CHECK(occupancy(test::targets::nvidia("sm_99"), group_of(256, 0)).groups == 0);
  CHECK(test::targets::nvidia("sm_99").unit == smem::UnitLimits{});
  CHECK(test::targets::gpu("strange", smem::Vendor::other, 32, 256, 32768).unit == smem::UnitLimits{});
  CHECK(occupancy(test::targets::cpu(), group_of(64, 1024)).groups == 1);
}

TEST_CASE("roofline: the slower of memory and arithmetic bounds a plan") {
  smem::Plan plan;
  plan.prediction.bytes_read = 3e9;
  plan.prediction.bytes_written = 1e9;
  plan.prediction.operations = 8e9;
  CHECK(plan.prediction.intensity() == doctest::Approx(2));
  const smem::Rates rates{2e12, 10e12};
  smem::Bound bound = roofline(plan, rates);
  CHECK(bound.by == "memory");
  CHECK(bound.seconds == doctest::Approx(2e-3));
  CHECK(bound.balance == doctest::Approx(5));
  plan.prediction.operations = 1e12;
  bound = roofline(plan, rates);
  CHECK(bound.by == "arithmetic");
  CHECK(bound.seconds == doctest::Approx(0.1));
  CHECK(roofline(plan, {}).seconds == 0);
  CHECK(roofline(plan, {}).by.empty());
}

TEST_CASE("roofline: no bound follows from operations of matrix units, whose rate is not measured") {
  smem::Plan plan;
  plan.prediction.bytes_read = 4e9;
  plan.prediction.matrix_operations = 1e15;
  CHECK(plan.prediction.intensity() == 0);
  CHECK(roofline(plan, {2e12, 10e12}).by == "memory");
  CHECK(roofline(plan, {2e12, 10e12}).seconds == doctest::Approx(2e-3));
}

TEST_CASE("roofline: plans of matrix units count their operations apart") {
  using enum smem::Scalar;
  const auto counted = [](const smem::Plan& plan, double operations) {
    CAPTURE(plan.operation);
    CAPTURE(plan.variant);
    CHECK(plan.prediction.operations == 0);
    CHECK(plan.prediction.matrix_operations == doctest::Approx(operations));
  };
  smem::GemmProblem product;
  product.m = 4096, product.n = 16, product.k = 2048, product.batch = 3;
  product.a_along_k = product.b_along_k = true;
  product.a_alignment = product.b_alignment = 64;
  smem::AttentionProblem heads{
      .heads = 16, .kv_heads = 16, .queries = 512, .keys = 512, .head_size = 64, .value_size = 64};
  heads.in = heads.out = half;
  smem::Conv2dProblem layer;
  layer.images = 8, layer.in_channels = 64, layer.width = layer.out_width = 28;
  layer.height = layer.out_height = 28, layer.out_channels = 32;
  layer.window = {3, 3}, layer.padding = {1, 1, 1, 1};
  layer.type = layer.out = half;
  const double of_product = 3 * 2.0 * 4096 * 16 * 2048, of_heads = 16 * 2.0 * 512 * 512 * (64 + 64);
  const double of_layer = 2.0 * 8 * 32 * 28 * 28 * 64 * 9;
  using Units = std::pair<const char*, std::vector<const char*>>;
  for (const auto& [name, variants] :
       {Units{"sm_90", {"wgmma", "mma"}}, {"gfx90a", {"matrix_units"}}, {"pvc", {"matrix_units"}}}) {
    CAPTURE(name);
    const smem::Device device = test::target(name);
    for (const char* variant : variants) {
      for (const smem::Scalar type : {half, int8}) {
        product.in = type, product.out = type == int8 ? int32 : float32;
        counted(smem::plan_gemm(device, product, {.variant = variant}), of_product);
      }
      counted(smem::plan_attention(device, heads, {.variant = variant}), of_heads);
      counted(smem::plan_conv2d(device, layer, {.variant = variant}), of_layer);
    }
  }
  const smem::Device hopper = test::target("sm_90");
  // Products that gemm() computes on them.
  counted(smem::plan_conv2d(hopper, layer, {.variant = "gemm"}), of_layer);
  smem::ComplexGemmProblem complex;
  complex.part = float64, complex.m = complex.n = complex.k = 512;
  counted(smem::plan_complex_gemm(hopper, complex, {.variant = "gemm"}), 8.0 * 512 * 512 * 512);
  product.in = half, product.out = float32;
  counted(smem::plan_gemm(hopper, product, {.variant = "mma"}), of_product);
  product.in = product.out = float64;
  counted(smem::plan_gemm(hopper, product, {.variant = "mma"}), of_product);
  heads.queries = 1;
  counted(smem::plan_attention(hopper, heads, {.variant = "split_mma"}), of_heads / 512);
}

TEST_CASE("roofline: families") {
  CHECK(smem::family_of(test::targets::nvidia("sm_90")) == "nvidia-hopper");
  CHECK(smem::family_of(test::targets::nvidia("sm_75")) == "nvidia");
  for (const smem::Device& device : test::all_targets()) {
    const std::string_view family = smem::family_of(device);
    if (device.name == "gfx942") CHECK(family == "amd-cdna");
    if (device.name == "gfx1100") CHECK(family == "amd-rdna");
    if (device.name == "pvc") CHECK(family == "intel");
    if (device.name == "cpu") CHECK(family == "cpu");
    // Those whose kernels are checked have limits in the table.
    if (device.type == smem::DeviceType::gpu) CHECK(device.unit.work_items > 0);
  }
  CHECK(smem::family_of(test::targets::gpu("x", smem::Vendor::other, 32, 256, 32768)) == "generic");
}

TEST_CASE("roofline: plans for the rates say what they do") {
  const smem::Device device = test::targets::nvidia("sm_90");
  const smem::Plan copy = smem::plan_rates(device, {smem::Rate::copy, 1 << 20});
  CHECK(copy.prediction.bytes() == 2.0 * (1 << 20));
  CHECK(copy.prediction.operations == 0);
  const smem::Plan fp32 = smem::plan_rates(device, {smem::Rate::fp32, 10});
  CHECK(fp32.prediction.operations > smem::plan_rates(device, {smem::Rate::fp32, 9}).prediction.operations);
  CHECK(fp32.prediction.intensity() > 100);
  for (const std::size_t bytes : {0, 63, 100})
    CHECK(test::failure_of([&] { smem::plan_rates(device, {smem::Rate::copy, bytes}); }).argument == "bytes");
}
