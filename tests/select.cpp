// Selections: every variant, operation and type against plain loops.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/large_buffer.hpp"
#include "support/level.hpp"
#include "support/selects.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using smem::Scalar;
using smem::SelectOp;
using test::SelectCase;

namespace {

constexpr Scalar kFlagTypes[] = {Scalar::uint8, Scalar::int16, Scalar::uint32, Scalar::int64};

}  // namespace

// Each program costs a driver's compiler a second, so that operations, types and variants take turns: every
// one of them meets many of the others, and all appear.
TEST_CASE("select: every variant, every operation, every type") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  const auto variants = smem::select_variants();
  std::vector<std::size_t> ran(variants.size());
  for (std::size_t t = 0; t < std::size(test::kScalars); ++t) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      SelectCase c;
      c.in = test::kScalars[t];
      c.op = test::kSelectOps[(t + 3 * v) % std::size(test::kSelectOps)];
      c.flags = kFlagTypes[t % 4];
      c.variant = variants[v];
      if (!test::can_select(context.device(), c)) continue;
      test::select_vectors(sweep, c);
      ran[v] += sweep.ran();
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    CAPTURE(variants[v]);
    CHECK((ran[v] > 0 || !test::runs_compaction(context.device(), variants[v])));
  }
}

TEST_CASE("select: every operation, by every variant") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    for (const SelectOp op : test::kSelectOps) {
      SelectCase c;
      c.op = op;
      c.in = Scalar::float32;
      c.variant = variant;
      test::select_vectors(sweep, c);
      CHECK(sweep.ran() == 10);
    }
  }
}

// Threads of CPUs take 8 elements at a time from blocks, and what is left one by one.
TEST_CASE("select: elements of every size, around blocks of them, few and many selected") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  for (const SelectOp op : {SelectOp::copy_flagged, SelectOp::partition, SelectOp::partition_flagged_reversed,
                            SelectOp::run_length_encode}) {
    for (const Scalar in : {Scalar::uint8, Scalar::half, Scalar::int32, Scalar::uint64}) {
      SelectCase c;
      c.op = op;
      c.in = in;
      std::size_t turn = 0;
      for (const std::size_t size : {7, 8, 15, 16, 17, 511, 512, 2047, 2048, 2055, 2063, 4099, 70001}) {
        for (const std::size_t per_mille : {0, 30, 500, 970, 1000}) {
          c.size = size;
          c.per_mille = per_mille;
          c.in_offset = turn % 3;
          c.out_offset = turn++ % 5;
          sweep.run(c);
        }
      }
      CHECK(sweep.ran() == turn);
    }
  }
}

// Of many elements tiles stay in local memory on NVIDIA: what a warp selects is listed at once, or in parts.
TEST_CASE("select: runs in tiles of whole packs, few and many in a warp") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  const std::size_t many =
      context.device().vendor == smem::Vendor::nvidia ? (std::size_t{1} << 23) + 16384 : 0;
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    if (many > 0 && variant != "look_back") continue;
    for (const Scalar in : {Scalar::float32, Scalar::int64, Scalar::half, Scalar::uint8}) {
      SelectCase c;
      c.op = SelectOp::run_length_encode;
      c.in = in;
      c.variant = variant;
      std::size_t turn = 0;
      for (const std::size_t per_mille : {0, 50, 260, 500, 1000}) {
        constexpr std::array<std::size_t, 5> kSizes = {16384, 31, 1024, 8193, 12001};
        c.size = many + kSizes[turn % kSizes.size()];
        c.per_mille = per_mille;
        c.in_offset = turn % 3 == 0 ? 16 : 0;
        c.out_offset = turn % 5;
        c.lengths = turn++ % 2 == 0 ? Scalar::uint32 : Scalar::uint64;
        sweep.run(c);
      }
      CHECK(sweep.ran() == turn);
    }
  }
}

TEST_CASE("select: where nothing is known of forward progress, nobody waits for another work-group") {
  const test::Variable clamp("SMEM_CLAMP", "forward_progress=0");
  const smem::Context context;
  CHECK_FALSE(context.device().forward_progress);
  test::SelectSweep sweep(context);
  for (const SelectOp op : {SelectOp::copy_if, SelectOp::run_length_encode}) {
    SelectCase c;
    c.op = op;
    c.in = Scalar::int16;
    test::select_vectors(sweep, c);
    CHECK(sweep.ran() == 10);
    c.size = 1 << 22;
    CHECK(smem::plan_select(context.device(), problem_of(c)).before.size() == 1);
  }
}

TEST_CASE("select: runs longer than tiles and parts, and one alone") {
  const smem::Context context;
  std::vector<std::int32_t> values(500000, 4);
  std::fill(values.begin() + 70001, values.begin() + 350000, -4);
  values.back() = 5;
  const smem::Array<std::int32_t> in(context, values), out(context, smem::Count{values.size()});
  const smem::Array<std::uint64_t> lengths(context, smem::Count{values.size()});
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    CAPTURE(variant);
    const std::size_t count =
        smem::run_length_encode(context, in.vector(), out.vector(), lengths.vector(), {.variant = variant});
    REQUIRE(count == 4);
    const std::vector<std::int32_t> runs = out.to_host();
    const std::vector<std::uint64_t> got = lengths.to_host();
    CHECK(std::vector(runs.begin(), runs.begin() + 4) == std::vector<std::int32_t>{4, -4, 4, 5});
    CHECK(std::vector(got.begin(), got.begin() + 4) ==
          std::vector<std::uint64_t>{70001, 350000 - 70001, 149999, 1});
    const std::size_t same = smem::run_length_encode(context, in.vector(0, 70000), out.vector(),
                                                     lengths.vector(), {.variant = variant});
    CHECK(same == 1);
    CHECK(lengths.to_host()[0] == 70000);
  }
}

TEST_CASE("select: counts on the host, of nothing too") {
  const smem::Context context;
  std::vector<float> values(30000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::floor(static_cast<float>(i) / 3.0F);
  std::vector<std::uint16_t> marked(values.size());
  marked[5] = marked[29999] = 256;
  const smem::Array<float> in(context, values), out(context, smem::Count{values.size()});
  const smem::Array<std::uint16_t> flags(context, marked);
  const smem::VectorView<const float> view = in.vector();
  CHECK(smem::copy_if(context, view, out.vector(), "x < 100.0f") == 300);
  CHECK(out.to_host()[299] == 99.0F);
  CHECK(smem::copy_flagged(context, in.vector(), flags.vector(), out.vector()) == 2);
  CHECK(out.to_host()[1] == 9999.0F);
  CHECK(smem::partition(context, in.vector(), out.vector(), "fmod(x, 2.0f) != 0.0f") == 15000);
  CHECK(out.to_host()[14999] == 9999.0F);
  CHECK(out.to_host()[15000] == 0.0F);
  CHECK(smem::partition_flagged(context, in.vector(), flags.vector(), out.vector()) == 2);
  CHECK(out.to_host()[2] == 0.0F);
  CHECK(smem::partition_reversed(context, in.vector(), out.vector(), "x < 3.0f") == 9);
  CHECK(out.to_host()[9] == 9999.0F);
  CHECK(out.to_host()[29999] == 3.0F);
  CHECK(smem::partition_flagged_reversed(context, in.vector(), flags.vector(), out.vector()) == 2);
  CHECK(out.to_host()[29999] == 0.0F);
  CHECK(smem::unique(context, in.vector(), out.vector()) == 10000);
  CHECK(smem::copy_if(context, in.vector(7, 0), out.vector(), "x < 100.0f") == 0);
  CHECK(smem::unique(context, smem::ConstVector(), smem::Vector(nullptr, smem::Scalar::float32, 0)) == 0);
}

TEST_CASE("select: zeros of both signs are equal, and each NaN is a run of its own") {
  const smem::Context context;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const smem::Array<float> in(context, {-0.0F, 0.0F, -0.0F, nan, nan, 1.0F, 1.0F}),
      out(context, smem::Count{7});
  const smem::Array<std::uint32_t> lengths(context, smem::Count{7});
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    CAPTURE(variant);
    CHECK(smem::run_length_encode(context, in.vector(), out.vector(), lengths.vector(),
                                  {.variant = variant}) == 4);
    const std::vector<float> got = out.to_host();
    CHECK(std::signbit(got[0]));
    CHECK(std::isnan(got[1]));
    CHECK(std::isnan(got[2]));
    CHECK(got[3] == 1.0F);
    std::vector<std::uint32_t> runs = lengths.to_host();
    runs.resize(4);
    CHECK(runs == std::vector<std::uint32_t>{3, 1, 1, 2});
  }
}

TEST_CASE("select: the same result in every run, by many threads at once") {
  const smem::Context context;
  std::vector<std::uint32_t> values(200003);
  test::Random random(9);
  for (std::uint32_t& value : values)
    value = static_cast<std::uint32_t>(random.next());
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t value : values) {
    if (value % 3 == 0) expected.push_back(value);
  }
  const smem::Array<std::uint32_t> in(context, values);
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    CAPTURE(variant);
    std::atomic<int> wrong = 0;
    const auto run = [&] {
      const smem::Array<std::uint32_t> out(context, smem::Count{values.size()});
      const std::size_t count =
          smem::copy_if(context, in.vector(), out.vector(), "x % 3 == 0", {.variant = variant});
      std::vector<std::uint32_t> got = out.to_host();
      got.resize(std::min(count, got.size()));
      wrong += got != expected;
    };
    run();  // PoCL 3.1 fails an assertion of its own now and then where threads launch a kernel for the first
            // time
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int number = 0; number < 4; ++number) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 8; ++turn)
          run();
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("select: a wait list is waited for, also by an empty selection") {
  const smem::Context context;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1000}}) {
    const smem::Array<std::int32_t> in(context, std::vector<std::int32_t>(1000, 1)),
        out(context, smem::Count{1000});
    const smem::Array<std::uint32_t> count(context, std::vector<std::uint32_t>{77});
    cl::UserEvent gate(context.cl_context());
    const std::vector<cl::Event> events{gate};
    const cl::Event done = smem::copy_if(context, in.vector(0, size), out.vector(), count.vector(), "x == 1",
                                         {.wait_for = events});
    context.queue().flush();
    CHECK(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);
    gate.setStatus(CL_COMPLETE);
    done.wait();
    CHECK(count.to_host()[0] == size);
  }
}

TEST_CASE("select: a plan that fits is launched, and work-items that are fixed are kept") {
  const smem::Context context;
  const smem::Array<std::uint32_t> in(context, std::vector<std::uint32_t>(20000, 7)),
      out(context, smem::Count{20000});
  smem::SelectProblem problem;
  problem.in = Scalar::uint32;
  problem.size = 20000;
  problem.predicate = "x == 7";
  for (const std::size_t work_items : {4, 64}) {
    const smem::PlanOverrides fixed{.variant = "count_then_place", .work_items = work_items};
    const smem::Plan plan = smem::plan_select(context.device(), problem, fixed);
    CHECK(plan.work_items() == work_items);
    CHECK(smem::copy_if(context, in.vector(), out.vector(), "x == 7", {.plan = &plan}) == 20000);
    CHECK(out.to_host() == in.to_host());
  }
}

TEST_CASE("large: a selection among more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  const auto first_room = test::large_buffer(context, size, 2 * size + (size >> 2));
  const auto second_room =
      first_room ? test::large_buffer(context, size, 2 * size + (size >> 2)) : std::nullopt;
  if (!second_room) return;
  const cl::Buffer &in = *first_room, &out = *second_room;
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  const auto element = [](std::size_t i) { return static_cast<std::uint8_t>(i % 251); };
  std::vector<std::uint8_t> piece(kPiece);
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t here = std::min(kPiece, size - first);
    for (std::size_t i = 0; i < here; ++i)
      piece[i] = element(first + i);
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), in(), CL_TRUE, first, here, piece.data(), 0, nullptr,
                                 nullptr) == CL_SUCCESS);
  }
  const std::size_t count = smem::partition(context, smem::VectorView<std::uint8_t>(in, size),
                                            smem::VectorView<std::uint8_t>(out, size), "x != 5");
  std::size_t wrong = 0, next = 0, others = 0;
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t here = std::min(kPiece, size - first);
    REQUIRE(clEnqueueReadBuffer(context.queue()(), out(), CL_TRUE, first, here, piece.data(), 0, nullptr,
                                nullptr) == CL_SUCCESS);
    for (std::size_t i = 0; i < here; ++i) {
      if (first + i >= count) {
        wrong += piece[i] != 5;
        ++others;
        continue;
      }
      if (element(next) == 5) ++next;
      wrong += piece[i] != element(next++);
    }
  }
  CHECK(wrong == 0);
  const std::size_t fives = size / 251 + (size % 251 > 5 ? 1 : 0);
  CHECK(others == fives);
  CHECK(count == size - fives);
  // Every element is a run, and its place in the output that in the input.
  CHECK(smem::unique(context, smem::VectorView<std::uint8_t>(in, size),
                     smem::VectorView<std::uint8_t>(out, size)) == size);
  for (const std::string& variant : test::running_compactions(context.device(), smem::select_variants())) {
    // Work-groups are loops on a CPU: there, one of the variants for GPUs is enough, and none without an
    // optimiser.
    if (context.device().type == smem::DeviceType::cpu && variant != "cpu" &&
        (variant == "count_then_place" || !test::has_optimiser()))
      continue;
    CAPTURE(variant);
    CHECK(smem::copy_if(context, smem::VectorView<std::uint8_t>(in, size),
                        smem::VectorView<std::uint8_t>(out, size), "x == 5", {.variant = variant}) == fives);
    piece.resize(fives);
    REQUIRE(clEnqueueReadBuffer(context.queue()(), out(), CL_TRUE, 0, fives, piece.data(), 0, nullptr,
                                nullptr) == CL_SUCCESS);
    CHECK(piece == std::vector<std::uint8_t>(fives, 5));
  }
}
