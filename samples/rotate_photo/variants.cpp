#include "variants.hpp"

#include "cli/measure.hpp"
#include "image.hpp"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

namespace {

/// Why a variant is as fast as it is: its plan says so.
std::string local_text(const smem::Plan& plan) {
  if (plan.local_bytes == 0) return "none";
  return fmt::format("{} bytes, conflicts {} / {}", plan.local_bytes, plan.layout.store_degree(),
                     plan.layout.load_degree());
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

constexpr const char* kRow = "  {:<12}{:>10}{:>9}{:>9}{:>10}  {:<32}{}\n";

/// Elements are 4 bytes on both: a pixel, a float.
void print_table(smem::measure::Meter& meter, const smem::Context& context, const std::string& what,
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
  fmt::print(fmt::runtime(kRow), "variant", "ms", "spread", "GB/s", "of copy", "local memory (write / read)",
             "");
  const char* copy_name = "";
  for (const std::string_view variant : smem::transpose_variants()) {
    const std::optional<smem::Plan> fitting = plan_of(context.device(), problem, variant);
    if (!fitting) {
      fmt::print("  {:<12}does not fit this device\n", variant);
      continue;
    }
    const smem::Plan& plan = *fitting;
    reasons[variant] = plan.reason;
    const auto m = meter.measure(buffers, plan.prediction.bytes(),
                                 [&](const auto& pair) { return transpose(pair, variant); },
                                 {.least = 15, .most = 41, .seconds = 0.3});
    copy_name = m.copy_name;
    fmt::print(fmt::runtime(kRow), variant, fmt::format("{:.3f}", m.call.median * 1e3),
               fmt::format("{:.0f} %", 100 * m.call.spread()), fmt::format("{:.1f}", m.rate() * 1e-9),
               fmt::format("{:.2f}", m.share()), local_text(plan),
               variant == chosen ? "<- the plan's choice" : "");
  }
  fmt::print("  copy: {}\n", copy_name);
}

}  // namespace

void print_variants(const smem::Context& context, const std::string& photo, std::size_t rows,
                    std::size_t cols) {
  smem::measure::Meter meter(context);
  std::map<std::string_view, std::string> reasons;
  print_table(meter, context, photo, rows, cols, reasons);
  const std::size_t edge = context.device().type == smem::DeviceType::cpu ? 2048 : 8192;
  print_table(meter, context, "a large matrix", edge, edge, reasons);
  fmt::print("\nwhy\n");
  for (const std::string_view variant : smem::transpose_variants()) {
    if (reasons.contains(variant)) fmt::print("  {:<12}{}\n", variant, reasons[variant]);
  }
  fmt::print(
      "of copy: share of the device's own copy bandwidth, measured in turns with each row. conflicts: how "
      "many times\n"
      "longer a wave's access to local memory takes than without bank conflicts (1: none; a CPU has no "
      "banks).\n");
}
