// Weighted histograms against plain loops: integers exactly, floating point within the documented bound, and
// the same bits by every variant.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"
#include "support/random_cases.hpp"
#include "support/reductions.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using smem::Bins;

namespace {

std::vector<std::string> variants_of(const smem::Context& context, std::size_t bins) {
  smem::WeightedHistogramProblem problem;
  problem.counts.bins = bins;
  problem.counts.cols = 1000;
  std::vector<std::string> runs;
  for (const std::string_view variant : smem::histogram_weighted_variants()) {
    try {
      smem::plan_histogram_weighted(context.device(), problem, {.variant = std::string(variant)});
      runs.emplace_back(variant);
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
    }
  }
  return runs;
}

std::vector<float> values_in_bins(std::size_t count, std::size_t bins) {
  test::Random random(3);
  std::vector<float> values(count);
  for (float& value : values)  // a tenth outside
    value = static_cast<float>(random.between(0, bins * 11 / 10)) + 0.25F;
  return values;
}

template <class T>
T random_weight(test::Random& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next());
  } else {
    const double part = static_cast<double>(static_cast<std::int64_t>(random.next())) * 0x1p-63;
    // Magnitudes of many sizes.
    return static_cast<T>(static_cast<float>(std::ldexp(part, static_cast<int>(random.between(0, 12)))));
  }
}

/// Counts of elements and of bins.
using Sizes = std::vector<std::pair<std::size_t, std::size_t>>;
const Sizes kWeightedSizes{{0, 3}, {1, 1}, {777, 10}, {40009, 1000}, {30011, 20000}};

/// Vectors of all sizes, by every variant.
template <class Weight, class Out>
void check_vectors(const smem::Context& context, const Sizes& sizes = kWeightedSizes) {
  if (!context.device().fp64 && (std::is_same_v<Weight, double> || std::is_same_v<Out, double>)) return;
  for (const auto& size : sizes) {
    const std::size_t count = size.first, bins = size.second;
    CAPTURE(count);
    CAPTURE(bins);
    test::Random random(count);
    std::vector<Weight> weights(count + 2);
    for (Weight& weight : weights)
      weight = random_weight<Weight>(random);
    const std::vector<float> values = values_in_bins(count + 2, bins);
    const smem::Array<float> in(context, values);
    const smem::Array<Weight> with(context, weights);
    // By a plain loop: exact for integers, and far better than float for the rest.
    std::vector<std::uint64_t> wrapped(bins);
    std::vector<long double> sums(bins);
    double greatest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      greatest = std::max(greatest, std::abs(static_cast<double>(weights[i])));
      const auto bin = static_cast<std::size_t>(values[i + 2]);
      if (bin >= bins) continue;
      if constexpr (std::is_integral_v<Weight>) wrapped[bin] += static_cast<std::uint64_t>(weights[i]);
      sums[bin] += static_cast<long double>(static_cast<double>(weights[i]));
    }
    std::vector<Out> first;
    for (const std::string& variant : variants_of(context, bins)) {
      CAPTURE(variant);
      const smem::Array<Out> out(context, std::vector<Out>(bins + 2, Out(7)));
      const test::Tested what{"histogram_weighted", variant,
                              test::types_text(smem::scalar_of<Weight>, smem::scalar_of<Out>)};
      for (int run = 0; run < 2; ++run) {
        test::check_case(
            what, fmt::format("{} weights, {} bins, run {}", count, bins, run), [&]() -> test::Outcome {
              smem::histogram_weighted(context, smem::VectorView<const float>(in.buffer(), count, 2),
                                       smem::VectorView<const Weight>(with.buffer(), count, 0),
                                       smem::VectorView<Out>(out.buffer(), bins, 1),
                                       Bins::even(bins, 0, static_cast<double>(bins)), {.variant = variant});
              const std::vector<Out> got = out.to_host();
              if (got.front() != Out(7) || got.back() != Out(7))
                return {false, "elements around the sums changed"};
              if (first.empty()) first = got;
              if (std::memcmp(got.data(), first.data(), got.size() * sizeof(Out)) != 0)
                return {false, "the sums differ from those of another run or variant"};
              return {};
            });
      }
    }
    if (first.empty()) continue;  // the selftest has run these before
    std::size_t wrong = 0;
    // Of nothing but zeros there is no error.
    const double step =
        greatest == 0
            ? 0
            : std::ldexp(1.0, std::ilogb(greatest) + 1 + static_cast<int>(std::bit_width(count)) - 62);
    for (std::size_t b = 0; b < bins; ++b) {
      if constexpr (std::is_integral_v<Weight>) {
        wrong += first[b + 1] != static_cast<Out>(wrapped[b]);
      } else {
        const auto expected = static_cast<double>(sums[b]);
        const double bound = 0.5 * static_cast<double>(count) * step +
                             std::abs(expected) * static_cast<double>(std::numeric_limits<Out>::epsilon());
        wrong += std::abs(static_cast<double>(first[b + 1]) - expected) > bound;
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("histogram weighted: integer weights, exactly") {
  const smem::Context context;
  check_vectors<std::int32_t, std::int64_t>(context);
  check_vectors<std::uint8_t, std::uint32_t>(context);
  check_vectors<std::int64_t, std::int32_t>(context);
  check_vectors<std::uint64_t, std::uint64_t>(context);
}

TEST_CASE("histogram weighted: floating-point weights, within the bound and the same bits by every variant") {
  const smem::Context context;
  check_vectors<float, float>(context);
  check_vectors<smem::half, float>(context);
  check_vectors<float, double>(context);
  check_vectors<double, double>(context);
}

TEST_CASE("random: weighted histograms") {
  const smem::Context context;
  test::Random random(48);
  const std::size_t cases = test::random_cases(40);
  const auto some_sizes = [&] {
    Sizes sizes;
    for (std::size_t i = 0; i < cases / 4; ++i) {
      const std::size_t count = random.between(0, random.chance(3) ? 100000 : 3000);
      sizes.emplace_back(count, random.between(1, random.chance(4) ? 20000 : 300));
    }
    return sizes;
  };
  check_vectors<std::int32_t, std::int64_t>(context, some_sizes());
  check_vectors<std::uint8_t, std::uint32_t>(context, some_sizes());
  check_vectors<float, float>(context, some_sizes());
  check_vectors<smem::half, float>(context, some_sizes());
}

TEST_CASE("histogram weighted: pitched matrices, edges, and what lies outside") {
  for (const char* limits : {"", "local=512,work_group=32"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    constexpr std::size_t kRows = 67, kCols = 41, kBatch = 3, kPitch = 50, kStride = kRows * kPitch + 5;
    test::Random random(9);
    std::vector<std::int16_t> values(kBatch * kStride), weights(kBatch * kStride + 1);
    for (std::int16_t& value : values)
      value = static_cast<std::int16_t>(random.between(0, 300));
    for (std::int16_t& weight : weights)
      weight = static_cast<std::int16_t>(random.next());
    const std::vector<std::int16_t> limits_of_bins = {10, 20, 20, 100, 250};
    const smem::Array<std::int16_t> in(context, values), with(context, weights),
        edges(context, limits_of_bins);
    for (const smem::Outside outside : {smem::Outside::drop, smem::Outside::clamp}) {
      std::vector<std::int32_t> expected(kBatch * 4);
      for (std::size_t b = 0; b < kBatch; ++b) {
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t c = 0; c < kCols; ++c) {
            const std::size_t at = b * kStride + r * kPitch + c;
            const int x = values[at];
            if (outside == smem::Outside::drop && (x < 10 || x >= 250)) continue;
            const std::size_t bin = x < 20 ? 0 : x < 100 ? 2 : 3;
            expected[b * 4 + bin] += weights[at + 1];
          }
        }
      }
      for (const std::string& variant : variants_of(context, 4)) {
        CAPTURE(variant);
        const smem::Array<std::int32_t> out(context, smem::Count{kBatch * 4});
        const smem::Extent layout{.pitch = kPitch, .batch = kBatch, .batch_stride = kStride};
        smem::Extent shifted = layout;
        shifted.offset = 1;
        smem::histogram_weighted(context, in.matrix(kRows, kCols, layout), with.matrix(kRows, kCols, shifted),
                                 out.vector(), Bins::between(edges.vector(), outside), {.variant = variant});
        CHECK(out.to_host() == expected);
      }
    }
  }
}

TEST_CASE("histogram weighted: weights that are not finite, and the ends of the range") {
  const smem::Context context;
  constexpr float kMax = std::numeric_limits<float>::max();
  const smem::Array<float> in(context, {0.5F, 1.5F, 1.5F, 2.5F, 3.5F, 3.5F, 9.0F});
  const smem::Array<float> with(context, {kMax, std::numeric_limits<float>::quiet_NaN(), 1.0F, HUGE_VALF,
                                          -kMax, 0.0F, std::numeric_limits<float>::quiet_NaN()});
  for (const std::string& variant : variants_of(context, 4)) {
    CAPTURE(variant);
    const smem::Array<float> out(context, smem::Count{4});
    smem::histogram_weighted(context, in.vector(), with.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    const std::vector<float> got = out.to_host();
    CHECK(got[0] == kMax);
    CHECK(std::isnan(got[1]));
    CHECK(std::isnan(got[2]));
    CHECK(got[3] == -kMax);
    // All small: as exact as large ones.
    const smem::Array<float> tiny(context, std::vector<float>(7, 0x1.8p-120F));
    smem::histogram_weighted(context, in.vector(), tiny.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(out.to_host() == std::vector<float>{0x1.8p-120F, 0x1.8p-119F, 0x1.8p-120F, 0x1.8p-119F});
    // As large a sum as there can be.
    constexpr float kTwo = 1.99999988F;
    const smem::Array<float> same(context, std::vector<float>(1023, 0.5F)),
        large(context, std::vector<float>(1023, kTwo));
    smem::histogram_weighted(context, same.vector(), large.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(out.to_host() == std::vector<float>{static_cast<float>(1023.0 * double{kTwo}), 0, 0, 0});
    // One that is far larger than those after it.
    std::vector<float> uneven(5000, 1.0F);
    uneven[0] = 0x1p40F;
    const smem::Array<float> many(context, std::vector<float>(5000, 0.5F)), one_large(context, uneven);
    smem::histogram_weighted(context, many.vector(), one_large.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(out.to_host() == std::vector<float>{0x1p40F, 0, 0, 0});
    // Within what a thread of a CPU reads at once: a large one, and one that is not finite.
    std::swap(uneven[0], uneven[100]);
    const smem::Array<float> later(context, uneven);
    smem::histogram_weighted(context, many.vector(), later.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(out.to_host() == std::vector<float>{0x1p40F, 0, 0, 0});
    uneven[200] = -HUGE_VALF;
    const smem::Array<float> infinite(context, uneven);
    smem::histogram_weighted(context, many.vector(), infinite.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(std::isnan(out.to_host()[0]));
    const smem::Array<float> zeros(context, std::vector<float>(7, 0.0F));
    smem::histogram_weighted(context, in.vector(), zeros.vector(), out.vector(), Bins::even(4, 0, 4),
                             {.variant = variant});
    CHECK(out.to_host() == std::vector<float>(4, 0.0F));
  }
}

TEST_CASE("bad input of weighted histograms") {
  const smem::Context context;
  const std::vector<float> poison(10, 77.0F);
  const smem::Array<float> in(context, std::vector<float>(100, 0.5F)), with(context, in.to_host()),
      out(context, poison);
  const auto argument_of = [&](const auto& call) {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == "histogram_weighted");
    return error.argument;
  };
  const auto fail = [&](const smem::Vector& weights, const smem::Vector& to, std::size_t bins,
                        const smem::CallOptions& options = {}) {
    return argument_of([&] {
      smem::histogram_weighted(context, static_cast<const smem::Vector&>(in.vector()), weights, to,
                               Bins::even(bins, 0, 1), options);
    });
  };
  const smem::Array<int> integers(context, smem::Count{100});
  CHECK(fail(with.vector(), out.vector(), 11) == "out");
  CHECK(fail(smem::VectorView<float>(with.buffer(), 99), out.vector(), 10) == "weights");
  CHECK(fail(smem::VectorView<float>(with.buffer(), 100, 1), out.vector(), 10) == "weights");
  CHECK(fail(integers.vector(), out.vector(), 10) == "out");   // integers have integer sums
  CHECK(fail(with.vector(), integers.vector(), 10) == "out");  // and floats have not
  CHECK(fail(with.vector(), smem::VectorView<float>(with.buffer(), 10), 10) == "out");  // the same memory
  CHECK(fail(with.vector(), out.vector(), 10, {.variant = "replicated"}) == "variant");
  CHECK(out.to_host() == poison);
}
