// smem explain: the plan of an operation in words, for a device that is here or for one that is not.
#include "cli/explain.hpp"

#include "cli/arguments.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

Device read_facts(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw Error({.operation = "explain",
                 .argument = "--like",
                 .expected = "a file of device facts, as smem devices --json writes it",
                 .got = path});
  }
  return device_from_json(text);
}

measure::Buffers explain_buffers(const Context& context, std::size_t bytes) {
  if (bytes > context.device().max_allocation) {
    throw Error({.operation = "explain",
                 .argument = "--run",
                 .expected = fmt::format("inputs of at most {} bytes", context.device().max_allocation),
                 .got = fmt::format("{} bytes", bytes),
                 .device = context.device().name});
  }
  return measure::make_buffers(context, bytes);
}

void fix_tile(PlanOverrides& fixed, const std::string& tile, const std::string& layout) {
  if (!layout.empty()) fixed.layout = parse_layout(layout);
  if (tile.empty()) return;
  const auto shape = parse_shape(tile).value();
  fixed.tile_rows = shape.rows;
  fixed.tile_cols = shape.cols;
}

void add_explain_options(Command command, ExplainOptions& options,
                         const std::vector<std::string_view>& variants) {
  command.add_option("--variant", options.variant, "Instead of the one that the plan would choose")
      .one_of({variants.begin(), variants.end()});
  command.add_option("--work-items", options.work_items, "Fix the size of a work-group").positive();
  const Option device = add_device_option(command, options.device);
  const Option like =
      command
          .add_option("--like", options.like,
                      "A facts file (smem devices --json): the plan for a device that is not here")
          .type_name("FILE");
  const Option run_flag = command.add_flag(
      "--run", options.run, "Run it too: the measured time beside the bound by the device's measured rates");
  command.add_flag("--json", options.json, "As JSON");
  like.excludes(device).excludes(run_flag);
}

void add_explain(Command root, int& exit_code) {
  const Command command = root.add_command(
      "explain", "Print the plan of an operation: kernel, sizes, layout, what bounds it, and why");
  command.require_commands(1, 1);
  add_explain_operations(command, exit_code);
}

}  // namespace smem::cli
