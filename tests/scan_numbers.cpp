// Scans as numbers: the same bits in every run, rounding errors, NaNs, initial values, many threads at once;
// and what a caller can do wrong.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/scans.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

using smem::ReduceOp;
using smem::Reduction;
using smem::Scalar;
using test::failure_of;

namespace {

template <class Work>
void for_scans(const smem::Context& context, const Work& work) {
  smem::ScanProblem problem;
  problem.cols = 1000;
  for (const std::string_view variant : smem::scan_variants()) {
    CAPTURE(variant);
    try {
      smem::plan_scan(context.device(), problem, {.variant = std::string(variant)});
    } catch (const smem::Error&) {
      continue;
    }
    work(smem::CallOptions{.variant = variant});
  }
}

/// Every float sum of a scan against double ones, within n * eps of the magnitudes so far.
void check_sums(const std::vector<float>& in, const std::vector<float>& out) {
  REQUIRE(in.size() == out.size());
  double sum = 0, magnitude = 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    sum += in[i];
    magnitude += std::abs(static_cast<double>(in[i]));
    wrong += !(std::abs(out[i] - sum) <= static_cast<double>(i + 1) * 0x1p-24 * magnitude);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("scan numbers: the same bits in every run, within the error of a sum") {
  const std::vector<float> values = test::random_floats(700001, 21);
  for (const char* clamp_text : {"", "forward_progress=0"}) {
    const test::Variable clamp("SMEM_CLAMP", clamp_text);
    const smem::Context context;
    const smem::Array<float> in(context, values), out(context, smem::Count{values.size()});
    for_scans(context, [&](const smem::CallOptions& options) {
      if (*clamp_text != 0 && options.variant != "cpu") return;
      smem::inclusive_scan(context, in.vector(), out.vector(), ReduceOp::sum, options);
      const std::vector<float> first = out.to_host();
      check_sums(values, first);
      std::size_t different = 0;
      const int runs = options.variant == "look_back" || options.variant == "cpu" ? 50 : 5;
      for (int run = 0; run < runs; ++run) {
        smem::inclusive_scan(context, in.vector(), out.vector(), ReduceOp::sum, options);
        const std::vector<float> again = out.to_host();
        different += std::memcmp(again.data(), first.data(), first.size() * sizeof(float)) != 0;
      }
      CHECK(different == 0);
    });
  }
}

TEST_CASE("scan numbers: where nothing is known of forward progress, nobody waits for another work-group") {
  const test::Variable clamp("SMEM_CLAMP", "forward_progress=0");
  const smem::Context context;
  CHECK_FALSE(context.device().forward_progress);
  test::ScanSweep sweep(context);
  for (const char* variant : {"", "cpu"}) {
    test::ScanCase c;
    c.operation = test::affine();
    c.in = Scalar::uint32;
    c.variant = variant;
    test::scan_vectors(sweep, c);
  }
  const std::size_t each = 10;
  CHECK(sweep.ran() ==
        (context.device().type == smem::DeviceType::cpu && context.device().long_loops ? 2 : 1) * each);
  smem::ScanProblem problem;
  problem.cols = 1 << 22;
  CHECK(smem::plan_scan(context.device(), problem).before.size() == 1);
}

TEST_CASE("scan numbers: NaNs spread in sums, and are left out of minima") {
  const smem::Context context;
  std::vector<float> values(100000, 1.0F);
  values[70000] = std::numeric_limits<float>::quiet_NaN();
  values[80000] = -2.0F;
  const smem::Array<float> in(context, values), out(context, smem::Count{values.size()});
  for_scans(context, [&](const smem::CallOptions& options) {
    smem::inclusive_scan(context, in.vector(), out.vector(), ReduceOp::sum, options);
    std::vector<float> got = out.to_host();
    CHECK(got[69999] == 70000.0F);
    std::size_t nans = 0;
    for (const float value : got)
      nans += std::isnan(value) ? 1 : 0;
    CHECK(nans == 30000);
    smem::exclusive_scan(context, in.vector(), out.vector(), ReduceOp::min, {}, options);
    got = out.to_host();
    CHECK(std::isnan(got[0]));
    CHECK(got[70001] == 1.0F);
    CHECK(got[80000] == 1.0F);
    CHECK(got[80001] == -2.0F);
    CHECK(got[99999] == -2.0F);
  });
}

TEST_CASE("scan numbers: initial values of every kind") {
  const smem::Context context;
  const smem::Array<std::int8_t> bytes(context, std::vector<std::int8_t>(5, 100));
  const smem::Array<std::uint16_t> words(context, smem::Count{5});
  smem::exclusive_scan(context, bytes.vector(), words.vector(), ReduceOp::sum, std::int64_t{-1});
  CHECK(words.to_host() == std::vector<std::uint16_t>{65535, 99, 199, 299, 399});
  const smem::Array<double> doubles(context, {1, 2, 3}), sums(context, smem::Count{3});
  if (context.device().fp64) {
    smem::exclusive_scan(context, doubles.vector(), sums.vector(), ReduceOp::sum, 0.5F);
    CHECK(sums.to_host() == std::vector<double>{0.5, 1.5, 3.5});
  }
  const smem::Array<smem::half> halves(context, {smem::half(1.5F), smem::half(2.0F)}),
      small(context, smem::Count{2});
  smem::exclusive_scan(context, halves.vector(), small.vector(), ReduceOp::product, smem::half(3.0F));
  CHECK(static_cast<float>(small.to_host()[1]) == 4.5F);
  const smem::Array<std::uint8_t> flags(context, {0, 7, 0}), any(context, smem::Count{3});
  smem::exclusive_scan(context, flags.vector(), any.vector(), ReduceOp::any, 0);
  CHECK(any.to_host() == std::vector<std::uint8_t>{0, 0, 1});
  const smem::Array<int> integers(context, {3, 4, 5}), last(context, smem::Count{3});
  smem::exclusive_scan(context, integers.vector(), last.vector(), Reduction::custom("b == 0 ? a : b", "0"),
                       -9);
  CHECK(last.to_host() == std::vector<int>{-9, 3, 4});
}

TEST_CASE("scan numbers: many threads at once") {
  const smem::Context context;
  // PoCL 3.1 fails an assertion of its own now and then where threads launch a kernel for the first time.
  for (const char* variant : {"", "reduce_then_scan"}) {
    const smem::Array<std::uint32_t> first(context, smem::Count{120000});
    smem::inclusive_scan(context, first.vector(), first.vector(), ReduceOp::sum, {.variant = variant});
    context.finish();
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int run = 0; run < 6; ++run) {
        const std::size_t size = 100003 + static_cast<std::size_t>(1000 * number + run);
        const smem::Array<std::uint32_t> in(context, std::vector<std::uint32_t>(size, 3)),
            out(context, smem::Count{size});
        smem::inclusive_scan(context, in.vector(), out.vector(), ReduceOp::sum,
                             {.variant = number % 2 == 0 ? "" : "reduce_then_scan"});
        const std::vector<std::uint32_t> got = out.to_host();
        for (std::size_t i = 0; i < size; ++i)
          wrong += got[i] != 3 * (i + 1);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

// ---------------------------------------------------------------------------------------------------------
// Bad input

namespace {

/// An input and an output of 100 floats, and a check that nothing was written.
struct ScanBuffers {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(100, -7.0F);
  smem::Array<float> in{context, std::vector<float>(100, 1.0F)};
  smem::Array<float> out{context, poison};

  ~ScanBuffers() { CHECK(out.to_host() == poison); }

  smem::ErrorDetails fail(const Reduction& operation, const smem::Vector& from, const smem::Vector& to,
                          const smem::CallOptions& options = {}) const {
    return failure_of([&] { smem::inclusive_scan(context, from, to, operation, options); });
  }
  smem::Vector as(Scalar type, std::size_t size = 10) const { return {out.buffer()(), type, size}; }
};

}  // namespace

TEST_CASE("bad input of scan: operations and types") {
  const ScanBuffers b;
  auto error = b.fail(ReduceOp::argmin, b.in.vector(), b.out.vector());
  CHECK(error.operation == "inclusive_scan");
  CHECK(error.argument == "operation");
  CHECK(error.got == "argmin");
  CHECK(b.fail(ReduceOp::mean, b.in.vector(), b.out.vector()).argument == "operation");
  CHECK(b.fail({ReduceOp::sum, smem::FloatMode::compensated}, b.in.vector(), b.out.vector()).argument ==
        "mode");
  CHECK(b.fail(ReduceOp::bit_or, b.in.vector(), b.out.vector()).expected == "integers for bit_or");
  error = b.fail(ReduceOp::sum, b.in.vector(0, 10), b.as(Scalar::int32));
  CHECK(error.argument == "out");
  CHECK(error.expected == "half, float32 or float64 for sum of float32");
  CHECK(b.fail(ReduceOp::any, b.in.vector(0, 10), b.as(Scalar::int8)).expected == "uint8 for any of float32");
  CHECK(b.fail(Reduction::custom("a", ""), b.in.vector(), b.out.vector()).argument == "identity");
  error = failure_of([&] {
    smem::exclusive_scan(b.context, b.as(Scalar::int32), b.as(Scalar::int32), ReduceOp::sum, 1.5F);
  });
  CHECK(error.operation == "exclusive_scan");
  CHECK(error.argument == "initial");
  CHECK(error.expected == "an integer for int32");
}

TEST_CASE("bad input of scan: views") {
  const ScanBuffers b;
  auto error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(0, 99));
  CHECK(error.argument == "out");
  CHECK(error.expected == "100 elements, as in has");
  CHECK(b.fail(ReduceOp::sum, b.in.vector(1, 100), b.out.vector()).argument == "in");
  CHECK(b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(1, 100)).argument == "out");
  // In place, but not exactly.
  error = b.fail(ReduceOp::sum, b.out.vector(0, 50), b.out.vector(1, 50));
  CHECK(error.argument == "out");
  CHECK(test::contains(error.expected, "does not overlap"));
  CHECK(b.fail(ReduceOp::sum, b.out.vector(0, 10), b.as(Scalar::float64)).argument == "out");
  const smem::Context other;
  const smem::Array<float> theirs(other, smem::Count{100});
  CHECK(b.fail(ReduceOp::sum, theirs.vector(), b.out.vector()).argument == "in");
  error = failure_of(
      [&] { smem::inclusive_scan_rows(b.context, b.in.matrix(5, 4), b.out.matrix(4, 5), ReduceOp::sum); });
  CHECK(error.operation == "inclusive_scan_rows");
  CHECK(error.argument == "out");
  const smem::Matrix opaque(b.in.buffer()(), smem::ElementType::of_bytes(4), 5, 4);
  error = failure_of([&] { smem::exclusive_scan_columns(b.context, opaque, b.out.matrix(5, 4)); });
  CHECK(error.operation == "exclusive_scan_columns");
  CHECK(error.argument == "in");
  CHECK(error.got == "opaque elements of 4 bytes");
}

TEST_CASE("bad input of scan: keys and offsets") {
  const ScanBuffers b;
  const smem::Array<std::uint32_t> marks(b.context, smem::Count{100});
  auto error = failure_of(
      [&] { smem::inclusive_scan_by_key(b.context, marks.vector(0, 99), b.in.vector(), b.out.vector()); });
  CHECK(error.operation == "inclusive_scan_by_key");
  CHECK(error.argument == "keys");
  error = failure_of(
      [&] { smem::inclusive_scan_segments(b.context, b.in.vector(), b.in.vector(), b.out.vector()); });
  CHECK(error.argument == "offsets");
  CHECK(error.expected == "uint32 or uint64");
  error = failure_of(
      [&] { smem::inclusive_scan_segments(b.context, b.in.vector(), marks.vector(1, 100), b.out.vector()); });
  CHECK(error.argument == "offsets");
  error = failure_of([&] {
    const smem::Vector own(b.out.buffer()(), Scalar::uint32, 100);
    smem::exclusive_scan_by_key(b.context, own, b.in.vector(), b.out.vector());
  });
  CHECK(test::contains(error.expected, "does not overlap"));
}

TEST_CASE("bad input of scan: variants, overrides, plans and expressions") {
  const ScanBuffers b;
  auto error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.variant = "nosuch"});
  CHECK(error.argument == "variant");
  CHECK(test::contains(error.expected, "hillis_steele, blelloch"));
  error = failure_of([&] {
    smem::inclusive_scan_rows(b.context, b.in.matrix(10, 10), b.out.matrix(10, 10), ReduceOp::sum,
                              {.variant = "blelloch"});
  });
  CHECK(error.argument == "variant");
  const smem::PlanOverrides tile{.tile_cols = 64}, odd{.variant = "reduce_then_scan", .work_items = 48};
  CHECK(b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.overrides = &tile}).argument == "tile_cols");
  CHECK(b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.overrides = &odd}).argument == "work_items");
  smem::ScanProblem problem;
  problem.cols = 99;
  const smem::Plan plan = smem::plan_scan(b.context.device(), problem);
  CHECK(b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.plan = &plan}).argument == "plan");
  error = b.fail(Reduction::custom("a +\n c", "0"), b.in.vector(), b.out.vector());
  CHECK(error.argument == "expression");
  CHECK(error.operation == "inclusive_scan");
  CHECK(test::contains(error.build_log, "expression.cl:2"));
}

TEST_CASE("scan: a plan that fits is launched, and work-items that are fixed are kept") {
  const smem::Context context;
  const smem::Array<std::uint32_t> in(context, std::vector<std::uint32_t>(20000, 1)),
      out(context, smem::Count{20000});
  smem::ScanProblem problem;
  problem.in = problem.out = Scalar::uint32;
  problem.cols = 20000;
  for (const std::size_t work_items : {4, 64}) {
    const smem::PlanOverrides fixed{.variant = "reduce_then_scan", .work_items = work_items};
    const smem::Plan plan = smem::plan_scan(context.device(), problem, fixed);
    CHECK(plan.work_items() == work_items);
    smem::inclusive_scan(context, in.vector(), out.vector(), ReduceOp::sum, {.plan = &plan});
    const std::vector<std::uint32_t> got = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      wrong += got[i] != i + 1;
    CHECK(wrong == 0);
  }
}
