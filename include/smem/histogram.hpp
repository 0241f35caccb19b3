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

/// The bins of a histogram: of equal width, or between edges.
struct Bins {
  std::size_t count = 0;            ///< 1 to kMaxBins
  double low = 0;                   ///< the first bin begins here
  double high = 0;                  ///< the last bin ends before
  Outside outside = Outside::drop;  ///< what becomes of elements outside all bins
  ConstVector edges = {};           ///< on the device; where there are any, low and high have no meaning
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
  /// Bin i holds x with edges[i] <= x < edges[i + 1]. The edges have the type of the counted elements and
  /// ascend; equal ones make an empty bin.
  static Bins between(const ConstVector& edges, Outside outside = Outside::drop) {
    return {edges.size == 0 ? 0 : edges.size - 1, 0, 0, outside, edges};
  }
};

/// out[i] = how many elements of `in` lie in bin i. `in`: any type; `out`: uint32 or uint64.
///
/// Which bin. Half and float32 are compared and computed with in float32, float64 in float64; low and high
/// are rounded to that type first. An element x with low <= x < high lies in bin
/// floor((x - low) * scale), at most the last, where the difference and the product are rounded once each,
/// and scale is bins / (high - low), computed in float64 and rounded to the type. For integers, low and high
/// are whole numbers of the type (high may be one more than its largest), and the bin is floor((x - low) *
/// bins / (high - low)), exactly. With edges, x lies in the last bin i with edges[i] <= x < edges[i + 1], so
/// x == edges[i] belongs to bin i, and x equal to the last edge lies outside. What is outside is dropped, or
/// counted in the first or last bin, as the bins say; infinities are outside; a NaN is never counted.
///
/// The counts are exact, whatever the order of work-groups. All of `out` is written that has a bin. 1 to
/// 2^20 bins. Where a table does not fit local memory, full bins are counted there and the others in global
/// memory. Reads each element once. A CPU takes temporary memory for the tables of its threads. No host wait.
///
/// The edges lie on the device, where a call that does not wait cannot refuse them: what a histogram between
/// edges that do not ascend holds is not defined, but nothing outside `in`, `out` and the edges is touched.
/// check_edges() checks them.
///
/// \returns the event after which the result is there. \throws Error when the bins are none, too many or
/// wrong (see even_bins()), types do not fit, `out` is too small or of 32 bits for more than 2^32 - 1
/// elements, a view leaves its buffer, overlaps `out` or belongs to another context, the device has no fp64
/// and a type is float64, or the variant cannot run; nothing is enqueued then.
///
/// Sources of the kernels: cl/histogram/.
SMEM_API cl::Event histogram(const Context& context, const ConstVector& in, const Vector& out,
                             const Bins& bins, const CallOptions& options = {});

/// out[(b * channels + c) * bins + i] = how many elements of channel c of matrix b lie in bin i. A row holds
/// pixels of Bins::channels interleaved elements each; `in.cols` counts elements, and is a multiple of them.
/// As histogram().
SMEM_API cl::Event histogram(const Context& context, const ConstMatrix& in, const Vector& out,
                             const Bins& bins, const CallOptions& options = {});

/// out[i] = the sum of the weights of the elements of `in` that lie in bin i; which do, is as in histogram().
/// `weights`: any type, as many as `in` has elements. `out`: of integer weights int32, uint32, int64 or
/// uint64, and sums wrap; of half, float32 and float64 float32 or float64.
///
/// The same bits in every run, in any order of work-groups: weights of floating point are summed in fixed
/// point, as multiples of 2^(e + b - 62), where 2^e is more than the greatest finite magnitude and 2^b more
/// than the number n of a matrix's weights. A sum is off by n / 2 such steps at most, and is rounded once. A
/// bin with a weight that is not finite has the sum NaN.
///
/// Reads `in` once and floating-point weights twice. Takes temporary memory of 12 bytes for each result, and
/// on CPUs for the tables of threads. No host wait. \returns the event after which the result is there.
/// \throws Error as histogram(), or when sizes or types do not fit; nothing is enqueued then.
SMEM_API cl::Event histogram_weighted(const Context& context, const ConstVector& in,
                                      const ConstVector& weights, const Vector& out, const Bins& bins,
                                      const CallOptions& options = {});

/// The same of matrices of one shape: out[b * bins + i] is the sum of bin i of matrix b.
SMEM_API cl::Event histogram_weighted(const Context& context, const ConstMatrix& in,
                                      const ConstMatrix& weights, const Vector& out, const Bins& bins,
                                      const CallOptions& options = {});

/// Waits for the device. \throws Error naming the first of the `edges` that is less than the one before, or
/// is a NaN.
SMEM_API void check_edges(const Context& context, const ConstVector& edges);

/// As histogram(); waits for the device and returns the counts. Checks the edges.
SMEM_API std::vector<std::uint64_t> histogram(const Context& context, const ConstVector& in, const Bins& bins,
                                              const CallOptions& options = {});
/// The same of matrices.
SMEM_API std::vector<std::uint64_t> histogram(const Context& context, const ConstMatrix& in, const Bins& bins,
                                              const CallOptions& options = {});

}  // namespace smem
