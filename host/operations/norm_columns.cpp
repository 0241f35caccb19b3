// norm_columns, described: layer_norm and rms_norm along columns.
#include "operations/matrices.hpp"
#include "operations/norms.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"

#include "formatted.hpp"

#include <smem/norm.hpp>

#include <cmath>

namespace smem::operations {

namespace {

/// `number`: of the column in the batch.
void compute_column(const NormColumnsProblem& p, double epsilon, std::size_t number,
                    const HostArrays& arrays) {
  const NormArrays at = norm_arrays(p);
  const std::size_t first = number / p.cols * (p.rows * p.cols) + number % p.cols;
  const double count = static_cast<double>(p.rows);
  const auto x = [&](std::size_t r) {
    const std::size_t i = first + r * p.cols;
    return arrays.in[0].number(i) + (p.residual ? arrays.in[at.residual].number(i) : 0);
  };
  double mean = 0, squares = 0;
  for (std::size_t r = 0; r < p.rows; ++r)
    mean += p.op == NormOp::layer ? x(r) / count : 0;
  for (std::size_t r = 0; r < p.rows; ++r)
    squares += (x(r) - mean) * (x(r) - mean);
  const double factor = 1 / std::sqrt(squares / count + epsilon);
  for (std::size_t r = 0; r < p.rows; ++r) {
    const std::size_t i = first + r * p.cols;
    if (p.sum) arrays.out[1].set(i, x(r));
    arrays.out[0].set(i, (x(r) - mean) * factor * (p.weight ? arrays.in[at.weight].number(r) : 1) +
                             (p.bias ? arrays.in[at.bias].number(r) : 0));
  }
}

Case read_norm_columns(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  NormColumnsProblem p{.op = words.enumerator<NormOp>("op"),
                       .in = words.scalar("type"),
                       .out = results_of(words),
                       .weight = words.flag("weight"),
                       .bias = words.flag("bias"),
                       .residual = words.flag("residual") || words.flag("sum"),
                       .sum = words.flag("sum"),
                       .rows = shape[0],
                       .cols = shape[1],
                       .batch = words.number("batch")};
  p.weights = words.text("weights") == "same" ? p.in
              : p.in == Scalar::float64       ? Scalar::float64
                                              : Scalar::float32;
  const double epsilon = words.real("epsilon");
  const std::size_t columns = detail::size_product(p.cols, p.batch);
  const std::size_t elements = detail::size_product(columns, p.rows);
  Case made =
      case_of(formatted("{} of columns of {}{} x {} {}{}", name_of(p.op), batch_text(p.batch), p.rows, p.cols,
                        name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out))),
              p, plan_norm_columns);
  made.in = {{"in", p.in, elements, {.number = rounded_number}}};
  if (p.weight) made.in.push_back({"weight", p.weights, p.rows, {.number = norm_weight}});
  if (p.bias) made.in.push_back({"bias", p.weights, p.rows, {.number = norm_weight}});
  if (p.residual) made.in.push_back({"residual", p.in, elements, {.number = rounded_number}});
  made.out = {{"out", p.out, elements}};
  if (p.sum) made.out.push_back({"sum", p.out, elements});
  for (const std::vector<ArrayRule>* rules : {&made.in, &made.out})
    for (const ArrayRule& rule : *rules)
      made.bytes += static_cast<double>(rule.bytes());
  if (p.cols < 4096) made.slow = {"naive"};
  // Both results are rounded, so that they may be neighbours.
  made.relative = norm_tolerance(p.in, p.rows) + (p.out == Scalar::half       ? 0x1p-10
                                                  : p.out == Scalar::bfloat16 ? 0x1p-7
                                                                              : 0);
  // Differences from the mean may be small beside it; so may their sum with a bias.
  made.absolute = 16 * norm_tolerance(p.in, p.rows) + (p.out == Scalar::half ? 0x1p-24 : 0);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const NormArrays at = norm_arrays(p);
    Norm what{.epsilon = epsilon};
    if (p.weight) what.weight = arrays.in[at.weight].vector();
    if (p.bias) what.bias = arrays.in[at.bias].vector();
    if (p.residual) what.residual = arrays.in[at.residual].matrix(p.rows, p.cols, p.batch);
    if (p.sum) what.sum = arrays.out[1].matrix(p.rows, p.cols, p.batch);
    const Matrix in = arrays.in[0].matrix(p.rows, p.cols, p.batch),
                 out = arrays.out[0].matrix(p.rows, p.cols, p.batch);
    return p.op == NormOp::layer ? layer_norm_columns(context, in, out, what, options)
                                 : rms_norm_columns(context, in, out, what, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(columns, [&](std::size_t c) { compute_column(p, epsilon, c, arrays); });
  };
  return made;
}

}  // namespace

Operation norm_columns_operation() {
  return {
      .name = "norm_columns",
      .summary = "Normalises each column: layer_norm or rms_norm, with weights and a residual",
      .steps = {{"naive", "a work-item a column, two or three times from top to bottom"},
                {"online",
                 "a group a block of columns: mean and variance in one pass, results in a second one"},
                {"split", "several groups share columns, and merge their moments"},
                {"tiled", "a block of columns in local memory, read once"},
                {"cpu", "one thread a block of columns, in its cache"}},
      .words = {shape_rule("Rows, and elements of each"),
                scalar_rule(),
                choice_rule("op", "The call", names_to(NormOp::rms)),
                flag_rule("weight", "Multiply elements by weights"),
                flag_rule("bias", "Add a bias to elements"),
                choice_rule("weights", "Type of weight and bias: that of the input, or the arithmetic type",
                            {"same", "float32"}),
                flag_rule("residual", "Add a residual to the input first"),
                flag_rule("sum", "Write the sum of input and residual"),
                {.name = "epsilon",
                 .kind = WordKind::real,
                 .help = "Number that is added to the mean of squares",
                 .usual = "1e-5"},
                results_rule(),
                batch_rule()},
      .read = read_norm_columns,
      .samples = {.edges = {"1x1 --op rms_norm", "37x131 --batch 3 --weight --bias",
                            "4099x5 --op rms_norm --weight", "7x300 half --weight --bias --sum",
                            "40001x3 half --out float32 --weight --weights float32",
                            "1000x33 bfloat16 --op rms_norm --weight --sum", "257x19 double --weight --bias",
                            "70001x2 --residual"},
                  .small = {"1024x1024 --weight --bias", "64x65536 --op rms_norm --weight",
                            "1024x1024 half --op rms_norm --weight --sum", "1048576x1"},
                  .usual = {"4096x4096 --weight --bias", "128x131072 --weight --bias",
                            "1000x8192 --weight --bias", "4096x4096 half --weight --bias",
                            "4096x4096 bfloat16 --op rms_norm --weight --sum",
                            "4096x4096 double --weight --bias", "4096x4096 --op rms_norm --weight"},
                  .large = {goal("16384x16384 --weight --bias", 0.9),
                            goal("128x1000000 --weight --bias", 0.9), "1000x8192 --weight --bias",
                            "16384x16384 half --weight --bias", "128x1000000 half --weight --bias",
                            "8192x8192 double --weight --bias", "1048576x16"}},
      .programs = {{"1000x4096 --weight --bias"},
                   {"1000x4096 --op rms_norm --weight --sum", {"online", "split", "tiled"}},
                   {"1000x4096 half --weight --bias"},
                   {"1000x4096 half --weight --bias --weights float32 --out float32", {"tiled"}},
                   {"500x2048 double --weight --bias --sum"},
                   {"16384x16384 --weight --bias", {""}},
                   {"1048576x16", {""}}},
  };
}

}  // namespace smem::operations
