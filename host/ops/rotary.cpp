// Rotary position embedding: views -> problem -> launch.
#include <smem/rotary.hpp>

#include "formatted.hpp"
#include "ops/in_place.hpp"
#include "ops/rotation.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/rotary_checks.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace smem {

namespace {

constexpr const char* kName = "rotary";

void check_numbers(const RotaryProblem& p, const Rotary& what) {
  ops::check_rotation(kName, what);
  if (what.positions.buffer == nullptr) return;
  plan::require_one_of(kName, "positions", ops::number_type(kName, "positions", what.positions.type),
                       {Scalar::int32});
  const std::size_t all = plan::size_product(p.rows, p.batch);
  if (what.positions.size != p.rows && what.positions.size != all) {
    ops::refuse(kName, "positions", formatted("{} elements, one for each row, or {}", p.rows, all),
                what.positions.size);
  }
}

RotaryProblem problem_of(const Context& context, const ConstMatrix& in, const Rotary& what) {
  const std::size_t head = what.head_size == 0 ? in.cols : what.head_size;
  if (head != 0 && in.cols % head != 0)
    ops::refuse(kName, "head_size", formatted("one that divides rows of {} elements", in.cols), head);
  RotaryProblem problem{.type = ops::number_type(kName, "in", in.type),
                        .pairs = what.pairs,
                        .rows = in.rows,
                        .heads = head == 0 ? 1 : in.cols / head,
                        .head_size = head,
                        .rotated = what.rotated == 0 ? head : what.rotated,
                        .batch = in.batch};
  if (in.cols == 0) problem.heads = problem.head_size = problem.rotated = 0;
  problem.own_positions = what.positions.buffer != nullptr && what.positions.size != in.rows;
  plan::check_rotary(context.device(), problem);
  check_numbers(problem, what);
  return problem;
}

}  // namespace

cl::Event rotary(const Context& context, const ConstMatrix& in, const Matrix& out, const Rotary& what,
                 const CallOptions& options) {
  RotaryProblem problem = problem_of(context, in, what);
  ops::check_type(kName, "out", out.type, in.type);
  ops::check_shape(kName, in, out, in.rows, in.cols);
  if (ops::is_empty(in)) return ops::run_empty(context, kName, plan_rotary, problem, options);
  const ops::Memory in_memory = ops::check_view(context, kName, "in", in, false);
  const ops::Memory out_memory = ops::check_view(context, kName, "out", out, true);
  const bool in_place = ops::is_in_place(in, in_memory, out, out_memory);
  if (!in_place) ops::check_apart(kName, in, in_memory, out, out_memory);
  const bool has_positions = what.positions.buffer != nullptr;
  if (has_positions) {
    const ConstMatrix positions = ops::as_matrix(what.positions);
    const ops::Memory memory = ops::check_view(context, kName, "positions", positions, false);
    ops::check_apart(kName, positions, memory, out, out_memory, "positions");
  }
  problem.row_alignment =
      std::min({std::size_t{16}, ops::row_alignment(in, in_memory), ops::row_alignment(out, out_memory)});
  const std::vector<cl_ulong> numbers = ops::rotation_turns(what, problem.rotated);
  const cl::Buffer turns = context.runtime().constants().get(std::as_bytes(std::span(numbers)));
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const std::size_t tokens = problem.own_positions ? in.rows * in.batch : in.rows;
  const std::size_t jobs = problem.own_positions ? problem.heads : problem.heads * in.batch;
  const cl_uint flags = (has_positions ? 1U : 0U) | (in_place ? 0U : 2U);
  return ops::run(context, kName, plan_rotary, problem, options, [&](const ops::Launching& launching) {
    const auto bind = [&](const auto&... more) {
      launching(in.buffer, number(in.offset), number(in.pitch), number(in.batch_stride), out.buffer,
                number(out.offset), number(out.pitch), number(out.batch_stride), number(in.rows),
                static_cast<cl_int>(in.cols), number(in.batch), number(problem.heads), number(tokens),
                number(jobs), turns(), has_positions ? what.positions.buffer : turns(),
                number(what.positions.offset), static_cast<cl_long>(what.first_position), flags, more...);
    };
    if (launching.plan().variant == "shared") {
      bind(number(launching.plan().number("heads")));
    } else {
      bind();
    }
  });
}

}  // namespace smem
