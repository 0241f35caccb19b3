/// The types of a reduction: what is computed in, and how kernels are told.
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

/// Empty when `out` is a type that the operation can give, else which ones it can.
std::string wrong_result(const ReduceProblem& problem);

/// What elements are computed with: int and uint for small integers, float for half.
Scalar value_type(Scalar in);
/// What is accumulated in. Sums of integers are unsigned, so that they wrap.
Scalar accumulator_type(const ReduceProblem& problem);
/// Numbers in an accumulator.
std::size_t accumulator_numbers(const ReduceProblem& problem);
/// As kernels lay it out.
std::size_t accumulator_bytes(const ReduceProblem& problem);

/// Adds the defines, and for a caller's own operation the preamble, that cl/reduce/operation.clh asks for.
void define_operation(Launch& plan, const ReduceProblem& problem);

}  // namespace smem::plan
