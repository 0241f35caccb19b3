#include "cli/select_case.hpp"

namespace smem::cli {

namespace {

constexpr SelectOp kOps[] = {SelectOp::copy_if,   SelectOp::copy_flagged,
                             SelectOp::partition, SelectOp::partition_flagged,
                             SelectOp::unique,    SelectOp::run_length_encode};

}  // namespace

std::vector<std::string> select_op_names() {
  std::vector<std::string> names;
  for (const SelectOp op : kOps)
    names.emplace_back(name_of(op));
  return names;
}

std::optional<SelectOp> parse_select_op(const std::string& text) {
  for (const SelectOp op : kOps) {
    if (text == name_of(op)) return op;
  }
  return std::nullopt;
}

cl::Event run_select(const Context& context, const SelectProblem& problem, const SelectArguments& a,
                     const CallOptions& options) {
  switch (problem.op) {
    case SelectOp::copy_if:
      return copy_if(context, a.in, a.out, a.count, problem.predicate, options);
    case SelectOp::copy_flagged:
      return copy_flagged(context, a.in, a.flags, a.out, a.count, options);
    case SelectOp::partition:
      return partition(context, a.in, a.out, a.count, problem.predicate, options);
    case SelectOp::partition_flagged:
      return partition_flagged(context, a.in, a.flags, a.out, a.count, options);
    case SelectOp::unique:
      return unique(context, a.in, a.out, a.count, options);
    default:
      return run_length_encode(context, a.in, a.out, a.lengths, a.count, options);
  }
}

}  // namespace smem::cli
