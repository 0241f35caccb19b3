// Products of matrices and vectors: a dot product for each row or column.
#include "formatted.hpp"
#include "ops/reduce.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"

#include <smem/matvec.hpp>

namespace smem {

namespace {

cl::Event product(const Context& context, ReduceShape shape, const ConstMatrix& a, const ConstVector& x,
                  const Vector& y, FloatMode mode, const CallOptions& options) {
  const char* operation = shape == ReduceShape::rows ? "matvec" : "vecmat";
  ReduceProblem problem;
  problem.reduction = {ReduceOp::dot, mode};
  problem.shape = shape;
  problem.in = ops::number_type(operation, "a", a.type);
  problem.out = ops::number_type(operation, "y", y.type);
  problem.rows = a.rows;
  problem.cols = a.cols;
  problem.batch = a.batch;
  ops::check_type(operation, "x", x.type, a.type, "a");
  const std::size_t needed = plan::size_product(problem.count(), problem.batch);
  if (x.size != needed) ops::refuse(operation, "x", formatted("{} elements", needed), x.size);
  return ops::reduce(context, problem, {a, x, {}, y}, options);
}

}  // namespace

cl::Event matvec(const Context& context, const ConstMatrix& a, const ConstVector& x, const Vector& y,
                 FloatMode mode, const CallOptions& options) {
  return product(context, ReduceShape::rows, a, x, y, mode, options);
}

cl::Event vecmat(const Context& context, const ConstVector& x, const ConstMatrix& a, const Vector& y,
                 FloatMode mode, const CallOptions& options) {
  return product(context, ReduceShape::columns, a, x, y, mode, options);
}

}  // namespace smem
