// The device's rates: measured, and kept.
#include <smem/context.hpp>
#include <smem/rates.hpp>
#include <smem/transpose_plan.hpp>

#include "support/environment.hpp"
#include "support/folder.hpp"

#include <doctest/doctest.h>

TEST_CASE("rates: measured once and kept for the device") {
  const test::CacheFolder folder;
  const smem::Context context;
  const smem::Rates first = smem::measure_rates(context);
  // Wide limits of what any device can do: what matters is that both were measured, in the right unit.
  CHECK(first.copy > 1e8);
  CHECK(first.copy < 1e14);
  CHECK(first.fp32 > 1e7);
  CHECK(first.fp32 < 1e16);
  // Kept with six digits; a second measurement would differ in them.
  const smem::Rates kept = smem::measure_rates(context);
  CHECK(kept.copy == doctest::Approx(first.copy).epsilon(1e-6));
  CHECK(kept.fp32 == doctest::Approx(first.fp32).epsilon(1e-6));
  CHECK(smem::measure_rates(smem::Context()) == kept);
  const smem::Rates again = smem::measure_rates(context, true);
  CHECK(again != kept);
  CHECK(smem::measure_rates(context).copy == doctest::Approx(again.copy).epsilon(1e-6));
}

TEST_CASE("rates: without a cache on disk they are measured each time") {
  const test::Variable off("SMEM_CACHE", "0");
  const smem::Context context;
  CHECK(smem::measure_rates(context).copy > 1e8);
}

TEST_CASE("rates: registers where the compiler tells") {
  const smem::Context context;
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 256;
  const smem::Plan plan = smem::plan_transpose(context.device(), problem, {.variant = "tiled"});
  const std::size_t registers = smem::registers_of(context, plan);
  if (context.device().vendor == smem::Vendor::nvidia) {
    CHECK(registers >= 8);
    CHECK(registers <= 255);
  } else if (context.device().type == smem::DeviceType::cpu) {
    CHECK(registers == 0);
  }
  smem::Plan broken = plan;
  broken.defines.emplace_back("get_local_id", 1);  // which is no function
  CHECK_THROWS_AS(smem::registers_of(context, broken), smem::Error);
}
