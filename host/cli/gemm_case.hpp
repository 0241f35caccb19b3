/// Products of packed matrices, as the command line asks for them.
#pragma once

#include "cli/measure.hpp"
#include "cli/parser.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace smem::cli {

struct ProductShape {
  std::size_t m = 0, n = 0, k = 0;
};

struct GemmCase {
  ProductShape shape;
  Scalar in = Scalar::float32;
  Scalar out = Scalar::float32;
  std::size_t batch = 1;
  bool transpose_a = false, transpose_b = false;
  double goal = 0;  ///< least share of the measured fp32 rate; 0: measured for information
  bool tf32 = false;
};

/// "4096x37x4096": M, N and K; empty when it is not of this form, or one of them is 0.
std::optional<ProductShape> parse_product(const std::string& text);
/// "float", "float32", "half", "bfloat16", "int8", ...; empty when gemm has it not.
std::optional<Scalar> parse_gemm_type(const std::string& text);
Validator product_validator();
Validator gemm_type_validator();

/// The type of sums.
Scalar usual_gemm_result(Scalar in);
std::string label_of(const GemmCase& c);
GemmProblem problem_of(const GemmCase& c);
/// Of A and B, one behind the other at a multiple of 256 bytes, or of C where that is more.
std::size_t bytes_of(const GemmCase& c);
/// Where B begins, in its elements.
std::size_t start_of_b(const GemmCase& c);
/// A and B are in pair.in, C is in pair.out.
cl::Event run_gemm(const Context& context, const GemmCase& c, const measure::BufferPair& pair,
                   const CallOptions& options);

/// The products that smem is judged by.
std::vector<GemmCase> gemm_goals(DeviceType type, bool small);

/// Fewer repetitions of what takes long.
template <class Call>
measure::Effort gemm_effort(const Context& context, const measure::Buffers& buffers, const Call& call) {
  call(buffers.pairs.front());
  context.finish();
  const auto start = measure::Clock::now();
  call(buffers.pairs.front());
  context.finish();
  if (measure::seconds_since(start) < 0.1) return {};
  return {.least = 3, .most = 15, .seconds = 1};
}

}  // namespace smem::cli
