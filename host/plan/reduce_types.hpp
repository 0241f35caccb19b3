/// The types of a reduction: accumulators, and the defines of kernels.
#pragma once

#include <smem/reduce_plan.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace smem::plan {

/// "reduce", "reduce_rows", ...: as the called function is named.
const char* operation_name(const ReduceProblem& problem);

/// As the function calls its result: "out" or "y".
const char* result_name(const ReduceProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_reduction(const Device& device, const ReduceProblem& problem);

/// The part of it that scans share: whether the types fit the operation and the device. `result`: as the
/// function `operation` calls it.
void check_operation(const Device& device, const char* operation, const char* result,
                     const ReduceProblem& problem);

/// What elements are computed with: int and uint for small integers, float for half.
Scalar value_type(Scalar in);
/// The unsigned integer that has a type's bits.
Scalar bits_of(Scalar type);
/// What is accumulated in. Sums of integers are unsigned, so that they wrap.
Scalar accumulator_type(const ReduceProblem& problem);
/// Numbers in an accumulator.
std::size_t accumulator_numbers(const ReduceProblem& problem);
/// As kernels lay it out.
std::size_t accumulator_bytes(const ReduceProblem& problem);

/// Adds the defines, and for a caller's own operation the preamble, that cl/reduce/operation.clh asks for.
void define_operation(Launch& plan, const ReduceProblem& problem);

}  // namespace smem::plan
