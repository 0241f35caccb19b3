// The list of operations: a line for each.
#include "operations/list.hpp"

#include <map>
#include <sstream>
#include <string>

namespace smem::operations {

Operation transpose_operation();
Operation flip_operation();
Operation reduce_operation();
Operation matvec_operation();
Operation vecmat_operation();
Operation scan_operation();
Operation select_operation();
Operation sort_operation();
Operation histogram_operation();
Operation histogram_weighted_operation();
Operation heat_operation();
Operation stencil_operation();
Operation convolve2d_operation();
Operation separable_operation();
Operation box_blur_operation();
Operation median_blur_operation();
Operation sobel_operation();
Operation moving_mean_operation();
Operation pool_operation();
Operation global_pool_operation();
Operation gemm_operation();
Operation conv2d_operation();

const std::vector<Operation>& all() {
  // A line for each.
  // clang-format off
  static const std::vector<Operation> operations{
      transpose_operation(),
      flip_operation(),
      reduce_operation(),
      matvec_operation(),
      vecmat_operation(),
      scan_operation(),
      select_operation(),
      sort_operation(),
      histogram_operation(),
      histogram_weighted_operation(),
      heat_operation(),
      stencil_operation(),
      convolve2d_operation(),
      separable_operation(),
      box_blur_operation(),
      median_blur_operation(),
      sobel_operation(),
      moving_mean_operation(),
      pool_operation(),
      global_pool_operation(),
      gemm_operation(),
      conv2d_operation(),
  };
  // clang-format on
  return operations;
}

const Operation* find(std::string_view name) {
  for (const Operation& operation : all())
    if (operation.name == name) return &operation;
  return nullptr;
}

CallArrays arrays_of(const Case& of, cl_mem inputs, cl_mem others) {
  std::vector<ArrayRule> rules = of.in_out;
  rules.insert(rules.end(), of.out.begin(), of.out.end());
  CallArrays arrays{place(of.in, inputs), {}, place(rules, others)};
  const auto results = arrays.out.begin() + static_cast<std::ptrdiff_t>(of.in_out.size());
  arrays.in_out.assign(arrays.out.begin(), results);
  arrays.out.erase(arrays.out.begin(), results);
  return arrays;
}

bool can_compute(const Device& device, const Case& of) {
  for (const std::vector<ArrayRule>* rules : {&of.in, &of.in_out, &of.out})
    for (const ArrayRule& rule : *rules)
      if (rule.type == Scalar::float64 && !device.fp64) return false;
  return true;
}

Change change_of(std::string_view text) {
  std::map<std::string, std::string> values;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    values[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return [values](const Member& member, std::size_t value) {
    const auto found = values.find(std::string(member.name));
    if (found == values.end()) return value;
    if (member.kind == Member::Kind::scalar)
      return static_cast<std::size_t>(parse_scalar(found->second).value());
    return static_cast<std::size_t>(std::stoull(found->second));
  };
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
