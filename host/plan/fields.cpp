// Members of problems as text.
#include <smem/fields.hpp>

#include "formatted.hpp"

#include <utility>

namespace smem {

std::string detail::text_of(double value) { return formatted("{}", value); }

FieldValue detail::field_value(std::string_view name, FieldRole role, std::string text, bool is_number) {
  return {name, role, std::move(text), 0, {}, is_number};
}

FieldValue detail::field_value(std::string_view name, FieldRole role, long long number) {
  return {name, role, std::to_string(number), static_cast<std::size_t>(number), {}, true};
}

FieldValue detail::field_value(std::string_view name, FieldRole role, unsigned long long number) {
  return {name, role, std::to_string(number), static_cast<std::size_t>(number), {}, true};
}

void detail::append(std::vector<FieldValue>& values, FieldValue value) { values.push_back(std::move(value)); }

std::string text_of(const std::vector<FieldValue>& values) {
  std::string extents, others;
  for (const FieldValue& value : values) {
    if (value.role == FieldRole::extent) {
      extents += (extents.empty() ? "" : " x ") + value.text;
    } else if (value.text != "false" && !value.text.empty()) {
      others += formatted(", {}", value.text == "true" ? std::string(value.name)
                                                       : formatted("{} {}", value.name, value.text));
    }
  }
  return extents + others;
}

}  // namespace smem
