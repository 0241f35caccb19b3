#include "ops/filters.hpp"

#include "plan/pixels.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <cstdint>
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

FewWeights packed_weights(const FilterCall& filter, double value, std::span<const double> row,
                          std::span<const double> column) {
  const plan::PackedWindow window =
      plan::packed_window(filter.row_taps, filter.row_origin, filter.in.channels);
  std::vector<std::uint32_t> words{filter.boundary == Boundary::constant ? static_cast<std::uint32_t>(value)
                                                                         : 0};
  const auto whole = [](double weight) { return static_cast<std::uint32_t>(weight * 256); };
  for (std::size_t place = 0; place < 4; ++place) {
    const std::size_t first = words.size(), before = window.shift + place;
    words.resize(first + window.words);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t byte = before + i * filter.in.channels;
      words[first + byte / 4] |= whole(row[i]) << 8 * (byte % 4);
    }
  }
  for (std::size_t i = 0; i <= column.size(); ++i) {
    words.push_back((i > 0 ? whole(column[i - 1]) : 0) | (i < column.size() ? whole(column[i]) << 8 : 0));
  }
  FewWeights packed;
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const std::uint32_t>(words));
  std::copy_n(bytes.begin(), std::min(bytes.size(), packed.bytes.size()), packed.bytes.begin());
  return packed;
}

}  // namespace smem::ops
