/// Random data that can be repeated: SMEM_SEED sets the seed, and a failing run prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace test {

/// The seed of this run.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* wanted = std::getenv("SMEM_SEED");
    if (wanted != nullptr) return static_cast<std::uint64_t>(std::strtoull(wanted, nullptr, 10));
    return static_cast<std::uint64_t>(std::random_device{}());
  }();
  return value;
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): one
/// multiplication chain a number, so that filling a buffer costs little. Equal in every process with the same
/// seed.
class Random {
 public:
  explicit Random(std::uint64_t stream = 0) : state_(seed() ^ (stream * 0xd1342543de82ef95u)) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From `least` to `most`, both included.
  std::size_t between(std::size_t least, std::size_t most) { return least + next() % (most - least + 1); }
  bool chance(std::size_t one_in) { return next() % one_in == 0; }

  std::vector<unsigned char> bytes(std::size_t count) {
    std::vector<unsigned char> data(count);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      const std::uint64_t value = next();
      std::memcpy(data.data() + i, &value, 8);
    }
    for (; i < count; ++i)
      data[i] = static_cast<unsigned char>(next());
    return data;
  }

 private:
  std::uint64_t state_;
};

/// Between -1 and 1.
inline std::vector<float> random_floats(std::size_t size, std::uint64_t stream) {
  Random random(stream);
  std::vector<float> values(size);
  for (float& value : values)
    value = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(random.next())) * 0x1p-63);
  return values;
}

}  // namespace test
