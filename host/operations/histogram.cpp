// histogram and histogram_weighted, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/histogram.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace smem::operations {

namespace {

/// Where elements lie, and the bins.
struct Spread {
  Scalar type = Scalar::float32;
  std::size_t size = 0, bins = 0, channels = 1, batch = 1;
  bool edges = false;
  std::string kind;          ///< "uniform", "equal" or "zipf"
  double low = 0, high = 0;  ///< of whole numbers: all of a type of 8 or 16 bits, else 2^20 to both sides

  std::size_t elements() const { return detail::size_product(size, batch); }
  std::size_t results() const { return bins * channels * batch; }
  Bins even() const { return Bins::even(bins, low, high); }
};

Spread spread_of(const Words& words) {
  Spread s;
  s.type = words.scalar("type");
  s.size = words.number("size");
  s.bins = words.number("bins");
  s.batch = words.number("batch");
  s.kind = words.text("spread");
  const bool is_whole = !is_float(s.type);
  s.high = s.type == Scalar::half ? 2048
           : is_whole && size_of(s.type) <= 2
               ? std::exp2(8.0 * static_cast<double>(size_of(s.type)) - (is_signed(s.type) ? 1 : 0))
               : 0x1p20;
  s.low = is_whole && is_signed(s.type) ? -s.high : 0;
  return s;
}

ArrayRule spread_elements(const Spread& s) {
  ArrayRule rule{"in", s.type, s.elements(), {}};
  const double low = s.low, range = s.high - s.low, bins = static_cast<double>(s.bins);
  const bool zipf = s.kind == "zipf", equal = s.kind == "equal";
  rule.fill.number = [=](std::uint64_t random) {
    const double part = static_cast<double>(random >> 32) * 0x1p-32;
    // Bin i about as often as 1 / (i + 1).
    const double place = equal  ? 0.3
                         : zipf ? std::min(0.999, (std::exp(part * std::log(bins)) - 0.5) / bins)
                                : part;
    return low + std::floor(std::max(place, 0.0) * range);
  };
  return rule;
}

/// The bin by the documented rule; `bins`: none.
std::size_t bin_of(const Spread& s, double x, const HostArray* edges) {
  if (edges != nullptr) {
    std::size_t first = 0, last = s.bins + 1;  // the first edge beyond x
    while (first < last) {
      const std::size_t middle = (first + last) / 2;
      if (edges->number(middle) <= x) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first == 0 ? s.bins : first - 1;
  }
  const double range = s.high - s.low;
  if (!is_float(s.type)) {
    return static_cast<std::size_t>(x - s.low) * s.bins / static_cast<std::size_t>(range);
  }
  const double scale = static_cast<double>(s.bins) / range;
  const double place = s.type == Scalar::float64
                           ? (x - s.low) * scale
                           : static_cast<double>(static_cast<float>(x - s.low) * static_cast<float>(scale));
  return std::min(static_cast<std::size_t>(place), s.bins - 1);
}

HistogramProblem problem_of(const Spread& s) {
  HistogramProblem problem;
  problem.in = s.type;
  problem.rule = s.edges ? BinRule::edges : even_bins(s.type, s.bins, s.low, s.high).rule;
  problem.bins = s.bins;
  problem.channels = s.channels;
  problem.cols = s.size;
  problem.batch = s.batch;
  return problem;
}

std::string spread_text(const Spread& s) {
  return formatted("{}{} {} {}, {}{} bins", batch_text(s.batch), s.size, s.kind, name_of(s.type),
                   s.channels == 1 ? "" : formatted("{} x ", s.channels), s.bins);
}

/// Calls `visit(element, result)` for every element that lies in a bin.
template <class Visit>
void each_element(const Spread& s, const HostArrays& arrays, const Visit& visit) {
  const HostArray* edges = s.edges ? &arrays.in[1] : nullptr;
  for (std::size_t i = 0; i < s.elements(); ++i) {
    const std::size_t bin = bin_of(s, arrays.in[0].number(i), edges);
    const std::size_t channel = i % s.size % s.channels;
    if (bin < s.bins) visit(i, (i / s.size * s.channels + channel) * s.bins + bin);
  }
}

Case read_histogram(const Words& words) {
  Spread s = spread_of(words);
  s.channels = words.number("channels");
  s.edges = words.flag("edges");
  const HistogramProblem problem = problem_of(s);
  Case made = case_of(spread_text(s) + (s.edges ? " between edges" : ""), problem, plan_histogram);
  made.in = {spread_elements(s)};
  if (s.edges)  // up to a number that every type has
    made.in.push_back({"edges", s.type, s.bins + 1, {.offsets_of = static_cast<std::size_t>(s.high) - 1}});
  made.out = {{"out", Scalar::uint32, s.results()}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Vector in = arrays.in[0].vector(), out = arrays.out[0].vector();
    Bins bins = s.edges ? Bins::between(arrays.in[1].vector()) : s.even();
    bins.channels = s.channels;
    if (s.channels == 1 && s.batch == 1) return histogram(context, in, out, bins, options);
    return histogram(context, arrays.in[0].matrix(1, s.size, s.batch), out, bins, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    std::vector<std::uint32_t> counts(s.results());
    each_element(s, arrays, [&](std::size_t, std::size_t result) { ++counts[result]; });
    std::copy(counts.begin(), counts.end(), arrays.out[0].as<std::uint32_t>().begin());
  };
  return made;
}

Case read_weighted(const Words& words) {
  const Spread s = spread_of(words);
  WeightedHistogramProblem problem;
  problem.counts = problem_of(s);
  problem.weights = words.scalar("weights");
  problem.out = is_float(problem.weights)
                    ? (problem.weights == Scalar::float64 ? Scalar::float64 : Scalar::float32)
                    : (is_signed(problem.weights) ? Scalar::int64 : Scalar::uint64);
  Case made = case_of(formatted("{}, weights {}", spread_text(s), name_of(problem.weights)), problem,
                      plan_histogram_weighted);
  const bool negative = is_float(problem.weights) || is_signed(problem.weights);
  made.in = {spread_elements(s),
             {"weights", problem.weights, s.elements(), {.most = 100, .negative = negative}}};
  made.out = {{"out", problem.out, s.results()}};
  made.relative = is_float(problem.out) ? 1e-7 : 0;  // sums are exact, and rounded once
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Vector in = arrays.in[0].vector(), weights = arrays.in[1].vector(), out = arrays.out[0].vector();
    if (s.batch == 1) return histogram_weighted(context, in, weights, out, s.even(), options);
    return histogram_weighted(context, arrays.in[0].matrix(1, s.size, s.batch),
                              arrays.in[1].matrix(1, s.size, s.batch), out, s.even(), options);
  };
  made.reference = [=](const HostArrays& arrays) {
    std::vector<double> sums(s.results());
    each_element(s, arrays,
                 [&](std::size_t i, std::size_t result) { sums[result] += arrays.in[1].number(i); });
    for (std::size_t i = 0; i < sums.size(); ++i)
      arrays.out[0].set(i, sums[i]);
  };
  return made;
}

std::vector<WordRule> spread_rules(const std::vector<WordRule>& more) {
  std::vector<WordRule> rules{
      {.name = "size", .kind = WordKind::number, .help = "Number of elements", .positional = true},
      scalar_rule(),
      number_rule("bins", "Number of bins of equal width", "256"),
      choice_rule("spread", "Distribution of the elements among the bins", {"uniform", "equal", "zipf"}),
      batch_rule()};
  rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

/// The rules, types and sizes in which kernels differ, in the variant that is chosen.
std::vector<Programs> histogram_programs() {
  std::vector<Programs> all{{"16777216"}};
  const auto add = [&](const char* words, BinRule rule, const char* more = "") {
    all.push_back({words, {""}, formatted("rule={} {}", static_cast<int>(rule), more)});
  };
  add("16777216 uint8", BinRule::whole);
  add("16777216 uint8", BinRule::small);
  add("16777216 int16 --bins 65536", BinRule::whole);
  add("16777216 half", BinRule::even);
  add("16777216 int32", BinRule::even);
  add("16777216 uint64", BinRule::even);
  add("16777216 int32", BinRule::direct);
  add("16777216", BinRule::edges);
  add("16777216 --bins 4096", BinRule::even);
  add("16777216 --bins 1048576", BinRule::even, "out=uint64");
  add("300 uint8 --channels 3", BinRule::whole, "rows=4096");
  return all;
}

}  // namespace

Operation histogram_operation() {
  return {
      .name = "histogram",
      .summary = "Counts elements in bins",
      .steps = {{"global", "atomics on global memory"},
                {"local", "a table for each work-group in local memory"},
                {"replicated", "several tables a work-group: fewer conflicts between neighbours"},
                {"cached", "frequent bins in local memory, the others in global memory"},
                {"cpu", "a table for each thread"}},
      .words = spread_rules({number_rule("channels", "Interleaved channels, 1 to 4", "1"),
                             flag_rule("edges", "Bins of different widths, between given edges")}),
      .read = read_histogram,
      // GPUs: 0.95 of what CUB does with floats on an H200, and 1.5 times its rate with bytes, as shares of
      // the copy bandwidth measured beside it (CUB 3873, 4214, 2194 GB/s; copy 4252). CPUs: 0.9 of C++ with
      // two threads and four tables each, as shares of memcpy (0.28 and 0.23).
      .samples =
          {.edges = {"1", "70001 --bins 1000", "70001 uchar --spread equal",
                     "70001 short --bins 100 --spread zipf", "30003 uchar --channels 3 --bins 10 --batch 2",
                     "70001 int --bins 77 --edges", "300007 --bins 1048576 --spread zipf"},
           .small = {"65536", "4194304", "4194304 uchar --spread zipf", "4194304 --bins 4096",
                     "4194304 --bins 1048576 --spread zipf"},
           .usual = {goal("16777216", 0.25), goal("16777216 --spread equal", 0.25),
                     goal("16777216 --spread zipf", 0.25), goal("16777216 uint8", 0.20),
                     goal("16777216 uint8 --spread equal", 0.20), goal("16777216 uint8 --spread zipf", 0.20),
                     "16777216 int", "16777216 --bins 4096", "16777216 --bins 4096 --spread equal",
                     "16777216 --bins 4096 --spread zipf", "16777216 --bins 65536 --spread zipf",
                     "16777216 --bins 1048576", "16777216 --bins 1048576 --spread equal",
                     "16777216 --bins 1048576 --spread zipf"},
           .large = {goal("268435456", 0.865), goal("268435456 --spread equal", 0.94),
                     goal("268435456 --spread zipf", 0.865), goal("268435456 uint8", 0.774),
                     goal("268435456 uint8 --spread equal", 0.774),
                     goal("268435456 uint8 --spread zipf", 0.774), "268435456 int", "268435456 --bins 4096",
                     "268435456 --bins 4096 --spread equal", "268435456 --bins 4096 --spread zipf",
                     "268435456 --bins 65536 --spread zipf", "268435456 --bins 1048576",
                     "268435456 --bins 1048576 --spread equal", "268435456 --bins 1048576 --spread zipf"}},
      .programs = histogram_programs(),
  };
}

Operation histogram_weighted_operation() {
  return {
      .name = "histogram_weighted",
      .summary = "Adds the weights of the elements in each bin",
      .steps = {{"global", "atomics on global memory"},
                {"local", "a table for each work-group in local memory"},
                {"cpu", "a table for each thread"}},
      .words = spread_rules(
          {{.name = "weights", .kind = WordKind::scalar, .help = "Type of the weights", .usual = "float32"}}),
      .read = read_weighted,
      .samples = {.edges = {"1", "70001 --bins 1000", "70001 uchar --weights int --spread zipf",
                            "30003 --weights half --batch 2 --bins 10"},
                  .small = {"262144", "262144 uchar --weights int"},
                  .usual = {"8388608", "8388608 --spread zipf"},
                  .large = {"134217728", "134217728 --spread zipf"}},
      .programs = {{"16777216"}, {"16777216 --weights int64", {"local"}}},
  };
}

}  // namespace smem::operations
