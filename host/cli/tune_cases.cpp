// The operations that smem tune measures.
#include "cli/tune_case.hpp"
#include "cli/tune_lists.hpp"

#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct TuneTarget {
  const char* operation;
  std::vector<TuneCase> (*cases)(tuned::Scale scale);
};

constexpr TuneTarget kTargets[] = {
    {"transpose", tuned::transposes},
    {"flip", tuned::flips},
    {"reduce", tuned::reductions},
    {"matvec", tuned::matrices_by_vectors},
    {"vecmat", tuned::vectors_by_matrices},
    {"scan", tuned::scans},
    {"histogram", tuned::histograms},
    {"histogram_weighted", tuned::weighted_histograms},
    {"select", tuned::selections},
    {"gemm", tuned::products},
    {"stencil", tuned::stencils},
    {"convolve2d", tuned::convolutions},
    {"conv2d", tuned::layers},
    {"separable", tuned::filters},
    {"box_blur", tuned::boxes},
    {"median_blur", tuned::medians},
    {"sobel", tuned::gradients},
    {"pool", tuned::poolings},
    {"global_pool", tuned::whole_poolings},
    {"moving_mean", tuned::moving_means},
    {"heat", tuned::diffusions},
};

}  // namespace

std::vector<std::string> tune_operations() {
  std::vector<std::string> names;
  for (const TuneTarget& target : kTargets)
    names.emplace_back(target.operation);
  return names;
}

std::vector<TuneCase> tune_cases(const std::string& operation, const Device& device, bool small) {
  using tuned::Scale;
  const Scale scale = small ? Scale::small : device.type == DeviceType::cpu ? Scale::cpu : Scale::gpu;
  for (const TuneTarget& target : kTargets) {
    if (operation != target.operation) continue;
    std::vector<TuneCase> cases = target.cases(scale);
    for (TuneCase& one : cases)
      one.operation = operation;
    return cases;
  }
  return {};
}

}  // namespace smem::cli
