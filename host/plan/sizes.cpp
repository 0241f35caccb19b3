#include "plan/sizes.hpp"
#include "formatted.hpp"

namespace smem::plan {

namespace {

/// Prefix operators and casts in an expression; a call of what a bracket holds counts as a cast.
std::size_t prefix_operators(std::string_view text) {
  std::size_t count = 0;
  char before = '(';  // the last character that is no blank
  for (const char c : text) {
    if (std::string_view(" \t\r\n\v\f").find(c) != std::string_view::npos) continue;
    const bool follows_operator =
        std::string_view("([{,;?:=<>!~+-*/%&|^").find(before) != std::string_view::npos;
    const bool is_prefix = std::string_view("!~+-*&").find(c) != std::string_view::npos;
    count += (is_prefix && follows_operator) || (c == '(' && before == ')') ? 1 : 0;
    before = c;
  }
  return count;
}

}  // namespace

void refuse(std::string_view operation, std::string_view argument, std::string_view expected,
            std::string_view got) {
  throw Error({.operation = std::string(operation),
               .argument = std::string(argument),
               .expected = std::string(expected),
               .got = std::string(got)});
}
void refuse(const Device& device, std::string_view operation, std::string_view argument,
            std::string_view expected, std::string_view got) {
  throw Error({.operation = std::string(operation),
               .argument = std::string(argument),
               .expected = std::string(expected),
               .got = std::string(got),
               .device = device.name});
}

void require_one_of(std::string_view operation, const char* argument, Scalar type,
                    std::initializer_list<Scalar> all) {
  if (std::find(all.begin(), all.end(), type) != all.end()) return;
  std::string names;
  for (const Scalar& one : all) {
    names += formatted("{}{}",
                       &one == all.begin()     ? ""
                       : &one + 1 == all.end() ? " or "
                                               : ", ",
                       name_of(one));
  }
  refuse(operation, argument, names, name_of(type));
}

void require_code(std::string_view operation, std::string_view argument, std::string_view text,
                  std::string_view expected) {
  if (text.empty()) refuse(operation, argument, expected, "nothing");
  if (text.size() > kMostCode) {
    refuse(operation, argument, formatted("{}: at most {} characters", expected, kMostCode),
           formatted("{}", text.size()));
  }
  if (const std::size_t prefixes = prefix_operators(text); prefixes > kMostPrefixes) {
    refuse(operation, argument, formatted("{}: at most {} prefix operators", expected, kMostPrefixes),
           formatted("{}", prefixes));
  }
}

void require_elements(const char* operation, const char* argument,
                      std::initializer_list<std::size_t> extents) {
  std::size_t elements = 1;
  for (const std::size_t extent : extents)
    elements = size_product(elements, at_least_1(extent));
  if (elements <= kMostElements) return;
  std::string text;
  for (const std::size_t extent : extents)
    text += formatted("{}{}", text.empty() ? "" : " x ", extent);
  refuse(operation, argument, formatted("at most {} elements", kMostElements), std::move(text));
}

void refuse_fp8(const char* operation, const char* argument, Scalar type) {
  refuse(operation, argument, "a type that this operation computes with; fp8 is for gemm",
         std::string(name_of(type)));
}

void refuse_value(const char* operation, const char* argument, long long last, long long value) {
  refuse(operation, argument, formatted("a value of its enumeration: 0 to {}", last), formatted("{}", value));
}

std::string no_tile_fits(const Device& device) {
  return formatted("no tile fits {} bytes of local memory and work-groups of {}", device.local_bytes,
                   device.max_work_group);
}

std::size_t& plans_made() {
  thread_local std::size_t count = 0;
  return count;
}

void require_work_items(const char* operation, const Device& device, const PlanOverrides& overrides) {
  if (overrides.work_items == 0) return;
  if (overrides.work_items > device.max_work_group || !std::has_single_bit(overrides.work_items)) {
    refuse(operation, "work_items", formatted("a power of two, at most {}", device.max_work_group),
           formatted("{}", overrides.work_items));
  }
}

void require_fixed_group(const char* operation, const Device& device, const PlanOverrides& overrides,
                         const Launch& plan, const char* cpu_reason) {
  if (overrides.work_items == 0 || plan.work_items() == overrides.work_items) return;
  refuse(operation, "work_items",
         plan.variant == "cpu"
             ? formatted("1: {}", cpu_reason)
             : formatted("at most {}: there is no more to do, or {} bytes of local memory hold no more",
                         plan.work_items(), device.local_bytes),
         formatted("{}", overrides.work_items));
}

void require_choice(const char* operation, const PlanOverrides& overrides,
                    const std::vector<std::string_view>& names) {
  const std::string_view variant = overrides.variant;
  if (!variant.empty() && std::find(names.begin(), names.end(), variant) == names.end())
    refuse(operation, "variant", formatted("one of {}", joined(names)), formatted("\"{}\"", variant));
  const auto none = [&](const char* field, bool fixed) {
    if (fixed) refuse(operation, field, formatted("none: {} has no such choice", operation), "one");
  };
  none("tile_rows", overrides.tile_rows != 0);
  none("tile_cols", overrides.tile_cols != 0);
  none("layout", overrides.layout != LayoutChoice{});
}

}  // namespace smem::plan
