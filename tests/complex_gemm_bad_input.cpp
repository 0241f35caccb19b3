// complex_gemm: wrong arguments are refused by name, and nothing is written.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

using smem::ElementType;
using smem::Scalar;
using ComplexNumber = std::complex<float>;

namespace {

struct ComplexBuffers {
  smem::Context context;
  std::vector<ComplexNumber> kept = std::vector<ComplexNumber>(64, {5, 6});
  smem::Array<ComplexNumber> a{context, kept}, b{context, kept}, c{context, kept};

  smem::ErrorDetails of(const smem::ConstMatrix& x, const smem::ConstMatrix& y, const smem::Matrix& z,
                        const smem::ComplexGemm& product = {}, const smem::CallOptions& options = {}) {
    return test::failure_of([&] { smem::complex_gemm(context, x, y, z, product, options); });
  }
  /// The error of C (3 x 4) = A (3 x 5) B (5 x 4).
  smem::ErrorDetails failure(const smem::ComplexGemm& product = {}, const smem::CallOptions& options = {}) {
    return of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4), product, options);
  }
  ~ComplexBuffers() {
    CHECK(a.to_host() == kept);
    CHECK(b.to_host() == kept);
    CHECK(c.to_host() == kept);
  }
};

}  // namespace

TEST_CASE_FIXTURE(ComplexBuffers, "bad input of complex_gemm: shapes and places") {
  auto error = of(a.matrix(3, 5), b.matrix(6, 4), c.matrix(3, 4));
  CHECK(error.operation == "complex_gemm");
  CHECK(error.argument == "b");
  CHECK(error.expected == "5 rows of b, as a has columns");
  CHECK(error.got == "6");
  error = of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4), {.transpose_a = true, .conjugate_a = true});
  CHECK(error.argument == "b");
  CHECK(error.expected == "3 rows of b, as the transpose of a has columns");
  error = of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(4, 3));
  CHECK(error.argument == "c");
  CHECK(error.expected == "3 x 4");
  CHECK(error.got == "4 x 3");
  error = of(a.matrix(5, 3), b.matrix(4, 5), c.matrix(3, 4), {.order = smem::Order::column_major});
  CHECK(error.argument == "c");
  CHECK(error.got == "4 x 3");
  CHECK(of(a.matrix(3, 5, {.pitch = 4}), b.matrix(5, 4), c.matrix(3, 4)).argument == "a");
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4, {.pitch = 3}), c.matrix(3, 4)).argument == "b");
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4, {.pitch = 3})).argument == "c");
  CHECK(of(a.matrix(3, 5, {.offset = 50}), b.matrix(5, 4), c.matrix(3, 4)).argument == "a");
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4, {.offset = 45}), c.matrix(3, 4)).argument == "b");
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4, {.offset = 53})).argument == "c");
  // Column by column A and B change their places, but not their names.
  CHECK(
      of(a.matrix(5, 3, {.offset = 50}), b.matrix(4, 5), c.matrix(4, 3), {.order = smem::Order::column_major})
          .argument == "a");
  error = of(a.matrix(1, 2, {.batch = 3}), b.matrix(2, 2, {.batch = 4}), c.matrix(1, 2, {.batch = 4}));
  CHECK(error.argument == "a");
  CHECK(error.expected == "a batch of 4, as c has, or 1");
  CHECK(of(a.matrix(1, 2), b.matrix(2, 2, {.batch = 3}), c.matrix(1, 2, {.batch = 4})).argument == "b");
  CHECK(of(a.matrix(2, 2), b.matrix(2, 2), c.matrix(2, 2, {.batch = 3, .batch_stride = 1})).argument == "c");
  const ElementType type = ElementType::of_bytes(8);
  CHECK(of(smem::ConstMatrix(nullptr, type, 3, 5), b.matrix(5, 4), c.matrix(3, 4)).argument == "a");
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4), smem::Matrix(nullptr, type, 3, 4)).argument == "c");
  // Over host memory that is aligned to the parts of numbers only.
  std::vector<float> memory(40);
  const bool is_even = reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(ComplexNumber) == 0;
  cl_int status = CL_SUCCESS;
  const cl::Buffer odd(clCreateBuffer(context.cl_context()(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 128,
                                      memory.data() + (is_even ? 1 : 0), &status));
  REQUIRE(status == CL_SUCCESS);
  error = of(a.matrix(3, 5), b.matrix(5, 4), smem::MatrixView<ComplexNumber>(odd, 3, 4));
  CHECK(error.argument == "c");
  CHECK(error.expected == "memory that is aligned to its elements of 8 bytes");
  const smem::Context other;
  const smem::Array<ComplexNumber> foreign(other, kept);
  CHECK(of(a.matrix(3, 5), foreign.matrix(5, 4), c.matrix(3, 4)).argument == "b");
}

TEST_CASE_FIXTURE(ComplexBuffers,
                  "bad input of complex_gemm: a C that overlaps a factor, or cannot be read") {
  auto error = of(c.matrix(3, 5, {.offset = 11}), b.matrix(5, 4), c.matrix(3, 4));
  CHECK(error.argument == "c");
  CHECK(error.expected == "a view that does not overlap a");
  error = of(a.matrix(3, 5), c.matrix(5, 4), c.matrix(3, 4));
  CHECK(error.expected == "a view that does not overlap b");
  cl_int status = CL_SUCCESS;
  const cl::Buffer write_only(
      clCreateBuffer(context.cl_context()(), CL_MEM_WRITE_ONLY, 96, nullptr, &status));
  REQUIRE(status == CL_SUCCESS);
  const smem::MatrixView<ComplexNumber> out(write_only, 3, 4);
  CHECK(of(a.matrix(3, 5), b.matrix(5, 4), out, {.beta = {0, 1}}).argument == "c");
  smem::complex_gemm(context, a.matrix(3, 5), b.matrix(5, 4), out, {}, {.variant = "naive"});
}

TEST_CASE_FIXTURE(ComplexBuffers, "bad input of complex_gemm: elements, enumerations and choices") {
  const auto typed = [&](const ElementType& x, const ElementType& y, const ElementType& z) {
    return of(smem::ConstMatrix(a.buffer()(), x, 3, 5), smem::ConstMatrix(b.buffer()(), y, 5, 4),
              smem::Matrix(c.buffer()(), z, 3, 4));
  };
  const ElementType floats = ElementType::of_bytes(8), doubles = ElementType::of_bytes(16);
  auto error = typed(Scalar::float32, floats, floats);
  CHECK(error.argument == "a");
  CHECK(error.expected == "complex numbers of two floats or doubles");
  CHECK(error.got == "float32");
  error = typed(floats, ElementType::of_bytes(4), floats);
  CHECK(error.argument == "b");
  CHECK(error.got == "opaque elements of 4 bytes");
  CHECK(typed(floats, Scalar::uint64, floats).argument == "b");
  error = typed(floats, doubles, floats);
  CHECK(error.argument == "b");
  CHECK(error.expected == "complex float32, as a has");
  CHECK(error.got == "complex float64");
  CHECK(typed(floats, floats, doubles).argument == "c");
  CHECK(typed(floats, floats, Scalar::float64).got == "float64");
  for (const int value : {-1, 12, 1000}) {
    const auto type = static_cast<Scalar>(value);
    CHECK(typed(type, floats, floats).argument == "a");
    CHECK(typed(floats, floats, type).argument == "c");
    CHECK(failure({.order = static_cast<smem::Order>(value)}).argument == "order");
  }
  // Complex numbers are moved as other elements, but not computed with elsewhere.
  const smem::Array<float> sums(context, smem::Count{64});
  CHECK(test::failure_of([&] {
          smem::gemm(context, a.matrix(3, 5), b.matrix(5, 4), sums.matrix(3, 4));
        }).argument == "a");
  CHECK(failure({}, {.variant = "nosuch"}).argument == "variant");
  const auto fixed = [&](const smem::PlanOverrides& overrides) {
    return failure({}, {.overrides = &overrides}).argument;
  };
  CHECK(fixed({.variant = "registers", .tile_rows = 16}) == "tile_rows");
  CHECK(fixed({.variant = "naive", .work_items = 64}) == "work_items");
  CHECK(fixed({.variant = "tiled", .layout = smem::parse_layout("plain")}) == "layout");
  const smem::Plan other = smem::plan_complex_gemm(context.device(), {.m = 3, .n = 4, .k = 6});
  CHECK(failure({}, {.plan = &other}).argument == "plan");
  CHECK(failure({}, {.scratch = sums.vector()}).argument == "scratch");
}

TEST_CASE_FIXTURE(ComplexBuffers, "bad input of complex_gemm: sizes that overflow, and no fp64") {
  const ElementType type = ElementType::of_bytes(8);
  for (const std::size_t k : {~std::size_t{0}, std::size_t{1} << 63, (std::size_t{1} << 50) + 1}) {
    CAPTURE(k);
    const auto of_sizes = [&](std::size_t m, std::size_t n, double alpha) {
      return of(smem::ConstMatrix(a.buffer()(), type, m, k), smem::ConstMatrix(b.buffer()(), type, k, n),
                smem::Matrix(c.buffer()(), type, m, n), {.alpha = alpha})
          .argument;
    };
    CHECK(of_sizes(0, 4, 1) == "a");
    CHECK(of_sizes(3, 0, 1) == "a");
    CHECK(of_sizes(3, 4, 0) == "a");
    const auto planned = [&](const smem::ComplexGemmProblem& p) {
      return test::failure_of([&] { smem::plan_complex_gemm(context.device(), p); });
    };
    CHECK(planned({.m = k, .n = 4, .k = 5}).expected == "at most 1125899906842624 elements");
    CHECK(planned({.m = 3, .n = k, .k = 5}).argument == "b");
    CHECK(planned({.m = 3, .n = 4, .k = 5, .batch = k}).argument == "c");
  }
  const test::Variable clamp("SMEM_CLAMP", "fp64=0");
  const smem::Context small;
  const smem::Array<std::complex<double>> x(small, smem::Count{4});
  const auto error =
      test::failure_of([&] { smem::complex_gemm(small, x.matrix(2, 2), x.matrix(2, 2), x.matrix(2, 2)); });
  CHECK(error.argument == "a");
  CHECK(error.got == "float64");
}
