// Data of smem tune: filled, poisoned, read and compared.
#include "cli/tune_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace smem::cli {

namespace {

template <class Visit>
auto with_type(Scalar type, const Visit& visit) {
  switch (type) {
    case Scalar::uint8:
      return visit(std::uint8_t{});
    case Scalar::uint16:
      return visit(std::uint16_t{});
    case Scalar::int32:
      return visit(std::int32_t{});
    case Scalar::uint32:
      return visit(std::uint32_t{});
    case Scalar::uint64:
      return visit(std::uint64_t{});
    case Scalar::half:
      return visit(half{});
    case Scalar::float64:
      return visit(double{});
    default:
      return visit(float{});
  }
}

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014), whose numbers are independent of each other's place.
std::uint64_t number_at(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, half>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace

std::size_t TuneCase::bytes() const {
  return std::max(in.elements * size_of(in.type), out.elements * size_of(out.type));
}

void fill(const Context& context, const cl::Buffer& buffer, const TuneData& data, std::uint64_t seed) {
  // So many are made here, and repeated on the device, which is faster; no size of a tile divides them.
  constexpr std::size_t kPeriod = (std::size_t{1} << 22) + 15;
  const std::size_t size = size_of(data.type), made = std::min(data.elements, kPeriod);
  std::vector<unsigned char> bytes(made * size);
  with_type(data.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < made; ++i) {
      const std::uint64_t random = number_at(seed, i);
      const auto number =
          random % data.rare == 0 ? static_cast<unsigned>((random >> 32) % (data.most + 1)) : 0U;
      T value{};
      if constexpr (std::is_same_v<T, half>) {
        value = T(static_cast<float>(number));
      } else {
        value = static_cast<T>(number);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  write_buffer(context, buffer, bytes.data(), bytes.size());
  for (std::size_t there = made; there < data.elements;) {
    const std::size_t next = std::min(there, data.elements - there);
    measure::check(clEnqueueCopyBuffer(context.queue()(), buffer(), buffer(), 0, there * size, next * size, 0,
                                       nullptr, nullptr),
                   "clEnqueueCopyBuffer");
    there += next;
  }
}

void poison(const Context& context, const cl::Buffer& buffer, const TuneData& data) {
  // To the end of the last item of a buffer of measure::make_buffers().
  constexpr std::size_t kItem = measure::DeviceCopy::kItemBytes;
  const std::size_t bytes = (data.elements * size_of(data.type) + kItem - 1) / kItem * kItem;
  const cl_uint4 nothing = {{~0U, ~0U, ~0U, ~0U}};
  measure::check(clEnqueueFillBuffer(context.queue()(), buffer(), &nothing, sizeof nothing, 0, bytes, 0,
                                     nullptr, nullptr),
                 "clEnqueueFillBuffer");
}

void read(const Context& context, const cl::Buffer& buffer, const TuneData& data,
          std::vector<unsigned char>& into) {
  into.resize(data.elements * size_of(data.type));
  read_buffer(context, buffer, into.data(), into.size());
}

std::optional<std::string> difference(const TuneData& data, const std::vector<unsigned char>& expected,
                                      const std::vector<unsigned char>& got) {
  if (expected == got) return std::nullopt;  // of poison too, which the caller looks for in `expected`
  return with_type(data.type, [&](auto zero) -> std::optional<std::string> {
    using T = decltype(zero);
    for (std::size_t i = 0; i * sizeof(T) < expected.size(); ++i) {
      // Elements that neither has written are no numbers.
      if (std::memcmp(expected.data() + i * sizeof(T), got.data() + i * sizeof(T), sizeof(T)) == 0) continue;
      T wanted{}, found{};
      std::memcpy(&wanted, expected.data() + i * sizeof(T), sizeof(T));
      std::memcpy(&found, got.data() + i * sizeof(T), sizeof(T));
      // 0 and -0 are equal, and what is no number equals nothing.
      const double error = data.relative * std::abs(as_double(wanted));
      if (!(std::abs(as_double(found) - as_double(wanted)) <= error))
        return fmt::format("element {} is {}, not {}", i, as_double(found), as_double(wanted));
    }
    return std::nullopt;
  });
}

}  // namespace smem::cli
