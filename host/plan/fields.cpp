// Members of problems as text.
#include <smem/fields.hpp>

#include "formatted.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem {

void detail::add_text(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                      std::string_view text, bool is_number) {
  values.push_back({name, role, std::string(text), 0, {}, is_number});
}

void detail::add_real(std::vector<FieldValue>& values, std::string_view name, FieldRole role, double number) {
  add_text(values, name, role, formatted("{}", number), true);
}

void detail::add_signed(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                        long long number) {
  values.push_back({name, role, std::to_string(number), static_cast<std::size_t>(number), {}, true});
}

void detail::add_unsigned(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                          unsigned long long number) {
  values.push_back({name, role, std::to_string(number), static_cast<std::size_t>(number), {}, true});
}

namespace {

template <class Number>
void add_array(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
               std::span<const Number> numbers) {
  FieldValue made{name, role, {}, 0, {}, false};
  for (const Number number : numbers) {
    made.text += (made.text.empty() ? "" : " x ") + std::to_string(number);
    made.numbers.push_back(static_cast<std::size_t>(number));
  }
  values.push_back(std::move(made));
}

}  // namespace

void detail::add_sizes(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                       const std::size_t* numbers, std::size_t count) {
  add_array<std::size_t>(values, name, role, {numbers, count});
}

void detail::add_sizes(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                       const std::ptrdiff_t* numbers, std::size_t count) {
  add_array<std::ptrdiff_t>(values, name, role, {numbers, count});
}

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
