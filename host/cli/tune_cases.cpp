// The operations that smem tune measures.
#include "cli/tune_case.hpp"
#include "operations/list.hpp"

#include <string>
#include <vector>

namespace smem::cli {

namespace {

TuneCase case_of(const operations::Operation& operation, const operations::Case& described) {
  TuneCase made;
  made.operation = operation.name;
  made.label = described.text;
  made.problems = described.tuning;
  made.described = described;
  made.variants = operation.variants();
  for (const std::string_view slow : described.slow)
    std::erase(made.variants, slow);
  made.plan = described.plan;
  made.call = [described](const Context& context, const measure::BufferPair& pair,
                          const CallOptions& options) {
    return described.call(context, arrays_of(described, pair.in(), pair.out()), options);
  };
  return made;
}

}  // namespace

std::vector<std::string> tune_operations() {
  std::vector<std::string> names;
  for (const operations::Operation& operation : operations::all())
    names.emplace_back(operation.name);
  return names;
}

std::vector<TuneCase> tune_cases(const std::string& operation, const Device& device, bool small) {
  if (const operations::Operation* described = operations::find(operation)) {
    std::vector<TuneCase> cases;
    for (const operations::Sample& sample : described->at(operations::scale_for(device, small))) {
      const operations::Case one = described->parse(sample.words);
      if (can_compute(device, one)) cases.push_back(case_of(*described, one));
    }
    return cases;
  }
  return {};
}

}  // namespace smem::cli
