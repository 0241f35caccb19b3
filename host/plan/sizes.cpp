#include "plan/sizes.hpp"

#include <fmt/format.h>

namespace smem::plan {

void require_choice(const char* operation, const PlanOverrides& overrides,
                    const std::vector<std::string_view>& names) {
  const auto refuse = [&](const char* field, std::string expected, std::string got) {
    throw Error(
        {.operation = operation, .argument = field, .expected = std::move(expected), .got = std::move(got)});
  };
  const std::string_view variant = overrides.variant;
  if (!variant.empty() && std::find(names.begin(), names.end(), variant) == names.end())
    refuse("variant", fmt::format("one of {}", fmt::join(names, ", ")), fmt::format("\"{}\"", variant));
  const auto none = [&](const char* field, bool fixed) {
    if (fixed) refuse(field, fmt::format("none: {} has no such choice", operation), "one");
  };
  none("tile_rows", overrides.tile_rows != 0);
  none("tile_cols", overrides.tile_cols != 0);
  none("layout", overrides.layout != LayoutChoice{});
}

}  // namespace smem::plan
