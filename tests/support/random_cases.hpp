/// Random cases: how many a test makes, what they are drawn from, and how they are run.
#pragma once

#include "support/outcome.hpp"
#include "support/random.hpp"

#include <smem/context.hpp>
#include <smem/scalar.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>

namespace test {

/// SMEM_RANDOM_CASES, or `usual`.
inline std::size_t random_cases(std::size_t usual) {
  const char* wanted = std::getenv("SMEM_RANDOM_CASES");
  return wanted != nullptr ? static_cast<std::size_t>(std::strtoull(wanted, nullptr, 10)) : usual;
}

template <class List>
auto one_of(Random& random, const List& list) {
  return *(std::begin(list) + random.between(0, std::size(list) - 1));
}
template <class T>
T one_of(Random& random, std::initializer_list<T> list) {
  return *(list.begin() + random.between(0, list.size() - 1));
}

/// Whether the device has no elements of this type.
inline bool is_missing(const smem::Context& context, smem::Scalar type) {
  return type == smem::Scalar::float64 && !context.device().fp64;
}

/// What is wrong with a number; empty: nothing.
inline std::string unless_equal(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return {};
  return fmt::format("expected {}", expected);
}
inline std::string unless_near(double got, double expected, double error) {
  if (!std::isfinite(expected)) return unless_equal(got, expected);
  return std::abs(got - expected) <= error ? std::string() : fmt::format("expected {}", expected);
}

/// One of the variants, or the plan's own choice.
template <class Names>
std::string some_variant(Random& random, const Names& names) {
  const std::size_t n = random.between(0, names.size());
  return n == names.size() ? std::string() : std::string(names[n]);
}

/// Few, or as many as make several tiles and parts.
inline std::size_t random_length(Random& random) {
  if (random.chance(4)) return random.between(0, 20);
  return random.between(0, random.chance(4) ? 300000 : random.chance(2) ? 20000 : 600);
}

/// Runs random cases of an operation. Kernels are compiled for variants, types and windows, so that these are
/// drawn once for several cases: `draw(random)` returns a function that runs a case of its draw, and sets the
/// text to what it is before it runs it.
using RandomCase = std::function<Outcome(Random& random, std::string& text)>;
inline void run_random(const std::string& operation, std::uint64_t stream,
                       const std::function<RandomCase(Random& random)>& draw) {
  const std::size_t cases = random_cases(40), draws = std::clamp<std::size_t>(cases / 5, 1, 40);
  Random random(stream);
  std::size_t ran = 0, refused = 0;
  std::string why;  // the last one was refused
  // A device may refuse the variants of others: draws go on until one runs.
  for (std::size_t d = 0; d < draws || (ran == 0 && d < 20 * draws); ++d) {
    const RandomCase run = draw(random);
    for (std::size_t i = d * cases / draws; i < (d + 1) * cases / draws; ++i) {
      std::string text;
      INFO(operation << ", case " << i << " of " << cases << ", SMEM_SEED=" << seed() << ": " << text);
      Outcome outcome;
      try {
        outcome = run(random, text);
      } catch (const std::exception& error) {
        outcome.fault = error.what();
      }
      REQUIRE_MESSAGE(outcome.fault.empty(), outcome.fault);
      ++(outcome.refused ? refused : ran);
      if (outcome.refused) why = outcome.why;
    }
  }
  MESSAGE(operation << ": " << ran << " cases ran, " << refused << " were refused; SMEM_SEED=" << seed());
  CHECK_MESSAGE(ran > 0, why);
}

}  // namespace test
