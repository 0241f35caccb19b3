// Runs kernels whose instructions are counted (tests/kernels/count.sh), and prints after each what its
// plan predicted: "PREDICTED <kernel> <bytes read> <bytes written> <bytes through local memory>
// <floating-point operations>".
#include "ops/run.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

void print(const smem::Context& context, const smem::Plan& plan) {
  context.finish();
  const smem::Prediction& p = plan.prediction;
  fmt::print("\nPREDICTED {} {:.0f} {:.0f} {:.0f} {:.0f}\n", plan.entry_point, p.bytes_read, p.bytes_written,
             p.local_bytes, p.operations);
  std::fflush(stdout);
}

void count_transposes(const smem::Context& context) {
  // Not multiples of any tile, but of the widest vectors.
  constexpr std::size_t kRows = 208, kCols = 144;
  for (const std::string_view variant : {"naive", "tiled", "padded", "swizzled", "vector"}) {
    for (const std::size_t bytes : {2, 4, 8}) {
      // Oclgrind's compiler stores vectors of small elements word by word, and then once more as vectors.
      if (variant == "vector" && bytes == 2) continue;
      const smem::Array<char> in(context, smem::Count{kRows * kCols * bytes}),
          out(context, smem::Count{kRows * kCols * bytes});
      smem::TransposeProblem problem{bytes, kRows, kCols};
      problem.in_alignment = kCols * bytes % 64 == 0 ? 64 : 32;
      problem.out_alignment = kRows * bytes % 64 == 0 ? 64 : 32;
      const smem::Plan plan =
          smem::plan_transpose(context.device(), problem, {.variant = std::string(variant)});
      smem::transpose(context, smem::Matrix(in.buffer()(), smem::ElementType::of_bytes(bytes), kRows, kCols),
                      smem::Matrix(out.buffer()(), smem::ElementType::of_bytes(bytes), kCols, kRows),
                      {.plan = &plan});
      print(context, plan);
    }
  }
}

void count_flips(const smem::Context& context) {
  constexpr std::size_t kRows = 33, kCols = 70;
  for (const std::string_view variant : smem::flip_variants()) {
    if (variant == "packs") continue;  // reads most packs twice
    const smem::Array<float> in(context, smem::Count{kRows * kCols}),
        out(context, smem::Count{kRows * kCols});
    const smem::Plan plan =
        smem::plan_flip(context.device(), {4, kRows, kCols}, {.variant = std::string(variant)});
    smem::flip(context, in.matrix(kRows, kCols), out.matrix(kRows, kCols), smem::Flip::horizontal,
               {.variant = variant});
    print(context, plan);
  }
}

/// Whole tiles, each read once by its group: a plan predicts the bytes that must come once for all of them.
/// And each result is multiplied by alpha.
void count_products(const smem::Context& context) {
  constexpr std::size_t kM = 128, kN = 64, kK = 96;
  smem::GemmProblem problem;
  problem.m = kM;
  problem.n = kN;
  problem.k = kK;
  const smem::Array<float> a(context, std::vector<float>(kM * kK)), b(context, std::vector<float>(kK * kN)),
      c(context, smem::Count{kM * kN});
  for (const std::string_view variant :
       {"naive", "tiled", "padded", "swizzled", "rectangular", "registers_1d", "registers_2d"}) {
    smem::Plan plan = smem::plan_gemm(context.device(), problem, {.variant = std::string(variant)});
    smem::gemm(context, a.matrix(kM, kK), b.matrix(kK, kN), c.matrix(kM, kN), {}, {.variant = variant});
    const bool naive = variant == "naive";
    const std::size_t rows = naive ? 1 : plan.tile_rows, cols = naive ? 1 : plan.tile_cols;
    plan.prediction.bytes_read = static_cast<double>(kM / rows * (kN / cols) * (rows + cols) * kK * 4);
    plan.prediction.operations += kM * kN;
    print(context, plan);
  }
}

/// The plan for CPUs and the one for GPUs, for a device of one unit.
void count_rates(const smem::Context& context) {
  constexpr cl_uint kRounds = 1;
  constexpr std::size_t kBytes = 64 * 1000;
  for (const smem::DeviceType type : {smem::DeviceType::cpu, smem::DeviceType::gpu}) {
    smem::Device device = context.device();
    device.type = type;
    device.compute_units = 1;
    device.max_work_group = 64;
    const auto run = [&](const smem::Plan& plan, const auto& bind) {
      const auto ready = context.runtime().make_ready([&](const smem::Device&) { return plan; }, device);
      smem::ops::launch_all(context.runtime(), *ready, {}, bind);
      print(context, plan);
    };
    const smem::Plan copy = smem::plan_rates(device, {smem::Rate::copy, kBytes});
    const smem::Array<float> from(context, smem::Count{kBytes / 4}), to(context, smem::Count{kBytes / 4});
    const cl_ulong items = kBytes / 4 / copy.vector_width;
    run(copy, [&](const smem::ops::Launching& launch) { launch(from.buffer()(), to.buffer()(), items); });
    if (type == smem::DeviceType::cpu) continue;  // Oclgrind does not report widths of vector additions
    const smem::Plan fp32 = smem::plan_rates(device, {smem::Rate::fp32, kRounds});
    const smem::Array<float> sums(context, smem::Count{fp32.global[0]});
    const cl_float factor = 0.5F;
    run(fp32, [&](const smem::ops::Launching& launch) { launch(sums.buffer()(), factor, kRounds); });
  }
}

}  // namespace

int main() {
  try {
    const smem::Context context;
    count_transposes(context);
    count_flips(context);
    count_rates(context);
    count_products(context);
    return 0;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
