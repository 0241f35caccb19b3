// smem explain: the plan of an operation in words, for a device that is here or for one that is not.
#include "cli/explain.hpp"

#include "cli/arguments.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

Device read_facts(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw Error({.operation = "explain",
                 .argument = "--like",
                 .expected = "a file of device facts, as smem devices --json writes it",
                 .got = path});
  }
  return device_from_json(text);
}

measure::Buffers explain_buffers(const Context& context, std::size_t bytes) {
  if (bytes > context.device().max_allocation) {
    throw Error({.operation = "explain",
                 .argument = "--run",
                 .expected = fmt::format("inputs of at most {} bytes", context.device().max_allocation),
                 .got = fmt::format("{} bytes", bytes),
                 .device = context.device().name});
  }
  return measure::make_buffers(context, bytes);
}

void fix_tile(PlanOverrides& fixed, const std::string& tile, const std::string& layout) {
  if (!layout.empty()) fixed.layout = parse_layout(layout);
  if (tile.empty()) return;
  const auto shape = parse_shape(tile).value();
  fixed.tile_rows = shape.rows;
  fixed.tile_cols = shape.cols;
}

void add_explain_options(Command command, ExplainOptions& options,
                         const std::vector<std::string_view>& variants, bool with_batch) {
  command.add_option("--variant", options.variant, "Instead of the one that the plan would choose")
      .one_of({variants.begin(), variants.end()});
  if (with_batch) command.add_option("--batch", options.batch, "Number of matrices").positive();
  command.add_option("--work-items", options.work_items, "Fix the size of a work-group").positive();
  const Option device = add_device_option(command, options.device);
  const Option like =
      command
          .add_option("--like", options.like,
                      "A facts file (smem devices --json): the plan for a device that is not here")
          .type_name("FILE");
  const Option run_flag = command.add_flag(
      "--run", options.run, "Run it too: the measured time beside the bound by the device's measured rates");
  command.add_flag("--json", options.json, "As JSON");
  like.excludes(device).excludes(run_flag);
}

namespace {

struct ReduceOptions : ExplainOptions {
  std::string shape, op = "sum";
  bool columns = false, compensated = false;
};

struct ScanOptions : ExplainOptions {
  std::string shape, op = "sum";
  bool columns = false, exclusive = false;
};

struct HistogramOptions : ExplainOptions {
  std::size_t size = 0, bins = 256, channels = 1;
};

int explain_reduce(const ReduceOptions& options) {
  const std::optional<Shape> shape = parse_shape(options.shape);
  ReduceProblem problem;
  problem.reduction = {*parse_reduce_op(options.op),
                       options.compensated ? FloatMode::compensated : FloatMode::reproducible};
  problem.in = *parse_scalar(options.type);
  problem.out = usual_result(problem.reduction.op, problem.in);
  problem.shape = !shape ? ReduceShape::vector : options.columns ? ReduceShape::columns : ReduceShape::rows;
  problem.rows = shape ? shape->rows : 1;
  problem.cols = shape ? shape->cols : *parse_size(options.shape);
  problem.batch = options.batch;
  if (options.columns) problem.alignment = packed_alignment(problem.cols * size_of(problem.in), 16);
  const PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  const auto measure = [&](const Context& context, const Plan& plan) {
    const measure::Buffers buffers =
        explain_buffers(context, problem.rows * problem.cols * problem.batch * size_of(problem.in));
    const std::size_t results = problem.results() * (problem.reduction.op == ReduceOp::minmax ? 2 : 1);
    const cl::Buffer memory = make_buffer(context, std::max<std::size_t>(results, 1) * size_of(problem.out));
    const Vector out(memory(), problem.out, results);
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions call_options{.overrides = &plan.overrides};
      if (problem.shape == ReduceShape::vector) {
        return reduce(context, Vector(pair.in(), problem.in, problem.cols), out, problem.reduction,
                      call_options);
      }
      const Matrix in(pair.in(), size_of(problem.in), problem.rows, problem.cols, {.batch = problem.batch});
      return options.columns ? reduce_columns(context, in, problem.in, out, problem.reduction, call_options)
                             : reduce_rows(context, in, problem.in, out, problem.reduction, call_options);
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
  };
  return show(
      options,
      fmt::format("{} of {} {}{}{}", options.op, options.shape, options.type, times(problem.batch),
                  !shape            ? ""
                  : options.columns ? ", by column,"
                                    : ", by row,"),
      problem, fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_reduce(device, problem, overrides);
      },
      measure);
}

int explain_scan(const ScanOptions& options) {
  const std::optional<Shape> shape = parse_shape(options.shape);
  ScanProblem problem;
  problem.operation = *parse_reduce_op(options.op);
  problem.in = problem.out = *parse_scalar(options.type);
  problem.exclusive = options.exclusive;
  problem.shape = !shape ? ScanShape::vector : options.columns ? ScanShape::columns : ScanShape::rows;
  problem.rows = shape ? shape->rows : 1;
  problem.cols = shape ? shape->cols : *parse_size(options.shape);
  problem.batch = options.batch;
  const std::size_t alignment = shape ? packed_alignment(problem.cols * size_of(problem.in), 16) : 16;
  problem.in_alignment = problem.out_alignment = alignment;
  const PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  const auto measure = [&](const Context& context, const Plan& plan) {
    const measure::Buffers buffers =
        explain_buffers(context, problem.rows * problem.cols * problem.batch * size_of(problem.in));
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions call_options{.overrides = &plan.overrides};
      const std::size_t bytes = size_of(problem.in);
      const Extent packed{.batch = problem.batch};
      const Matrix in(pair.in(), bytes, problem.rows, problem.cols, packed);
      const Matrix out(pair.out(), bytes, problem.rows, problem.cols, packed);
      if (problem.shape == ScanShape::vector) {
        const Vector from(pair.in(), problem.in, problem.cols), to(pair.out(), problem.in, problem.cols);
        return problem.exclusive ? exclusive_scan(context, from, to, problem.operation, {}, call_options)
                                 : inclusive_scan(context, from, to, problem.operation, call_options);
      }
      if (options.columns) {
        return problem.exclusive ? exclusive_scan_columns(context, in, problem.in, out, problem.out,
                                                          problem.operation, {}, call_options)
                                 : inclusive_scan_columns(context, in, problem.in, out, problem.out,
                                                          problem.operation, call_options);
      }
      return problem.exclusive ? exclusive_scan_rows(context, in, problem.in, out, problem.out,
                                                     problem.operation, {}, call_options)
                               : inclusive_scan_rows(context, in, problem.in, out, problem.out,
                                                     problem.operation, call_options);
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
  };
  return show(
      options,
      fmt::format("{} {} of {} {}{}{}", options.exclusive ? "exclusive" : "inclusive", options.op,
                  options.shape, options.type, times(problem.batch),
                  !shape            ? ""
                  : options.columns ? ", by column,"
                                    : ", by row,"),
      problem, fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_scan(device, problem, overrides);
      },
      measure);
}

int explain_histogram(const HistogramOptions& options) {
  const Scalar type = *parse_scalar(options.type);
  const double high = is_float(type) ? 1
                      : size_of(type) < 4
                          ? std::exp2(8.0 * static_cast<double>(size_of(type)) - (is_signed(type) ? 1 : 0))
                          : 0x1p20;
  const double low = is_signed(type) && !is_float(type) ? -high : 0;
  HistogramProblem problem;
  problem.in = type;
  problem.rule = even_bins(type, options.bins, low, high).rule;
  problem.bins = options.bins;
  problem.channels = options.channels;
  problem.cols = options.size;
  problem.batch = options.batch;
  const PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  const auto measure = [&](const Context& context, const Plan& plan) {
    const measure::Buffers buffers = explain_buffers(context, options.size * options.batch * size_of(type));
    const Array<std::uint32_t> counts(context, std::max<std::size_t>(problem.results(), 1));
    const auto call = [&](const measure::BufferPair& pair) {
      const Matrix in(pair.in(), size_of(type), 1, options.size, {.batch = options.batch});
      return histogram(context, in, type, counts.vector(), Bins::even(options.bins, low, high),
                       options.channels, {.overrides = &plan.overrides});
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), call).call.median;
  };
  return show(
      options,
      fmt::format("histogram of {} {}{} {} even bins", options.size, options.type, times(options.batch),
                  options.bins),
      problem, fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_histogram(device, problem, overrides);
      },
      measure);
}

void add_type(Command command, ExplainOptions& options) {
  command.add_option("type", options.type, "Element type, as float32 or uchar")
      .required()
      .check(scalar_validator());
}

/// A vector or a matrix, and the type of its elements.
void add_shape_and_type(Command command, std::string& shape, ExplainOptions& options) {
  command.add_option("shape", shape, "Elements of a vector, or ROWSxCOLS of a matrix")
      .required()
      .check({[](const std::string& text) { return parse_shape(text) || parse_size(text); }, "SHAPE",
              "neither a number nor ROWSxCOLS"});
  add_type(command, options);
}

void add_scan(Command explain, int& exit_code) {
  const Command command = explain.add_command("scan", "The plan of a scan");
  auto options = std::make_shared<ScanOptions>();
  add_shape_and_type(command, options->shape, *options);
  command.add_option("--op", options->op, "Operation").check(reduce_op_validator()).show_default();
  command.add_flag("--exclusive", options->exclusive, "Without the element itself");
  command.add_flag("--columns", options->columns, "Down the columns of a matrix, not along its rows");
  add_explain_options(command, *options, scan_variants());
  command.on_run([options, &exit_code] { exit_code = explain_scan(*options); });
}

void add_histogram(Command explain, int& exit_code) {
  const Command command = explain.add_command(
      "histogram",
      "The plan of a histogram: even bins over [0, 1), [-2^20, 2^20), or all values of a small type");
  auto options = std::make_shared<HistogramOptions>();
  command.add_option("size", options->size, "Elements").required().positive();
  add_type(command, *options);
  command.add_option("--bins", options->bins, "Of each channel")
      .between(std::size_t{1}, kMaxBins)
      .show_default();
  command.add_option("--channels", options->channels, "Interleaved")
      .between(std::size_t{1}, kMaxChannels)
      .show_default();
  add_explain_options(command, *options, histogram_variants());
  command.on_run([options, &exit_code] { exit_code = explain_histogram(*options); });
}

void add_reduce(Command explain, int& exit_code) {
  const Command command = explain.add_command("reduce", "The plan of a reduction");
  auto options = std::make_shared<ReduceOptions>();
  add_shape_and_type(command, options->shape, *options);
  command.add_option("--op", options->op, "Operation").check(reduce_op_validator()).show_default();
  command.add_flag("--columns", options->columns, "A result for each column of a matrix, not for each row");
  command.add_flag("--compensated", options->compensated, "Carry rounding errors along");
  add_explain_options(command, *options, reduce_variants());
  command.on_run([options, &exit_code] { exit_code = explain_reduce(*options); });
}

}  // namespace

void add_explain(Command root, int& exit_code) {
  const Command command = root.add_command(
      "explain", "Print the plan of an operation: kernel, sizes, layout, what bounds it, and why");
  command.require_commands(1, 1);
  add_explain_operations(command, exit_code);
  add_reduce(command, exit_code);
  add_scan(command, exit_code);
  add_histogram(command, exit_code);
  add_explain_select(command, exit_code);
  add_explain_gemm(command, exit_code);
  add_explain_filters(command, exit_code);
}

}  // namespace smem::cli
