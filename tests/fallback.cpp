// Decoupled fallback: work-groups that wait for no other one. With SMEM_CLAMP=poll_limit=0 no owner of a tile
// is ever polled, so that each aggregate is computed by the groups that need it; with 1, where its owner was
// not quick enough.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/scans.hpp"
#include "support/selects.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using smem::ReduceOp;
using smem::Scalar;
using smem::ScanShape;
using smem::SelectOp;

namespace {

/// The single-pass variants that the device has.
std::vector<std::string> single_pass(const smem::Device& device) {
  smem::ScanProblem problem;
  problem.cols = std::size_t{1} << 22;
  std::vector<std::string> variants;
  for (const char* variant : {"look_back", "cpu"}) {
    try {
      smem::plan_scan(device, problem, {.variant = std::string(variant)});
      variants.emplace_back(variant);
    } catch (const smem::Error&) {
    }
  }
  return variants;
}

/// Elements for a number of tiles, of which the last is partial.
std::size_t size_of_tiles(const smem::Device& device, const test::ScanCase& c, std::size_t tiles) {
  smem::ScanProblem problem = problem_of(c);
  problem.rows = 1;
  problem.cols = std::size_t{1} << 24;
  return tiles * smem::plan_scan(device, problem, {.variant = std::string(c.variant)}).tile_cols - 7;
}

/// Vectors of many tiles, one of them in place.
void vectors(test::ScanSweep& sweep, test::ScanCase c) {
  for (const bool in_place : {false, true}) {
    c.in_place = in_place && smem::size_of(c.in) == smem::size_of(problem_of(c).out);
    c.cols = size_of_tiles(sweep.context().device(), c, c.variant == "cpu" ? 6 : 70);
    c.from.extent.offset = c.to.extent.offset = in_place ? 0 : 1;
    sweep.run(c);
  }
}

void scans(const char* limit, bool all) {
  const test::Variable clamp("SMEM_CLAMP", limit);
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const std::string& variant : single_pass(context.device())) {
    CAPTURE(variant);
    test::ScanCase c;
    c.variant = variant;
    // Not commutative.
    c.operation = test::affine();
    c.in = Scalar::uint32;
    c.exclusive = true;
    c.initial = 0x70003;
    vectors(sweep, c);
    CHECK(sweep.ran() == 2);
    if (!all) continue;
    c.initial.reset();
    for (const auto& [op, type] : {std::pair{ReduceOp::max, Scalar::int8},
                                   {ReduceOp::sum, Scalar::half},
                                   {ReduceOp::sum, Scalar::int64},
                                   {ReduceOp::min, Scalar::float64}}) {
      c.operation = op;
      c.in = type;
      c.out = op == ReduceOp::sum && type == Scalar::half ? std::optional(Scalar::half) : std::nullopt;
      c.exclusive = !c.exclusive;
      if (test::fits(context.device(), op, type)) vectors(sweep, c);
    }
    CHECK(sweep.ran() >= 6);
  }
}

}  // namespace

TEST_CASE("fallback: scans where nobody polls") { scans("poll_limit=0", true); }
TEST_CASE("fallback: scans that poll once") { scans("poll_limit=1", false); }
TEST_CASE("fallback: scans in small work-groups, which read a tile in several steps") {
  scans("poll_limit=0,work_group=8", false);
}

TEST_CASE("fallback: rows, segments and keys where nobody polls") {
  const test::Variable clamp("SMEM_CLAMP", "poll_limit=0");
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const std::string& variant : single_pass(context.device())) {
    CAPTURE(variant);
    test::ScanCase c;
    c.variant = variant;
    c.operation = ReduceOp::sum;
    c.in = Scalar::int64;
    c.mark = Scalar::uint32;
    const std::size_t size = size_of_tiles(context.device(), c, variant == "cpu" ? 5 : 40);
    c.shape = ScanShape::rows;
    c.rows = 3;
    c.cols = size;
    for (const bool in_place : {false, true}) {
      c.in_place = in_place;
      c.from = test::aligned(c.rows, c.cols, 1);
      c.to = c.from;
      sweep.run(c);
    }
    c.rows = 1;
    c.from = c.to = {};
    for (const ScanShape shape : {ScanShape::segments, ScanShape::keys}) {
      c.shape = shape;
      c.exclusive = shape == ScanShape::keys;
      c.in = shape == ScanShape::keys ? Scalar::int32 : Scalar::int64;
      c.out = c.in;
      c.cols = size;
      for (const std::size_t long_one_in : {3, 30000}) {
        c.in_place = long_one_in == 3;
        c.marks = test::marks_for(shape, size, long_one_in);
        sweep.run(c);
      }
    }
    CHECK(sweep.ran() == 6);
  }
}

TEST_CASE("fallback: selections where nobody polls, and where they poll once") {
  for (const char* limit : {"poll_limit=0", "poll_limit=1"}) {
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    test::SelectSweep sweep(context);
    for (const std::string& variant : single_pass(context.device())) {
      CAPTURE(variant);
      for (const SelectOp op :
           {SelectOp::copy_if, SelectOp::copy_flagged, SelectOp::unique, SelectOp::run_length_encode,
            SelectOp::partition, SelectOp::partition_reversed}) {
        if (limit != std::string("poll_limit=0") && op != SelectOp::run_length_encode) continue;
        test::SelectCase c;
        c.op = op;
        c.variant = variant;
        c.in = op == SelectOp::unique         ? Scalar::uint8
               : op == SelectOp::copy_flagged ? Scalar::float64
                                              : Scalar::int32;
        smem::SelectProblem problem = problem_of(c);
        problem.size = std::size_t{1} << 24;
        const std::size_t tile =
            smem::plan_select(context.device(), problem, {.variant = std::string(variant)}).tile_cols;
        c.size = (variant == "cpu" ? 6 : 70) * tile - 7;
        for (const std::size_t per_mille : {1, 500}) {
          c.per_mille = per_mille;
          c.in_offset = 1;
          sweep.run(c);
          c.in_offset = 4;  // whole packs
          sweep.run(c);
        }
        CHECK(sweep.ran() == 4);
      }
    }
  }
}

TEST_CASE("fallback: the same bits whichever groups fell back, also on busy cores") {
  const std::size_t size = 500001;
  std::vector<float> values(size);
  test::Random random(4);
  for (float& value : values)
    value = static_cast<float>(static_cast<std::int64_t>(random.next())) * 0x1p-63F;
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  std::vector<std::vector<float>> first(2);  // of each variant
  for (const char* limits : {"", "poll_limit=0", "poll_limit=1", "poll_limit=50"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    const smem::Array<float> in(context, values), out(context, smem::Count{size});
    const std::vector<std::string> variants = single_pass(context.device());
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const smem::CallOptions options{.variant = variants[v]};
      std::size_t different = 0;
      for (int run = 0; run < (*limits != 0 && limits != std::string("poll_limit=0") ? 20 : 3); ++run) {
        const bool in_place = run % 2 == 1;
        if (in_place) smem::write_buffer(context, out.buffer(), values.data(), size * sizeof(float));
        smem::inclusive_scan(context, in_place ? out.vector() : in.vector(), out.vector(), ReduceOp::sum,
                             options);
        const std::vector<float> got = out.to_host();
        if (first[v].empty()) first[v] = got;
        different += std::memcmp(got.data(), first[v].data(), size * sizeof(float)) != 0 ? 1 : 0;
      }
      CHECK(different == 0);
    }
    // From the second turn on, other threads take most of the cores' time.
    while (busy.size() < 2 * std::max(1U, std::thread::hardware_concurrency()) && busy.size() < 16) {
      busy.emplace_back([&] {
        while (!stop)
          std::atomic_signal_fence(std::memory_order_seq_cst);
      });
    }
  }
  stop = true;
  for (std::thread& thread : busy)
    thread.join();
}

TEST_CASE("fallback: look-back runs where nothing is known of forward progress, if it is named") {
  const test::Variable clamp("SMEM_CLAMP", "forward_progress=0,ordered_start=0");
  const smem::Context context;
  const std::vector<std::string> variants = single_pass(context.device());
  if (std::find(variants.begin(), variants.end(), "look_back") == variants.end()) return;
  test::ScanSweep sweep(context);
  test::ScanCase c;
  c.operation = test::affine();
  c.in = Scalar::uint32;
  c.variant = "look_back";
  vectors(sweep, c);
  CHECK(sweep.ran() == 2);
}
