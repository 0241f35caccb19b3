/// What descriptions of operations on packed matrices share.
#pragma once

#include "operations/data.hpp"
#include "operations/words.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace smem::operations {

inline WordRule shape_rule(std::string help) {
  return sizes_rule("shape", std::move(help) + ": ROWSxCOLS", "ROWSxCOLS", {2, 2});
}
inline WordRule element_rule() {
  return type_rule(WordKind::element, "Element type, as float, uint8 or uchar4, or its bytes: 1, 2, 4, 8, 16",
                   "float");
}
inline WordRule scalar_rule() {
  return type_rule(WordKind::scalar, "Element type, as float32 or uchar", "float32");
}
inline WordRule batch_rule() { return number_rule("batch", "Number of matrices", "1"); }

/// The largest power of two, at most `most`, that divides the start of every one of `rows` packed rows.
inline std::size_t packed_alignment(std::size_t rows, std::size_t row_bytes, std::size_t most = 64) {
  return rows > 1 ? std::size_t{1} << std::countr_zero(most | row_bytes) : most;
}

/// Elements of 1, 2, 4, 8 or 16 bytes that are moved, with all their values.
inline ArrayRule moved(std::string name, std::size_t element_bytes, std::size_t elements) {
  const Scalar type = element_bytes == 1   ? Scalar::uint8
                      : element_bytes == 2 ? Scalar::uint16
                                           : Scalar::uint32;
  const unsigned most = element_bytes == 1 ? 255U : element_bytes == 2 ? 65535U : 0xffffffffU;
  return {std::move(name), type, elements * (element_bytes / size_of(type)), {.most = most}};
}

/// The packed matrices of a moved array.
inline Matrix moved_matrix(const PlacedArray& place, std::size_t element_bytes, std::size_t rows,
                           std::size_t cols, std::size_t batch) {
  return {place.buffer,
          ElementType::of_bytes(element_bytes),
          rows,
          cols,
          {.offset = place.first * size_of(place.type) / element_bytes, .batch = batch}};
}

/// Copies element `from_at` of one array to element `to_at` of another.
inline void copy_element(const HostArray& from, std::size_t from_at, HostArray& to, std::size_t to_at,
                         std::size_t bytes) {
  std::memcpy(to.bytes.data() + to_at * bytes, from.bytes.data() + from_at * bytes, bytes);
}

}  // namespace smem::operations
