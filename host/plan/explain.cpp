// Plans in words, and as JSON.
#include "formatted.hpp"
#include "json.hpp"

#include <smem/explain.hpp>

#include <algorithm>
#include <string>

namespace smem {

namespace {

constexpr int kLabel = 15;

void line(std::string& text, std::string_view label, const std::string& value) {
  text += formatted("  {:<{}}{}\n", label, kLabel, value);
}

/// 134217728 as "134.2 MB".
std::string amount(double value, std::string_view unit) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  for (; value >= 1000 && prefix < 5; ++prefix)
    value /= 1000;
  if (prefix == 0) return formatted("{:.0f} {}", value, unit);
  return formatted("{:.1f} {}{}", value, prefixes[prefix], unit);
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return formatted("{:.1f} us", seconds * 1e6);
  return formatted("{:.3f} ms", seconds * 1e3);
}

std::string layout_formula(const LocalLayout& layout) {
  std::string text = formatted("row * {} + ", layout.stride);
  if (layout.swizzle_mask == 0) return text + "col";
  std::string row = layout.swizzle_shift == 0 ? "row" : formatted("row >> {}", layout.swizzle_shift);
  text += formatted("(col ^ ({} & {})", row, layout.swizzle_mask);
  return text + (layout.swizzle_unit == 0 ? ")" : formatted(" << {})", layout.swizzle_unit));
}

std::string choice_text(const Plan& plan) {
  const PlanOverrides& o = plan.overrides;
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!o.variant.empty()) add("variant");
  if (o.tile_rows != 0 || o.tile_cols != 0) add("tile");
  if (o.work_items != 0) add("work-items");
  if (o.layout != LayoutChoice{}) add("layout");
  return text;
}

/// A launch beside the main one, in a line.
std::string side_text(const Launch& launch) {
  return formatted("{}: {} in cl/{}, {} groups of {} work-items{}; {}", launch.variant, launch.entry_point,
                   launch.kernel_file, launch.groups(), launch.work_items(),
                   launch.repeats != 1 ? formatted(", {} times", launch.repeats) : "", launch.reason);
}

/// The kernel's arguments that the plan decides.
std::string numbers_text(const Launch& launch) {
  std::string text;
  for (const auto& [name, value] : launch.numbers)
    text += formatted("{}{} {}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Whether the call takes the caller's temporary memory (CallOptions::scratch).
bool takes_scratch(const Plan& plan) {
  return plan.operation == "sort" || plan.operation == "sort_pairs" || plan.operation == "argsort";
}

/// The tile in local memory, with the banks of a device where there is one.
void add_local_memory(std::string& text, const Plan& plan, const Device* device) {
  const LocalLayout& layout = plan.layout;
  if (layout.kind == LocalLayout::Kind::none) {
    line(text, "local memory", formatted("{} bytes", plan.local_bytes));
    return;
  }
  line(text, "local memory",
       formatted("{} bytes: {} x {} items of {} bytes, {}: item (row, col) is number {}", plan.local_bytes,
                 layout.rows, layout.cols, layout.item_bytes, name_of(layout.kind), layout_formula(layout)));
  for (const AccessCost& access : layout.accesses) {
    line(text, access.store ? "  store" : "  load",
         formatted("{}: {} bytes a work-item, conflict degree {}, {:.2f} x the time without conflicts",
                   access.name, access.bytes, access.degree, access.slowdown));
  }
  if (device != nullptr) text += draw_banks(*device, layout);
}

void add_residency(std::string& text, const Plan& plan, const Device& device, std::size_t registers) {
  const Occupancy resident = occupancy(device, plan, registers);
  if (resident.groups == 0) {
    line(text, "residency", "not known: the limits of this architecture are not in smem's table");
  } else {
    line(text, "residency",
         formatted(
             "{} group(s) on a compute unit, {} work-items{}; limited by {}{}", resident.groups,
             resident.work_items,
             resident.share > 0 ? formatted(" ({:.0f} % of what it can have)", 100 * resident.share) : "",
             resident.limit, registers > 0 ? formatted("; {} registers a work-item", registers) : ""));
  }
}

void add_alternatives(std::string& text, const Plan& plan) {
  if (plan.alternatives.empty()) return;
  std::size_t longest = kLabel - 3;  // as the values above, or as far as the longest name
  for (const Alternative& other : plan.alternatives)
    longest = std::max(longest, other.variant.size());
  text += "  not chosen\n";
  for (const Alternative& other : plan.alternatives)
    text += formatted("    {:<{}} {}\n", other.variant, longest, other.why_not);
}

/// Operations, those of matrix units apart: no bound follows from them.
std::string arithmetic_text(const Prediction& p) {
  if (p.operations == 0 && p.matrix_operations == 0) return "no floating-point operations";
  std::string text;
  if (p.operations > 0)
    text = formatted("{}: {:.3g} a byte", amount(p.operations, "operations"), p.intensity());
  if (p.matrix_operations > 0) {
    text += formatted("{}{} of matrix units, whose rate is not measured", text.empty() ? "" : "; ",
                      amount(p.matrix_operations, "operations"));
  }
  return text;
}

std::string body(const Plan& plan, const Device* device, const Knowledge& knowledge) {
  std::string text = formatted("{} / {}: {}\n", plan.operation, plan.variant, plan.reason);
  if (!plan.evidence.empty()) line(text, "evidence", plan.evidence);
  const bool tuned = plan.evidence.starts_with("tuned on this device");  // as TuningEntry::evidence() begins
  if (const std::string fixed = choice_text(plan); !fixed.empty())
    line(text, tuned ? "tuned" : "fixed by hand", fixed);
  for (const Launch& launch : plan.before)
    line(text, "before it", side_text(launch));
  line(text, "kernel",
       formatted("{} in cl/{}{}", plan.entry_point, plan.kernel_file,
                 plan.repeats != 1 ? formatted(", {} times", plan.repeats) : ""));
  for (const Launch& launch : plan.after)
    line(text, "after it", side_text(launch));
  if (plan.rounds != 1) line(text, "rounds", formatted("{}, of all launches", plan.rounds));
  if (const std::string numbers = numbers_text(plan); !numbers.empty()) line(text, "numbers", numbers);
  if (plan.scratch_bytes > 0) {
    line(
        text, "scratch",
        amount(static_cast<double>(plan.scratch_bytes), "B") +
            (takes_scratch(plan) ? formatted("; a buffer of the caller (CallOptions::scratch) needs {} bytes",
                                             plan.scratch_buffer_bytes())
                                 : std::string()));
  }
  line(text, "work-group",
       formatted("{} x {} x {} of {} x {} x {} work-items: {} groups, {} elements a work-item",
                 plan.work_group[0], plan.work_group[1], plan.work_group[2], plan.global[0], plan.global[1],
                 plan.global[2], plan.groups(), plan.items_per_work_item));
  line(text, "tile",
       formatted("{} x {} elements, {} at once", plan.tile_rows, plan.tile_cols, plan.vector_width));
  add_local_memory(text, plan, device);
  if (device != nullptr) add_residency(text, plan, *device, knowledge.registers);
  const Prediction& p = plan.prediction;
  line(text, "traffic",
       formatted("{} read, {} written; {} through local memory", amount(p.bytes_read, "B"),
                 amount(p.bytes_written, "B"), amount(p.local_bytes, "B")));
  line(text, "arithmetic", arithmetic_text(p));
  const Bound bound = roofline(plan, knowledge.rates);
  if (bound.seconds > 0) {
    line(text, "bound",
         formatted("{}, set by {} (the device: {}/s copied, {}/s fp32{})", duration(bound.seconds), bound.by,
                   amount(knowledge.rates.copy, "B"), amount(knowledge.rates.fp32, "operations"),
                   bound.balance > 0 ? formatted("; they meet at {:.1f} a byte", bound.balance) : ""));
  }
  if (knowledge.measured_seconds > 0) {
    line(text, "measured",
         formatted("{}, {}/s{}", duration(knowledge.measured_seconds),
                   amount(p.bytes() / knowledge.measured_seconds, "B"),
                   bound.seconds > 0
                       ? formatted(": {:.2f} of the bound", bound.seconds / knowledge.measured_seconds)
                       : ""));
  }
  add_alternatives(text, plan);
  return text;
}

Json launch_json(const Launch& launch) {
  Json numbers = Json::object();
  for (const auto& [name, value] : launch.numbers)
    numbers[name] = value;
  return {{"variant", launch.variant},
          {"reason", launch.reason},
          {"kernel_file", launch.kernel_file},
          {"entry_point", launch.entry_point},
          {"build_options", launch.build_options()},
          {"target", launch.target},
          {"work_group", launch.work_group},
          {"global", launch.global},
          {"repeats", launch.repeats},
          {"local_bytes", launch.local_bytes},
          {"numbers", numbers}};
}

Json layout_json(const Device& device, const LocalLayout& layout) {
  Json accesses = Json::array();
  for (const AccessCost& access : layout.accesses) {
    accesses.push_back({{"name", access.name},
                        {"store", access.store},
                        {"bytes", access.bytes},
                        {"degree", access.degree},
                        {"slowdown", access.slowdown}});
  }
  return {{"kind", name_of(layout.kind)},
          {"rows", layout.rows},
          {"cols", layout.cols},
          {"item_bytes", layout.item_bytes},
          {"stride", layout.stride},
          {"swizzle_mask", layout.swizzle_mask},
          {"swizzle_shift", layout.swizzle_shift},
          {"swizzle_unit", layout.swizzle_unit},
          {"banks", device.local_is_cache ? 0 : device.local_banks},
          {"bank_bytes", device.local_bank_bytes},
          {"accesses", accesses}};
}

}  // namespace

std::string draw_banks(const Device& device, const LocalLayout& layout) {
  if (device.local_is_cache || layout.kind == LocalLayout::Kind::none) return {};
  constexpr std::size_t kRows = 6, kCols = 16;
  const std::size_t rows = std::min(kRows, layout.rows), cols = std::min(kCols, layout.cols);
  std::string text = formatted("  {:<{}}banks in which items begin ({} of {} bytes)\n", "", kLabel,
                               device.local_banks, device.local_bank_bytes);
  for (std::size_t row = 0; row < rows; ++row) {
    text += formatted("  {:<{}}row {} |", "", kLabel, row);
    for (std::size_t col = 0; col < cols; ++col) {
      text +=
          formatted(" {:>2}", layout.address_of({row, col}) / device.local_bank_bytes % device.local_banks);
    }
    text += cols < layout.cols ? " ...\n" : "\n";
  }
  if (rows < layout.rows) text += formatted("  {:<{}}...\n", "", kLabel);
  return text;
}

std::string explain(const Plan& plan) { return body(plan, nullptr, {}); }

std::string explain(const Plan& plan, const Device& device, const Knowledge& knowledge) {
  return formatted("{} ({}), family {}\n", device.name, device.platform, family_of(device)) +
         body(plan, &device, knowledge);
}

std::string explain_json(const Plan& plan, const Device& device, const Knowledge& knowledge) {
  Json json{{"operation", plan.operation},
            {"variant", plan.variant},
            {"reason", plan.reason},
            {"in_place_of", plan.in_place_of},
            {"evidence", plan.evidence},
            {"device", device.name},
            {"family", family_of(device)},
            {"kernel_file", plan.kernel_file},
            {"entry_point", plan.entry_point},
            {"build_options", plan.build_options()},
            {"target", plan.target},
            {"work_group", plan.work_group},
            {"global", plan.global},
            {"groups", plan.groups()},
            {"tile_rows", plan.tile_rows},
            {"tile_cols", plan.tile_cols},
            {"vector_width", plan.vector_width},
            {"items_per_work_item", plan.items_per_work_item},
            {"local_bytes", plan.local_bytes},
            {"scratch_bytes", plan.scratch_bytes}};
  json["rounds"] = plan.rounds;
  json["launches"] = Json::array();
  for (const Launch* launch : plan.launches())
    json["launches"].push_back(launch_json(*launch));
  json["layout"] = plan.layout.kind == LocalLayout::Kind::none ? Json() : layout_json(device, plan.layout);
  const Occupancy resident = occupancy(device, plan, knowledge.registers);
  json["residency"] = {{"groups", resident.groups},
                       {"work_items", resident.work_items},
                       {"share", resident.share},
                       {"limit", resident.limit},
                       {"registers", knowledge.registers}};
  json["prediction"] = {{"bytes_read", plan.prediction.bytes_read},
                        {"bytes_written", plan.prediction.bytes_written},
                        {"local_bytes", plan.prediction.local_bytes},
                        {"operations", plan.prediction.operations},
                        {"matrix_operations", plan.prediction.matrix_operations},
                        {"intensity", plan.prediction.intensity()}};
  const Bound bound = roofline(plan, knowledge.rates);
  json["bound"] = bound.seconds > 0 ? Json{{"seconds", bound.seconds},
                                           {"by", bound.by},
                                           {"copy_bytes_per_second", knowledge.rates.copy},
                                           {"fp32_operations_per_second", knowledge.rates.fp32}}
                                    : Json();
  json["measured_seconds"] = knowledge.measured_seconds > 0 ? Json(knowledge.measured_seconds) : Json();
  json["not_chosen"] = Json::object();
  for (const Alternative& other : plan.alternatives)
    json["not_chosen"][other.variant] = other.why_not;
  return lines_of(json);
}

}  // namespace smem
