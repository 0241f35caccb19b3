// Plans of histograms for devices that are not here, and even bins as numbers.
#include <smem/error.hpp>
#include <smem/histogram_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using smem::BinRule;
using smem::HistogramProblem;
using smem::Scalar;
using test::target;

namespace {

HistogramProblem problem_of(std::size_t bins, std::size_t size = std::size_t{1} << 28) {
  HistogramProblem problem;
  problem.bins = bins;
  problem.cols = size;
  return problem;
}

long value_of(const smem::Plan& plan, std::string_view define) {
  const auto found = std::find_if(plan.defines.begin(), plan.defines.end(),
                                  [&](const auto& d) { return d.first == define; });
  return found == plan.defines.end() ? 0 : found->second;
}

std::string refused(const smem::Device& device, const HistogramProblem& problem,
                    const smem::PlanOverrides& fixed = {}) {
  return test::failure_of([&] { smem::plan_histogram(device, problem, fixed); }).argument;
}

}  // namespace

TEST_CASE("plan of histogram: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "local=0", "work_group=1"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const std::size_t bins : {1, 256, 5000, 1 << 20}) {
        for (const std::size_t size : {0, 1, 1 << 24}) {
          HistogramProblem problem = problem_of(bins, size);
          problem.channels = size == 0 ? 1 : 1 + size % 2;
          problem.cols = size * problem.channels;
          const smem::Plan plan = smem::plan_histogram(device, problem);
          CAPTURE(plan.to_string());
          CHECK(plan.local_bytes <= device.local_bytes);
          CHECK(plan.work_items() <= device.max_work_group);
          CHECK(plan.global[0] % plan.work_group[0] == 0);
          CHECK(plan.global[0] > 0);
          CHECK(plan.alternatives.size() == 4);
          CHECK(plan.after.empty() == (plan.scratch_bytes == 0));
          CHECK(plan.after.empty() == (plan.variant != "cpu"));
          // What follows a refused launch takes the same temporary memory.
          smem::Device smaller = device;
          smaller.max_work_group = std::max<std::size_t>(1, plan.work_items() / 2);
          CHECK(smem::plan_histogram(smaller, problem).scratch_bytes == plan.scratch_bytes);
        }
      }
    }
  }
}

TEST_CASE("plan of histogram: what each kind of device chooses") {
  const smem::Device nvidia = target("sm_90"), amd = target("gfx90a");
  const smem::Plan plan = smem::plan_histogram(amd, problem_of(256));
  CHECK(plan.variant == "replicated");
  CHECK(value_of(plan, "COPIES") == 32);  // a bank for each work-item of a warp
  CHECK(value_of(plan, "MERGE") == 0);
  CHECK(plan.local_bytes == 32768);
  CHECK(plan.vector_width == 4);
  CHECK(plan.global[0] / plan.work_group[0] == 64 * 2);
  CHECK(plan.prediction.bytes() == doctest::Approx((1 << 30) + 1024.0));
  const smem::Plan many = smem::plan_histogram(amd, problem_of(1024));
  CHECK(many.variant == "replicated");
  CHECK(value_of(many, "COPIES") == 8);
  CHECK(value_of(many, "MERGE") == 1);
  smem::HistogramProblem bytes = problem_of(256);
  bytes.in = Scalar::uint8;
  CHECK(smem::plan_histogram(nvidia, problem_of(256)).variant == "local");
  CHECK(smem::plan_histogram(nvidia, bytes).variant == "replicated");
  CHECK(smem::plan_histogram(nvidia, problem_of(50000)).variant == "local");
  CHECK(value_of(smem::plan_histogram(nvidia, problem_of(50000)), "PASSES") == 0);
  CHECK(value_of(smem::plan_histogram(nvidia, problem_of(100000)), "PASSES") == 1);
  CHECK(smem::plan_histogram(nvidia, problem_of(1 << 20)).variant == "cached");
  CHECK(smem::plan_histogram(target("gfx90a"), problem_of(256)).local_bytes == 32768);
  CHECK(smem::plan_histogram(smem::clamp(nvidia, "local=0"), problem_of(256)).variant == "global");
  const smem::Plan cpu = smem::plan_histogram(target("cpu"), problem_of(256));
  CHECK(cpu.variant == "cpu");
  CHECK(cpu.work_items() == 1);
  CHECK(cpu.scratch_bytes == 8 * 4 * 288 * 4);
  smem::Device ahead = target("cpu");
  ahead.prefetch_builtin = true;
  ahead.vendor_name = "AuthenticAMD";
  CHECK(smem::plan_histogram(ahead, problem_of(256)).build_options().find("READ_AHEAD") == std::string::npos);
  ahead.vendor_name = "Intel";
  CHECK(value_of(smem::plan_histogram(ahead, problem_of(256)), "READ_AHEAD") == 8192);
  ahead.prefetch_builtin = false;
  CHECK(smem::plan_histogram(ahead, problem_of(256)).build_options().find("READ_AHEAD") == std::string::npos);
  smem::Device impatient = target("cpu");
  impatient.long_loops = false;
  CHECK(smem::plan_histogram(impatient, problem_of(256)).variant == "replicated");
  CHECK(refused(impatient, problem_of(256), {.variant = "cpu"}) == "variant");
  CHECK(refused(nvidia, problem_of(256), {.variant = "cpu"}) == "variant");
  CHECK(refused(nvidia, problem_of(1 << 20), {.variant = "replicated"}) == "variant");
}

TEST_CASE("plan of histogram: no part has more elements than 32 bits count") {
  for (const char* name : {"sm_90", "cpu"}) {
    const smem::Device device = smem::clamp(target(name), "compute_units=1");
    HistogramProblem problem = problem_of(256, std::size_t{1} << 36);
    problem.in = Scalar::uint8;
    problem.out = Scalar::uint64;
    const smem::Plan plan = smem::plan_histogram(device, problem);
    CHECK((std::size_t{1} << 36) /
              (name == std::string("cpu") ? plan.scratch_bytes / 4 / 288 / 4 : plan.groups()) <=
          std::size_t{1} << 31);
  }
}

TEST_CASE("plan of histogram: what cannot be is refused by name") {
  const smem::Device device = target("sm_90");
  CHECK(refused(device, problem_of(0)) == "bins");
  CHECK(refused(device, problem_of((1 << 20) + 1)) == "bins");
  HistogramProblem problem = problem_of(256);
  problem.channels = 5;
  CHECK(refused(device, problem) == "channels");
  problem.channels = 3;
  CHECK(refused(device, problem) == "in");  // 2^28 is no multiple of 3
  problem = problem_of(256, std::size_t{1} << 32);
  CHECK(refused(device, problem) == "out");
  problem.out = Scalar::uint64;
  CHECK(smem::plan_histogram(device, problem).variant == "local");
  CHECK(value_of(smem::plan_histogram(device, problem), "WIDE_COUNT") == 1);
  problem.out = Scalar::int32;
  CHECK(refused(device, problem) == "out");
  problem = problem_of(256);
  problem.in = Scalar::float64;
  CHECK(refused(target("dg2-g10"), problem) == "in");
  CHECK(refused(device, problem_of(256), {.variant = "nosuch"}) == "variant");
  CHECK(refused(device, problem_of(256), {.tile_rows = 2}) == "tile_rows");
  CHECK(refused(device, problem_of(256), {.work_items = 48}) == "work_items");
  CHECK(refused(target("cpu"), problem_of(256), {.work_items = 64}) == "work_items");
}

TEST_CASE("plan of weighted histograms: what is launched beside the sums") {
  for (const char* name : {"sm_90", "gfx90a", "pvc", "cpu"}) {
    CAPTURE(name);
    smem::WeightedHistogramProblem problem{problem_of(256, 1 << 20)};
    const smem::Plan floats = smem::plan_histogram_weighted(target(name), problem);
    REQUIRE(floats.before.size() == 1);
    CHECK(floats.before[0].variant == "scale");
    CHECK(floats.repeats == 1);
    REQUIRE(floats.after.size() == 1);
    CHECK(floats.after[0].variant == "finish");
    CHECK(floats.after[0].number("tables") == (floats.variant == "cpu" ? floats.number("parts") : 1));
    // The greatest exponent, marks and sums begin with zeros.
    CHECK(floats.scratch.size() == 3);
    for (const smem::Scratch& area : floats.scratch)
      CHECK(area.zeroed_bytes == area.bytes);
    problem.weights = problem.out = Scalar::int32;
    CHECK(smem::plan_histogram_weighted(target(name), problem).before.empty());
    problem.weights = problem.out = Scalar::float32;
    problem.counts.cols = 0;
    const smem::Plan nothing = smem::plan_histogram_weighted(target(name), problem);
    CHECK(nothing.before.empty());
    CHECK(nothing.repeats == 0);
    CHECK(nothing.after.size() == 1);
  }
}

TEST_CASE("even bins: rules and refusals") {
  CHECK(smem::even_bins(Scalar::uint8, 256, 0, 256).rule == BinRule::whole);
  CHECK(smem::even_bins(Scalar::int16, 65536, -32768, 32768).rule == BinRule::whole);
  CHECK(smem::even_bins(Scalar::uint8, 10, 5, 15).rule == BinRule::direct);
  CHECK(smem::even_bins(Scalar::uint8, 10, 5, 16).rule == BinRule::small);
  CHECK(smem::even_bins(Scalar::uint8, 12, 5, 16).rule == BinRule::even);  // more bins than values
  CHECK(smem::even_bins(Scalar::int64, 10, 0, 65536).rule == BinRule::small);
  CHECK(smem::even_bins(Scalar::int64, 10, 0, 65537).rule == BinRule::even);
  const smem::EvenBins floats = smem::even_bins(Scalar::half, 10, -1, 4);
  CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(floats.low)) == -1.0F);
  CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(floats.high)) == 4.0F);
  CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(floats.scale)) == 2.0F);
  const auto refused_bound = [](Scalar type, std::size_t count, double low, double high) {
    return test::failure_of([&] { smem::even_bins(type, count, low, high); }).argument;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused_bound(Scalar::float32, 0, 0, 1) == "bins");
  CHECK(refused_bound(Scalar::float32, 10, kNan, 1) == "bins.low");
  CHECK(refused_bound(Scalar::float32, 10, 0, kNan) == "bins.high");
  CHECK(refused_bound(Scalar::float32, 10, 0, HUGE_VAL) == "bins.high");
  CHECK(refused_bound(Scalar::float32, 10, 1, 1) == "bins.high");
  CHECK(refused_bound(Scalar::float32, 10, 2, 1) == "bins.high");
  CHECK(refused_bound(Scalar::float32, 10, 1, 1 + 1e-12) == "bins.high");  // the same float
  CHECK(refused_bound(Scalar::float32, 10, 0, 1e-44) == "bins.high");      // 1 / width is infinite
  CHECK(refused_bound(Scalar::float32, 10, -3e38, 3e38) == "bins.high");
  CHECK(refused_bound(Scalar::float64, 10, -1e308, 1e308) == "bins.high");
  CHECK(refused_bound(Scalar::int32, 10, 0.5, 3) == "bins.low");
  CHECK(refused_bound(Scalar::uint8, 10, -1, 3) == "bins.low");
  CHECK(refused_bound(Scalar::uint8, 10, 0, 257) == "bins.high");
  CHECK(refused_bound(Scalar::int64, 10, -0x1p63, 0x1p62) == "bins.high");
  CHECK(smem::even_bins(Scalar::int64, 10, -0x1p63, 0x1p63).scale == 10);
}

TEST_CASE("even bins: fixed-point reciprocals give the bin exactly, up to the ends of each range") {
  std::size_t wrong = 0;
  for (const std::size_t count : {1, 3, 255, 1000, 65537, 1 << 20}) {
    for (const std::uint64_t range : {1ull, 2ull, 7ull, 255ull, 256ull, 65535ull, 65536ull, 65537ull,
                                      1048575ull, 1048576ull, 1048577ull, 4294967295ull, 4294967296ull}) {
      if (range == count) continue;
      const smem::EvenBins bins = smem::even_bins(Scalar::uint32, count, 0, static_cast<double>(range));
      for (std::uint64_t bin = 0; bin <= std::min<std::uint64_t>(count, 3000); ++bin) {
        // Around the least distance of a bin.
        const std::uint64_t edge = (bin * range + count - 1) / count;
        for (const std::uint64_t d : {edge, edge - 1, range - 1 - edge}) {
          if (d >= range) continue;
          __extension__ using Wide = unsigned __int128;
          const auto got = static_cast<std::uint64_t>((Wide{d << bins.shift} * bins.scale) >>
                                                      (bins.rule == BinRule::small ? 32 : 64));
          wrong += got != d * count / range;
        }
      }
    }
  }
  CHECK(wrong == 0);
}
