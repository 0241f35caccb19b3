// Plans as text: for the compiler, and for a person.
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

std::string Plan::to_string() const {
  std::string text = fmt::format(
      "{} / {}: {}\n"
      "  kernel      {} in cl/{}\n"
      "  work-group  {} x {} x {} of {} x {} x {} work-items, {} elements each\n",
      operation, variant, reason, entry_point, kernel_file, work_group[0], work_group[1], work_group[2],
      global[0], global[1], global[2], items_per_work_item);
  text += fmt::format("  tile        {} x {} elements, {} at once\n", tile_rows, tile_cols, vector_width);
  if (layout.kind == LocalLayout::Kind::none) {
    text += fmt::format("  local       {} bytes\n", local_bytes);
  } else {
    text += fmt::format(
        "  local       {} bytes: {} x {} items of {} bytes, {}, stride {}{}; conflicts: write {}, read {}\n",
        local_bytes, layout.rows, layout.cols, layout.item_bytes, name_of(layout.kind), layout.stride,
        layout.swizzle_mask == 0 ? "" : fmt::format(", column ^ (row & {})", layout.swizzle_mask),
        layout.store_degree(), layout.load_degree());
  }
  text += fmt::format("  traffic     {:.0f} bytes, {:.0f} operations\n", prediction.bytes(),
                      prediction.operations);
  return text;
}

}  // namespace smem
