// What a caller of a histogram can do wrong: refused before anything is enqueued, with a message that says
// what and why.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using smem::Bins;
using smem::Scalar;
using test::contains;
using test::failure_of;

namespace {

/// An input of 100 floats and an output of 100 counts, and a check that nothing was written.
struct HistogramBuffers {
  smem::Context context;
  std::vector<std::uint32_t> poison = std::vector<std::uint32_t>(100, 77);
  smem::Array<float> in{context, std::vector<float>(100, 0.5F)};
  smem::Array<std::uint32_t> out{context, poison};

  ~HistogramBuffers() { CHECK(out.to_host() == poison); }

  smem::ErrorDetails fail(const Bins& bins, const smem::CallOptions& options = {}) const {
    return failure_of([&] { smem::histogram(context, in.vector(), out.vector(), bins, options); });
  }
};

}  // namespace

TEST_CASE("bad input of histogram: bins") {
  const HistogramBuffers b;
  auto error = b.fail(Bins::even(0, 0, 1));
  CHECK(error.operation == "histogram");
  CHECK(error.argument == "bins");
  CHECK(error.expected == "1 to 1048576 bins");
  CHECK(error.got == "0");
  CHECK(b.fail(Bins::even((1 << 20) + 1, 0, 1)).argument == "bins");
  error = b.fail(Bins::even(10, 1, 1));
  CHECK(error.argument == "bins.high");
  CHECK(error.expected == "more than low, which is 1");
  CHECK(b.fail(Bins::even(10, 2, 1)).argument == "bins.high");
  CHECK(b.fail(Bins::even(10, std::numeric_limits<double>::quiet_NaN(), 1)).argument == "bins.low");
  CHECK(failure_of([&] { smem::histogram(b.context, b.in, Bins::even(0, 0, 1)); }).argument == "bins");
  CHECK(failure_of([&] { smem::histogram(b.context, b.in, Bins::even(1 << 30, 0, 1)); }).argument == "bins");
}

TEST_CASE("bad input of histogram: edges") {
  const HistogramBuffers b;
  const smem::Array<double> doubles(b.context, {0.0, 1.0});
  auto error = b.fail(Bins::between(doubles.vector()));
  CHECK(error.argument == "bins.edges");
  CHECK(error.expected == "float32, as in has");
  const smem::Array<float> one(b.context, std::vector<float>{1.0F});
  CHECK(b.fail(Bins::between(one.vector())).argument == "bins");
  CHECK(b.fail(Bins::between(smem::VectorView<float>(one.buffer(), 5))).argument == "bins.edges");
  CHECK(b.fail(Bins::between(smem::Vector(b.out.buffer()(), Scalar::float32, 3))).argument == "out");

  const auto check = [&](const std::vector<float>& edges) {
    const smem::Array<float> array(b.context, edges);
    return failure_of([&] { smem::check_edges(b.context, array.vector()); });
  };
  error = check({0, 1, 1, 0.5F, 2});
  CHECK(error.operation == "check_edges");
  CHECK(error.argument == "edges");
  CHECK(error.got == "0.5 after 1 at index 3");
  CHECK(contains(check({0, std::numeric_limits<float>::quiet_NaN(), 1}).got, "at index 1"));
  CHECK(contains(check({std::numeric_limits<float>::quiet_NaN(), 1}).got, "at index 0"));
  CHECK(check({1}).expected == "2 to 1048577");
  const smem::Array<float> good(b.context, {0, 1, 1, 2});
  smem::check_edges(b.context, good.vector());
  // The call that waits checks the values itself.
  const smem::Array<float> bad(b.context, {1, 0});
  CHECK(failure_of([&] { smem::histogram(b.context, b.in, Bins::between(bad.vector())); }).operation ==
        "check_edges");
}

TEST_CASE("bad input of histogram: edges that do not ascend write nothing outside the counts") {
  const smem::Context context;
  const std::vector<float> values{3, 1, 2, 9, 5, -1, 7};
  const smem::Array<float> in(context, values), edges(context, {5.0F, 1.0F, 9.0F, -3.0F, 7.0F});
  for (const char* variant : {"local", "cpu"}) {
    smem::Array<std::uint32_t> out(context, std::vector<std::uint32_t>(6, 77));
    try {
      smem::histogram(context, in.vector(), out.vector(1, 4), Bins::between(edges.vector()),
                      {.variant = variant});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      continue;
    }
    const std::vector<std::uint32_t> got = out.to_host();
    CHECK(got.front() == 77);
    CHECK(got.back() == 77);
    CHECK(got[1] + got[2] + got[3] + got[4] <= values.size());
  }
}

TEST_CASE("bad input of histogram: types, sizes, buffers and variants") {
  const HistogramBuffers b;
  auto error = failure_of([&] {
    smem::histogram(b.context, b.in.vector(), smem::Vector(b.out.buffer()(), Scalar::int32, 100),
                    Bins::even(10, 0, 1));
  });
  CHECK(error.argument == "out");
  CHECK(error.expected == "uint32 or uint64");
  error = b.fail(Bins::even(101, 0, 1));
  CHECK(error.argument == "out");
  CHECK(error.expected == "at least 101 elements");
  CHECK(error.got == "100");
  const auto image = [&](std::size_t cols, std::size_t channels) {
    Bins bins = Bins::even(40, 0, 1);
    bins.channels = channels;
    return failure_of([&] { smem::histogram(b.context, b.in.matrix(2, cols), b.out.vector(), bins); });
  };
  CHECK(image(30, 0).argument == "channels");
  CHECK(image(30, 5).argument == "channels");
  CHECK(image(31, 2).argument == "in");
  CHECK(image(30, 3).argument == "out");
  CHECK(failure_of([&] {
          smem::histogram(b.context, smem::VectorView<float>(b.in.buffer(), 101), b.out.vector(),
                          Bins::even(10, 0, 1));
        }).argument == "in");
  CHECK(failure_of([&] {
          smem::histogram(b.context, smem::Vector(b.out.buffer()(), Scalar::float32, 50), b.out.vector(),
                          Bins::even(10, 0, 1));
        }).argument == "out");
  CHECK(failure_of([&] {
          const smem::Matrix opaque(b.in.buffer()(), smem::ElementType::of_bytes(4), 2, 10);
          smem::histogram(b.context, opaque, b.out.vector(), Bins::even(10, 0, 1));
        }).argument == "in");
  CHECK(b.fail(Bins::even(10, 0, 1), {.variant = "nosuch"}).argument == "variant");
  const smem::Context other;
  CHECK(failure_of([&] {
          smem::histogram(other, b.in.vector(), b.out.vector(), Bins::even(10, 0, 1));
        }).argument == "out");
  // 2^32 elements that 32 bits cannot count; refused before the views are checked.
  error = failure_of([&] {
    smem::histogram(b.context, smem::VectorView<float>(b.in.buffer(), std::size_t{1} << 32), b.out.vector(),
                    Bins::even(10, 0, 1));
  });
  CHECK(error.argument == "out");
  CHECK(error.got == "uint32");
}
