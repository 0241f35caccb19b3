// softmax, described: softmax, log_softmax and logsumexp.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"
#include "operations/softmaxes.hpp"

#include "formatted.hpp"

#include <smem/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace smem::operations {

namespace {

void compute_row(SoftmaxOp op, std::size_t row, std::size_t cols, const HostArray& in, HostArray& out) {
  const std::size_t first = row * cols;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t i = 0; i < cols; ++i)
    largest = std::max(largest, in.number(first + i));
  for (std::size_t i = 0; i < cols; ++i)
    sum += std::exp(in.number(first + i) - largest);
  if (op == SoftmaxOp::logsumexp) return out.set(row, largest + std::log(sum));
  for (std::size_t i = 0; i < cols; ++i) {
    const double moved = in.number(first + i) - largest;
    out.set(first + i, op == SoftmaxOp::softmax ? std::exp(moved) / sum : moved - std::log(sum));
  }
}

Case read_softmax(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  SoftmaxProblem p{words.enumerator<SoftmaxOp>("op"),
                   words.scalar("type"),
                   results_of(words),
                   shape[0],
                   shape[1],
                   words.number("batch")};
  const std::size_t rows = detail::size_product(p.rows, p.batch);
  const std::size_t elements = detail::size_product(rows, p.cols);
  p.row_alignment = packed_alignment(rows, detail::size_product(p.cols, size_of(p.in)), 16);
  p.packed = true;
  Case made = case_of(formatted("{} of {}{} x {} {}{}", name_of(p.op), batch_text(p.batch), p.rows, p.cols,
                                name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out))),
                      p, plan_softmax);
  const bool one_a_row = p.op == SoftmaxOp::logsumexp;
  made.in = {{"in", p.in, elements, {.number = rounded_number}}};
  made.out = {{"out", p.out, one_a_row ? rows : elements}};
  made.bytes = static_cast<double>(made.in[0].bytes() + made.out[0].bytes());
  if (p.cols > 4096) made.slow = {"naive"};
  made.relative = softmax_tolerance(p.in, p.out, p.cols);
  // Halves below 2^-14 are 2^-24 apart, and so may be those of both sides. Logarithms have absolute errors
  // too, which are differences of numbers up to 32.
  made.absolute = p.op == SoftmaxOp::softmax ? (p.out == Scalar::half ? 0x1p-24 : 0)
                                             : 32 * softmax_tolerance(p.in, Scalar::float64, p.cols);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Matrix in = arrays.in[0].matrix(p.rows, p.cols, p.batch);
    if (one_a_row) return logsumexp(context, in, arrays.out[0].vector(), options);
    const Matrix out = arrays.out[0].matrix(p.rows, p.cols, p.batch);
    return p.op == SoftmaxOp::softmax ? softmax(context, in, out, MaskedRows::nan, options)
                                      : log_softmax(context, in, out, MaskedRows::nan, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(rows,
                         [&](std::size_t r) { compute_row(p.op, r, p.cols, arrays.in[0], arrays.out[0]); });
  };
  return made;
}

}  // namespace

Operation softmax_operation() {
  return {
      .name = "softmax",
      .summary = "Softmax, log_softmax or logsumexp of each row",
      .steps = {{"naive", "one work-item a row, which reads it three times"},
                {"online", "one group a row: the first pass finds maximum and sum, the second writes"},
                {"split", "several groups share a row and merge their statistics"},
                {"tiled", "a row in local memory, read once"},
                {"short_rows", "several short rows in local memory, loaded and written as one run"},
                {"registers", "a row in the registers of a team, trees in local memory"},
                {"shuffle", "teams combine by shuffles"},
                {"ahead", "a row is copied to local memory asynchronously, and counted as it arrives"},
                {"persistent", "groups go from row to row, and load the next one as results leave"},
                {"cooperative", "groups share a row, and each copies its part of the next row meanwhile"},
                {"cpu", "one thread a row, in its cache"}},
      .words = {shape_rule("Rows, and elements of each"), scalar_rule(),
                choice_rule("op", "The call", names_to(SoftmaxOp::logsumexp)), results_rule(), batch_rule()},
      .read = read_softmax,
      .samples = {.edges = {"1x1", "37x131 --batch 3", "5x4099 --op log_softmax", "300x7 half",
                            "3x40001 half --out float32", "33x1000 bfloat16 --op log_softmax",
                            "19x257 double --op logsumexp", "2x70001 --op logsumexp"},
                  .small = {"1024x1024", "65536x64", "1024x1024 half", "1x1048576"},
                  .usual = {"4096x4096", "131072x128", "512x50257", "8192x1000", "4096x4096 half",
                            "4096x4096 bfloat16", "4096x4096 double", "4096x4096 --op log_softmax",
                            "4096x4096 --op logsumexp"},
                  .large = {goal("16384x16384", 0.95), goal("1000000x128", 0.95), goal("4096x50257", 0.95),
                            goal("8192x1000", 0.95), goal("16384x16384 half", 0.95),
                            goal("1000000x128 half", 0.95), goal("4096x50257 half", 0.95),
                            goal("8192x1000 half", 0.95), "16384x16384 bfloat16", "8192x16384 double",
                            "16384x16384 --op log_softmax", "16384x16384 --op logsumexp", "16x1048576"}},
      .programs = {{"4096x4096"},
                   {"4096x4096 --op log_softmax", {"naive", "online", "split", "tiled", "registers"}},
                   {"4096x4096 --op logsumexp", {"naive", "online", "split", "tiled", "registers"}},
                   {"4096x4096 half"},
                   {"4096x4096 bfloat16"},
                   {"4096x4096 half --out float32", {"registers"}},
                   {"4096x2048 double"},
                   {"16384x16384", {""}},
                   {"16x1048576", {""}},
                   {"1000000x128", {""}},
                   {"4096x50257", {""}},
                   {"8192x1000 half", {""}},
                   {"640000x100 half", {"short_rows"}},
                   {"640000x100 bfloat16 --op log_softmax", {"short_rows"}},
                   {"640000x100", {"short_rows"}},
                   {"640000x100 double --op logsumexp", {"short_rows"}}},
  };
}

}  // namespace smem::operations
