/// Every kernel configuration that smem would launch on a device: the programs that descriptions of
/// operations name.
#pragma once

#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct Configuration {
  std::string name;  ///< operation/variant/the problem's words
  smem::Launch plan;
};

/// Collects the launches of plans, each program once. What cannot run on the device is left out.
class Catalogue {
 public:
  /// `lenient`: whatever a plan refuses is left out, on devices that no kernel was made for.
  explicit Catalogue(bool lenient = false) : lenient_(lenient) {}

  template <class MakePlan>
  void add(const std::string& name, const MakePlan& make_plan) {
    try {
      const smem::Plan plan = make_plan();
      for (const smem::Launch* launch : plan.launches()) {
        if (seen_.insert(launch->kernel_file + " " + launch->entry_point + " " + launch->build_options())
                .second)
          found_.push_back({launch == &plan ? name : name + "/" + launch->variant, *launch});
      }
    } catch (const smem::Error& error) {
      if (!lenient_ && error.details().argument != "variant") throw;
    }
  }
  std::vector<Configuration> take() { return std::move(found_); }

 private:
  bool lenient_;
  std::set<std::string> seen_;
  std::vector<Configuration> found_;
};

inline void add_programs(const smem::Device& device, const smem::operations::Operation& operation,
                         Catalogue& catalogue) {
  for (const smem::operations::Programs& programs : operation.programs) {
    const smem::operations::Case one = operation.parse(programs.words);
    if (!can_compute(device, one)) continue;
    std::vector<std::string> variants = programs.variants;
    if (variants.empty())
      for (const std::string_view variant : operation.variants())
        variants.emplace_back(variant);
    std::string words = programs.words + (programs.changes.empty() ? "" : " ") + programs.changes;
    std::replace(words.begin(), words.end(), ' ', '/');
    for (const std::string& variant : variants) {
      catalogue.add(fmt::format("{}/{}/{}", operation.name, variant.empty() ? "chosen" : variant, words),
                    [&] {
                      return one.plan_changed(device, {.variant = variant},
                                              smem::operations::change_of(programs.changes));
                    });
    }
  }
}

inline std::vector<Configuration> configurations(const smem::Device& device, bool lenient = false) {
  Catalogue catalogue(lenient);
  catalogue.add("rates/copy", [&] { return smem::plan_rates(device, {smem::Rate::copy, 1 << 20}); });
  catalogue.add("rates/fp32", [&] { return smem::plan_rates(device, {smem::Rate::fp32, 1}); });
  for (const smem::operations::Operation& operation : smem::operations::all())
    add_programs(device, operation, catalogue);
  return catalogue.take();
}

/// What plans choose on a device for halves: of each program that descriptions name, whatever type it has
/// there.
inline std::vector<Configuration> chosen_for_halves(const smem::Device& device) {
  Catalogue catalogue(true);
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    for (const smem::operations::Programs& programs : operation.programs) {
      // The type is the second word, where there is one.
      const std::string& words = programs.words;
      const std::size_t sizes = std::min(words.find(' '), words.size());
      std::size_t type = std::min(words.find(' ', sizes + 1), words.size());
      if (words.compare(sizes, 2, " -") == 0) type = sizes;
      const std::string halves = words.substr(0, sizes) + " half" + words.substr(type);
      catalogue.add(fmt::format("{} {}", operation.name, halves), [&] {
        return operation.parse(halves).plan_changed(device, {}, smem::operations::change_of(programs.changes));
      });
    }
  }
  return catalogue.take();
}

}  // namespace test
