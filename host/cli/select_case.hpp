/// What the commands share about selections: their names, and one call for all.
#pragma once

#include <smem/smem.hpp>

#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

std::vector<std::string> select_op_names();
/// The selection of that name.
std::optional<SelectOp> parse_select_op(const std::string& text);

/// What a selection reads and writes; of flags and lengths only where it has them.
struct SelectArguments {
  Vector in, flags, out, lengths, count;
};

/// Of `problem` the operation and the predicate.
cl::Event run_select(const Context& context, const SelectProblem& problem, const SelectArguments& a,
                     const CallOptions& options);

}  // namespace smem::cli
