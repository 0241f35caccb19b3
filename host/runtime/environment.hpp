/// Environment variables, read afresh each time: a test or a program may set them between two contexts.
#pragma once

#include <cstdlib>
#include <string>

namespace smem::runtime {

/// The variable's value; empty when it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): smem never writes the environment
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace smem::runtime
