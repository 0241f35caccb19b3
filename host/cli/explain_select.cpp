// smem explain select: the plan of a selection.
#include "cli/arguments.hpp"
#include "cli/explain.hpp"
#include "cli/select_case.hpp"
#include "cli/tune_case.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

namespace smem::cli {

namespace {

struct SelectOptions : ExplainOptions {
  std::size_t size = 0;
  std::string op = "copy_if";
};

/// Seconds of a call on zeros and ones in no order: about half of the elements are selected, as plans assume.
double seconds_of(const Context& context, const SelectProblem& problem, const Plan& plan) {
  const measure::Buffers buffers = explain_buffers(context, problem.size * size_of(problem.in));
  const auto halves = [&](const cl::Buffer& buffer, Scalar type) {
    const operations::ArrayRule rule{"in", type, problem.size, {.most = 1}};
    fill(context, operations::place({rule}, buffer()).front(), rule, 1);
  };
  for (const measure::BufferPair& pair : buffers.pairs)
    halves(pair.in, problem.in);
  const Array<std::uint8_t> flags(context, problem.size);
  halves(flags.buffer(), Scalar::uint8);
  const Array<std::uint32_t> lengths(context, problem.size);
  const Array<std::uint64_t> count(context, 1);
  const auto call = [&](const measure::BufferPair& pair) {
    return run_select(context, problem,
                      {Vector(pair.in(), problem.in, problem.size), flags.vector(),
                       Vector(pair.out(), problem.in, problem.size), lengths.vector(), count.vector()},
                      {.overrides = &plan.overrides});
  };
  return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
}

int explain_select(const SelectOptions& options) {
  SelectProblem problem;
  problem.op = *parse_select_op(options.op);
  problem.in = *parse_scalar(options.type);
  problem.size = options.size;
  if (problem.op == SelectOp::copy_if || problem.op == SelectOp::partition) problem.predicate = "x != 0";
  return show(
      options, fmt::format("{} of {} {}", options.op, options.size, options.type), problem,
      {.variant = options.variant, .work_items = options.work_items},
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_select(device, problem, overrides);
      },
      [&](const Context& context, const Plan& plan) { return seconds_of(context, problem, plan); });
}

}  // namespace

void add_explain_select(Command explain, int& exit_code) {
  const Command command = explain.add_command("select", "The plan of a selection");
  auto options = std::make_shared<SelectOptions>();
  command.add_option("size", options->size, "Elements").required().positive();
  command.add_option("type", options->type, "Element type, as float32 or uchar")
      .required()
      .check(scalar_validator());
  command.add_option("--op", options->op, "Operation").show_default().one_of(select_op_names());
  add_explain_options(command, *options, select_variants());
  command.on_run([options, &exit_code] { exit_code = explain_select(*options); });
}

}  // namespace smem::cli
