// norm, described: layer_norm and rms_norm.
#include "operations/matrices.hpp"
#include "operations/norms.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"

#include "formatted.hpp"

#include <smem/norm.hpp>

#include <cmath>

namespace smem::operations {

namespace {

void compute_row(const NormProblem& p, double epsilon, std::size_t row, const HostArrays& arrays) {
  const NormArrays at = norm_arrays(p);
  const std::size_t first = row * p.cols;
  const double count = static_cast<double>(p.cols);
  const auto x = [&](std::size_t i) {
    return arrays.in[0].number(first + i) + (p.residual ? arrays.in[at.residual].number(first + i) : 0);
  };
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < p.cols; ++i)
    mean += p.op == NormOp::layer ? x(i) / count : 0;
  for (std::size_t i = 0; i < p.cols; ++i)
    squares += (x(i) - mean) * (x(i) - mean);
  const double factor = 1 / std::sqrt(squares / count + epsilon);
  for (std::size_t i = 0; i < p.cols; ++i) {
    if (p.sum) arrays.out[1].set(first + i, x(i));
    arrays.out[0].set(first + i, (x(i) - mean) * factor * (p.weight ? arrays.in[at.weight].number(i) : 1) +
                                     (p.bias ? arrays.in[at.bias].number(i) : 0));
  }
}

Case read_norm(const Words& words) {
  NormProblem p = norm_problem_of<NormProblem>(words);
  const double epsilon = words.real("epsilon");
  const std::size_t rows = detail::size_product(p.rows, p.batch);
  p.row_alignment = packed_alignment(rows, detail::size_product(p.cols, size_of(p.in)), 16);
  p.packed = true;
  Case made = case_of(formatted("{} of {}{} x {} {}{}", name_of(p.op), batch_text(p.batch), p.rows, p.cols,
                                name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out))),
                      p, plan_norm);
  set_norm_arrays(made, p, p.cols);
  if (p.cols > 4096) made.slow = {"naive"};
  set_norm_tolerance(made, p.in, p.out, p.cols);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Norm what = norm_options(p, epsilon, arrays);
    const Matrix in = arrays.in[0].matrix(p.rows, p.cols, p.batch),
                 out = arrays.out[0].matrix(p.rows, p.cols, p.batch);
    return p.op == NormOp::layer ? layer_norm(context, in, out, what, options)
                                 : rms_norm(context, in, out, what, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(rows, [&](std::size_t r) { compute_row(p, epsilon, r, arrays); });
  };
  return made;
}

}  // namespace

Operation norm_operation() {
  return {
      .name = "norm",
      .summary = "Normalises each row: layer_norm or rms_norm, with weights and a residual",
      .steps = {{"naive", "one work-item a row, which reads it two or three times"},
                {"online", "one group a row: the first pass finds mean and variance, the second writes"},
                {"split", "several groups share a row and merge their moments"},
                {"tiled", "a row in local memory, read once"},
                {"short_rows", "several short rows in local memory, loaded and written as one run"},
                {"registers", "a row in the registers of a team, trees in local memory"},
                {"shuffle", "teams combine by shuffles"},
                {"ahead", "a row is copied to local memory asynchronously, and counted as it arrives"},
                {"persistent",
                 "groups stay, with weights in local memory, and load a row as they store the one before"},
                {"cooperative", "groups share a row, and each copies its part of the next row meanwhile"},
                {"cpu", "one thread a row, in its cache"}},
      .words = norm_words(),
      .read = read_norm,
      .samples = {.edges = {"1x1 --op rms_norm", "37x131 --batch 3 --weight --bias",
                            "5x4099 --op rms_norm --weight", "300x7 half --weight --bias --sum",
                            "3x40001 half --out float32 --weight --weights float32",
                            "33x1000 bfloat16 --op rms_norm --weight --sum", "19x257 double --weight --bias",
                            "2x70001 --residual"},
                  .small = {"1024x1024 --weight --bias", "65536x64 --op rms_norm --weight",
                            "1024x1024 half --op rms_norm --weight --sum", "1x1048576"},
                  .usual = {"4096x4096 --weight --bias", "131072x128 --weight --bias",
                            "512x50257 --weight --bias", "8192x1000 --weight --bias",
                            "4096x4096 half --weight --bias",
                            "4096x4096 bfloat16 --op rms_norm --weight --sum",
                            "4096x4096 double --weight --bias", "4096x4096 --op rms_norm --weight"},
                  .large = {goal("16384x16384 --weight --bias", 0.9),
                            goal("1000000x128 --weight --bias", 0.9), goal("4096x50257 --weight --bias", 0.9),
                            goal("8192x1000 --weight --bias", 0.9),
                            goal("16384x16384 half --weight --bias", 0.9),
                            goal("1000000x128 half --weight --bias", 0.9),
                            goal("4096x50257 half --weight --bias", 0.9),
                            goal("8192x1000 half --weight --bias", 0.9),
                            goal("16384x16384 --op rms_norm --weight", 0.9),
                            goal("16384x16384 half --op rms_norm --weight", 0.9),
                            "16384x16384 half --op rms_norm --weight --sum",
                            "16384x8192 bfloat16 --op rms_norm --weight --sum",
                            "8192x16384 double --weight --bias", "16x1048576"}},
      .programs = {{"4096x4096 --weight --bias"},
                   {"4096x4096 --op rms_norm --weight --sum",
                    {"naive", "online", "split", "tiled", "registers"}},
                   {"4096x4096 half --weight --bias"},
                   {"4096x4096 half --op rms_norm --weight --sum"},
                   {"4096x4096 bfloat16 --weight --bias --weights float32"},
                   {"4096x4096 half --weight --bias --sum --weights float32",
                    {"registers", "tiled", "shuffle"}},
                   {"4096x4096 half --weight --bias --out float32", {"registers"}},
                   {"4096x2048 double --weight --bias --sum"},
                   {"16384x16384 --weight --bias --sum", {""}},
                   {"16384x16384 --weight --bias", {""}},
                   {"16x1048576", {""}},
                   {"1000000x128 --weight --bias", {""}},
                   {"4096x50257 --weight --bias", {""}},
                   {"8192x1000 half --weight --bias", {""}},
                   {"640000x100 half --weight --bias", {"short_rows"}},
                   {"640000x100 bfloat16 --op rms_norm --weight --weights float32", {"short_rows"}},
                   {"640000x100 --weight --bias", {"short_rows"}},
                   {"640000x100 double", {"short_rows"}}},
  };
}

}  // namespace smem::operations
