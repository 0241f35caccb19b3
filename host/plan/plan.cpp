// Plans as text.
#include "formatted.hpp"

#include <smem/explain.hpp>
#include <smem/plan.hpp>

namespace smem {

std::string Plan::build_options() const {
  std::string options = "-cl-std=" + language;
  for (const auto& [name, value] : defines)
    options += formatted(" -D{}={}", name, value);
  for (const auto& [name, value] : text_defines)
    options += formatted(" -D{}={}", name, value);
  return options;
}

std::string Plan::to_string() const { return explain(*this); }

}  // namespace smem
