// smem explain gemm.
#include "cli/arguments.hpp"
#include "cli/explain.hpp"
#include "cli/gemm_case.hpp"

#include <memory>
#include <string>

namespace smem::cli {

namespace {

struct GemmOptions : ExplainOptions {
  std::string shape, out, layout, tile;
  bool transpose_a = false, transpose_b = false, tf32 = false;
};

int explain_gemm(const GemmOptions& options) {
  GemmCase c;
  c.shape = *parse_product(options.shape);
  c.in = *parse_gemm_type(options.type);
  c.out = options.out.empty() ? usual_gemm_result(c.in) : *parse_gemm_type(options.out);
  c.batch = options.batch;
  c.transpose_a = options.transpose_a;
  c.transpose_b = options.transpose_b;
  c.tf32 = options.tf32;
  PlanOverrides fixed{.variant = options.variant, .work_items = options.work_items};
  fix_tile(fixed, options.tile, options.layout);
  const auto measure = [&](const Context& context, const Plan& plan) {
    measure::Buffers buffers = explain_buffers(context, bytes_of(c));
    buffers.pairs.resize(1);
    const auto call = [&](const measure::BufferPair& pair) {
      return run_gemm(context, c, pair, {.overrides = &plan.overrides});
    };
    return measure::Meter(context)
        .measure(buffers, plan.prediction.bytes(), call, gemm_effort(context, buffers, call))
        .call.median;
  };
  return show(
      options, fmt::format("{}{}", label_of(c), c.batch == 1 ? "" : ","), problem_of(c), fixed,
      [&](const Device& device, const PlanOverrides& overrides) {
        return plan_gemm(device, problem_of(c), overrides);
      },
      measure);
}

}  // namespace

void add_explain_gemm(Command explain, int& exit_code) {
  const Command command = explain.add_command("gemm", "The plan of a product of packed matrices");
  auto options = std::make_shared<GemmOptions>();
  command.add_option("shape", options->shape, "Of the product: MxNxK").required().check(product_validator());
  command.add_option("type", options->type, "Of A and B: float, double, half, bfloat16 or int8")
      .required()
      .check(gemm_type_validator());
  command.add_option("--out", options->out, "Type of C; else that of the sums").check(gemm_type_validator());
  command.add_flag("--transpose-a", options->transpose_a, "A is K x M");
  command.add_flag("--transpose-b", options->transpose_b, "B is N x K");
  command.add_flag("--tf32", options->tf32, "Let matrix units cut float to TF32");
  command.add_option("--tile", options->tile, "Fix the tile of C: ROWSxCOLS").check(shape_validator());
  command.add_option("--layout", options->layout,
                     "Fix the tiles' layout: plain, padded[:ITEMS] or swizzled[:MASK]");
  add_explain_options(command, *options, gemm_variants());
  command.on_run([options, &exit_code] { exit_code = explain_gemm(*options); });
}

}  // namespace smem::cli
