#include "variants.hpp"

#include "image.hpp"
#include "measure/measure.hpp"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace {

std::string local_text(const smem::Plan& plan) {
  return plan.local_bytes == 0 ? "none" : fmt::format("{} bytes", plan.local_bytes);
}

/// How many times longer a wave's writes and reads of local memory take than without bank conflicts.
std::string conflicts_text(const smem::Plan& plan) {
  if (plan.local_bytes == 0) return "-";
  return fmt::format("{} / {}", plan.layout.store_degree(), plan.layout.load_degree());
}

/// Empty when the variant cannot run on the device.
std::optional<smem::Plan> plan_of(const smem::Device& device, const smem::TransposeProblem& problem,
                                  std::string_view variant) {
  try {
    return smem::plan_transpose(device, problem, {.variant = std::string(variant)});
  } catch (const smem::Error&) {
    return std::nullopt;
  }
}

/// Whether the plans that use local memory differ in their conflicts. Where they do not, as on a CPU, the
/// table has no such column.
bool conflicts_differ(const std::vector<std::optional<smem::Plan>>& plans) {
  std::set<std::string> texts;
  for (const std::optional<smem::Plan>& plan : plans) {
    if (plan && plan->local_bytes != 0) texts.insert(conflicts_text(*plan));
  }
  return texts.size() > 1;
}

constexpr const char* kRow = "  {:<12}{:>10}{:>9}{:>9}{:>10}{:>15}{}  {}\n";

/// Elements are 4 bytes on both: a pixel, a float. \returns whether the table has a column of conflicts.
bool print_table(smem::measure::Meter& meter, const smem::Context& context, const std::string& what,
                 std::size_t rows, std::size_t cols, std::map<std::string_view, std::string>& reasons) {
  const smem::measure::Buffers buffers = smem::measure::make_buffers(context, rows * cols * sizeof(float));
  std::vector<float> numbers(rows * cols);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  for (const auto& pair : buffers.pairs) {
    smem::write_buffer(context, pair.in, numbers.data(), numbers.size() * sizeof(float));
    smem::write_buffer(context, pair.out, numbers.data(), numbers.size() * sizeof(float));
  }
  const auto transpose = [&](const smem::measure::BufferPair& pair, std::string_view variant) {
    return smem::transpose(context, smem::MatrixView<float>(pair.in, rows, cols),
                           smem::MatrixView<float>(pair.out, cols, rows), {.variant = variant});
  };
  smem::TransposeProblem problem{sizeof(float), rows, cols};
  // Rows follow each other without gaps: each starts at a multiple of what divides a row's bytes.
  problem.in_alignment = std::size_t{1} << std::countr_zero(64 | cols * sizeof(float));
  problem.out_alignment = std::size_t{1} << std::countr_zero(64 | rows * sizeof(float));
  const std::string chosen = smem::plan_transpose(context.device(), problem).variant;

  fmt::print("\n{} ({} x {}, 4 bytes an element)\n", what, rows, cols);
  const std::vector<std::string_view> variants = smem::transpose_variants();
  std::vector<std::optional<smem::Plan>> plans;
  for (const std::string_view variant : variants)
    plans.push_back(plan_of(context.device(), problem, variant));
  const bool with_conflicts = conflicts_differ(plans);
  const auto conflicts_cell = [&](const std::string& text) {
    return with_conflicts ? fmt::format("{:>11}", text) : std::string();
  };
  fmt::print(fmt::runtime(kRow), "variant", "ms", "spread", "GB/s", "of copy", "local memory",
             conflicts_cell("conflicts"), "");
  const char* copy_name = "";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string_view variant = variants[i];
    if (!plans[i]) {
      fmt::print("  {:<12}does not run here\n", variant);
      continue;
    }
    const smem::Plan& plan = *plans[i];
    reasons[variant] = plan.reason;
    const auto m = meter.measure(buffers, plan.prediction.bytes(),
                                 [&](const auto& pair) { return transpose(pair, variant); },
                                 {.least = 15, .most = 41, .seconds = 0.3});
    copy_name = m.copy_name;
    fmt::print(fmt::runtime(kRow), variant, fmt::format("{:.3f}", m.call.median * 1e3),
               fmt::format("{:.0f} %", 100 * m.call.spread()), fmt::format("{:.1f}", m.rate() * 1e-9),
               fmt::format("{:.2f}", m.share()), local_text(plan), conflicts_cell(conflicts_text(plan)),
               variant == chosen ? "<- the plan's choice" : "");
  }
  fmt::print("  copy: {}\n", copy_name);
  return with_conflicts;
}

}  // namespace

void print_variants(const smem::Context& context, const std::string& photo, std::size_t rows,
                    std::size_t cols) {
  smem::measure::Meter meter(context);
  std::map<std::string_view, std::string> reasons;
  bool with_conflicts = print_table(meter, context, photo, rows, cols, reasons);
  const std::size_t edge = context.device().type == smem::DeviceType::cpu ? 2048 : 8192;
  with_conflicts |= print_table(meter, context, "a large matrix", edge, edge, reasons);
  fmt::print("\nwhy\n");
  for (const std::string_view variant : smem::transpose_variants()) {
    if (reasons.contains(variant)) fmt::print("  {:<12}{}\n", variant, reasons[variant]);
  }
  fmt::print("of copy: share of the device's own copy bandwidth, measured in turns with each row.\n");
  if (with_conflicts) {
    fmt::print(
        "conflicts: how many times longer a wave's writes / reads of local memory take than without bank "
        "conflicts.\n");
  }
}
