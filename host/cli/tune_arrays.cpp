// What smem tune measures of operations on arrays.
#include "cli/arguments.hpp"
#include "cli/gemm_case.hpp"
#include "cli/tune_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace smem::cli {

namespace {

using tuned::Scale;

}  // namespace

namespace tuned {

std::vector<TuneCase> histograms(Scale scale) {
  const std::size_t size = sized(scale, 1U << 20, 1U << 24, 1U << 28);
  std::vector<TuneCase> cases;
  for (const auto& [type, bins] : {std::pair{Scalar::uint8, std::size_t{256}}, {Scalar::float32, 1024}}) {
    const double high = type == Scalar::uint8 ? 256 : 1024;
    HistogramProblem problem;
    problem.in = type;
    problem.rule = even_bins(type, bins, 0, high).rule;
    problem.bins = bins;
    problem.cols = size;
    cases.push_back(case_of(fmt::format("{} {}, {} bins", size, name_of(type), bins), problem,
                            histogram_variants(), [](const auto&... all) { return plan_histogram(all...); }));
    cases.back().in = {type, size, static_cast<unsigned>(high) - 1};
    cases.back().out = {Scalar::uint32, bins};
    const Scalar element = type;  // a structured binding cannot be captured by all compilers
    const std::size_t count = bins;
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return histogram(context, Vector(pair.in(), element, size), Vector(pair.out(), Scalar::uint32, count),
                       Bins::even(count, 0, high), o);
    };
  }
  return cases;
}

std::vector<TuneCase> weighted_histograms(Scale scale) {
  const std::size_t size = sized(scale, 1U << 18, 1U << 23, 1U << 27), bins = 256;
  WeightedHistogramProblem problem;
  problem.counts.in = Scalar::float32;
  problem.counts.rule = even_bins(Scalar::float32, bins, 0, 256).rule;
  problem.counts.bins = bins;
  problem.counts.cols = size;
  TuneCase made =
      case_of(fmt::format("{} float32, {} bins", size, bins), problem, histogram_weighted_variants(),
              [](const auto&... all) { return plan_histogram_weighted(all...); });
  made.in = {Scalar::float32, 2 * size};  // the weights lie behind
  made.out = {Scalar::float32, bins};
  made.call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
    constexpr Scalar kType = Scalar::float32;
    return histogram_weighted(context, Vector(pair.in(), kType, size), Vector(pair.in(), kType, size, size),
                              Vector(pair.out(), kType, bins), Bins::even(bins, 0, 256), o);
  };
  return {made};
}

std::vector<TuneCase> products(Scale scale) {
  const std::size_t edge = sized(scale, 128, 1024, 4096);
  std::vector<GemmCase> asked{{{edge, edge, edge}}};
  if (scale != Scale::small) asked.push_back({{1000, 333, 777}});
  if (scale == Scale::gpu) asked.push_back({{edge, edge, edge}, Scalar::half});
  std::vector<TuneCase> cases;
  for (const GemmCase& c : asked) {
    cases.push_back(case_of(label_of(c), problem_of(c), gemm_variants(),
                            [](const auto&... all) { return plan_gemm(all...); }));
    cases.back().in = {c.in, bytes_of(c) / size_of(c.in), 7};
    cases.back().out = {c.out, c.shape.m * c.shape.n};
    cases.back().call = [c](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return run_gemm(context, c, pair, o);
    };
  }
  return cases;
}

}  // namespace tuned

}  // namespace smem::cli
