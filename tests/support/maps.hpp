/// Reductions by an operation that does not commute.
#pragma once

#include "support/random.hpp"

#include <smem/reduce_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

/// Composition of maps x -> ((v >> 16) x + v) mod 2^16: associative, but not commutative.
inline smem::Reduction composition() {
  return smem::Reduction::custom(
      "((a >> 16) * (b >> 16) & 0xffff) << 16 | ((b >> 16) * (a & 0xffff) + (b & 0xffff) & 0xffff)",
      "0x10000");
}

/// Maps with odd factors, so that none forgets those before it.
inline std::vector<std::uint32_t> random_maps(std::size_t count) {
  Random random(5);
  std::vector<std::uint32_t> maps(count);
  for (std::uint32_t& map : maps)
    map = static_cast<std::uint32_t>(random.next()) | 0x10000;
  return maps;
}

/// Of `count` maps from `first` on, `step` apart.
inline std::uint32_t composed(const std::vector<std::uint32_t>& maps, std::size_t first, std::size_t count,
                              std::size_t step) {
  std::uint32_t all = 0x10000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t next = maps[first + i * step];
    all = ((all >> 16) * (next >> 16) & 0xffff) << 16 |
          (((next >> 16) * (all & 0xffff) + (next & 0xffff)) & 0xffff);
  }
  return all;
}

}  // namespace test
