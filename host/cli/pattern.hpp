/// Test data whose every element follows from its place, so that a transpose is checked without a second
/// copy.
#pragma once

#include <smem/smem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace smem::cli {

/// Fills `in` with the pattern of the problem's input.
void write_pattern(const Context& context, const TransposeProblem& problem, const cl::Buffer& in);

/// Fills a buffer with bytes that a missing write would leave behind.
void poison(const Context& context, const cl::Buffer& buffer, std::size_t bytes);

/// Compares `out` with the pattern, turned, by a plain loop over all elements. Empty when it is right, else
/// where the first wrong element is.
std::optional<std::string> check_transposed(const Context& context, const TransposeProblem& problem,
                                            const cl::Buffer& out);

}  // namespace smem::cli
