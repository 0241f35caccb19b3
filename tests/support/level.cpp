#include "support/level.hpp"
#include "support/case_report.hpp"

#include "operations/list.hpp"

#include <smem/plan.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace test {

namespace {

/// The variants that plans choose on a device for the samples of an operation.
std::set<std::string, std::less<>> chosen_variants(const smem::Device& device, std::string_view name) {
  namespace operations = smem::operations;
  std::set<std::string, std::less<>> chosen;
  const operations::Operation* const operation = operations::find(name);
  if (operation == nullptr) return chosen;
  for (const operations::Scale scale :
       {operations::Scale::small, operations::scale_for(device, false), operations::weak_scale_for(device)}) {
    for (const operations::Sample& sample : operation->at(scale)) {
      const operations::Case c = operation->parse(sample.words);
      if (can_compute(device, c)) chosen.insert(c.plan(device, {}).variant);
    }
  }
  return chosen;
}

}  // namespace

std::vector<std::string_view> tested_variants(const smem::Device& device, std::string_view operation,
                                              const std::vector<std::string_view>& all) {
  if (!is_quick()) return all;
  const auto chosen = chosen_variants(device, operation);
  std::vector<std::string_view> tested, left_out;
  for (const std::string_view variant : all)
    (chosen.contains(variant) ? tested : left_out).push_back(variant);
  if (tested.empty()) tested.swap(left_out);
  report_variants(operation, tested, left_out);
  return tested;
}

}  // namespace test
