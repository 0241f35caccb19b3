// Random scans, selections, reductions and histograms: types, operations, variants, shapes, layouts.
// SMEM_RANDOM_CASES sets how many of each. Some cases in turn share the fields that decide which program is
// built, since compiling takes most of the time.
#include "support/histograms.hpp"
#include "support/random_cases.hpp"
#include "support/reduce_sweep.hpp"
#include "support/scans.hpp"
#include "support/selects.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using smem::ReduceOp;
using smem::Scalar;
using smem::ScanShape;
using test::Random;

namespace {

constexpr std::size_t kSharing = 10;  // cases of a program, or of two

/// One of the variants, or the plan's own choice.
std::string random_variant(Random& random, const std::vector<std::string_view>& variants) {
  return random.chance(3) ? std::string() : std::string(test::one_of(random, variants));
}

/// The plan's own choice where `plan` refuses the variant.
template <class Plan>
void keep_if_possible(std::string& variant, const Plan& plan) {
  try {
    plan();
  } catch (const smem::Error&) {
    variant.clear();
  }
}

std::pair<std::size_t, std::size_t> random_shape(Random& random) {
  const std::size_t a = test::random_length(random), b = random.between(0, 100000 / (a + 1));
  return random.chance(2) ? std::pair{a, b} : std::pair{b, a};
}

}  // namespace

TEST_CASE("random: scans") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  Random random(44);
  constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::sum,     ReduceOp::product, ReduceOp::min,
                               ReduceOp::max, ReduceOp::bit_and, ReduceOp::bit_or,  ReduceOp::any,
                               ReduceOp::all, ReduceOp::custom};
  constexpr Scalar kMarks[] = {Scalar::int8, Scalar::uint16, Scalar::float32, Scalar::uint64};
  const std::size_t cases = test::random_cases(40);
  test::ScanCase program;
  for (std::size_t i = 0; i < cases; ++i) {
    if (i % kSharing == 0) {
      program = {};
      ReduceOp op;
      do {
        op = test::one_of(random, kOps);
        program.in = op == ReduceOp::custom ? Scalar::uint32 : test::one_of(random, test::kScalars);
      } while (!test::fits(context.device(), op, program.in));
      program.operation = op;
      if (op == ReduceOp::custom) program.operation = test::affine();
      program.out.reset();
      // Results of the elements' own type; of halves only where they are exact.
      if (op == ReduceOp::sum && program.in != Scalar::half && random.chance(2)) program.out = program.in;
      if (op == ReduceOp::custom) program.out = Scalar::uint32;
      program.exclusive = random.chance(2);
      program.shape =
          test::one_of(random, std::vector{ScanShape::vector, ScanShape::vector, ScanShape::rows,
                                           ScanShape::columns, ScanShape::segments, ScanShape::keys});
      program.variant = random_variant(random, smem::scan_variants());
      program.mark = program.shape == ScanShape::segments ? random.chance(2) ? Scalar::uint32 : Scalar::uint64
                                                          : test::one_of(random, kMarks);
      program.rows = program.cols = 100;
      keep_if_possible(program.variant, [&] {
        smem::ScanProblem problem = problem_of(program);
        if (program.shape != ScanShape::rows && program.shape != ScanShape::columns) problem.rows = 1;
        smem::plan_scan(context.device(), problem, {.variant = std::string(program.variant)});
      });
      program.rows = 1;
    }
    test::ScanCase c = program;
    const ReduceOp op = c.operation.op;
    const bool by_bit = op == ReduceOp::any || op == ReduceOp::all;
    if (c.exclusive && !by_bit && random.chance(2)) c.initial = static_cast<int>(random.between(0, 100));
    if (smem::is_float(c.in) && (by_bit || op == ReduceOp::min || op == ReduceOp::max) && random.chance(3))
      c.nans = random.between(1, 9);
    const bool matrix = c.shape == ScanShape::rows || c.shape == ScanShape::columns;
    std::size_t batch = 1;
    if (matrix) {
      std::tie(c.rows, c.cols) = random_shape(random);
      batch = random.chance(2) ? 1 : random.between(0, 3);
      c.from = test::random_layout(random, c.rows, c.cols, batch);
      c.to = test::random_layout(random, c.rows, c.cols, batch);
    } else {
      c.cols = test::random_length(random);
      const bool packs = random.chance(2);
      c.from.extent.offset = packs ? 16 : random.between(0, 20);
      c.to.extent.offset = packs ? 32 : random.between(0, 20);
      c.from.tail = random.between(0, 5);
      c.to.tail = random.between(0, 5);
      if (c.shape != ScanShape::vector)
        c.marks = test::marks_for(c.shape, c.cols, random.between(1, random.chance(2) ? 5 : 5000));
    }
    c.in_place = random.chance(3) && smem::size_of(c.in) == smem::size_of(problem_of(c).out);
    sweep.run(c);
  }
  CHECK(sweep.ran() > cases / 2);
}

TEST_CASE("random: selections") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  Random random(43);
  constexpr Scalar kFlags[] = {Scalar::uint8, Scalar::int16, Scalar::uint32, Scalar::int64};
  const std::size_t cases = test::random_cases(40);
  test::SelectCase program;
  for (std::size_t i = 0; i < cases; ++i) {
    if (i % kSharing == 0) {
      do {
        program.op = test::one_of(random, test::kSelectOps);
        program.in = test::one_of(random, test::kScalars);
        program.flags = test::one_of(random, kFlags);
      } while (!test::can_select(context.device(), program));
      program.variant = random_variant(random, smem::select_variants());
      program.size = 1000;
      keep_if_possible(program.variant, [&] {
        smem::plan_select(context.device(), problem_of(program), {.variant = std::string(program.variant)});
      });
    }
    test::SelectCase c = program;
    c.lengths = random.chance(2) ? Scalar::uint32 : Scalar::uint64;
    c.count = random.chance(2) ? Scalar::uint32 : Scalar::uint64;
    c.size = test::random_length(random);
    c.per_mille = random.chance(3) ? random.between(0, 20) : random.between(0, 1000);
    c.in_offset = random.chance(2) ? 16 : random.between(0, 40);
    c.out_offset = random.between(0, 40);
    c.room = random.between(0, 5);
    sweep.run(c);
  }
  CHECK(sweep.ran() > cases / 2);
}

TEST_CASE("random: reductions") {
  using smem::ReduceShape;
  const smem::Context context;
  test::ReduceSweep sweep(context);
  Random random(45);
  const std::size_t cases = test::random_cases(40);
  test::ReduceCase program;
  for (std::size_t i = 0; i < cases; ++i) {
    if (i % kSharing == 0) {
      program = {};
      ReduceOp op;
      do {
        op = test::one_of(random, test::kReduceOps);
        program.in = test::one_of(random, test::kScalars);
      } while (!test::fits(context.device(), op, program.in));
      program.reduction = op;
      if ((op == ReduceOp::sum || op == ReduceOp::mean) && smem::is_float(program.in) && random.chance(3))
        program.reduction.mode = smem::FloatMode::compensated;
      program.shape = test::one_of(random, std::vector{ReduceShape::vector, ReduceShape::rows,
                                                       ReduceShape::columns, ReduceShape::segments});
      program.variant = random_variant(random, smem::reduce_variants());
      program.bound = random.chance(2) ? Scalar::uint32 : Scalar::uint64;
      program.cols = 100;
      keep_if_possible(program.variant, [&] {
        smem::plan_reduce(context.device(), problem_of(program), {.variant = std::string(program.variant)});
      });
    }
    test::ReduceCase c = program;
    const ReduceOp op = c.reduction.op;
    c.out_offset = random.between(0, 5);
    if (op != ReduceOp::sum && op != ReduceOp::mean && op != ReduceOp::product && op != ReduceOp::norm &&
        random.chance(3))
      c.nans = random.between(1, 9);
    if (c.shape == ReduceShape::rows || c.shape == ReduceShape::columns) {
      std::tie(c.rows, c.cols) = random_shape(random);
      c.layout = test::random_layout(random, c.rows, c.cols, random.chance(2) ? 1 : random.between(0, 3));
    } else {
      c.cols = test::random_length(random);
      c.layout = {{.offset = random.chance(2) ? 16 : random.between(0, 20)}, random.between(0, 5)};
    }
    if (c.shape == ReduceShape::segments) {
      c.bounds.assign(1, random.between(0, c.cols / 10));
      for (std::size_t segments = random.between(0, 2000); segments > 0; --segments) {
        const std::size_t left = c.cols - c.bounds.back();
        c.bounds.push_back(c.bounds.back() +
                           random.between(0, random.chance(40) ? left : std::min<std::size_t>(left, 9)));
      }
    } else if (test::is_place(op)) {  // there is none of nothing
      c.rows = std::max<std::size_t>(c.rows, 1);
      c.cols = std::max<std::size_t>(c.cols, 1);
      if (c.shape != ReduceShape::vector)
        c.layout = test::random_layout(random, c.rows, c.cols, c.layout.extent.batch);
    }
    sweep.run(c);
  }
  CHECK(sweep.ran() > cases / 2);
}

TEST_CASE("random: histograms") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  Random random(46);
  const std::size_t cases = test::random_cases(40);
  test::HistogramCase program;
  for (std::size_t i = 0; i < cases; ++i) {
    if (i % kSharing == 0) {
      program = {};
      do {
        program.in = test::one_of(random, test::kScalars);
      } while (program.in == Scalar::float64 && !context.device().fp64);
      program.variant = random_variant(random, smem::histogram_variants());
      program.bins = random.between(1, random.chance(4) ? 100000 : random.chance(2) ? 5000 : 300);
      program.edges = random.chance(4);
      program.out = random.chance(2) ? Scalar::uint32 : Scalar::uint64;
      program.outside = random.chance(2) ? smem::Outside::drop : smem::Outside::clamp;
      keep_if_possible(program.variant, [&] {
        smem::HistogramProblem problem;
        problem.in = program.in;
        problem.bins = program.bins;
        problem.cols = 1000;
        smem::plan_histogram(context.device(), problem, {.variant = std::string(program.variant)});
      });
    }
    test::HistogramCase c = program;
    std::tie(c.low, c.high) = test::bounds_for(c.in);
    c.spread = static_cast<test::Spread>(random.between(0, 3));
    if (random.chance(3)) {
      std::tie(c.rows, c.cols) = random_shape(random);
      c.layout = test::random_layout(random, c.rows, c.cols, random.chance(2) ? 1 : random.between(0, 3));
    } else {
      c.cols = test::random_length(random);
      c.layout = {{.offset = random.chance(2) ? 16 : random.between(0, 20)}, random.between(0, 5)};
    }
    c.out_offset = random.between(0, 5);
    sweep.run(c);
  }
  CHECK(sweep.ran() > cases / 2);
}
