/// Which share of the tests a run has, where they take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace test {

/// SMEM_TEST_TURN; nothing where all tests are run.
inline std::optional<std::uint64_t> turn_of_run() {
  const char* turn = std::getenv("SMEM_TEST_TURN");
  if (turn == nullptr || *turn == '\0') return std::nullopt;
  return std::strtoull(turn, nullptr, 10);
}

/// Whether number `i` of some cases has its turn, one of `turns`, in this run.
inline bool has_turn(std::size_t i, std::uint64_t turns) {
  const std::optional<std::uint64_t> now = turn_of_run();
  return !now || i % turns == *now % turns;
}

}  // namespace test
