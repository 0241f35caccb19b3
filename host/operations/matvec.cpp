// matvec and vecmat, described: products of a matrix and a vector.
#include "operations/reductions.hpp"

#include "formatted.hpp"

#include <smem/matvec.hpp>
#include <smem/sizes.hpp>

namespace smem::operations {

namespace {

/// y = a x, or y = x a.
Case read_matvec(const Words& words, bool by_rows) {
  const std::size_t rows = words.sizes("shape")[0], cols = words.sizes("shape")[1];
  const std::size_t batch = words.number("batch");
  const FloatMode mode = words.flag("compensated") ? FloatMode::compensated : FloatMode::reproducible;
  ReduceProblem problem;
  problem.reduction = {ReduceOp::dot, mode};
  problem.shape = by_rows ? ReduceShape::rows : ReduceShape::columns;
  problem.in = words.scalar("type");
  problem.out = usual_result(ReduceOp::sum, problem.in);
  problem.rows = rows;
  problem.cols = cols;
  problem.batch = batch;
  problem.other_alignment = packed_alignment(rows * batch, cols * size_of(problem.in), 16);
  if (by_rows) problem.packed_alignment = problem.other_alignment;
  if (!by_rows) problem.alignment = problem.other_alignment;  // as of a call, which reads rows by packs
  Case made = case_of(formatted("{}{} x {} {}{}", batch_text(batch), rows, cols, name_of(problem.in),
                                words.flag("compensated") ? ", compensated" : ""),
                      problem, plan_reduce);
  // Products are exact as squares are.
  const Fill numbers = fill_for(ReduceOp::dot, problem.in, problem.count());
  made.in = {{"a", problem.in, detail::size_product(rows, cols, batch), numbers},
             {"x",
              problem.in,
              detail::size_product(problem.count(), batch),
              {.most = numbers.most, .negative = numbers.negative}}};
  made.out = {{"y", problem.out, problem.results()}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Matrix a = arrays.in[0].matrix(rows, cols, batch);
    const Vector x = arrays.in[1].vector(), y = arrays.out[0].vector();
    return by_rows ? matvec(context, a, x, y, mode, options) : vecmat(context, x, a, y, mode, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const std::size_t count = problem.count(), results = by_rows ? rows : cols;
    for_each_in_parallel(problem.results(), [&](std::size_t r) {
      const std::size_t b = r / results, first = b * rows * cols + r % results * (by_rows ? cols : 1);
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += arrays.in[0].number(first + i * (by_rows ? 1 : cols)) * arrays.in[1].number(b * count + i);
      }
      arrays.out[0].set(r, sum);
    });
  };
  return made;
}

Operation product(std::string_view name, std::string_view summary, bool by_rows) {
  return {
      .name = name,
      .summary = summary,
      .steps = reduction_steps(),
      .words = {shape_rule("Of the matrix"), scalar_rule(), batch_rule(),
                flag_rule("compensated", "Compensated summation: carries rounding errors along")},
      .read = [by_rows](const Words& words) { return read_matvec(words, by_rows); },
      .samples = {.edges = {"1x1", "37x131 --batch 3", "131x37", "67x300 int --compensated"},
                  .small = {"512x512", "501x1003"},
                  .usual = {"4096x4096", "4096x4096 half"},
                  .large = {goal("16384x16384", 0.85), "16384x16384 half"}},
      .programs = {{"4096x4096", reduction_variants(ReduceOp::dot, Scalar::float32)},
                   {"40000x100 half",
                    by_rows ? std::vector<std::string>{"short_rows"} : std::vector<std::string>{"several"}}},
  };
}

}  // namespace

Operation matvec_operation() {
  return product("matvec", "Products of a matrix and a vector: a result for each row", true);
}

Operation vecmat_operation() {
  return product("vecmat", "Products of a vector and a matrix: a result for each column", false);
}

}  // namespace smem::operations
