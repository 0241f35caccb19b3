// Plans as text.
#include <smem/explain.hpp>
#include <smem/plan.hpp>

#include <fmt/format.h>

namespace smem {

std::string Plan::build_options() const {
  std::string options = "-cl-std=" + language;
  for (const auto& [name, value] : defines)
    options += fmt::format(" -D{}={}", name, value);
  for (const auto& [name, value] : text_defines)
    options += fmt::format(" -D{}={}", name, value);
  return options;
}

std::string Plan::to_string() const { return explain(*this); }

}  // namespace smem
