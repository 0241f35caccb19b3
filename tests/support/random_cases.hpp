/// How many cases a random test makes.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace test {

/// SMEM_RANDOM_CASES, or `usual`.
inline std::size_t random_cases(std::size_t usual) {
  const char* wanted = std::getenv("SMEM_RANDOM_CASES");
  return wanted != nullptr ? static_cast<std::size_t>(std::strtoull(wanted, nullptr, 10)) : usual;
}

}  // namespace test
