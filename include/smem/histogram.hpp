/// smem: histograms.
#pragma once

#include <smem/context.hpp>
#include <smem/histogram_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace smem {

/// The bins of a histogram: bins of equal width, or given by edges.
struct Bins {
  std::size_t count = 0;            ///< 1 to kMaxBins
  double low = 0;                   ///< the first bin begins here
  double high = 0;                  ///< the last bin ends before
  Outside outside = Outside::drop;  ///< how elements outside all bins are treated
  ConstVector edges = {};           ///< on the device; if given, low and high have no meaning
  std::size_t channels = 1;         ///< interleaved in each row: 1 to kMaxChannels

  /// `count` bins of equal width over [low, high).
  static Bins even(std::size_t count, double low, double high, Outside outside = Outside::drop) {
    return {count, low, high, outside};
  }
  /// A bin for each value of a byte, or of another integer type of at most 16 bits.
  template <class T = std::uint8_t>
  static Bins of_values() {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 2, "a bin for each value: integers of 8 or 16 bits");
    constexpr auto kCount = std::size_t{1} << (8 * sizeof(T));
    const double low = std::is_signed_v<T> ? -0.5 * static_cast<double>(kCount) : 0.0;
    return even(kCount, low, low + static_cast<double>(kCount));
  }
  /// Bin i holds x with edges[i] <= x < edges[i + 1]. Edges ascend and have the type of the counted
  /// elements. Two equal edges make an empty bin.
  static Bins between(const ConstVector& edges, Outside outside = Outside::drop) {
    return {edges.size == 0 ? 0 : edges.size - 1, 0, 0, outside, edges};
  }
};

/// out[i] = the number of elements of `in` in bin i. `in` has integers, half, float32 or float64; `out` is
/// uint32 or uint64.
///
/// Half and float32 are compared and computed with in float32, float64 in float64; low and high are first
/// rounded to that type. An element x with low <= x < high lies in bin floor((x - low) * scale), or in the
/// last bin if that is less. Difference and product are rounded once each, and scale is bins / (high - low),
/// computed in float64 and rounded to the type. For integers, low and high are whole numbers of the type
/// (high may be one more than its largest), and the bin is exactly floor((x - low) * bins / (high - low)).
/// With edges, x lies in the last bin i with edges[i] <= x < edges[i + 1]: x == edges[i] belongs to bin i,
/// and x equal to the last edge lies outside. Elements outside are dropped, or counted in the first or last
/// bin, as the bins say. Infinities are outside. A NaN is never counted.
///
/// Counts are exact. Every bin of `out` is written. There are 1 to 2^20 bins. If the table does not fit local
/// memory, the fullest bins are counted there and the others in global memory. Each element is read once. On
/// CPUs temporary memory holds a table for each thread. No host wait.
///
/// Edges lie on the device, so the call cannot refuse them. If they do not ascend, the counts are undefined,
/// but nothing outside `in`, `out` and the edges is accessed. check_edges() validates them.
///
/// \returns the event that completes with the result. \throws Error when there are no bins, too many, or
/// wrong ones (see even_bins()), types do not fit, `out` is too small, or is uint32 for more than 2^32 - 1
/// elements, a view exceeds its buffer, overlaps `out` or belongs to another context, a type is float64 and
/// the device has no fp64, or the variant cannot run. Nothing is enqueued then.
///
/// Sources of the kernels: cl/histogram/.
SMEM_API cl::Event histogram(const Context& context, const ConstVector& in, const Vector& out,
                             const Bins& bins, const CallOptions& options = {});

/// out[(b * channels + c) * bins + i] = the number of elements of channel c of matrix b in bin i. A row holds
/// pixels of Bins::channels interleaved elements; `in.cols` counts elements, and is a multiple of the
/// channels. All else as histogram().
SMEM_API cl::Event histogram(const Context& context, const ConstMatrix& in, const Vector& out,
                             const Bins& bins, const CallOptions& options = {});

/// out[i] = the sum of the weights of the elements of `in` in bin i, where bins are as in histogram().
/// `weights` has as many elements as `in`, of the types that `in` may have. For integer weights `out` is
/// int32, uint32, int64 or uint64, and sums wrap; for half, float32 and float64 it is float32 or float64.
///
/// The same bits in every run: floating-point weights are summed in fixed point, as multiples of 2^(e + b -
/// 62), where 2^e exceeds the greatest finite magnitude and 2^b the number n of weights of a matrix. The
/// error of a sum is at most n / 2 such steps, and one rounding. A bin with a weight that is not finite has
/// the sum NaN.
///
/// `in` is read once, floating-point weights twice. Temporary memory: 12 bytes for each result, and on CPUs a
/// table for each thread. No host wait. \returns the event that completes with the result. \throws Error as
/// histogram(), or when sizes or types do not fit. Nothing is enqueued then.
SMEM_API cl::Event histogram_weighted(const Context& context, const ConstVector& in,
                                      const ConstVector& weights, const Vector& out, const Bins& bins,
                                      const CallOptions& options = {});

/// The same of matrices of one shape: out[b * bins + i] is the sum of bin i of matrix b.
SMEM_API cl::Event histogram_weighted(const Context& context, const ConstMatrix& in,
                                      const ConstMatrix& weights, const Vector& out, const Bins& bins,
                                      const CallOptions& options = {});

/// Checks edges of bins, and waits for the device. \throws Error naming the first of the `edges` that is less
/// than the one before it, or is a NaN.
SMEM_API void check_edges(const Context& context, const ConstVector& edges);

/// As histogram(); waits for the device and returns the counts. Checks the edges.
SMEM_API std::vector<std::uint64_t> histogram(const Context& context, const ConstVector& in, const Bins& bins,
                                              const CallOptions& options = {});
/// The same of matrices.
SMEM_API std::vector<std::uint64_t> histogram(const Context& context, const ConstMatrix& in, const Bins& bins,
                                              const CallOptions& options = {});

}  // namespace smem
