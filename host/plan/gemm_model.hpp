// What gemm's model of times knows of a problem and of NVIDIA's device: the rates of its policy, applied.
#pragma once

#include "plan/gemm_nvidia.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace smem::plan::gemm {

/// What all tiles of a variant are measured against.
struct Model {
  const Device& device;
  const nvidia::Policy& policy;
  const GemmProblem& problem;
  std::size_t units = at_least_1(device.compute_units);

  static constexpr std::size_t kLine = 128;  ///< bytes of the cache

  bool loose(std::size_t alignment) const { return alignment < 16; }
  /// What the layouts of both factors make of a step; those of double are loose where they are no pairs.
  double factors(const nvidia::Rates& rates) const {
    const auto of = [&](const nvidia::Factors& factor, bool along_k, std::size_t alignment) {
      const std::size_t bytes = size_of(problem.in);
      const bool is_loose = loose(alignment);
      if (bytes != 1 && bytes != 4) return factor.of(along_k, is_loose);
      const nvidia::Across& across = bytes == 1 ? rates.bytes : rates.words;
      const bool is_narrow = bytes == 1 ? alignment < 4 : is_loose;
      const double beside = along_k     ? (is_loose ? across.loose_along : 1)
                            : is_narrow ? across.loose
                                        : across.aligned;
      return factor.of(along_k, is_loose) * beside;
    };
    const bool are_across = size_of(problem.in) == 2 && !problem.a_along_k && !problem.b_along_k &&
                            loose(problem.a_alignment) && loose(problem.b_alignment);
    return of(rates.a, problem.a_along_k, problem.a_alignment) *
           of(rates.b, problem.b_along_k, problem.b_alignment) * (are_across ? rates.both_across : 1) *
           (size_of(problem.in) == 4 ? rates.rounding : 1);
  }
  /// `results`: of the tile.
  double of_tile(const nvidia::Rates& rates, const nvidia::Cost& cost, std::size_t results) const {
    const bool has_short = cost.short_tile > 0;
    if (loose(problem.c_alignment)) {
      return (has_short ? cost.short_tile : cost.tile) * rates.loose_c *
             (size_of(problem.out) == 4                         ? rates.loose_words_c
              : size_of(problem.out) == 2 && problem.batch == 1 ? rates.loose_short_c
                                                                : 1);
    }
    if (size_of(problem.out) == 2) return has_short ? cost.short_tile : cost.tile * rates.short_c;
    const bool is_stored = problem.in == Scalar::float32 && rates.stored > 0;
    return cost.tile + (is_stored ? real(results, size_of(problem.out)) / rates.stored : 0);
  }
  /// Until all is read and written once, by tiles of so many rows and columns.
  double of_memory(const nvidia::Rates& rates, std::size_t tile_m, std::size_t tile_n) const {
    const double m = real(problem.m), n = real(problem.n), k = real(problem.k);
    const double element = real(size_of(problem.in), problem.batch);
    const double a = m * k * element, b = k * n * element,
                 all = a + b + m * n * real(size_of(problem.out), problem.batch);
    if (all <= policy.cached_bytes && rates.cached > 0) return all / rates.cached;
    // Of a factor that the cache does not hold: across k, a tile reads lines of its own extent, unless
    // these are all there is of a batch's product.
    const auto time_of = [&](double bytes, bool along_k, std::size_t extent, std::size_t lines) {
      if (!along_k && size_of(problem.in) == 4 && rates.across_words > 0) return bytes / rates.across_words;
      if (along_k || all <= policy.streamed_bytes) return bytes / rates.memory;
      if ((extent < lines || problem.batch == 1) && extent * size_of(problem.in) <= rates.short_line &&
          rates.short_lines > 0)
        return bytes / rates.short_lines;
      return bytes / rates.memory;
    };
    return time_of(a, problem.a_along_k, tile_m, problem.m) +
           time_of(b, problem.b_along_k, tile_n, problem.n) + (all - a - b) / rates.memory;
  }
  /// With the units' own time. The smaller of both is hidden for the most part.
  double with_memory(const nvidia::Rates& rates, double nanoseconds, std::size_t tile_m,
                     std::size_t tile_n) const {
    const double memory = of_memory(rates, tile_m, tile_n);
    return std::max(nanoseconds, memory) + (1 - policy.overlap) * std::min(nanoseconds, memory);
  }
  /// The same of "wgmma" where arrays stream. `ends`: until the last tiles of all groups are stored, with
  /// their parts: nothing streams meanwhile.
  double with_stream(const nvidia::Rates& rates, double nanoseconds, double ends, std::size_t tile_m,
                     std::size_t tile_n) const {
    if (!streams_factors()) return with_memory(rates, nanoseconds + ends, tile_m, tile_n);
    const std::size_t size = size_of(problem.in), box = nvidia::kStepBytes / size;
    // Of boxes across k, some columns are of the next tile.
    const auto beside = [&](std::size_t extent, std::size_t width, bool along_k) {
      if (along_k || extent <= width) return 0.0;
      return real(extent, problem.k, size) * (real(round_up(width, box)) / real(width) - 1);
    };
    const double a = real(problem.m, problem.k, size);
    const double again = problem.n > tile_n && a > policy.cached_bytes ? a : 0;
    const double more = policy.streamed_again * again +
                        policy.streamed_beside * (beside(problem.m, tile_m, problem.a_along_k) +
                                                  beside(problem.n, tile_n, problem.b_along_k));
    const double memory = of_memory(rates, tile_m, tile_n) + more / rates.memory;
    return std::max(nanoseconds, memory) + (1 - policy.streamed_overlap) * std::min(nanoseconds, memory) +
           ends;
  }
  /// Whether a product's factors are more than the cache holds, and none is for thin tiles, which have rates
  /// of their own.
  bool streams_factors() const {
    const double values = real(problem.m, problem.k) + real(problem.k, problem.n);
    return problem.batch == 1 && std::min(problem.m, problem.n) > nvidia::kMostThin &&
           values * real(size_of(problem.in)) > policy.streamed_bytes;
  }
  /// Of all arrays.
  double bytes() const {
    const double m = real(problem.m), n = real(problem.n), k = real(problem.k);
    const double factors = (m * k + k * n) * real(size_of(problem.in), problem.batch);
    return factors + m * n * real(size_of(problem.out), problem.batch);
  }
  /// Asynchronous copies of a step: of pairs, or of single numbers of rows that begin anywhere.
  double copies(const nvidia::Dmma& tile) const {
    const double of_a = real(tile.tile_m()) / (loose(problem.a_alignment) ? 1 : 2);
    const double of_b = real(tile.tile_n()) / (loose(problem.b_alignment) ? 1 : 2);
    return real(tile.of.tile_k) * (of_a + of_b);
  }
  /// At which multiples in a line of the cache the rows of a factor begin.
  std::size_t apart(bool along_k, std::size_t extent) const {
    return std::gcd(kLine, (along_k ? problem.k : extent) * size_of(problem.in));
  }
  /// Lines of the cache that a step copies from: of rows that begin elsewhere one more, or a part of one.
  double lines(const nvidia::Dmma& tile) const {
    const auto of = [&](bool along_k, std::size_t extent, std::size_t width) {
      const std::size_t rows = along_k ? width : tile.of.tile_k, length = along_k ? tile.of.tile_k : width;
      const double begun = 1 - real(apart(along_k, extent)) / real(kLine);
      return real(rows) * (real(length, size_of(problem.in)) / real(kLine) + begun);
    };
    return of(problem.a_along_k, problem.m, tile.tile_m()) + of(problem.b_along_k, problem.n, tile.tile_n());
  }
  /// Whether the rows of the larger factor begin anywhere in a line.
  bool crosses_lines() const {
    const bool is_a = problem.m > problem.n;
    return apart(is_a ? problem.a_along_k : problem.b_along_k, is_a ? problem.m : problem.n) < kLine / 2;
  }
  /// Of both factors of a step, from the cache to a multiprocessor, where so many groups copy theirs. A box
  /// has rows of 128 bytes, which lie in one line of the cache, or in two where they begin elsewhere.
  double of_copies(const nvidia::Rates& rates, const nvidia::Wgmma& tile, std::size_t groups) const {
    const auto time_of = [&](std::size_t width, std::size_t extent, bool along_k, std::size_t alignment) {
      const std::size_t size = size_of(problem.in);
      // Of words of less k than a step has, only these are copied.
      const std::size_t bytes = size == 4 ? std::min(nvidia::kStepBytes, 4 * problem.k) : nvidia::kStepBytes;
      const double all = real(bytes, along_k ? width : round_up(width, 64));
      // Of several rounds, and of packed factors, whose pitch is not their extent: by bytes.
      const std::size_t line = (along_k ? problem.k : extent) * size;
      if (groups > units || line % alignment != 0) return all / rates.shared;
      // Of all places in a line that are multiples of `apart`, rows begin at each equally often.
      std::size_t apart = std::gcd(kLine, line);
      if (!along_k && width < extent) apart = std::gcd(apart, width * size);
      return all * (2 - real(apart) / real(kLine)) / rates.shared_lines;
    };
    const double part = real(std::min(groups, units)) / real(units);
    return (time_of(tile.tile_m(), problem.m, problem.a_along_k, problem.a_alignment) +
            time_of(tile.of.tile_n, problem.n, problem.b_along_k, problem.b_alignment)) *
           (streams_factors() ? std::max(part, policy.streamed_part) : part);
  }
  /// What C and the epilogue make of the end of a tile of so many warpgroups, of a work-item's results.
  double of_finish(std::size_t results, std::size_t warpgroups, bool by_rows) const {
    if (!problem.reads_c && !problem.epilogue) return 0;
    const nvidia::Finish& of = policy.finish;
    const bool has_calls = problem.activation == Activation::gelu || !problem.expression.empty();
    const double single = problem.reads_c || problem.residual ? of.single_read : of.single;
    const double each = by_rows ? of.rows : single;
    return real(results) * (has_calls ? std::max(each, of.calls * real(warpgroups)) : each);
  }
  double of_join(const nvidia::Rates& rates, std::size_t parts, std::size_t results) const {
    return rates.join + real(parts, results) * real(size_of(value_type(problem.in))) / rates.join_bytes;
  }
  /// Of a group for each part: how many parts are added before the sums of these teams, if they are.
  std::size_t team(std::size_t tiles, std::size_t parts) const {
    const std::size_t counters = tiles * (1 + divide_up(parts, policy.team));
    return parts > policy.team_parts && counters <= policy.counters ? policy.team : 0;
  }
  double of_join(const nvidia::Rates& rates, const Split& split, std::size_t results) const {
    if (split.team == 0) return of_join(rates, split.parts, results);
    return of_join(rates, split.team + 1, results) +
           of_join(rates, divide_up(split.parts, split.team), results);
  }
  std::size_t tiles(std::size_t m, std::size_t n) const {
    return divide_up(problem.m, m) * divide_up(problem.n, n) * problem.batch;
  }
  /// In how many parts sums may be worth making: as many as give the device one, two or four groups a unit,
  /// or as many as are `resident`.
  std::vector<std::size_t> parts(std::size_t tiles, std::size_t resident = 1) const {
    std::vector<std::size_t> all;
    for (const std::size_t groups : {units, 2 * units, 4 * units, resident * units}) {
      const std::size_t wanted =
          std::min({groups / at_least_1(tiles), problem.k / policy.least_depth, policy.most_parts});
      if (wanted > 1 && std::find(all.begin(), all.end(), wanted) == all.end()) all.push_back(wanted);
    }
    return all;
  }
  /// The same, and of tiles that are more than units few parts, of which the busiest unit has less to do.
  std::vector<std::size_t> parts_of_rounds(std::size_t tiles, std::size_t resident) const {
    std::vector<std::size_t> all = parts(tiles, resident);
    double least = real(divide_up(tiles, units));  // tiles of the busiest unit
    const std::size_t most = std::min(policy.parts_of_rounds, problem.k / policy.least_depth);
    for (std::size_t number = 2; number <= most && tiles > units; ++number) {
      const double busiest = real(divide_up(tiles * number, units)) / real(number);
      if (busiest * policy.gain > least) continue;
      least = busiest;
      if (std::find(all.begin(), all.end(), number) == all.end()) all.push_back(number);
    }
    return all;
  }
  /// Whether the factors that several tiles read stay in the cache, so that groups need not be at the same k,
  /// and no other factor streams, whose lines are then neighbours in memory at one time.
  bool may_spread(const nvidia::Wgmma& tile) const {
    const double a = problem.n > tile.of.tile_n ? real(problem.m, problem.k) : 0;
    const double b = problem.m > tile.tile_m() ? real(problem.n, problem.k) : 0;
    return (a + b) * real(size_of(problem.in)) <= policy.spread_bytes && bytes() <= policy.streamed_bytes;
  }
  /// Whether sums of so many values find room, which kernels count in 32 bits.
  bool has_room(std::size_t values) const {
    const std::size_t bytes = values * size_of(value_type(problem.in));
    return values < std::numeric_limits<std::uint32_t>::max() &&
           (device.max_allocation == 0 || bytes <= device.max_allocation);
  }
};

}  // namespace smem::plan::gemm
