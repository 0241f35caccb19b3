// gemm by the matrix units of AMD and Intel, emulated (SMEM_CLAMP=matrix_unit=...): the layouts of fragments,
// every unit, type, transpose, alignment and tail against plain loops, epilogues, batches, lists and sums in
// parts. On a device that has a unit, that one by its own instructions.
#include <smem/smem.hpp>

#include "plan/matrix_unit.hpp"
#include "runtime/devices.hpp"
#include "runtime/matrix_unit.hpp"
#include "support/broken.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/gemms.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::MatrixUnit;
using smem::Scalar;
using test::GemmCase;
using test::Place;

namespace {

constexpr std::array kUnits{MatrixUnit::mfma,       MatrixUnit::mfma_cdna3, MatrixUnit::wmma,
                            MatrixUnit::wmma_rdna4, MatrixUnit::dpas8,      MatrixUnit::dpas16};
constexpr std::pair<Scalar, Scalar> kTypes[] = {
    {Scalar::half, Scalar::float32}, {Scalar::bfloat16, Scalar::bfloat16}, {Scalar::int8, Scalar::int32}};

std::string clamp_of(MatrixUnit unit) { return "matrix_unit=" + std::string(smem::name_of(unit)); }

/// Whether the emulation of the largest fragments runs there.
bool runs(const smem::Device& device) {
  return device.local_bytes >= 16 * 1024 && device.max_work_group >= 64 &&
         !test::is_broken(device, "gemm", "matrix_units");
}

}  // namespace

TEST_CASE("matrix units: a fragment of every unit and type") {
  const auto id = smem::runtime::choose_device({}).id;
  for (const MatrixUnit unit : kUnits) {
    const test::Variable clamp("SMEM_CLAMP", clamp_of(unit));
    const smem::Device device = smem::runtime::facts_of(id);
    REQUIRE(device.matrix_unit == unit);
    CAPTURE(smem::name_of(unit));
    for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::int8}) {
      CAPTURE(smem::name_of(type));
      for (const std::size_t rows : {16, 32}) {
        if (rows == 32 && unit != MatrixUnit::mfma && unit != MatrixUnit::mfma_cdna3) continue;
        CAPTURE(rows);
        CHECK(smem::runtime::multiplies(id, device, type, rows));
      }
    }
  }
}

TEST_CASE("matrix units: a compiler without their instructions leaves the device without a unit") {
  const test::CacheFolder folder;
  const auto id = smem::runtime::choose_device({}).id;
  const smem::Device device = smem::runtime::facts_of(id);
  if (device.type != smem::DeviceType::cpu) return;
  for (const MatrixUnit unit :
       {MatrixUnit::mfma, MatrixUnit::mfma_cdna3, MatrixUnit::wmma, MatrixUnit::wmma_rdna4}) {
    CAPTURE(smem::name_of(unit));
    smem::Device with_unit = device;
    with_unit.matrix_unit = unit;
    CHECK_FALSE(smem::runtime::multiplies(id, with_unit, Scalar::half));
    CHECK(smem::runtime::usable_matrix_unit(id, device, unit) == MatrixUnit::none);
    CHECK(smem::runtime::usable_matrix_unit(id, device, unit) == MatrixUnit::none);  // as it was kept
  }
}

TEST_CASE("gemm by matrix units: every unit, type, transpose and tail") {
  for (std::size_t u = 0; u < kUnits.size(); ++u) {
    const test::Variable clamp("SMEM_CLAMP", clamp_of(kUnits[u]));
    const smem::Context context;
    if (!runs(context.device())) return;
    CAPTURE(smem::name_of(kUnits[u]));
    test::GemmSweep sweep(context);
    std::size_t ran = 0;
    // Each program costs a driver's compiler a second: types, transposes and alignments take turns, so that a
    // unit has all three types, and the units have every pair of transposes.
    for (std::size_t i = 0; i < 3; ++i) {
      auto [in, out] = kTypes[(i + u) % 3];
      if (u % 2 == 1 && in != Scalar::int8) out = out == Scalar::float32 ? in : Scalar::float32;
      GemmCase c;
      c.variant = "matrix_units";
      c.in = in;
      c.out = out;
      c.transpose_a = (i + u) % 2 != 0;
      c.transpose_b = (i + u / 2) % 2 != 0;
      c.column_major = (i + u) % 4 == 1;
      c.place = (i + u) % 2 == 0 ? Place::aligned : Place::odd;
      test::gemm_shapes(sweep, c);
      // Several tiles, and whole ones: the fast ways along and across k.
      c.beta = 1;
      for (const auto& [m, n, k] : {std::array<std::size_t, 3>{132, 140, 70}, {257, 65, 96}}) {
        c.m = m;
        c.n = n;
        c.k = k;
        sweep.run(c);
      }
      ran += sweep.ran();
    }
    CHECK(ran >= 3 * 12);
  }
}

TEST_CASE("gemm by matrix units: epilogues, batches, lists and sums in parts") {
  for (std::size_t u = 0; u < kUnits.size(); ++u) {
    const test::Variable clamp("SMEM_CLAMP", clamp_of(kUnits[u]) + (u % 2 == 0 ? "" : ",local=32K"));
    const smem::Context context;
    if (!runs(context.device())) return;
    CAPTURE(smem::name_of(kUnits[u]));
    test::GemmSweep sweep(context);
    GemmCase c;
    c.variant = "matrix_units";
    std::tie(c.in, c.out) = kTypes[u % 3];
    c.m = 40;
    c.n = 33;
    c.k = 70;
    c.batch = 3;
    c.alpha = 2;
    c.transpose_a = u % 2 == 0;
    c.bias = static_cast<int>(u % 2) + 1;
    c.activation = smem::is_float(c.in) && u % 2 == 0 ? smem::Activation::gelu : smem::Activation::relu;
    c.residual = static_cast<int>(u % 2) + 1;
    c.column_major = u % 3 == 1;
    sweep.run(c);
    c.custom = true;
    c.scale = 3;
    c.beta = -1;
    c.residual = 0;
    sweep.run(c);
    c.custom = false;
    c.scale = 1;
    c.bias = 0;
    c.activation = smem::Activation::none;
    c.shared_b = true;
    sweep.run(c);
    c.shared_b = false;
    c.listed = true;
    sweep.run(c);
    CHECK(sweep.ran() == 4);
  }
}

TEST_CASE("gemm by matrix units: sums in parts") {
  // More compute units than tiles.
  const test::Variable clamp("SMEM_CLAMP", "matrix_unit=dpas16");
  const smem::Context context;
  if (!runs(context.device())) return;
  smem::Device device = context.device();
  device.compute_units = 64;
  test::GemmSweep sweep(context);
  for (const Scalar in : {Scalar::half, Scalar::int8}) {
    smem::GemmProblem problem;
    problem.m = 20;
    problem.n = 36;
    problem.k = 2000;
    problem.in = in;
    problem.out = in == Scalar::int8 ? Scalar::int32 : Scalar::float32;
    const smem::Plan plan = smem::plan_gemm(device, problem, {.variant = "matrix_units"});
    CHECK(plan.number("parts") > 1);
    REQUIRE(plan.after.size() == 1);
    CHECK(plan.after[0].variant == "finish");
    CHECK(plan.number("part_depth") % 32 == 0);
  }
}
