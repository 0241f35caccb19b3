/// smem: the members of a problem, by name. From this one list come the key under which a plan is found
/// again, the problem's text and JSON, and its class for tuning. Includes no OpenCL header.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem {

/// What a member means to tuning: which problems one choice serves.
enum class FieldRole {
  extent,     ///< a size: may differ by a factor of two
  choice,     ///< must be equal
  alignment,  ///< of addresses, in bytes: 16 or more are equal
  untuned,    ///< problems that have it, a text or true, are not tuned
  ignored     ///< makes no difference to tuning
};

/// A member of a problem.
template <class T>
struct Field {
  std::string_view name;  ///< as the member is called
  const T& value;         ///< of the problem
  FieldRole role;         ///< for tuning
};

/// The members of a problem are listed by these: `return std::tuple(extent("rows", rows), ...)`.
namespace fields {

/// A size.
template <class T>
constexpr Field<T> extent(std::string_view name, const T& value) {
  return {name, value, FieldRole::extent};
}
/// What must be equal.
template <class T>
constexpr Field<T> choice(std::string_view name, const T& value) {
  return {name, value, FieldRole::choice};
}
/// An alignment in bytes.
template <class T>
constexpr Field<T> aligned(std::string_view name, const T& value) {
  return {name, value, FieldRole::alignment};
}
/// What keeps a problem from being tuned.
template <class T>
constexpr Field<T> untuned(std::string_view name, const T& value) {
  return {name, value, FieldRole::untuned};
}
/// What makes no difference to tuning.
template <class T>
constexpr Field<T> ignored(std::string_view name, const T& value) {
  return {name, value, FieldRole::ignored};
}

}  // namespace fields

namespace detail {

/// Stands for a value of any type, to count the members of an aggregate.
struct Anything {
  template <class T>
  operator T() const;
};

template <class Aggregate, class... Values>
constexpr std::size_t count_members() {
  if constexpr (requires { Aggregate{Values{}..., Anything{}}; }) {
    return count_members<Aggregate, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

template <class T>
concept HasFields = requires(const T& value) {
  value.fields();
};

/// The members of `problem` in order, those of its parts in their place: `visit(field)` for each.
template <HasFields Problem, class Visit>
constexpr void visit_fields(const Problem& problem, const Visit& visit) {
  using Fields = decltype(problem.fields());
  if constexpr (std::is_aggregate_v<Problem>) {
    static_assert(count_members<Problem>() == std::tuple_size_v<Fields>,
                  "fields() lists every member: what it forgets, a plan is found without");
  }
  std::apply(
      [&](const auto&... field) {
        const auto one = [&](const auto& f) {
          if constexpr (HasFields<std::remove_cvref_t<decltype(f.value)>>) {
            visit_fields(f.value, visit);
          } else {
            visit(f);
          }
        };
        (one(field), ...);
      },
      problem.fields());
}

}  // namespace detail

/// A member of a problem as text.
struct FieldValue {
  std::string_view name;               ///< as the member is called
  FieldRole role = FieldRole::choice;  ///< for tuning
  std::string text;                    ///< "4096", "float32", "true"
  std::size_t number = 0;              ///< of extents and alignments
  std::vector<std::size_t> numbers;    ///< of an array
  bool is_number = false;              ///< whether JSON has it without quotes
};

namespace detail {

SMEM_API std::string text_of(double value);

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t kCount>
inline constexpr bool is_array<std::array<T, kCount>> = true;

/// A member as text that JSON has without quotes, or with them.
SMEM_API FieldValue field_value(std::string_view name, FieldRole role, std::string text, bool is_number);
/// A member that is a whole number.
SMEM_API FieldValue field_value(std::string_view name, FieldRole role, long long number);
/// The same without a sign.
SMEM_API FieldValue field_value(std::string_view name, FieldRole role, unsigned long long number);

template <class T>
FieldValue field_value(const Field<T>& field) {
  if constexpr (std::is_same_v<T, bool>) {
    return field_value(field.name, field.role, field.value ? "true" : "false", true);
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { name_of(field.value); }) {
      return field_value(field.name, field.role, std::string(name_of(field.value)), false);
    } else {
      return field_value(field.name, field.role, static_cast<long long>(field.value));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return field_value(field.name, field.role, text_of(field.value), true);
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    return field_value(field.name, field.role, static_cast<Wide>(field.value));
  } else if constexpr (is_array<T>) {  // "3 x 3 x 1"
    FieldValue made{field.name, field.role, {}, 0, {}, false};
    for (const auto& element : field.value) {
      made.text += (made.text.empty() ? "" : " x ") + std::to_string(element);
      made.numbers.push_back(static_cast<std::size_t>(element));
    }
    return made;
  } else if constexpr (requires { field.value.numbers(); }) {
    const auto numbers = field.value.numbers();
    return field_value(Field<std::remove_const_t<decltype(numbers)>>{field.name, numbers, field.role});
  } else {
    return field_value(field.name, field.role, field.value, false);
  }
}

/// Adds a member's value.
SMEM_API void append(std::vector<FieldValue>& values, FieldValue value);

}  // namespace detail

/// The members of a problem as text, in order.
template <detail::HasFields Problem>
std::vector<FieldValue> values_of(const Problem& problem) {
  std::vector<FieldValue> values;
  detail::visit_fields(problem,
                       [&](const auto& field) { detail::append(values, detail::field_value(field)); });
  return values;
}

/// The members as a line: extents first, "4096 x 4096 x 1", then "name value" for what is not its default's.
SMEM_API std::string text_of(const std::vector<FieldValue>& values);
/// The members as a JSON object.
SMEM_API std::string json_of(const std::vector<FieldValue>& values);

}  // namespace smem
