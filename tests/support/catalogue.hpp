/// Every kernel configuration that smem would launch on a device. A new operation adds one function and its
/// name in configurations().
#pragma once

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct Configuration {
  std::string name;  ///< operation/variant/element size, and what else tells it from the others
  smem::Plan plan;
};

inline std::string defines_of(const smem::Plan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.defines)
    text += fmt::format("{}-D{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

/// Collects plans, each program once. What cannot run on the device is left out.
class Catalogue {
 public:
  template <class MakePlan>
  void add(const std::string& name, const MakePlan& make_plan) {
    try {
      smem::Plan plan = make_plan();
      if (seen_.insert(plan.kernel_file + " " + plan.entry_point + " " + defines_of(plan)).second)
        found_.push_back({name, std::move(plan)});
    } catch (const smem::Error& error) {
      if (error.details().argument != "variant") throw;
    }
  }
  std::vector<Configuration> take() { return std::move(found_); }

 private:
  std::set<std::string> seen_;
  std::vector<Configuration> found_;
};

inline void add_transpose(const smem::Device& device, Catalogue& catalogue) {
  for (const std::string_view variant : smem::transpose_variants()) {
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      for (const bool in_place : {false, true}) {
        // Rows at cache lines; at words of 4, 8 and 16 bytes; anywhere.
        for (const std::size_t alignment : {64, 16, 8, 4, 1}) {
          smem::TransposeProblem problem;
          problem.element_bytes = element_bytes;
          problem.rows = problem.cols = 4096;
          problem.in_place = in_place;
          problem.in_alignment = problem.out_alignment = std::max(alignment, element_bytes);
          catalogue.add(
              fmt::format("transpose/{}/{}B{}{}", variant, element_bytes, in_place ? "/in-place" : "",
                          alignment == 64 ? "" : fmt::format("/aligned-{}", problem.in_alignment)),
              [&] { return smem::plan_transpose(device, problem, variant); });
        }
      }
    }
  }
}

inline void add_flip(const smem::Device& device, Catalogue& catalogue) {
  for (const std::string_view variant : smem::flip_variants()) {
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      for (const bool reverse_cols : {true, false}) {
        smem::FlipProblem problem;
        problem.element_bytes = element_bytes;
        problem.rows = problem.cols = 4096;
        problem.reverse_cols = reverse_cols;
        catalogue.add(fmt::format("flip/{}/{}B{}", variant, element_bytes, reverse_cols ? "" : "/rows-only"),
                      [&] { return smem::plan_flip(device, problem, variant); });
      }
    }
  }
}

inline void add_rates(const smem::Device& device, Catalogue& catalogue) {
  catalogue.add("rates/copy", [&] { return smem::plan_rates_copy(device, 1 << 20); });
  catalogue.add("rates/fp32", [&] { return smem::plan_rates_fp32(device, 1); });
}

inline std::vector<Configuration> configurations(const smem::Device& device) {
  Catalogue catalogue;
  for (const auto add : {add_transpose, add_flip, add_rates})
    add(device, catalogue);
  return catalogue.take();
}

}  // namespace test
