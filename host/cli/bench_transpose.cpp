// smem bench transpose: GB/s, and the share of the device's own copy bandwidth.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"
#include "cli/pattern.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string type = "float";
  std::size_t rows = 0, cols = 0, batch = 1;
};

/// The same data everywhere: it may cost the same power.
void copy_to_all(const Context& context, const measure::Buffers& buffers) {
  const cl::Buffer& from = buffers.pairs.front().in;
  for (std::size_t i = 1; i < buffers.pairs.size(); ++i) {
    measure::check(clEnqueueCopyBuffer(context.queue()(), from(), buffers.pairs[i].in(), 0, 0, buffers.bytes,
                                       0, nullptr, nullptr),
                   "clEnqueueCopyBuffer");
  }
}

void run_case(BenchTable& table, const TransposeCase& c, const std::vector<std::string>& variants) {
  const TransposeProblem problem = packed_problem(c.element_bytes, {c.rows, c.cols}, c.batch);
  const std::string label =
      fmt::format("{}{} x {}, {} B", problem.batch == 1 ? "" : fmt::format("{} of ", problem.batch),
                  problem.rows, problem.cols, problem.element_bytes);
  const auto buffers =
      table.buffers(label, problem.element_bytes * problem.rows * problem.cols * problem.batch, 2);
  if (!buffers) return;
  const Context& context = table.context();
  const measure::BufferPair& first = buffers->pairs.front();
  write_pattern(context, problem, first.in);
  copy_to_all(context, *buffers);
  const Extent packed{.batch = problem.batch};
  for (const std::string& variant : variants) {
    poison(context, first.out, buffers->bytes);
    const auto make_plan = [&](const std::string& name) {
      return plan_transpose(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      return transpose(context, Matrix(pair.in(), problem.element_bytes, problem.rows, problem.cols, packed),
                       Matrix(pair.out(), problem.element_bytes, problem.cols, problem.rows, packed),
                       {.variant = variant});
    };
    table.row({label, variant, c.goal}, *buffers, make_plan, call,
              [&] { return check_transposed(context, problem, first.out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  std::vector<TransposeCase> cases{{*parse_element(options.type), options.rows, options.cols, options.batch}};
  if (options.is_list()) cases = transpose_goals(table.device().type, options.goals_small);
  for (const TransposeCase& c : cases)
    run_case(table, c, options.variants_of(transpose_variants()));
  return table.end();
}

}  // namespace

void ladder_transpose(const LadderOptions& options) {
  climb(options, transpose_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t edge = options.size(table.device(), 333, 4096, 16384);
    run_case(table, {4, edge, edge}, variants);
  });
}

void add_bench_transpose(Command bench, int& exit_code) {
  const Command command = bench.add_command("transpose", "Speed of transpose, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option rows = command.add_option("--rows", options->rows, "Of the input").positive();
  const Option cols = command.add_option("--cols", options->cols, "Of the input").positive();
  rows.needs(cols);
  cols.needs(rows);
  const Option batch =
      command.add_option("--batch", options->batch, "Number of matrices").positive().needs(rows);
  const Option type = command.add_option("--type", options->type, "Element type, or its bytes")
                          .show_default()
                          .check(element_validator())
                          .needs(rows);
  add_bench_options(command, *options, transpose_variants(), {rows, cols, batch, type}, {rows}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
