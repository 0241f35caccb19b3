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
  const NormColumnsProblem p = norm_problem_of<NormColumnsProblem>(words);
  const double epsilon = words.real("epsilon");
  const std::size_t columns = detail::size_product(p.cols, p.batch);
  Case made =
      case_of(formatted("{} of columns of {}{} x {} {}{}", name_of(p.op), batch_text(p.batch), p.rows, p.cols,
                        name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out))),
              p, plan_norm_columns);
  set_norm_arrays(made, p, p.rows);
  if (p.cols < 4096) made.slow = {"naive"};
  set_norm_tolerance(made, p.in, p.out, p.rows);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Norm what = norm_options(p, epsilon, arrays);
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
      .words = norm_words(),
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
