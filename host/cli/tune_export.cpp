// smem tune --export: entries of policy tables, with their evidence.
#include "cli/tune.hpp"

#include "plan/heat_policy.hpp"
#include "plan/separable_policy.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/transpose_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace smem::cli {

namespace {

std::string evidence_of(const Device& device, const TuningEntry& entry) {
  std::string sizes;
  for (const TuningExtent& extent : entry.problems.extents)
    sizes += fmt::format(", {} {}", extent.name, extent.value);
  return fmt::format("{}, driver {}: {:.2f} times the plan before ({}{}), {}", device.name, device.driver,
                     entry.gain, entry.problems.kind, sizes, entry.date);
}

/// The greatest gain is the one whose numbers an entry gets.
const TuningEntry* best_of(const std::vector<TuningEntry>& entries, std::string_view operation,
                           const std::array<std::string_view, 3>& variants) {
  const TuningEntry* best = nullptr;
  for (const TuningEntry& entry : entries) {
    const bool fits = entry.problems.operation == operation &&
                      std::find(variants.begin(), variants.end(), entry.overrides.variant) != variants.end();
    if (fits && (best == nullptr || entry.gain > best->gain)) best = &entry;
  }
  return best;
}

std::string transpose_policy(const Device& device, const TuningEntry& entry) {
  plan::TransposePolicy policy = plan::transpose_policy(device);
  // The kind begins with the element's bytes.
  const std::size_t bytes = std::stoul(entry.problems.kind);
  if (entry.overrides.tile_cols != 0) policy.tile_bytes = entry.overrides.tile_cols * bytes;
  if (entry.overrides.work_items != 0) policy.group = entry.overrides.work_items;
  const bool same = policy.skewed[0].rows == plan::kSkewedOnH200[0].rows;
  return fmt::format(
      "    {{\"{}\",\n     \"{}\",\n     {{{}}},\n     {},\n     {},\n     {},\n     {},\n     {}}},\n",
      family_of(device), evidence_of(device, entry), fmt::join(policy.vector_bytes, ", "), policy.tile_bytes,
      policy.group, policy.register_bytes, policy.tile_loop, same ? "kSkewedOnH200" : "/* as before */");
}

std::string march_text(const plan::HeatMarch& march) {
  return fmt::format("{{{}, {}, {}, {}, {}}}", march.cols, march.rows, march.rows_each, march.resident,
                     march.most);
}

std::string columns_text(const plan::StencilColumns& columns) {
  return fmt::format("{{{}, {}, {}, {}, {}}}", columns.across, columns.group, columns.rows, columns.deep,
                     columns.registers);
}

std::string columns_text(const plan::HeatColumns& columns) {
  return fmt::format("{{{}, {}, {}, {}}}", columns.cols, columns.rows, columns.deep, columns.most);
}

/// What the tables hold are cells of 4 bytes.
template <class Sizes>
void set_tile(Sizes& sizes, const TuningEntry& entry, std::size_t cell) {
  if (entry.overrides.tile_cols != 0) sizes.cols = entry.overrides.tile_cols * cell / 4;
  if (entry.overrides.tile_rows != 0) sizes.rows = entry.overrides.tile_rows;
}

std::string heat_policy(const Device& device, const TuningEntry& entry) {
  plan::HeatPolicy p = plan::heat_policy(device);
  const bool volume = entry.problems.kind.find("3 dimensions") != std::string::npos;
  const std::string& kind = entry.problems.kind;
  const Scalar type = kind.starts_with("half")      ? Scalar::half
                      : kind.starts_with("float64") ? Scalar::float64
                                                    : Scalar::float32;
  const bool variable = kind.find("conductivities") != std::string::npos;
  if (entry.overrides.variant == "vector")
    set_tile(volume ? p.vector_3d : p.vector_2d, entry, plan::heat_column_bytes(p, type, variable));
  if (entry.overrides.variant == "march")
    set_tile(volume ? p.march_3d : p.march_2d, entry, type == Scalar::float64 ? 8 : 4);
  return fmt::format(
      "    {{\"{}\",\n     \"{}\",\n     {},\n     {},\n     {},\n     {},\n     {},\n     {},\n     {},\n   "
      "  "
      "{},\n     {},\n     {},\n     {},\n     {},\n     {}}},\n",
      family_of(device), evidence_of(device, entry), p.vector_bytes, columns_text(p.vector_2d),
      columns_text(p.vector_3d), march_text(p.march_2d), march_text(p.march_3d), p.march_steps_2d,
      p.march_steps_3d, p.tile_x_1d, p.steps_1d, p.tile_x_2d, p.tile_z_2d, p.steps_2d, p.group);
}

std::string separable_policy(const Device& device, const TuningEntry& entry) {
  plan::MarchPolicy p = plan::march_policy(device);
  // The kind begins with the element's type.
  const bool small = !entry.problems.kind.starts_with("float");
  if (entry.overrides.work_items != 0) (small ? p.group_of_small : p.group) = entry.overrides.work_items;
  return fmt::format("    {{\"{}\", \"{}\",\n     {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", family_of(device),
                     evidence_of(device, entry), p.group, p.group_of_small, p.step, p.step_of_small,
                     p.cols_of_bytes, p.wide_registers, p.registers_a_unit, p.groups_a_unit, p.least_band);
}

std::string stencil_policy(const Device& device, const TuningEntry& entry) {
  plan::StencilPolicy p = plan::stencil_policy(device);
  if (entry.overrides.work_items != 0)
    (entry.overrides.variant == "rows" ? p.rows_group : p.tile_group) = entry.overrides.work_items;
  return fmt::format("    {{\"{}\", \"{}\",\n     {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
                     family_of(device), evidence_of(device, entry), p.rows, p.registers, p.rows_across,
                     p.rows_group, p.tile_group, p.byte_steps, p.byte_turns, p.byte_group,
                     columns_text(p.columns), columns_text(p.boxes));
}

/// An operation whose numbers lie in a table, by family.
struct PolicyTable {
  std::string_view operation, file;
  std::array<std::string_view, 3> variants;  ///< whose overrides the table's numbers are
  std::string (*entry)(const Device& device, const TuningEntry& entry);
};

constexpr PolicyTable kTables[] = {
    {"transpose", "host/plan/transpose_policy.hpp", {"vector"}, transpose_policy},
    {"heat", "host/plan/heat_policy.hpp", {"vector", "march"}, heat_policy},
    {"stencil", "host/plan/stencil_policy.hpp", {"rows", "tiled", "march"}, stencil_policy},
    {"separable", "host/plan/separable_policy.hpp", {"march"}, separable_policy},
};

}  // namespace

std::string policy_text(const Device& device, const std::vector<TuningEntry>& entries) {
  std::string text;
  std::vector<const TuningEntry*> shown;
  for (const PolicyTable& table : kTables) {
    const TuningEntry* best = best_of(entries, table.operation, table.variants);
    if (best == nullptr) continue;
    shown.push_back(best);
    text += fmt::format("// for {}, in place of the entry of \"{}\":\n{}\n", table.file, family_of(device),
                        table.entry(device, *best));
  }
  for (const TuningEntry& entry : entries) {
    if (std::find(shown.begin(), shown.end(), &entry) != shown.end()) continue;
    const PlanOverrides& o = entry.overrides;
    const std::string layout = layout_text(o.layout);
    text += fmt::format(
        "// {}, family \"{}\", instead of {}; {}\n"
        "PlanOverrides{{.variant = \"{}\", .tile_rows = {}, .tile_cols = {}, .work_items = {}{}}}\n\n",
        entry.problems.operation, family_of(device), entry.shipped, evidence_of(device, entry), o.variant,
        o.tile_rows, o.tile_cols, o.work_items,
        layout.empty() ? "" : fmt::format(", .layout = parse_layout(\"{}\")", layout));
  }
  return text;
}

}  // namespace smem::cli
