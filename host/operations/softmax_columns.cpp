// softmax_columns, described: softmax, log_softmax and logsumexp along columns.
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

/// `number`: of the column in the batch.
void compute_column(const SoftmaxColumnsProblem& p, std::size_t number, const HostArray& in, HostArray& out) {
  const std::size_t first = number / p.cols * (p.rows * p.cols) + number % p.cols;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t r = 0; r < p.rows; ++r)
    largest = std::max(largest, in.number(first + r * p.cols));
  for (std::size_t r = 0; r < p.rows; ++r)
    sum += std::exp(in.number(first + r * p.cols) - largest);
  if (p.op == SoftmaxOp::logsumexp) return out.set(number, largest + std::log(sum));
  for (std::size_t r = 0; r < p.rows; ++r) {
    const double moved = in.number(first + r * p.cols) - largest;
    out.set(first + r * p.cols, p.op == SoftmaxOp::softmax ? std::exp(moved) / sum : moved - std::log(sum));
  }
}

Case read_softmax_columns(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  const SoftmaxColumnsProblem p{words.enumerator<SoftmaxOp>("op"),
                                words.scalar("type"),
                                results_of(words),
                                shape[0],
                                shape[1],
                                words.number("batch")};
  const std::size_t columns = detail::size_product(p.cols, p.batch);
  const std::size_t elements = detail::size_product(columns, p.rows);
  Case made =
      case_of(formatted("{} of columns of {}{} x {} {}{}", name_of(p.op), batch_text(p.batch), p.rows, p.cols,
                        name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out))),
              p, plan_softmax_columns);
  const bool one_a_column = p.op == SoftmaxOp::logsumexp;
  made.in = {{"in", p.in, elements, {.number = rounded_number}}};
  made.out = {{"out", p.out, one_a_column ? columns : elements}};
  made.bytes = static_cast<double>(made.in[0].bytes() + made.out[0].bytes());
  if (p.cols < 4096) made.slow = {"naive"};
  made.relative = softmax_tolerance(p.in, p.out, p.rows);
  // Halves below 2^-14 are 2^-24 apart, and so may be those of both sides. Logarithms have absolute errors
  // too, which are differences of numbers up to 32.
  made.absolute = p.op == SoftmaxOp::softmax ? (p.out == Scalar::half ? 0x1p-24 : 0)
                                             : 32 * softmax_tolerance(p.in, Scalar::float64, p.rows);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Matrix in = arrays.in[0].matrix(p.rows, p.cols, p.batch);
    if (one_a_column) return logsumexp_columns(context, in, arrays.out[0].vector(), options);
    const Matrix out = arrays.out[0].matrix(p.rows, p.cols, p.batch);
    return p.op == SoftmaxOp::softmax ? softmax_columns(context, in, out, MaskedRows::nan, options)
                                      : log_softmax_columns(context, in, out, MaskedRows::nan, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(columns, [&](std::size_t c) { compute_column(p, c, arrays.in[0], arrays.out[0]); });
  };
  return made;
}

}  // namespace

Operation softmax_columns_operation() {
  return {
      .name = "softmax_columns",
      .summary = "Softmax, its logarithm, and logsumexp along columns",
      .steps = {{"naive", "a work-item a column, three times from top to bottom"},
                {"online",
                 "a group a block of columns: largest element and sum in one pass, results in a second one"},
                {"split", "several groups share columns, and merge their statistics"},
                {"tiled", "a block of columns in local memory, read once"},
                {"cpu", "one thread a block of columns, in its cache"}},
      .words = {shape_rule("Rows, and elements of each"), scalar_rule(),
                choice_rule("op", "Result of each column", names_to(SoftmaxOp::logsumexp)), results_rule(),
                batch_rule()},
      .read = read_softmax_columns,
      .samples = {.edges = {"1x1", "37x131 --batch 3", "2049x7 --op log_softmax", "7x300 half",
                            "40001x3 half --out float32", "1000x33 bfloat16 --op log_softmax",
                            "257x19 double --op logsumexp", "70001x2 --op logsumexp"},
                  .small = {"1024x1024", "64x65536", "1024x1024 half", "1048576x1"},
                  .usual = {"4096x4096", "128x131072", "1000x8192", "4096x4096 half", "4096x4096 bfloat16",
                            "4096x4096 double", "4096x4096 --op log_softmax", "4096x4096 --op logsumexp",
                            "21x65536 --batch 8"},
                  .large = {goal("16384x16384", 0.95), "128x1000000", "1000x8192", "16384x16384 half",
                            "128x1000000 half", "8192x8192 double", "16384x16384 --op logsumexp",
                            "1048576x16", "21x262144 --batch 16"}},
      .programs = {{"1000x4096"},
                   {"1000x4096 --op log_softmax", {"online", "tiled"}},
                   {"1000x4096 --op logsumexp", {"naive", "online", "split", "tiled"}},
                   {"1000x4096 half"},
                   {"1000x4096 half --out float32", {"tiled"}},
                   {"500x2048 double"},
                   {"16384x16384", {""}},
                   {"1048576x16", {""}}},
  };
}

}  // namespace smem::operations
