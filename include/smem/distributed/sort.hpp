/// smem: sorts and selections over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/sort.hpp>
#include <smem/top_k.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smem::distributed {

/// Writes the elements of `keys` to `out` in ascending order over all ranks, or as `order` says. The sort is
/// stable, and gives the bits that smem::sort() gives on one device. `out` has the type and size of `keys`,
/// and any layout; it is not `keys` itself. Keys and order are those of smem::sort().
///
/// Collective, waits. Sample sort: blocks are sorted, regular samples of all blocks are sorted on rank 0, and
/// splitters are chosen among them. Equal keys are ordered by their indices, so splitters divide them too: a
/// rank receives at most 1/32 more elements than its share, even if all keys are equal. For data that exceeds
/// the memory of a device, in which the samples must fit, it receives at most half more. Runs between
/// splitters are exchanged, merged in the order of their sources, and moved to the layout of `out`. Temporary
/// memory: about three times the rank's share. \throws Error on all ranks as smem::sort() does, or when sizes
/// or types differ, or `keys` has no values.
///
/// W. D. Frazer and A. C. McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", JACM
/// 17, 1970; H. Shi and J. Schaeffer, "Parallel sorting by regular sampling", JPDC 14, 1992.
SMEM_DISTRIBUTED_API void sort(const Rows& keys, Rows& out, const SortOrder& order = {});

namespace detail {
/// Writes k values and their places on every rank.
SMEM_DISTRIBUTED_API void top_k_to_host(const Rows& in, std::size_t k, const TopK& which, void* values,
                                        std::uint64_t* places);
}  // namespace detail

/// The result of top_k().
template <class T>
struct TopKResult {
  std::vector<T> values;              ///< in the order of TopK
  std::vector<std::uint64_t> places;  ///< indices among the elements of all ranks
};

/// The k greatest elements of all ranks, or as `which` says, with their places, on every rank; the same as
/// smem::top_k() gives on one device. It is applied to each block, then on rank 0 to the results of all
/// blocks. Collective, waits; exchanges k elements for each block. \throws Error on all ranks as
/// smem::top_k() does, or when `in` has no values.
template <class T>
TopKResult<T> top_k(const TypedRows<T>& in, std::size_t k, const TopK& which = {}) {
  // Too large a k is refused before memory is allocated.
  const std::size_t room = k <= in.elements() ? k : 0;
  TopKResult<T> result{std::vector<T>(room), std::vector<std::uint64_t>(room)};
  detail::top_k_to_host(in, k, which, result.values.data(), result.places.data());
  return result;
}

}  // namespace smem::distributed
