/// Sorts of rows and columns beside std::stable_sort.
#pragma once

#include "support/sorts.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// What a call is like besides its keys.
struct RowsCall {
  std::string_view variant;
  std::size_t rows = 1, cols = 1, batch = 1;
  smem::SortPayload payload = smem::SortPayload::none;
  std::size_t value_bytes = 0;  ///< of values; of places 4 or 8
  smem::SortOrder order = {};
  bool keys_in_place = false, values_in_place = false;
  bool columns = false;  ///< columns are sorted
  std::size_t gap = 0;   ///< between rows, and matrices, of all views
};

/// Where an element of a matrix with gaps lies.
inline std::size_t place_of(const RowsCall& call, std::size_t row, std::size_t col) {
  const std::size_t pitch = call.cols + call.gap;
  return row / call.rows * (call.rows * pitch + call.gap) + row % call.rows * pitch + col;
}
inline std::size_t spread_size(const RowsCall& call) {
  return call.batch * (call.rows * (call.cols + call.gap) + call.gap);
}

/// The elements of each row or column that is sorted, as places in the buffers.
inline std::vector<std::vector<std::size_t>> lines_of(const RowsCall& call) {
  std::vector<std::vector<std::size_t>> lines;
  for (std::size_t m = 0; m < call.batch; ++m) {
    const std::size_t count = call.columns ? call.cols : call.rows,
                      length = call.columns ? call.rows : call.cols;
    for (std::size_t line = 0; line < count; ++line) {
      std::vector<std::size_t> places(length);
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t row = m * call.rows + (call.columns ? i : line);
        places[i] = place_of(call, row, call.columns ? line : i);
      }
      lines.push_back(std::move(places));
    }
  }
  return lines;
}

/// The call. `keys` and `values` fill whole buffers, gaps too. \returns whether the device runs it.
template <class K>
bool sorts_rows(const smem::Context& context, const std::vector<K>& keys, const RowsCall& call) {
  using smem::SortPayload;
  const std::size_t size = spread_size(call), offset = call.gap % 3, bytes = call.value_bytes;
  const bool pairs = call.payload == SortPayload::values, places = call.payload == SortPayload::places;
  Random random(size);
  const std::vector<unsigned char> values = random.bytes(size * bytes);
  const Fenced<K> in(context, keys, offset), out(context, std::vector<K>(size, K{}), offset);
  const Fenced<unsigned char> in_values(context, values, offset * bytes),
      out_values(context, std::vector<unsigned char>(size * bytes, 7), offset * bytes);
  const Fenced<K>& got_keys = call.keys_in_place ? in : out;
  const Fenced<unsigned char>& got_values = call.values_in_place ? in_values : out_values;
  const auto view = [&](const cl::Buffer& buffer, const smem::ElementType& type) {
    return smem::Matrix(buffer(), type, call.rows, call.cols,
                        {.offset = offset,
                         .pitch = call.cols + call.gap,
                         .batch = call.batch,
                         .batch_stride = call.rows * (call.cols + call.gap) + call.gap});
  };
  const smem::ElementType key = smem::element_of<K>,
                          value = places ? smem::ElementType(bytes == 8 ? smem::Scalar::uint64
                                                                        : smem::Scalar::uint32)
                                         : smem::ElementType::of_bytes(std::max<std::size_t>(bytes, 1));
  const smem::CallOptions options{.variant = call.variant};
  try {
    const smem::Matrix from = view(in.buffer(), key), to = view(got_keys.buffer(), key);
    const smem::Matrix from_values = view(in_values.buffer(), value),
                       to_values = view(got_values.buffer(), value);
    if (pairs && call.columns) {
      smem::sort_pairs_columns(context, from, from_values, to, to_values, call.order, options);
    } else if (pairs) {
      smem::sort_pairs_rows(context, from, from_values, to, to_values, call.order, options);
    } else if (places) {
      (call.columns ? smem::argsort_columns : smem::argsort_rows)(context, from, to_values, call.order,
                                                                  options);
    } else {
      (call.columns ? smem::sort_columns : smem::sort_rows)(context, from, to, call.order, options);
    }
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  std::vector<K> wanted = places               ? std::vector<K>(size, K{})
                          : call.keys_in_place ? keys
                                               : std::vector<K>(size, K{});
  std::vector<unsigned char> wanted_values =
      call.values_in_place ? values : std::vector<unsigned char>(size * bytes, 7);
  for (const std::vector<std::size_t>& line : lines_of(call)) {
    std::vector<K> one(line.size());
    for (std::size_t i = 0; i < line.size(); ++i)
      one[i] = keys[line[i]];
    const std::vector<std::uint64_t> order = sorted_places(one, call.order);
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!places) wanted[line[i]] = one[order[i]];
      if (bytes == 0) continue;
      std::memcpy(
          &wanted_values[line[i] * bytes],
          places ? reinterpret_cast<const unsigned char*>(&order[i]) : &values[line[order[i]] * bytes],
          bytes);
    }
  }
  const std::vector<K> got = got_keys.elements();
  CHECK((got.empty() || std::memcmp(got.data(), wanted.data(), size * sizeof(K)) == 0));
  CHECK(got_values.elements() == wanted_values);
  if (!call.keys_in_place) {
    const std::vector<K> kept = in.elements();
    CHECK((kept.empty() || std::memcmp(kept.data(), keys.data(), size * sizeof(K)) == 0));
  }
  if (!call.values_in_place) CHECK(in_values.elements() == values);
  return true;
}

}  // namespace test
