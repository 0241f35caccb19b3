/// smem: histograms over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/histogram.hpp>

#include <cstdint>
#include <vector>

namespace smem::distributed {

/// How many elements of all ranks lie in each bin, on every rank; exact. Bins are those of smem::histogram(),
/// with one channel and without edges, for which there is another call. Collective, waits. The counts of the
/// ranks are added: each rank sends bins * 8 bytes. \throws Error on all ranks as smem::histogram() does, or
/// when data has no values.
SMEM_DISTRIBUTED_API std::vector<std::uint64_t> histogram(const Rows& in, const Bins& bins);

namespace detail {
SMEM_DISTRIBUTED_API std::vector<std::uint64_t> histogram_between(const Rows& in, const void* edges,
                                                                  std::size_t count, Outside outside);
}

/// The same for bins given by edges, which ascend and are the same on all ranks: bin i holds x with edges[i]
/// <= x < edges[i + 1]. \throws Error also when they do not ascend.
template <class T>
std::vector<std::uint64_t> histogram(const TypedRows<T>& in, const std::vector<T>& edges,
                                     Outside outside = Outside::drop) {
  return detail::histogram_between(in, edges.data(), edges.size(), outside);
}

}  // namespace smem::distributed
