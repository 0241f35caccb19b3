/// What the descriptions of norms along rows and along columns share.
#pragma once

#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"

#include <smem/norm.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smem::operations {

/// Numbers from 0.5 to 1.5.
inline double norm_weight(std::uint64_t random) { return static_cast<double>(random >> 44) * 0x1p-20 + 0.5; }

/// The arrays of a case, by their places among inputs and outputs.
struct NormArrays {
  std::size_t weight, bias, residual;
};
template <class Problem>
NormArrays norm_arrays(const Problem& p) {
  NormArrays arrays{1, 1, 1};
  arrays.bias += p.weight ? 1 : 0;
  arrays.residual = arrays.bias + (p.bias ? 1 : 0);
  return arrays;
}

/// The words of a norm, and what they say of its problem.
inline std::vector<WordRule> norm_words() {
  return {shape_rule("Rows, and elements of each"),
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
          batch_rule()};
}
template <class Problem>
Problem norm_problem_of(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  Problem p{.op = words.enumerator<NormOp>("op"),
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
  return p;
}

/// Gives a case its arrays: of `count` elements that are normalised together.
template <class Problem>
void set_norm_arrays(Case& made, const Problem& p, std::size_t count) {
  const std::size_t elements = detail::size_product(detail::size_product(p.rows, p.cols), p.batch);
  made.in = {{"in", p.in, elements, {.number = rounded_number}}};
  if (p.weight) made.in.push_back({"weight", p.weights, count, {.number = norm_weight}});
  if (p.bias) made.in.push_back({"bias", p.weights, count, {.number = norm_weight}});
  if (p.residual) made.in.push_back({"residual", p.in, elements, {.number = rounded_number}});
  made.out = {{"out", p.out, elements}};
  if (p.sum) made.out.push_back({"sum", p.out, elements});
  for (const std::vector<ArrayRule>* rules : {&made.in, &made.out})
    for (const ArrayRule& rule : *rules)
      made.bytes += static_cast<double>(rule.bytes());
}
/// The options of its call.
template <class Problem>
Norm norm_options(const Problem& p, double epsilon, const CallArrays& arrays) {
  const NormArrays at = norm_arrays(p);
  Norm what{.epsilon = epsilon};
  if (p.weight) what.weight = arrays.in[at.weight].vector();
  if (p.bias) what.bias = arrays.in[at.bias].vector();
  if (p.residual) what.residual = arrays.in[at.residual].matrix(p.rows, p.cols, p.batch);
  if (p.sum) what.sum = arrays.out[1].matrix(p.rows, p.cols, p.batch);
  return what;
}

/// What a result may differ by, of its size and of 1: roundings of sums of `count` numbers, which err at
/// random.
inline double norm_tolerance(Scalar in, std::size_t count) {
  const double unit = in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  return unit * (16 + 4 * std::sqrt(static_cast<double>(count)));
}
inline void set_norm_tolerance(Case& made, Scalar in, Scalar out, std::size_t count) {
  // Both results are rounded, so that they may be neighbours.
  made.relative = norm_tolerance(in, count) + (out == Scalar::half       ? 0x1p-10
                                               : out == Scalar::bfloat16 ? 0x1p-7
                                                                         : 0);
  // Differences from the mean may be small beside it; so may their sum with a bias.
  made.absolute = 16 * norm_tolerance(in, count) + (out == Scalar::half ? 0x1p-24 : 0);
}

}  // namespace smem::operations
