// smem tune --export: what was found, as evidence and overrides for the library's policies.
#include "cli/tune.hpp"

#include <fmt/format.h>

namespace smem::cli {

namespace {

std::string case_of(const TuningEntry& entry) {
  std::string text = entry.problems.kind;
  for (const TuningExtent& extent : entry.problems.extents)
    text += fmt::format(", {} {}", extent.name, extent.value);
  return text;
}

std::string text_of(const Device& device, const TuningEntry& entry) {
  const PlanOverrides& o = entry.overrides;
  const std::string layout = layout_text(o.layout);
  return fmt::format(
      "// {}, family \"{}\", instead of {}, {}\n"
      ".evidence = {{.device = \"{}\",\n"
      "             .driver = \"{}\",\n"
      "             .what = \"{}\",\n"
      "             .share = \"{:.2f} times the plan before\"}},\n"
      "PlanOverrides{{.variant = \"{}\", .tile_rows = {}, .tile_cols = {}, .work_items = {}{}}}\n\n",
      entry.problems.operation, family_of(device), entry.shipped, entry.date, device.name, device.driver,
      case_of(entry), entry.gain, o.variant, o.tile_rows, o.tile_cols, o.work_items,
      layout.empty() ? "" : fmt::format(", .layout = parse_layout(\"{}\")", layout));
}

}  // namespace

std::string policy_text(const Device& device, const std::vector<TuningEntry>& entries) {
  std::string text;
  for (const TuningEntry& entry : entries)
    text += text_of(device, entry);
  return text;
}

}  // namespace smem::cli
