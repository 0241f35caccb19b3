// The list of operations: a line for each.
#include "operations/list.hpp"

namespace smem::operations {

Operation transpose_operation();
Operation flip_operation();
Operation heat_operation();
Operation stencil_operation();
Operation convolve2d_operation();
Operation separable_operation();
Operation box_blur_operation();
Operation median_blur_operation();
Operation sobel_operation();

const std::vector<Operation>& all() {
  // A line for each.
  // clang-format off
  static const std::vector<Operation> operations{
      transpose_operation(),
      flip_operation(),
      heat_operation(),
      stencil_operation(),
      convolve2d_operation(),
      separable_operation(),
      box_blur_operation(),
      median_blur_operation(),
      sobel_operation(),
  };
  // clang-format on
  return operations;
}

const Operation* find(std::string_view name) {
  for (const Operation& operation : all())
    if (operation.name == name) return &operation;
  return nullptr;
}

bool can_compute(const Device& device, const Case& of) {
  for (const std::vector<ArrayRule>* rules : {&of.in, &of.in_out, &of.out})
    for (const ArrayRule& rule : *rules)
      if (rule.type == Scalar::float64 && !device.fp64) return false;
  return true;
}

std::vector<std::string_view> Operation::variants() const {
  std::vector<std::string_view> names;
  for (const Step& step : steps)
    names.push_back(step.variant);
  return names;
}

std::vector<Sample> Operation::at(Scale scale) const {
  std::vector<Sample> found;
  for (const Sample& sample : samples)
    if (sample.scale == scale) found.push_back(sample);
  return found;
}

}  // namespace smem::operations
