// gemm: wrong arguments are refused by name, and nothing is written.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using smem::Scalar;

namespace {

struct Fixture {
  smem::Context context;
  std::vector<float> kept = std::vector<float>(64, 5.0F);
  smem::Array<float> a{context, kept}, b{context, kept}, c{context, kept};

  /// The error of C (3 x 4) = A (3 x 5) B (5 x 4).
  smem::ErrorDetails failure(const smem::Gemm& product = {}, const smem::CallOptions& options = {}) {
    return test::failure_of(
        [&] { smem::gemm(context, a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4), product, options); });
  }
  ~Fixture() {
    CHECK(a.to_host() == kept);
    CHECK(b.to_host() == kept);
    CHECK(c.to_host() == kept);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "gemm refuses: shapes that do not fit") {
  const auto of = [&](const smem::Matrix& x, const smem::Matrix& y, const smem::Matrix& z,
                      const smem::Gemm& product = {}) {
    return test::failure_of([&] { smem::gemm(context, x, y, z, product); });
  };
  auto error = of(a.matrix(3, 5), b.matrix(6, 4), c.matrix(3, 4));
  CHECK(error.operation == "gemm");
  CHECK(error.argument == "b");
  CHECK(error.expected == "5 rows of b, as a has columns");
  CHECK(error.got == "6");
  error = of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4), {.transpose_a = true});
  CHECK(error.argument == "b");
  CHECK(error.expected == "3 rows of b, as the transpose of a has columns");
  error = of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(4, 3));
  CHECK(error.argument == "c");
  CHECK(error.expected == "3 x 4");
  CHECK(error.got == "4 x 3");
  // The same matrices column by column.
  error = of(a.matrix(5, 3), b.matrix(4, 5), c.matrix(3, 4), {.order = smem::Order::column_major});
  CHECK(error.argument == "c");
  CHECK(error.got == "4 x 3");
  error = of(a.matrix(3, 5, {.pitch = 4}), b.matrix(5, 4), c.matrix(3, 4));
  CHECK(error.argument == "a");
  CHECK(error.expected == "a pitch of at least 5 elements");
  error = of(a.matrix(3, 5), b.matrix(5, 4), c.matrix(3, 4, {.pitch = 3}));
  CHECK(error.argument == "c");
  error = of(a.matrix(3, 5, {.offset = 50}), b.matrix(5, 4), c.matrix(3, 4));
  CHECK(error.argument == "a");
  error = of(a.matrix(1, 2, {.batch = 3}), b.matrix(2, 2, {.batch = 4}), c.matrix(1, 2, {.batch = 4}));
  CHECK(error.argument == "a");
  CHECK(error.expected == "a batch of 4, as c has, or 1");
  // Matrices of C that share elements.
  error = of(a.matrix(2, 2), b.matrix(2, 2), c.matrix(2, 2, {.batch = 3, .batch_stride = 1}));
  CHECK(error.argument == "c");
  error = of(smem::Matrix(nullptr, smem::ElementType::of_bytes(4), 3, 5), b.matrix(5, 4), c.matrix(3, 4));
  CHECK(error.argument == "a");
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: a C that overlaps what is read") {
  const auto error = test::failure_of(
      [&] { smem::gemm(context, c.matrix(3, 5, {.offset = 11}), b.matrix(5, 4), c.matrix(3, 4)); });
  CHECK(error.argument == "c");
  CHECK(error.expected == "a view that does not overlap a");
  CHECK(test::failure_of([&] {
          smem::gemm(context, a.matrix(3, 5), c.matrix(5, 4), c.matrix(3, 4));
        }).expected == "a view that does not overlap b");
  smem::Gemm product;
  product.epilogue.residual = c.matrix(3, 4, {.offset = 1});
  CHECK(failure(product).expected == "a view that does not overlap residual");
  product.epilogue = {};
  product.epilogue.bias = c.vector(11, 4);
  CHECK(failure(product).expected == "a view that does not overlap bias");
  // Beside it is allowed: this is the Fixture's C elsewhere.
  const smem::Array<float> both(context, smem::Count{64});
  smem::gemm(context, both.matrix(3, 5, {.offset = 12}), b.matrix(5, 4), both.matrix(3, 4));
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: epilogues that do not fit") {
  smem::Gemm product;
  product.epilogue.bias = a.vector(0, 3);
  auto error = failure(product);
  CHECK(error.argument == "bias");
  CHECK(error.expected == "4 elements, one for each column of c");
  CHECK(error.got == "3");
  product.epilogue.bias = a.vector(0, 4);
  product.epilogue.bias_of = smem::BiasOf::row;
  CHECK(failure(product).expected == "3 elements, one for each row of c");
  product.epilogue.bias = smem::Vector(a.buffer()(), Scalar::half, 3);
  CHECK(failure(product).expected == "float32, as c has");
  product.epilogue = {};
  product.epilogue.residual = a.matrix(4, 3);
  error = failure(product);
  CHECK(error.argument == "residual");
  CHECK(error.expected == "3 x 4, as c");
  product.epilogue.residual = smem::Matrix(a.buffer()(), smem::ElementType::of_bytes(2), 3, 4);
  CHECK(failure(product).argument == "residual");
  product.epilogue = {};
  for (const char* expression : {"x +", "x + nosuch", "y"}) {
    product.epilogue.expression = expression;
    error = failure(product);
    CHECK(error.argument == "expression");
    CHECK(error.got == fmt::format("\"{}\"", expression));
  }
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: types and numbers that do not fit") {
  const auto of = [&](Scalar in, Scalar out, const smem::Gemm& product = {}) {
    const smem::Matrix x(a.buffer()(), in, 3, 5), y(b.buffer()(), in, 5, 4), z(c.buffer()(), out, 3, 4);
    return test::failure_of([&] { smem::gemm(context, x, y, z, product); });
  };
  CHECK(of(Scalar::uint8, Scalar::int32).argument == "in");
  CHECK(of(Scalar::float32, Scalar::half).expected == "float32 for float32");
  CHECK(of(Scalar::half, Scalar::bfloat16).expected == "float32 or half for half");
  CHECK(of(Scalar::int8, Scalar::int8).argument == "out");
  CHECK(of(Scalar::int8, Scalar::int32, {.alpha = 0.5}).argument == "alpha");
  CHECK(of(Scalar::int8, Scalar::int32, {.beta = 1e10}).argument == "beta");
  CHECK(of(Scalar::int8, Scalar::int32, {.alpha = std::numeric_limits<double>::quiet_NaN()}).argument ==
        "alpha");
  smem::Gemm product;
  product.epilogue.activation = smem::Activation::gelu;
  CHECK(of(Scalar::int8, Scalar::int32, product).argument == "activation");
  product = {};
  product.list = smem::VectorView<std::uint64_t>(a.buffer(), 4);
  CHECK(failure(product).argument == "list");
  product.list = smem::VectorView<std::uint32_t>(a.buffer(), 3);
  CHECK(failure(product).expected == "uint64");
  {
    const test::Variable clamp("SMEM_CLAMP", "fp64=0");
    const smem::Context small;
    const smem::Array<double> x(small, smem::Count{4});
    const auto error =
        test::failure_of([&] { smem::gemm(small, x.matrix(2, 2), x.matrix(2, 2), x.matrix(2, 2)); });
    CHECK(error.argument == "in");
    CHECK(error.got == "float64");
  }
  // fp8 is of both factors, and not of C.
  for (const Scalar type : {Scalar::e4m3, Scalar::e5m2}) {
    CHECK(of(type, type).argument == "out");
    CHECK(of(type, type).expected == "float32, half or bfloat16");
    CHECK(of(type, Scalar::float64).argument == "out");
    CHECK(of(Scalar::float32, type).argument == "out");
    const smem::Matrix x(a.buffer()(), type, 3, 5), y(b.buffer()(), Scalar::int8, 5, 4);
    const auto mixed = test::failure_of([&] { smem::gemm(context, x, y, c.matrix(3, 4)); });
    CHECK(mixed.argument == "b");
    CHECK(mixed.got == "int8");
    const auto turned = test::failure_of([&] {
      smem::gemm(context, smem::Matrix(a.buffer()(), Scalar::half, 5, 3),
                 smem::Matrix(b.buffer()(), type, 4, 5), c.matrix(4, 3),
                 {.order = smem::Order::column_major});
    });
    CHECK(turned.argument == "b");
    // Other operations move it, and do not compute with it.
    const smem::Vector codes(a.buffer()(), type, 4), sorted(b.buffer()(), type, 4);
    CHECK(test::failure_of([&] {
            smem::reduce(context, codes, c.vector(0, 1), smem::ReduceOp::sum);
          }).argument == "in");
    const auto sort = test::failure_of([&] { smem::sort(context, codes, sorted); });
    CHECK(sort.argument == "keys");
    CHECK(sort.expected == "a type that this operation computes with; fp8 is for gemm");
    CHECK(sort.got == smem::name_of(type));
    CHECK_FALSE(test::failure_of([&] {
                  smem::softmax(context, smem::Matrix(a.buffer()(), type, 2, 2), c.matrix(2, 2));
                }).argument.empty());
  }
  // Other operations do not compute with bfloat16.
  const smem::VectorView<smem::bfloat16> numbers(a.buffer(), 4);
  const smem::VectorView<float> result(b.buffer(), 1);
  CHECK(test::failure_of([&] { smem::reduce(context, numbers, result, smem::ReduceOp::sum); }).argument ==
        "in");
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: enumerations without such a value") {
  for (const int value : {-1, 14, 1000}) {
    CAPTURE(value);
    const auto type = static_cast<Scalar>(value);
    const auto of = [&](Scalar in, Scalar out) {
      const smem::Matrix x(a.buffer()(), in, 3, 5), y(b.buffer()(), in, 5, 4), z(c.buffer()(), out, 3, 4);
      return test::failure_of([&] { smem::gemm(context, x, y, z); });
    };
    CHECK(of(type, Scalar::float32).argument == "a");
    CHECK(of(type, Scalar::float32).got == fmt::format("{}", value));
    CHECK(of(Scalar::float32, type).argument == "c");
    smem::Gemm product;
    product.order = static_cast<smem::Order>(value);
    CHECK(failure(product).argument == "order");
    CHECK(failure(product).expected == "row_major or column_major");
    product = {};
    product.epilogue.activation = static_cast<smem::Activation>(value);
    CHECK(failure(product).argument == "activation");
    product.epilogue = {};
    product.epilogue.bias = a.vector(0, 4);
    product.epilogue.bias_of = static_cast<smem::BiasOf>(value);
    CHECK(failure(product).argument == "bias_of");
    product.epilogue.bias_of = {};
    product.epilogue.bias.type = type;
    CHECK(failure(product).argument == "bias");
    product.epilogue = {};
    product.list = smem::VectorView<std::uint64_t>(a.buffer(), 3);
    product.list.type = type;
    CHECK(failure(product).argument == "list");
  }
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: sizes whose products overflow") {
  // C has no element, or no factor is read: so no view is compared with its buffer.
  for (const std::size_t k : {~std::size_t{0}, std::size_t{1} << 63, (std::size_t{1} << 52) + 1}) {
    CAPTURE(k);
    const auto of = [&](std::size_t m, std::size_t n, double alpha) {
      return test::failure_of([&] {
        smem::gemm(context, smem::Matrix(a.buffer()(), Scalar::float32, m, k),
                   smem::Matrix(b.buffer()(), Scalar::float32, k, n),
                   smem::Matrix(c.buffer()(), Scalar::float32, m, n), {.alpha = alpha});
      });
    };
    CHECK(of(0, 4, 1).argument == "a");
    CHECK(of(3, 0, 1).argument == "a");
    CHECK(of(3, 4, 0).argument == "a");
    CHECK(test::failure_of([&] { smem::plan_gemm(context.device(), {.m = k, .n = 4, .k = 5}); }).argument ==
          "a");
    CHECK(test::failure_of([&] { smem::plan_gemm(context.device(), {.m = k, .n = 4, .k = 0}); }).expected ==
          "at most 4503599627370496 elements");
    CHECK(test::failure_of([&] {
            smem::plan_gemm(context.device(), {.m = 3, .n = 4, .k = 5, .batch = k});
          }).argument == "c");
  }
}

TEST_CASE_FIXTURE(Fixture, "gemm refuses: choices that cannot be") {
  CHECK(failure({}, {.variant = "nosuch"}).argument == "variant");
  const auto fixed = [&](const smem::PlanOverrides& overrides) {
    return failure({}, {.overrides = &overrides});
  };
  CHECK(fixed({.variant = "naive", .tile_rows = 16}).argument == "tile_rows");
  CHECK(fixed({.variant = "vector", .tile_rows = 48}).argument == "tile_rows");
  CHECK(fixed({.variant = "tiled", .work_items = 32}).argument == "work_items");
  CHECK(fixed({.variant = "vector", .tile_rows = 16, .tile_cols = 16, .work_items = 64}).argument ==
        "work_items");
  CHECK(fixed({.variant = "padded", .layout = smem::parse_layout("swizzled")}).argument == "layout");
  CHECK(fixed({.variant = "async", .layout = smem::parse_layout("plain")}).argument == "layout");
  {
    const test::Variable clamp("SMEM_CLAMP", "local=0");
    const smem::Context none;
    const smem::Array<float> x(none, smem::Count{16});
    CHECK(test::failure_of([&] {
            smem::gemm(none, x.matrix(2, 2), x.matrix(2, 2, {.offset = 4}), x.matrix(2, 2, {.offset = 8}), {},
                       {.variant = "vector"});
          }).argument == "variant");
  }
  const smem::Plan other = smem::plan_gemm(context.device(), {.m = 3, .n = 4, .k = 6});
  CHECK(failure({}, {.plan = &other}).argument == "plan");
}
