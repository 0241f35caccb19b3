/// The arrays of a described call: how inputs are filled, and what is compared.
#pragma once

#include <smem/scalar.hpp>
#include <smem/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smem::operations {

/// How an input is filled: with whole numbers, so few and so small that sums of them are exact.
struct Fill {
  unsigned least = 0;          ///< the smallest number
  unsigned most = 255;         ///< the largest number
  unsigned rare = 1;           ///< one element of this many is not the smallest
  bool negative = false;       ///< half of the numbers have a minus
  std::size_t period = 0;      ///< not 0: elements repeat after this many
  bool draws_all = false;      ///< a quick measurement, too, draws every element: the speed depends on them
  std::size_t offsets_of = 0;  ///< not 0: ascending instead, from 0 to this, of segments of any lengths
  std::function<double(std::uint64_t random)> number = {};  ///< instead: made of random bits
  std::function<double(std::size_t i)> at = {};             ///< instead: element i, whatever the seed

  /// Whether each element is like any other.
  bool repeats() const { return offsets_of == 0 && !at; }
};

/// Numbers from -8 to 8, of which float32 holds also sums and differences of two. For Fill::number.
inline double rounded_number(std::uint64_t random) { return static_cast<double>(random >> 44) * 0x1p-16 - 8; }

/// A packed array of a call.
struct ArrayRule {
  std::string name;  ///< as the call's argument: "in"
  Scalar type = Scalar::float32;
  std::size_t elements = 0;
  Fill fill = {};  ///< of inputs
  /// Of more than any memory has, about 2^56.
  std::size_t bytes() const {
    const std::size_t bytes = size_of(type);
    return std::min(elements, (std::size_t{1} << 56) / bytes) * bytes;
  }
};

/// An array's place in a buffer.
struct PlacedArray {
  cl_mem buffer = nullptr;
  Scalar type = Scalar::float32;
  std::size_t first = 0;  ///< elements before it
  std::size_t elements = 0;

  Vector vector() const { return {buffer, type, elements, first}; }
  Matrix matrix(std::size_t rows, std::size_t cols, std::size_t batch = 1) const {
    return {buffer, type, rows, cols, {.offset = first, .batch = batch}};
  }
};

/// Several arrays in one buffer, each where every element and vector is aligned.
std::vector<PlacedArray> place(const std::vector<ArrayRule>& rules, cl_mem buffer);
/// Bytes of a buffer that holds them all.
std::size_t bytes_of(const std::vector<ArrayRule>& rules);

/// The arrays of a call, in buffers: inputs, arrays that are read and written, and outputs.
struct CallArrays {
  std::vector<PlacedArray> in, in_out, out;
};

/// An array on the host.
struct HostArray {
  Scalar type = Scalar::float32;
  std::vector<unsigned char> bytes;

  std::size_t size() const { return bytes.size() / size_of(type); }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  double number(std::size_t i) const;
  void set(std::size_t i, double value);
};

/// The arrays of a call on the host, for its reference.
struct HostArrays {
  const std::vector<HostArray>& in;
  std::vector<HostArray>&in_out, &out;
};

/// The array that a rule fills, by a seed.
HostArray filled(const ArrayRule& rule, std::uint64_t seed);
/// An array of bytes that a missing write leaves behind.
HostArray poisoned(const ArrayRule& rule);

/// `body(begin, end)` on parts of 0 .. count-1, on all the host's cores.
void in_parallel(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body);

/// `body(i)` for i of 0 .. count-1, on all the host's cores.
template <class Body>
void for_each_in_parallel(std::size_t count, const Body& body) {
  in_parallel(count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      body(i);
  });
}

/// The first element that is not as expected, in words. `relative`, `absolute`: what results may differ by.
std::optional<std::string> difference(const std::string& name, const HostArray& expected,
                                      const HostArray& got, double relative, double absolute = 0);

}  // namespace smem::operations
