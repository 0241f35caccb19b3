// The list of operations.
#include "operations/list.hpp"

#include <map>
#include <sstream>
#include <string>

namespace smem::operations {

// A line for each.
#define SMEM_OPERATIONS(DO) \
  DO(transpose)             \
  DO(flip)                  \
  DO(rotate)                \
  DO(reduce)                \
  DO(matvec)                \
  DO(vecmat)                \
  DO(scan)                  \
  DO(select)                \
  DO(reduce_by_key)         \
  DO(sort)                  \
  DO(sort_rows)             \
  DO(sort_segments)         \
  DO(gather)                \
  DO(merge)                 \
  DO(bounds)                \
  DO(sort_by)               \
  DO(top_k)                 \
  DO(softmax)               \
  DO(softmax_columns)       \
  DO(norm)                  \
  DO(norm_columns)          \
  DO(rotary)                \
  DO(histogram)             \
  DO(histogram_weighted)    \
  DO(heat)                  \
  DO(stencil)               \
  DO(convolve2d)            \
  DO(separable)             \
  DO(box_blur)              \
  DO(median_blur)           \
  DO(sobel)                 \
  DO(moving_mean)           \
  DO(pool)                  \
  DO(global_pool)           \
  DO(gemm)                  \
  DO(complex_gemm)          \
  DO(attention)             \
  DO(append_to_cache)       \
  DO(conv2d)

#define SMEM_DECLARE(name) Operation name##_operation();
SMEM_OPERATIONS(SMEM_DECLARE)

const std::vector<Operation>& all() {
#define SMEM_MAKE(name) name##_operation(),
  static const std::vector<Operation> operations{SMEM_OPERATIONS(SMEM_MAKE)};
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

double main_share(const Case& of, const Plan& plan) {
  double bytes = 0;
  for (const Launch* launch : plan.launches())
    bytes += launch->prediction.bytes();
  return of.operations == 0 && bytes > 0 ? plan.prediction.bytes() / bytes : 1;
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

const std::vector<Sample>& Operation::at(Scale scale) const {
  switch (scale) {
    case Scale::edges:
      return samples.edges;
    case Scale::small:
      return samples.small;
    case Scale::usual:
      return samples.usual;
    case Scale::weak_usual:
      return samples.weak_usual;
    case Scale::weak:
      return samples.weak;
    default:
      return samples.large;
  }
}

}  // namespace smem::operations
