#include "plan/sizes.hpp"
#include "formatted.hpp"

namespace smem::plan {

namespace {

[[noreturn]] void refuse_field(const char* operation, const char* field, std::string expected,
                               std::string got) {
  throw Error(
      {.operation = operation, .argument = field, .expected = std::move(expected), .got = std::move(got)});
}

}  // namespace

void require_elements(const char* operation, const char* argument,
                      std::initializer_list<std::size_t> extents) {
  std::size_t elements = 1;
  for (const std::size_t extent : extents)
    elements = size_product(elements, std::max<std::size_t>(extent, 1));
  if (elements <= kMostElements) return;
  std::string text;
  for (const std::size_t extent : extents)
    text += formatted("{}{}", text.empty() ? "" : " x ", extent);
  refuse_field(operation, argument, formatted("at most {} elements", kMostElements), std::move(text));
}

void refuse_value(const char* operation, const char* argument, long long last, long long value) {
  refuse_field(operation, argument, formatted("a value of its enumeration: 0 to {}", last),
               formatted("{}", value));
}

std::size_t& plans_made() {
  thread_local std::size_t count = 0;
  return count;
}

void require_work_items(const char* operation, const Device& device, const PlanOverrides& overrides) {
  if (overrides.work_items == 0) return;
  if (overrides.work_items > device.max_work_group || !std::has_single_bit(overrides.work_items)) {
    refuse_field(operation, "work_items", formatted("a power of two, at most {}", device.max_work_group),
                 formatted("{}", overrides.work_items));
  }
}

void require_fixed_group(const char* operation, const Device& device, const PlanOverrides& overrides,
                         const Launch& plan, const char* cpu_reason) {
  if (overrides.work_items == 0 || plan.work_items() == overrides.work_items) return;
  refuse_field(operation, "work_items",
               plan.variant == "cpu"
                   ? formatted("1: {}", cpu_reason)
                   : formatted("as many as {} bytes of local memory suffice for", device.local_bytes),
               formatted("{}", overrides.work_items));
}

void refuse_variant(const char* operation, const Device& device, std::string_view variant, const char* what,
                    bool can_publish) {
  refuse_field(
      operation, "variant", formatted("one that can run this {} on this device", what),
      formatted("\"{}\" on {} with {} bytes of local memory{}", variant, device.name, device.local_bytes,
                can_publish ? "" : ", whose work-groups cannot publish to each other"));
}

void require_choice(const char* operation, const PlanOverrides& overrides,
                    const std::vector<std::string_view>& names) {
  const auto refuse = [&](const char* field, std::string expected, std::string got) {
    refuse_field(operation, field, std::move(expected), std::move(got));
  };
  const std::string_view variant = overrides.variant;
  if (!variant.empty() && std::find(names.begin(), names.end(), variant) == names.end())
    refuse("variant", formatted("one of {}", joined(names)), formatted("\"{}\"", variant));
  const auto none = [&](const char* field, bool fixed) {
    if (fixed) refuse(field, formatted("none: {} has no such choice", operation), "one");
  };
  none("tile_rows", overrides.tile_rows != 0);
  none("tile_cols", overrides.tile_cols != 0);
  none("layout", overrides.layout != LayoutChoice{});
}

}  // namespace smem::plan
