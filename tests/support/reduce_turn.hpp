/// Which of the simplest reductions an operation on a type is tried on.
#pragma once

#include <smem/reduce_plan.hpp>

#include <string_view>

namespace test {

/// The three variants with trees differ in the tree alone, and each program costs a driver's compiler a
/// second: an operation on a type runs on one of them, so that every operation and every type runs on all.
inline bool is_turn_of(std::string_view variant, smem::ReduceOp op, smem::Scalar type) {
  const int turn = (static_cast<int>(op) + static_cast<int>(type)) % 3;
  return (variant != "interleaved" || turn == 0) && (variant != "sequential" || turn == 1) &&
         (variant != "first_add" || turn == 2);
}

}  // namespace test
