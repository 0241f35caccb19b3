// Reductions of runs of equal keys: operations, lengths of runs and hostile input beside plain loops.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/large_buffer.hpp"
#include "support/random.hpp"
#include "support/variants.hpp"
#include "support/wide.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using smem::ReduceOp;
using smem::Reduction;
using smem::Scalar;
using smem::Vector;
using test::failure_of;

namespace {

/// Keys and what their runs make.
struct Runs {
  std::vector<std::uint32_t> keys;
  std::vector<std::int32_t> values;
};

/// Runs of about `length` elements; neighbours differ, and keys come again.
Runs runs_of(std::size_t size, std::size_t length) {
  Runs made;
  test::Random random(size + length);
  std::uint32_t key = 7;
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && random.next() % length == 0) key = key % 5 + 1;
    made.keys.push_back(key);
    made.values.push_back(static_cast<std::int32_t>(random.next() % 2001) - 1000);
  }
  return made;
}

Runs reduced(const Runs& in) {
  Runs made;
  for (std::size_t i = 0; i < in.keys.size(); ++i) {
    if (i == 0 || in.keys[i] != in.keys[i - 1]) {
      made.keys.push_back(in.keys[i]);
      made.values.push_back(in.values[i]);
    } else {
      made.values.back() += in.values[i];
    }
  }
  return made;
}

/// Whether the device's result is that of a plain loop, and nothing around it was written. Views begin
/// somewhere in their buffers.
bool is_right(const smem::Context& context, const Runs& in, const std::string& variant) {
  static constexpr std::int32_t kPoison = 0x5a5a5a5a;
  const std::size_t size = in.keys.size(), before = size % 3;
  const auto moved = [before](auto elements) {
    elements.insert(elements.begin(), before, kPoison);
    return elements;
  };
  const smem::Array<std::uint32_t> keys(context, moved(in.keys));
  const smem::Array<std::int32_t> values(context, moved(in.values));
  const smem::Array<std::uint32_t> unique_keys(context, std::vector<std::uint32_t>(size + 3, kPoison));
  const smem::Array<std::int32_t> sums(context, std::vector<std::int32_t>(size + 3, kPoison));
  const std::size_t count = smem::reduce_by_key(
      context, keys.vector(before, size), values.vector(before, size), unique_keys.vector(before, size),
      sums.vector(2 - before, size), ReduceOp::sum, {.variant = variant});
  const Runs expected = reduced(in);
  if (count != expected.keys.size()) return false;
  std::vector<std::uint32_t> wanted_keys(size + 3, kPoison);
  std::vector<std::int32_t> wanted_sums(size + 3, kPoison);
  std::copy(expected.keys.begin(), expected.keys.end(),
            wanted_keys.begin() + static_cast<std::ptrdiff_t>(before));
  std::copy(expected.values.begin(), expected.values.end(),
            wanted_sums.begin() + static_cast<std::ptrdiff_t>(2 - before));
  return unique_keys.to_host() == wanted_keys && sums.to_host() == wanted_sums;
}

}  // namespace

TEST_CASE("reduce_by_key: every variant, runs of all lengths, sizes around tiles and parts") {
  const smem::Context context;
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    CAPTURE(variant);
    for (const std::size_t length : {1, 2, 5, 100, 3000, 1 << 30}) {
      CAPTURE(length);
      for (const std::size_t size : {1, 2, 255, 1024, 1025, 4097, 70001, 300007}) {
        CAPTURE(size);
        CHECK(is_right(context, runs_of(size, length), variant));
      }
    }
    Runs different = runs_of(300007, 2);  // every element is a run
    for (std::size_t i = 0; i < different.keys.size(); ++i)
      different.keys[i] = static_cast<std::uint32_t>(i);
    CHECK(is_right(context, different, variant));
    Runs last = runs_of(300007, 1 << 30);  // one run, and the last element alone
    last.keys.back() += 1;
    CHECK(is_right(context, last, variant));
  }
}

TEST_CASE("reduce_by_key: keys of every size, and numbers of 4 and 8 bytes, in their order") {
  const smem::Context context;
  const auto check = [&](auto key_zero, auto number_zero) {
    using Key = decltype(key_zero);
    using Number = decltype(number_zero);
    if constexpr (sizeof(Number) == 8) {
      if (!context.device().fp64) return;
    }
    for (const std::size_t length : {1, 3, 40, 2000}) {
      for (const std::size_t size : {7, 16, 1023, 1031, 2048, 70001}) {
        CAPTURE(length);
        CAPTURE(size);
        const Runs in = runs_of(size, length);
        std::vector<Number> values, sums;
        std::vector<Key> keys;
        for (std::size_t i = 0; i < size; ++i) {
          values.push_back(static_cast<Number>(in.values[i]) / Number(3));  // sums are rounded
          if (i == 0 || in.keys[i] != in.keys[i - 1]) {
            keys.push_back(static_cast<Key>(in.keys[i]));
            sums.push_back(values.back());
          } else {
            sums.back() += values.back();
          }
        }
        const smem::Array<Key> all_keys(context, std::vector<Key>(in.keys.begin(), in.keys.end())),
            unique_keys(context, smem::Count{size});
        const smem::Array<Number> numbers(context, values), out(context, smem::Count{size});
        const std::size_t count = smem::reduce_by_key(context, all_keys.vector(), numbers.vector(),
                                                      unique_keys.vector(), out.vector(), ReduceOp::sum);
        REQUIRE(count == keys.size());
        std::vector<Key> got_keys = unique_keys.to_host();
        got_keys.resize(count);
        CHECK(got_keys == keys);
        const std::vector<Number> got = out.to_host();
        const smem::ReduceByKeyProblem problem{.keys = smem::scalar_of<Key>,
                                               .in = smem::scalar_of<Number>,
                                               .out = smem::scalar_of<Number>,
                                               .size = size};
        // Threads add one after the other, between the ends of pieces. Work-groups have another order.
        const bool exact =
            size < 4096 && smem::plan_reduce_by_key(context.device(), problem).variant == "cpu";
        const auto error = static_cast<Number>(exact ? 0.0 : 0.01 * static_cast<double>(length + 10));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i)
          wrong += std::abs(got[i] - sums[i]) <= error ? 0 : 1;
        CHECK(wrong == 0);
      }
    }
  };
  check(std::uint8_t{}, 0.0F);
  check(std::uint16_t{}, 0.0);
  check(std::uint64_t{}, 0.0F);
  check(std::uint32_t{}, 0.0);
}

TEST_CASE("reduce_by_key: where nobody waits, groups compute what others make") {
  const test::Variable clamp("SMEM_CLAMP", "poll_limit=0");
  const smem::Context context;
  if (!context.device().forward_progress) return;
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    CAPTURE(variant);
    for (const std::size_t length : {3, 100000}) {
      CAPTURE(length);
      for (int turn = 0; turn < 3; ++turn)
        CHECK(is_right(context, runs_of(300007, length), variant));
    }
  }
}

TEST_CASE("reduce_by_key: where nothing is known of forward progress, there are two launches") {
  const test::Variable clamp("SMEM_CLAMP", "forward_progress=0");
  const smem::Context context;
  CHECK(is_right(context, runs_of(300007, 20), ""));
  CHECK(smem::plan_reduce_by_key(context.device(), {.size = 1 << 22}).before.size() == 1);
}

TEST_CASE("clamped: reductions of runs on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const std::size_t length : {3, 2000})
      CHECK(is_right(context, runs_of(20011, length), ""));
  }
}

TEST_CASE("clamped: reductions of runs by more parts than a group has work-items") {
  const test::Variable clamp("SMEM_CLAMP", "work_group=4");
  const smem::Context context;
  const smem::Plan plan =
      smem::plan_reduce_by_key(context.device(), {.size = 300007}, {.variant = "reduce_then_scan"});
  CHECK(plan.before.size() == 1);
  CHECK(plan.groups() >= std::min<std::size_t>(context.device().compute_units, 5));
  for (const std::size_t length : {3, 2000})
    CHECK(is_right(context, runs_of(300007, length), "reduce_then_scan"));
}

// Of a custom operation that does not commute, and whose identity is none on the left.
TEST_CASE("reduce_by_key: operations of floats, in their order, with the same bits in every run") {
  const smem::Context context;
  const Runs in = runs_of(200003, 300);
  std::vector<float> values(in.values.begin(), in.values.end());
  for (float& value : values)
    value *= 1.1F;
  values[5] = std::numeric_limits<float>::quiet_NaN();
  const smem::Array<std::uint32_t> keys(context, in.keys);
  const smem::Array<float> elements(context, values);
  const std::size_t size = values.size();
  const smem::Array<std::uint32_t> unique_keys(context, smem::Count{size});
  const smem::Array<float> out(context, smem::Count{size});
  const auto call = [&](const std::string& variant, const Reduction& operation) {
    const std::size_t count =
        smem::reduce_by_key(context, keys.vector(), elements.vector(), unique_keys.vector(), out.vector(),
                            operation, {.variant = variant});
    std::vector<float> got = out.to_host();
    got.resize(count);
    return got;
  };
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    CAPTURE(variant);
    const std::vector<float> sums = call(variant, ReduceOp::sum), least = call(variant, ReduceOp::min),
                             lasts = call(variant, Reduction::custom("b == 0 ? a : b", "0"));
    std::size_t run = 0, wrong = 0;
    for (std::size_t begin = 0; begin < size; ++run) {
      std::size_t end = begin;
      double sum = 0, magnitude = 0;
      float expected_least = std::numeric_limits<float>::quiet_NaN(), last = 0;
      for (; end < size && in.keys[end] == in.keys[begin]; ++end) {
        sum += values[end];
        magnitude += std::fabs(values[end]);
        expected_least = std::fmin(expected_least, values[end]);
        if (values[end] != 0) last = values[end];
      }
      const bool has_nan = std::isnan(sum);
      wrong += has_nan ? !std::isnan(sums[run]) : std::fabs(sums[run] - sum) > 1e-5 * magnitude;
      wrong += least[run] != expected_least;
      wrong += std::bit_cast<std::uint32_t>(lasts[run]) != std::bit_cast<std::uint32_t>(last) && !has_nan;
      begin = end;
    }
    CHECK(wrong == 0);
    CHECK(run == sums.size());
    for (int turn = 0; turn < 4; ++turn) {
      const std::vector<float> again = call(variant, ReduceOp::sum);
      CHECK(std::equal(sums.begin(), sums.end(), again.begin(), again.end(), [](float a, float b) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
      }));
    }
  }
}

TEST_CASE("reduce_by_key: zeros of both signs are one key, and each NaN is a run of its own") {
  const smem::Context context;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> numbers{-0.0, 0.0, -0.0, nan, nan, 1.0, 1.0, INFINITY, INFINITY, -INFINITY};
  const auto check = [&](auto zero) {
    using K = decltype(zero);
    std::vector<K> made;
    for (const double number : numbers)
      made.push_back(K(static_cast<float>(number)));
    const smem::Array<K> keys(context, made), unique_keys(context, smem::Count{made.size()});
    const smem::Array<std::uint16_t> in(context, std::vector<std::uint16_t>(made.size(), 1)),
        out(context, smem::Count{made.size()});
    for (const std::string& variant :
         test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
      CAPTURE(variant);
      CHECK(smem::reduce_by_key(context, keys.vector(), in.vector(), unique_keys.vector(), out.vector(), {},
                                {.variant = variant}) == 6);
      std::vector<std::uint16_t> lengths = out.to_host();
      lengths.resize(6);
      CHECK(lengths == std::vector<std::uint16_t>{3, 1, 1, 2, 2, 1});
      CHECK(std::signbit(static_cast<float>(unique_keys.to_host()[0])));
    }
  };
  check(float());
  check(double());
  check(smem::half());
  check(smem::bfloat16());
}

TEST_CASE("unique_by_key: the first element of each run, bit by bit") {
  const smem::Context context;
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    CAPTURE(variant);
    for (const std::size_t length : {1, 3, 5000}) {
      const Runs in = runs_of(150001, length);
      std::vector<float> elements;  // with NaNs of any payload among them
      for (std::size_t i = 0; i < in.keys.size(); ++i)
        elements.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(0x7f900000 + i)));
      const smem::Array<std::uint32_t> keys(context, in.keys),
          unique_keys(context, smem::Count{in.keys.size()});
      const smem::Array<float> values(context, elements), out(context, smem::Count{in.keys.size()});
      const std::size_t count = smem::unique_by_key(context, keys.vector(), values.vector(),
                                                    unique_keys.vector(), out.vector(), {.variant = variant});
      std::vector<float> got = out.to_host();
      std::size_t run = 0, wrong = 0;
      for (std::size_t i = 0; i < in.keys.size(); ++i) {
        if (i > 0 && in.keys[i] == in.keys[i - 1]) continue;
        wrong += std::bit_cast<std::uint32_t>(got[run++]) != 0x7f900000 + i;
      }
      CHECK(wrong == 0);
      CHECK(count == run);
    }
  }
}

TEST_CASE("unique_by_key: elements of 1, 2 and 8 bytes") {
  const smem::Context context;
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    const Runs in = runs_of(20011, 3);
    std::vector<T> elements, expected;
    for (std::size_t i = 0; i < in.keys.size(); ++i) {
      elements.push_back(static_cast<T>(i * 0x9e3779b97f4a7c15u));
      if (i == 0 || in.keys[i] != in.keys[i - 1]) expected.push_back(elements.back());
    }
    const smem::Array<std::uint32_t> keys(context, in.keys),
        unique_keys(context, smem::Count{in.keys.size()});
    const smem::Array<T> values(context, elements), out(context, smem::Count{in.keys.size()});
    for (const std::string& variant :
         test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
      CAPTURE(variant);
      const std::size_t count = smem::unique_by_key(context, keys.vector(), values.vector(),
                                                    unique_keys.vector(), out.vector(), {.variant = variant});
      std::vector<T> got = out.to_host();
      got.resize(count);
      CHECK(got == expected);
    }
  };
  check(std::uint8_t{});
  check(std::uint16_t{});
  check(std::uint64_t{});
}

TEST_CASE("reduce_by_key: a histogram of sorted keys, counted on the device, and nothing at all") {
  const smem::Context context;
  const smem::Array<std::int16_t> keys(context, {4, -1, 4, 4, -1, 7}), sorted(context, smem::Count{6}),
      unique_keys(context, smem::Count{6});
  const smem::Array<double> in(context, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}), values(context, smem::Count{6}),
      out(context, smem::Count{6});
  const smem::Array<std::uint32_t> counts(context, {99, 98, 97});
  const smem::Array<std::uint64_t> wide_counts(context, {99, 98, 97});
  const auto count = counts.vector(1, 1);
  smem::sort_pairs(context, keys.vector(), in.vector(), sorted.vector(), values.vector());
  if (context.device().fp64) {
    smem::reduce_by_key(context, sorted.vector(), values.vector(), unique_keys.vector(), out.vector(), count)
        .wait();
    CHECK(counts.to_host() == std::vector<std::uint32_t>{99, 3, 97});
    smem::reduce_by_key(context, sorted.vector(), values.vector(), unique_keys.vector(), out.vector(),
                        wide_counts.vector(2, 1))
        .wait();
    CHECK(wide_counts.to_host() == std::vector<std::uint64_t>{99, 98, 3});
    const std::vector<double> sums = out.to_host();
    CHECK(std::vector(sums.begin(), sums.begin() + 3) == std::vector<double>{7, 8, 6});
    CHECK(unique_keys.to_host()[0] == -1);
    smem::reduce_by_key(context, sorted.vector(0, 0), values.vector(0, 0), unique_keys.vector(), out.vector(),
                        count)
        .wait();
    CHECK(counts.to_host()[1] == 0);
    CHECK(smem::unique_by_key(context, sorted.vector(0, 0), values.vector(0, 0), unique_keys.vector(),
                              out.vector()) == 0);
  }
}

TEST_CASE("bad input of reduce_by_key: each is refused by name, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> keys(context, std::vector<std::uint32_t>(100, 1)),
      in(context, std::vector<std::uint32_t>(100, 1)), unique_keys(context, poison), out(context, poison),
      count(context, {77, 77});
  const Vector k = keys.vector(), v = in.vector(), to_keys = unique_keys.vector(), to = out.vector(),
               one = count.vector(0, 1);
  const auto argument = [&](const Vector& a, const Vector& b, const Vector& c, const Vector& d,
                            const Vector& e, const Reduction& operation = {},
                            const smem::CallOptions& options = {}) {
    return failure_of([&] { smem::reduce_by_key(context, a, b, c, d, e, operation, options); }).argument;
  };
  const auto typed = [](const smem::Array<std::uint32_t>& array, Scalar type) {
    return Vector(array.buffer()(), type, 4 * 100 / size_of(type));
  };
  CHECK(argument(k, in.vector(0, 99), to_keys, to, one) == "in");
  CHECK(argument(k, v, unique_keys.vector(0, 99), to, one) == "unique_keys");
  CHECK(argument(k, v, to_keys, out.vector(0, 99), one) == "out");
  CHECK(argument(k, v, typed(unique_keys, Scalar::int32), to, one) == "unique_keys");
  CHECK(argument(k, v, to_keys, typed(out, Scalar::float32), one) == "out");
  CHECK(argument(k, v, to_keys, to, count.vector()) == "count");
  CHECK(argument(k, v, to_keys, to, Vector(count.buffer()(), Scalar::int32, 1)) == "count");
  CHECK(argument(k, v, k, to, one) == "unique_keys");
  CHECK(argument(k, v, to_keys, v, one) == "out");
  CHECK(argument(k, v, to_keys, unique_keys.vector(), one) == "out");
  CHECK(argument(k, v, to_keys, to, out.vector(3, 1)) == "count");
  CHECK(argument(k, v, to_keys, to, one, ReduceOp::mean) == "operation");
  CHECK(argument(k, v, to_keys, to, one, Reduction(ReduceOp::sum, smem::FloatMode::compensated)) == "mode");
  CHECK(argument(k, v, to_keys, to, one, static_cast<ReduceOp>(99)) == "operation");
  CHECK(argument(k, v, to_keys, to, one, Reduction::custom("a +* b", "0")) == "expression");
  CHECK(argument(k, v, to_keys, to, one, {}, {.variant = "none"}) == "variant");
  CHECK(argument(Vector(nullptr, Scalar::uint32, 100), v, to_keys, to, one) == "keys");
  const std::size_t many = std::size_t{1} << 32;  // which 32 bits cannot count
  const auto huge = [many](const smem::Array<std::uint32_t>& array) {
    return Vector(array.buffer()(), Scalar::uint32, many);
  };
  CHECK(argument(huge(keys), huge(in), huge(unique_keys), huge(out), one) == "count");
  const Vector wide(out.buffer()(), smem::ElementType::of_bytes(16), 25),
      from(in.buffer()(), smem::ElementType::of_bytes(16), 25);
  const auto error =
      failure_of([&] { smem::unique_by_key(context, keys.vector(0, 25), from, to_keys, wide, one); });
  CHECK(error.operation == "unique_by_key");
  CHECK(error.argument == "in");
  smem::Device device;
  device.fp64 = false;
  smem::ReduceByKeyProblem problem{.keys = Scalar::float64, .size = 10};
  CHECK_NOTHROW(smem::plan_reduce_by_key(device, problem));
  problem.in = problem.out = Scalar::float64;
  CHECK(failure_of([&] { smem::plan_reduce_by_key(device, problem); }).argument == "in");
  context.queue().finish();
  CHECK(unique_keys.to_host() == poison);
  CHECK(out.to_host() == poison);
  CHECK(count.to_host() == std::vector<std::uint32_t>(2, 77));
}

// The device makes and checks all data: a loop of the host over so many elements takes longer than a call.
TEST_CASE("large: reduce_by_key and unique_by_key of more than 2^31 elements") {
  // Kernels without PoCL's optimiser would take many times as long as it does.
  const test::Variable with_optimiser("POCL_EXTRA_BUILD_FLAGS", std::nullopt);
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  std::vector<cl::Buffer> rooms;
  while (rooms.size() < 4) {
    const auto room = test::large_buffer(context, size, 4 * size + (size >> 2));
    if (!room) return;
    rooms.push_back(*room);
  }
  const cl::Buffer &keys = rooms[0], &in = rooms[1], &unique_keys = rooms[2], &out = rooms[3];
  constexpr std::size_t kRun = (std::size_t{1} << 27) + 3;
  test::Loop loop;
  const std::string runs = "a[i] = (A)(i / " + std::to_string(kRun) + " + 7); b[i] = (B)(i % 251);";
  run_loop(context, loop.with(runs), size, {keys, in});
  const auto sum_before = [](std::size_t end) {  // of the elements before `end`
    const std::size_t rest = end % 251;
    return end / 251 * (251 * 250 / 2) + rest * (rest - 1) / 2;
  };
  std::vector<std::uint8_t> sums;
  for (std::size_t begin = 0; begin < size; begin += kRun)
    sums.push_back(static_cast<std::uint8_t>(sum_before(std::min(begin + kRun, size)) - sum_before(begin)));
  using Bytes = smem::VectorView<std::uint8_t>;
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    // Work-groups are loops on a CPU: there, one of the variants for GPUs is enough.
    if (context.device().type == smem::DeviceType::cpu && variant == "reduce_then_scan") continue;
    CAPTURE(variant);
    CHECK(smem::reduce_by_key(context, Bytes(keys, size), Bytes(in, size), Bytes(unique_keys, size),
                              Bytes(out, size), ReduceOp::sum, {.variant = variant}) == sums.size());
    std::vector<std::uint8_t> got(sums.size());
    REQUIRE(clEnqueueReadBuffer(context.queue()(), out(), CL_TRUE, 0, got.size(), got.data(), 0, nullptr,
                                nullptr) == CL_SUCCESS);
    CHECK(got == sums);
    // Every element is a run, and its place in the output that in the input.
    test::poison(context, unique_keys, "uchar", size);
    test::poison(context, out, "uchar", size);
    CHECK(smem::unique_by_key(context, Bytes(in, size), Bytes(keys, size), Bytes(unique_keys, size),
                              Bytes(out, size), {.variant = variant}) == size);
    loop.with("wrong += c[i] != a[i] || d[i] != b[i];");
    CHECK(run_loop(context, loop, size, {in, keys, unique_keys, out}).wrong == 0);
  }
}
