#include "cli/gemm_case.hpp"

#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace smem::cli {

std::optional<ProductShape> parse_product(const std::string& text) {
  const std::size_t first = text.find('x'), second = text.rfind('x');
  if (first == std::string::npos || first == second) return std::nullopt;
  const auto m = parse_size(text.substr(0, first)),
             n = parse_size(text.substr(first + 1, second - first - 1)),
             k = parse_size(text.substr(second + 1));
  if (!m || !n || !k) return std::nullopt;
  return ProductShape{*m, *n, *k};
}

std::optional<Scalar> parse_gemm_type(const std::string& text) {
  for (const Scalar type :
       {Scalar::float32, Scalar::float64, Scalar::half, Scalar::bfloat16, Scalar::int8, Scalar::int32}) {
    if (text == name_of(type) || (type != Scalar::bfloat16 && text == opencl_name_of(type))) return type;
  }
  return std::nullopt;
}

Validator product_validator() {
  return {[](const std::string& text) { return parse_product(text).has_value(); }, "MxNxK",
          "not of the form MxNxK"};
}

Validator gemm_type_validator() {
  return {[](const std::string& text) { return parse_gemm_type(text).has_value(); }, "TYPE",
          "not a type of gemm"};
}

Scalar usual_gemm_result(Scalar in) {
  return in == Scalar::int8 ? Scalar::int32 : in == Scalar::float64 ? in : Scalar::float32;
}

std::string label_of(const GemmCase& c) {
  return fmt::format("{}{}x{}x{} {}{}{}", c.batch == 1 ? "" : fmt::format("{} of ", c.batch), c.shape.m,
                     c.shape.n, c.shape.k, name_of(c.in),
                     c.out == c.in ? "" : fmt::format(" to {}", name_of(c.out)),
                     c.transpose_a || c.transpose_b
                         ? fmt::format(", {}{}", c.transpose_a ? "T" : "N", c.transpose_b ? "T" : "N")
                         : "") +
         (c.tf32 ? " by TF32" : "");
}

std::size_t start_of_b(const GemmCase& c) {
  const std::size_t a = c.shape.m * c.shape.k * c.batch;
  return (a + 255) / 256 * 256;
}

std::size_t bytes_of(const GemmCase& c) {
  return std::max((start_of_b(c) + c.shape.k * c.shape.n * c.batch) * size_of(c.in),
                  c.shape.m * c.shape.n * c.batch * size_of(c.out));
}

GemmProblem problem_of(const GemmCase& c) {
  GemmProblem problem;
  problem.m = c.shape.m;
  problem.n = c.shape.n;
  problem.k = c.shape.k;
  problem.batch = c.batch;
  problem.tf32 = c.tf32;
  problem.in = c.in;
  problem.out = c.out;
  problem.a_along_k = !c.transpose_a;
  problem.b_along_k = c.transpose_b;
  const auto alignment = [&](std::size_t rows, std::size_t cols, Scalar type) {
    return rows * c.batch > 1 ? packed_alignment(cols * size_of(type)) : 64;
  };
  problem.a_alignment =
      c.transpose_a ? alignment(c.shape.k, c.shape.m, c.in) : alignment(c.shape.m, c.shape.k, c.in);
  problem.b_alignment =
      c.transpose_b ? alignment(c.shape.n, c.shape.k, c.in) : alignment(c.shape.k, c.shape.n, c.in);
  problem.c_alignment = alignment(c.shape.m, c.shape.n, c.out);
  return problem;
}

cl::Event run_gemm(const Context& context, const GemmCase& c, const measure::BufferPair& pair,
                   const CallOptions& options) {
  const auto& [m, n, k] = c.shape;
  const std::size_t bytes = size_of(c.in);
  const Matrix a(pair.in(), bytes, c.transpose_a ? k : m, c.transpose_a ? m : k, {.batch = c.batch});
  const Matrix b(pair.in(), bytes, c.transpose_b ? n : k, c.transpose_b ? k : n,
                 {.offset = start_of_b(c), .batch = c.batch});
  const Matrix result(pair.out(), size_of(c.out), m, n, {.batch = c.batch});
  return gemm(context, a, b, c.in, result, c.out,
              {.transpose_a = c.transpose_a, .transpose_b = c.transpose_b, .tf32 = c.tf32}, options);
}

std::vector<GemmCase> gemm_goals(DeviceType type, bool small) {
  using enum Scalar;
  if (type == DeviceType::cpu) {
    if (small) return {{{256, 256, 256}}, {{100, 33, 77}}, {{1, 512, 512}}};
    return {{{512, 512, 512}},
            {{1024, 1024, 1024}},
            {{2048, 2048, 2048}},
            {{1000, 333, 777}},
            {{1024, 1024, 1024}, half}};
  }
  // Parts of what cuBLAS reached on an H200, as shares of the 66.4 TFLOP/s that its fp32 rate was measured
  // as: 33.6, 49.7, 51.3 and 51.3 TFLOP/s for squares of 1024 to 8192, 168, 513, 728 and 749 of
  // half; 17.2, 16.7, 8.9 and 1.34 for the odd shapes, and 27.3 for the batch.
  const auto part = [](double of, double tflops) { return of * tflops / 66.4; };
  if (small) return {{{1024, 1024, 1024}}, {{1024, 1024, 1024}, half}, {{1000, 333, 777}}};
  return {{{8192, 8192, 8192}, float32, float32, 1, false, false, part(0.95, 51.3)},
          {{4096, 4096, 4096}, float32, float32, 1, false, false, part(0.95, 51.3)},
          {{2048, 2048, 2048}, float32, float32, 1, false, false, part(0.85, 49.7)},
          {{1024, 1024, 1024}, float32, float32, 1, false, false, part(0.85, 33.6)},
          {{4096, 37, 4096}, float32, float32, 1, false, false, part(0.7, 16.7)},
          {{1000, 333, 777}, float32, float32, 1, false, false, part(0.7, 17.2)},
          {{31, 129, 65536}, float32, float32, 1, false, false, part(0.7, 8.9)},
          {{1, 4096, 4096}, float32, float32, 1, false, false, part(0.7, 1.34)},
          {{4097, 4095, 1023}, float32, float32, 1, false, false, part(0.7, 48.5)},
          {{64, 64, 64}, float32, float32, 10000, false, false, part(0.8, 27.3)},
          {{8192, 8192, 8192}, half, float32, 1, false, false, part(0.85, 749)},
          {{4096, 4096, 4096}, half, float32, 1, false, false, part(0.75, 728)},
          {{2048, 2048, 2048}, half, float32, 1, false, false, part(0.75, 513)},
          {{4097, 4095, 1023}, half, float32, 1, false, false, part(2.5, 138)},
          {{4096, 4096, 4096}, bfloat16, float32},
          {{4096, 4096, 4096}, int8, int32},
          {.shape = {4096, 4096, 4096}, .transpose_b = true, .tf32 = true},
          {{4096, 4096, 4096}, float64, float64}};
}

}  // namespace smem::cli
