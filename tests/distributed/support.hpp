/// The session of the test program, layouts, and data that every rank makes alike.
#pragma once

#include <smem/distributed/data.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace test {

const smem::distributed::Session& session();

/// Every way to give `rows` to the ranks that is an edge: even, all on the first, all on the last, uneven
/// with a rank that has nothing.
inline std::vector<smem::distributed::Layout> layouts(std::size_t rows) {
  using smem::distributed::Layout;
  const auto ranks = static_cast<std::size_t>(session().ranks());
  std::vector<Layout> all = {Layout::even()};
  if (ranks == 1) return all;
  std::vector<std::size_t> first(ranks), last(ranks), uneven(ranks);
  first.front() = last.back() = rows;
  std::size_t rest = rows;
  for (std::size_t rank = 0; rank + 1 < ranks; ++rank) {
    uneven[rank] = rank == 1 ? 0 : rest / 3;
    rest -= uneven[rank];
  }
  uneven.back() = rest;
  all.push_back(Layout::of(first));
  all.push_back(Layout::of(last));
  all.push_back(Layout::of(uneven));
  return all;
}

/// Whole numbers from `low` to `high`, the same on all ranks.
template <class T>
std::vector<T> numbers(std::size_t count, int low, int high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> distribution(low, high);
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(static_cast<T>(static_cast<float>(distribution(random))));
  return result;
}

/// The error that `call` throws on every rank; the test fails when it throws nothing.
template <class Call>
smem::ErrorDetails failure_of(const Call& call) {
  try {
    call();
  } catch (const smem::Error& error) {
    return error.details();
  }
  FAIL("no error was thrown");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace test
