// Sorts in temporary memory of the caller's: it is used, no other is allocated, and what does not fit is
// refused.
#include "runtime/runtime.hpp"

#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::Plan;
using smem::Scalar;
using smem::SortPayload;
using smem::SortProblem;
using smem::Vector;
using test::failure_of;

namespace {

constexpr std::size_t kAlign = Plan::kScratchAlignment;

std::vector<std::uint32_t> keys_of(std::size_t size) {
  std::vector<std::uint32_t> keys(size);
  test::Random random(size);
  for (std::uint32_t& key : keys)
    key = static_cast<std::uint32_t>(random.next());
  return keys;
}

SortProblem problem_of(std::size_t size, SortPayload payload = SortPayload::none) {
  SortProblem problem;
  problem.size = size;
  problem.payload = payload;
  problem.value_bytes = payload == SortPayload::none ? 0 : 4;
  return problem;
}

/// Some bytes of a buffer from `begin` on, with poison around them.
struct OwnMemory {
  OwnMemory(const smem::Context& context, std::size_t bytes, std::size_t begin)
      : array(context, std::vector<std::uint8_t>(begin + bytes + 64, 0xa5)), begin_(begin), bytes_(bytes) {}

  Vector view() const { return array.vector(begin_, bytes_); }
  bool is_clean_around() const {
    const std::vector<std::uint8_t> now = array.to_host();
    const auto is_poison = [](std::uint8_t byte) { return byte == 0xa5; };
    return std::all_of(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(begin_), is_poison) &&
           std::all_of(now.end() - 64, now.end(), is_poison);
  }
  bool is_used() const {
    const std::vector<std::uint8_t> now = array.to_host();
    return std::any_of(now.begin(), now.end(), [](std::uint8_t byte) { return byte != 0xa5; });
  }

  smem::Array<std::uint8_t> array;

 private:
  std::size_t begin_, bytes_;
};

/// Of the context, where the plan has counters: they are zero between calls.
std::size_t counter_bytes(const Plan& plan) {
  return plan.counters ? smem::runtime::ScratchPool::kZeroedBytes : 0;
}

}  // namespace

TEST_CASE("sort in the caller's memory: every variant uses it, and the context has counters only") {
  constexpr std::size_t kSize = 100003;
  for (const std::string_view variant : smem::sort_variants()) {
    const smem::Context context;
    const SortProblem problem = problem_of(variant == "bitonic" || variant == "one_row" ? 500 : kSize);
    Plan plan;
    try {
      plan = smem::plan_sort(context.device(), problem, {.variant = std::string(variant)});
    } catch (const smem::Error&) {
      continue;
    }
    CAPTURE(variant);
    const std::vector<std::uint32_t> keys = keys_of(problem.size);
    std::vector<std::uint32_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    const smem::Array<std::uint32_t> in(context, keys), out(context, smem::Count{problem.size});
    const std::size_t bytes = plan.scratch_buffer_bytes();
    CHECK(bytes >= plan.scratch_bytes);
    CHECK(bytes < plan.scratch_bytes + 3 * kAlign);
    const OwnMemory own(context, bytes, 2 * kAlign);
    for (int turn = 0; turn < 2; ++turn) {  // what is in it does not matter
      smem::sort(context, in.vector(), out.vector(), {}, {.variant = variant, .scratch = own.view()}).wait();
      CHECK(out.to_host() == expected);
    }
    CHECK(own.is_clean_around());
    CHECK(own.is_used() == (plan.scratch_bytes > 0));
    CHECK(context.runtime().scratch().bytes() == counter_bytes(plan));
  }
}

TEST_CASE("sort in the caller's memory: pairs and places, in a part of the buffer of the keys") {
  const smem::Context context;
  constexpr std::size_t kSize = 50021;
  const Plan of_pairs = smem::plan_sort(context.device(), problem_of(kSize, SortPayload::values)),
             of_places = smem::plan_sort(context.device(), problem_of(kSize, SortPayload::places));
  const std::size_t bytes = std::max(of_pairs.scratch_buffer_bytes(), of_places.scratch_buffer_bytes());
  // Keys, values, and the memory behind them.
  const std::size_t room = (kSize + 1023) / 1024 * 1024;
  std::vector<std::uint32_t> all = keys_of(2 * room + bytes / 4 + 1);
  const smem::Array<std::uint32_t> buffer(context, all);
  const Vector keys = buffer.vector(0, kSize), values = buffer.vector(room, kSize);
  const Vector scratch = buffer.vector(2 * room, bytes / 4 + 1);
  const smem::Array<std::uint32_t> places(context, smem::Count{kSize});
  smem::argsort(context, keys, places.vector(), {}, {.scratch = scratch}).wait();
  smem::sort_pairs(context, keys, values, keys, values, {}, {.scratch = scratch}).wait();
  const std::vector<std::uint32_t> order = places.to_host(), now = buffer.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    wrong += now[i] != all[order[i]] || now[room + i] != all[room + order[i]];
    wrong += i > 0 && now[i] < now[i - 1];
  }
  CHECK(wrong == 0);
  CHECK(context.runtime().scratch().bytes() == std::max(counter_bytes(of_pairs), counter_bytes(of_places)));
}

TEST_CASE("sort in the caller's memory: what an earlier call still uses is not touched before") {
  const smem::Context context;
  constexpr std::size_t kSize = 60000;
  const std::vector<std::uint32_t> keys = keys_of(kSize);
  const smem::Array<std::uint32_t> in(context, keys), once(context, smem::Count{kSize}),
      twice(context, smem::Count{kSize});
  const OwnMemory own(context, smem::plan_sort(context.device(), problem_of(kSize)).scratch_buffer_bytes(),
                      0);
  cl::Event last;
  for (int turn = 0; turn < 6; ++turn) {
    const bool odd = turn % 2 != 0;
    smem::CallOptions options{.scratch = own.view()};
    if (turn > 0) options.wait_for = {last};
    last = smem::sort(context, in.vector(), (odd ? once : twice).vector(), {.descending = odd}, options);
  }
  last.wait();
  std::vector<std::uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  CHECK(twice.to_host() == expected);
  std::reverse(expected.begin(), expected.end());
  CHECK(once.to_host() == expected);
}

TEST_CASE("bad input of sort: temporary memory that does not do, and operations that take none") {
  const smem::Context context;
  constexpr std::size_t kSize = 50000;
  const std::vector<std::uint32_t> poison(kSize, 77);
  const smem::Array<std::uint32_t> in(context, keys_of(kSize)), out(context, poison);
  const std::size_t bytes = smem::plan_sort(context.device(), problem_of(kSize)).scratch_buffer_bytes();
  REQUIRE(bytes > 0);
  const OwnMemory own(context, bytes + kAlign, 0);
  const auto error_of = [&](const Vector& scratch) {
    return failure_of([&] { smem::sort(context, in.vector(), out.vector(), {}, {.scratch = scratch}); });
  };
  auto error = error_of(own.array.vector(0, bytes - 1));
  CHECK(error.operation == "sort");
  CHECK(error.argument == "scratch");
  CHECK(error.expected == "at least " + std::to_string(bytes) + " bytes, as the plan says");
  CHECK(error.got == std::to_string(bytes - 1) + " bytes");
  CHECK(error_of(own.array.vector(0, 0)).argument == "scratch");
  CHECK(error_of(own.array.vector(64, bytes)).expected ==
        "a view from a multiple of 4096 bytes of its buffer on");
  CHECK(error_of(out.vector()).expected == "a view that does not overlap out");
  CHECK(error_of(in.vector()).expected == "a view that does not overlap keys");
  CHECK(error_of(Vector(own.array.buffer()(), Scalar::uint8, 2 * bytes + kAlign)).argument == "scratch");
  CHECK(error_of(Vector(nullptr, Scalar::uint8, bytes)).argument == "scratch");
  const cl::Buffer read_only(context.cl_context(), CL_MEM_READ_ONLY, bytes);
  CHECK(error_of(Vector(read_only(), Scalar::uint8, bytes)).expected == "a buffer that kernels may write");
  error = failure_of([&] {
    smem::inclusive_scan(context, in.vector(), out.vector(), smem::ReduceOp::max, {.scratch = own.view()});
  });
  CHECK(error.operation == "inclusive_scan");
  CHECK(error.argument == "scratch");
  context.queue().finish();
  CHECK(out.to_host() == poison);
  CHECK_FALSE(own.is_used());
}
