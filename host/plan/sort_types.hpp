/// What a sort takes, and how it is called.
#pragma once

#include <smem/sort_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Whether tiles count in 64 bits; two bits of a word say what it is (cl/sort/status.clh).
constexpr bool is_wide(const SortProblem& problem) { return problem.size >= (std::size_t{1} << 30) - 65536; }

/// "sort", "sort_pairs" or "argsort": as the called function is named.
const char* operation_name(const SortProblem& problem);

/// The unsigned integer of OpenCL C of 1, 2, 4 or 8 bytes.
const char* word_of(std::size_t bytes);

/// How floating-point keys compare, and which way.
struct KeyOrder {
  bool descending = false, total_order = false, nan_least = false;
};
template <class P>
KeyOrder key_order(const P& problem) {
  return {problem.descending, problem.total_order, problem.nan_least};
}

/// Tells a kernel the keys, and the order of their images (cl/sort/keys.clh).
void define_order(Launch& launch, Scalar keys, const KeyOrder& order);
/// \throws Error naming the argument, if one member excludes another.
void require_order(const char* operation, const KeyOrder& order);

/// \throws Error naming the argument, unless it is a problem.
void check_sort(const Device& device, const SortProblem& problem);
/// The same of a sort that is part of `operation`.
void check_order(const char* operation, const SortProblem& problem);

}  // namespace smem::plan
