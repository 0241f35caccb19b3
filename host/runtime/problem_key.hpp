/// Problems as keys of tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace smem::runtime {

// Shapes remembered at once. A program that transposes ever new shapes must not grow without end.
constexpr std::size_t kReadyLimit = 4096;

/// All that a plan depends on, as numbers; the first says which operation they belong to.
using ProblemKey = std::array<std::uint64_t, 12>;

struct ProblemKeyHash {
  std::size_t operator()(const ProblemKey& key) const noexcept;
};

}  // namespace smem::runtime
