/// smem: plans for histograms. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace smem {

/// How a number outside all bins is treated.
enum class Outside {
  drop,  ///< it is not counted
  clamp  ///< it is counted in the first or the last bin. A NaN is not counted anywhere.
};

/// "drop" or "clamp".
SMEM_API std::string_view name_of(Outside outside);

/// How a kernel finds the bin of a number.
enum class BinRule {
  even,    ///< by a product
  direct,  ///< integers, as many bins as values: by a difference
  whole,   ///< the same, and every value of the type has a bin
  edges,   ///< by binary search
  small    ///< integers, fewer bins than values, of which there are at most 2^16: by a product of 32 bits
};

/// The name of the rule.
SMEM_API std::string_view name_of(BinRule rule);

inline constexpr std::size_t kMaxBins = std::size_t{1} << 20;  ///< of a histogram
inline constexpr std::size_t kMaxChannels = 4;                 ///< interleaved in a row

/// Even bins as kernels take them: the bits of numbers of the type computed in, which is float for half,
/// and 32 bits for smaller integers.
struct EvenBins {
  BinRule rule = BinRule::even;  ///< how bins are found
  std::uint64_t low = 0;         ///< the first bin begins here; its bits
  std::uint64_t high = 0;        ///< integers: the distance of the last value from low
  std::uint64_t scale = 0;       ///< bins / (high - low); integers: as a fraction of 2^64, or 2^32 of small
  std::uint32_t shift = 0;       ///< integers: of a distance, before it is multiplied by the scale
};

/// `count` bins of equal width over [low, high) for numbers of `type`; see histogram() for the exact rule.
/// \throws Error naming what is wrong: no bins, or more than kMaxBins; bounds that are not finite, not
/// ascending, or so far apart or so close that 1 / width is no ordinary number of the type; for integers,
/// bounds that are not whole or not of the type, or for 64-bit integers more than 2^63 but not 2^64 apart.
SMEM_API EvenBins even_bins(Scalar type, std::size_t count, double low, double high);

/// A histogram without its data: all that a plan depends on.
struct HistogramProblem {
  Scalar in = Scalar::float32;   ///< of the counted elements
  Scalar out = Scalar::uint32;   ///< uint32 or uint64
  BinRule rule = BinRule::even;  ///< how bins are found
  std::size_t bins = 256;        ///< of a channel
  std::size_t channels = 1;      ///< interleaved in each row
  std::size_t rows = 1;          ///< of a matrix; 1 for a vector, and for matrices without gaps
  std::size_t cols = 0;          ///< elements of a row: pixels times channels
  std::size_t batch = 1;         ///< matrices
  /// The largest power of two, at most 16, that divides the buffer's address.
  std::size_t alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "histogram"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("in", in), choice("out", out), choice("rule", rule), extent("bins", bins),
                choice("channels", channels), extent("rows", rows), extent("cols", cols),
                extent("batch", batch), aligned("alignment", alignment));
  }
  std::size_t entries() const { return detail::size_product(bins, channels); }    ///< counts of a matrix
  std::size_t results() const { return detail::size_product(entries(), batch); }  ///< counts in all
};

/// The plan that histogram() would use on `device`. If threads count in tables of their own, a launch after
/// the main one, "finish", adds the tables. Overrides: `variant`, and `work_items`, a power of two, for all
/// variants but "cpu". Fixed fields are never shrunk. \throws Error when the problem or the device does not
/// allow it, the variant is unknown or cannot run this problem on this device, or another field was fixed; it
/// names the field.
SMEM_API Plan plan_histogram(const Device& device, const HistogramProblem& problem,
                             const PlanOverrides& overrides = {});

/// A weighted histogram without its data: `counts` as it would be without weights, of one channel; its `out`
/// and alignment have no meaning.
struct WeightedHistogramProblem {
  HistogramProblem counts;           ///< what is counted, and where
  Scalar weights = Scalar::float32;  ///< of the weights
  Scalar out = Scalar::float32;      ///< of integers int32, uint32, int64 or uint64; else float32 or float64

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "histogram_weighted"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("counts", counts), choice("weights", weights), choice("out", out));
  }
  /// Weights of a matrix.
  std::size_t elements() const { return detail::size_product(counts.rows, counts.cols); }
};

/// The plan that histogram_weighted() would use on `device`: its main launch sums; one before it, "scale",
/// finds the greatest floating-point weight; one after it, "finish", writes the results. Without elements
/// only "finish" is launched. Overrides and errors: as plan_histogram().
SMEM_API Plan plan_histogram_weighted(const Device& device, const WeightedHistogramProblem& problem,
                                      const PlanOverrides& overrides = {});

/// The names of the variants of weighted histograms: "global", "local" and "cpu".
SMEM_API std::vector<std::string_view> histogram_weighted_variants();

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> histogram_variants();

}  // namespace smem
