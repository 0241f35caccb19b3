/// Selections beside std::stable_sort.
#pragma once

#include "support/sorts.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// What a call is like besides its elements.
struct TopKCall {
  std::string_view variant;
  std::size_t rows = 1, cols = 0, k = 1, batch = 1;
  smem::TopK which = {};
  std::size_t gap = 0;  ///< between rows, and matrices, of all views; 0: a vector where there is one row
};

/// The places of a row's k results.
template <class K>
std::vector<std::uint64_t> selected_places(const std::vector<K>& row, std::size_t k,
                                           const smem::TopK& which) {
  std::vector<std::uint64_t> places = sorted_places(
      row, {.descending = !which.least, .total_order = which.total_order, .nan_least = which.nan_least});
  places.resize(k);
  if (!which.sorted) std::sort(places.begin(), places.end());
  return places;
}

/// The elements of rows with gaps between them and their matrices.
inline std::size_t spread_size(const TopKCall& call, std::size_t cols) {
  return call.batch * (call.rows * (cols + call.gap) + call.gap);
}
inline std::size_t spread_start(const TopKCall& call, std::size_t cols, std::size_t row) {
  return row / call.rows * (call.rows * (cols + call.gap) + call.gap) + row % call.rows * (cols + call.gap);
}

/// top_k(), or top_k_rows(), of rows*batch rows of `keys`, by a variant. \returns whether the device runs it.
template <class K, class Place>
bool selects(const smem::Context& context, const std::vector<K>& keys, const TopKCall& call) {
  const std::size_t rows = call.rows * call.batch;
  const K kept = std::bit_cast<K>(static_cast<BitsOf<K>>(0x5b));
  std::vector<K> in(spread_size(call, call.cols), kept), values(spread_size(call, call.k), kept);
  std::vector<Place> places(spread_size(call, call.k), 77);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = keys.begin() + static_cast<std::ptrdiff_t>(row * call.cols);
    std::copy(from, from + static_cast<std::ptrdiff_t>(call.cols),
              in.begin() + static_cast<std::ptrdiff_t>(spread_start(call, call.cols, row)));
  }
  const std::size_t offset = call.gap % 4;
  const Fenced<K> in_buffer(context, in, offset), values_buffer(context, values, offset);
  const Fenced<Place> places_buffer(context, places, offset);
  const auto extent = [&](std::size_t cols) {
    return smem::Extent{.offset = offset,
                        .pitch = cols + call.gap,
                        .batch = call.batch,
                        .batch_stride = call.rows * (cols + call.gap) + call.gap};
  };
  try {
    if (rows == 1 && call.gap == 0) {
      smem::top_k(context, smem::VectorView<const K>(in_buffer.buffer(), call.cols),
                  smem::VectorView<K>(values_buffer.buffer(), call.k),
                  smem::VectorView<Place>(places_buffer.buffer(), call.k), call.which,
                  {.variant = call.variant});
    } else {
      smem::top_k_rows(context,
                       smem::MatrixView<const K>(in_buffer.buffer(), call.rows, call.cols, extent(call.cols)),
                       smem::MatrixView<K>(values_buffer.buffer(), call.rows, call.k, extent(call.k)),
                       smem::MatrixView<Place>(places_buffer.buffer(), call.rows, call.k, extent(call.k)),
                       call.which, {.variant = call.variant});
    }
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = keys.begin() + static_cast<std::ptrdiff_t>(row * call.cols);
    const std::vector<K> one(from, from + static_cast<std::ptrdiff_t>(call.cols));
    const std::vector<std::uint64_t> wanted = selected_places(one, call.k, call.which);
    const std::size_t to = spread_start(call, call.k, row);
    for (std::size_t q = 0; q < call.k; ++q) {
      values[to + q] = one[wanted[q]];
      places[to + q] = static_cast<Place>(wanted[q]);
    }
  }
  const std::vector<K> got_values = values_buffer.elements(), got_in = in_buffer.elements();
  const std::vector<Place> got_places = places_buffer.elements();
  CHECK(std::memcmp(got_values.data(), values.data(), values.size() * sizeof(K)) == 0);
  CHECK(got_places == places);
  CHECK(std::memcmp(got_in.data(), in.data(), in.size() * sizeof(K)) == 0);
  return true;
}

/// nth_element(), by a variant. \returns whether the device runs it.
template <class K>
bool finds_nth(const smem::Context& context, const std::vector<K>& keys, const smem::NthElement& which,
               std::string_view variant) {
  const Fenced<K> in(context, keys, 1), out(context, std::vector<K>(1), 2);
  try {
    smem::nth_element(context, smem::VectorView<const K>(in.buffer(), keys.size(), 1),
                      smem::VectorView<K>(out.buffer(), 1, 2), which, {.variant = variant});
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  const std::vector<std::uint64_t> places = sorted_places(
      keys, {.descending = which.descending, .total_order = which.total_order, .nan_least = which.nan_least});
  CHECK(is_moved(out.elements(), keys, {places[which.n]}));
  return true;
}

}  // namespace test
