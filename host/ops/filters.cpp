#include "ops/filters.hpp"

#include "plan/pixels.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <vector>

namespace smem::ops {

SeparableProblem problem_of(const char* operation, const FilterCall& filter) {
  SeparableProblem problem;
  problem.in = number_type(operation, "in", filter.in.type);
  problem.out = number_type(operation, "out", filter.out.type);
  problem.boundary = filter.boundary;
  problem.width = filter.in.size.width;
  problem.height = filter.in.size.height;
  problem.planes = plan::size_product(filter.in.size.depth, filter.in.batch);
  problem.channels = filter.in.channels;
  problem.row_taps = filter.row_taps;
  problem.column_taps = filter.column_taps;
  return problem;
}

void check_filter(const Context& context, const char* operation, const FilterCall& f,
                  SeparableProblem& problem) {
  const Memories memories = check_grids(context, operation, f.in, f.out);
  problem.in_alignment = row_alignment(f.in, memories.in);
  problem.out_alignment = row_alignment(f.out, memories.out);
}

namespace {

template <class T>
FilterWeights typed_weights(const Context& context, const std::vector<double>& numbers) {
  const std::vector<T> typed(numbers.begin(), numbers.end());
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const T>(typed));
  FilterWeights weights;
  weights.all = context.runtime().constants().get(bytes);
  const std::size_t count = std::min(bytes.size(), weights.few.bytes.size());
  std::copy_n(bytes.begin(), count, weights.few.bytes.begin());
  return weights;
}

}  // namespace

FilterWeights filter_weights(const Context& context, const FilterCall& filter, double value,
                             std::span<const double> row, std::span<const double> column, double amount,
                             double threshold) {
  std::vector<double> numbers{filter.boundary == Boundary::constant ? value : 0, amount, threshold, 0};
  numbers.insert(numbers.end(), row.begin(), row.end());
  numbers.insert(numbers.end(), column.begin(), column.end());
  return plan::pixel_value(*filter.in.type.scalar, *filter.out.type.scalar) == Scalar::float64
             ? typed_weights<double>(context, numbers)
             : typed_weights<float>(context, numbers);
}

}  // namespace smem::ops
