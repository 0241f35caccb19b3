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

namespace detail {

/// A member in its place among those of a problem.
template <std::size_t kPlace, class T>
struct PlacedField {
  Field<T> field;
};

template <class Places, class... T>
struct FieldList;
/// The members of a problem, in order. A std::tuple of as many takes far longer to compile.
template <std::size_t... kPlace, class... T>
struct FieldList<std::index_sequence<kPlace...>, T...> : PlacedField<kPlace, T>... {
  static constexpr std::size_t kSize = sizeof...(T);
  /// `visit(field)` for each.
  template <class Visit>
  constexpr void each(const Visit& visit) const {
    (visit(static_cast<const PlacedField<kPlace, T>&>(*this).field), ...);
  }
};

}  // namespace detail

/// The members of a problem are listed by these: `return list(extent("rows", rows), ...)`.
namespace fields {

/// All members.
template <class... T>
constexpr detail::FieldList<std::index_sequence_for<T...>, T...> list(const Field<T>&... field) {
  return {{field}...};
}

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

template <std::size_t>
using AnythingAt = Anything;

/// Whether an aggregate can be made of so many values.
template <class Aggregate, std::size_t... kPlace>
constexpr bool is_made_of(std::index_sequence<kPlace...>) {
  return requires { Aggregate{AnythingAt<kPlace>{}...}; };
}

/// Whether an aggregate has so many members.
template <class Aggregate, std::size_t kCount>
constexpr bool has_members() {
  return is_made_of<Aggregate>(std::make_index_sequence<kCount>{}) &&
         !is_made_of<Aggregate>(std::make_index_sequence<kCount + 1>{});
}

template <class T>
concept HasFields = requires(const T& value) {
  value.fields();
};

/// The members of `problem` in order, those of its parts in their place: `visit(field)` for each.
template <HasFields Problem, class Visit>
constexpr void visit_fields(const Problem& problem, const Visit& visit);

/// A member, or those of the part that it is.
template <class Visit>
struct VisitMembers {
  const Visit& visit;
  template <class T>
  constexpr void operator()(const Field<T>& field) const {
    if constexpr (HasFields<T>) {
      visit_fields(field.value, visit);
    } else {
      visit(field);
    }
  }
};

template <HasFields Problem, class Visit>
constexpr void visit_fields(const Problem& problem, const Visit& visit) {
  if constexpr (std::is_aggregate_v<Problem>) {
    static_assert(has_members<Problem, decltype(problem.fields())::kSize>(),
                  "fields() lists every member: what it forgets, a plan is found without");
  }
  problem.fields().each(VisitMembers<Visit>{visit});
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

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t kCount>
inline constexpr bool is_array<std::array<T, kCount>> = true;

/// Adds a member as text that JSON has without quotes, or with them.
SMEM_API void add_text(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                       std::string_view text, bool is_number = false);
/// Adds a number that is not whole.
SMEM_API void add_real(std::vector<FieldValue>& values, std::string_view name, FieldRole role, double number);
/// Adds a whole number.
SMEM_API void add_signed(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                         long long number);
/// The same without a sign.
SMEM_API void add_unsigned(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                           unsigned long long number);
/// Adds an array: "3 x 3 x 1".
SMEM_API void add_sizes(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                        const std::size_t* numbers, std::size_t count);
/// The same with signs.
SMEM_API void add_sizes(std::vector<FieldValue>& values, std::string_view name, FieldRole role,
                        const std::ptrdiff_t* numbers, std::size_t count);

/// Adds members as text.
struct AddValues {
  std::vector<FieldValue>& values;

  template <class T>
  void operator()(const Field<T>& field) const {
    const std::string_view name = field.name;
    const T& value = field.value;
    const FieldRole role = field.role;
    if constexpr (std::is_same_v<T, bool>) {
      add_text(values, name, role, value ? "true" : "false", true);
    } else if constexpr (std::is_enum_v<T>) {
      if constexpr (requires { name_of(value); }) {
        add_text(values, name, role, name_of(value));
      } else {
        add_signed(values, name, role, static_cast<long long>(value));
      }
    } else if constexpr (std::is_floating_point_v<T>) {
      add_real(values, name, role, value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      add_signed(values, name, role, value);
    } else if constexpr (std::is_integral_v<T>) {
      add_unsigned(values, name, role, value);
    } else if constexpr (is_array<T>) {
      add_sizes(values, name, role, value.data(), value.size());
    } else if constexpr (requires { value.numbers(); }) {
      const std::array numbers = value.numbers();
      add_sizes(values, name, role, numbers.data(), numbers.size());
    } else {
      add_text(values, name, role, value);
    }
  }
};

}  // namespace detail

/// The members of a problem as text, in order.
template <detail::HasFields Problem>
std::vector<FieldValue> values_of(const Problem& problem) {
  std::vector<FieldValue> values;
  detail::visit_fields(problem, detail::AddValues{values});
  return values;
}

/// The members as a line: extents first, "4096 x 4096 x 1", then "name value" for what is not its default's.
SMEM_API std::string text_of(const std::vector<FieldValue>& values);
/// The members as a JSON object.
SMEM_API std::string json_of(const std::vector<FieldValue>& values);

}  // namespace smem
