#include "cli/bench_table.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <stdexcept>

namespace smem::cli {

namespace {

Table table_of(bool operations) {
  using Kind = Column::Kind;
  return Table({{"case", 42, Kind::title},
                {"variant", 22, Kind::text},
                {"ms", 10},
                {"spread", 9},
                {operations ? "GFLOP/s" : "GB/s", 9},
                {operations ? "fp32" : "copy", 9, Kind::extra},
                {operations ? "of fp32" : "of copy", 8},
                {"goal", 7},
                {"built ms", 10, Kind::extra},
                {"host us", 9, Kind::extra}},
               15);
}

[[noreturn]] void refuse_csv(const std::string& path) {
  throw std::runtime_error(fmt::format("--csv: cannot write {}", path));
}

}  // namespace

std::array<CLI::Option*, 3> add_list_flags(CLI::App* command, Lists& lists) {
  CLI::Option* all =
      command->add_flag("--goals", lists.goals, "All cases that have goals; exit code 1 if a goal is missed");
  CLI::Option* small =
      command->add_flag("--goals-small", lists.small, "The same cases at small sizes, for a quick look");
  CLI::Option* weak = command->add_flag(
      "--weak", lists.weak, "The cases known to be weak, beside their goals; exit code 1 if one is missed");
  command->add_flag("--quick", lists.quick,
                    "A fifth of a second for each measurement, and no comparison with a plain loop");
  return {all, small->excludes(all), weak->excludes(all)->excludes(small)};
}

BenchTable::BenchTable(const BenchOptions& options, std::string traffic, bool operations)
    : contexts_{Context({.device = options.device, .profiling = true}), Context({.device = options.device})},
      options_(options),
      traffic_(std::move(traffic)),
      of_operations_(operations),
      table_(table_of(operations)) {
  if (!options_.csv.empty()) {
    csv_.open(options_.csv);
    if (!csv_) refuse_csv(options_.csv);
    csv_ << fmt::format(
        "device,driver,case,asked,variant,median_ms,low_ms,high_ms,{},share,goal,stable,result\n",
        of_operations_ ? "gflops,rate,rate_gflops" : "gb_per_s,copy,copy_gb_per_s");
  }
  if (options_.quiet) return;
  const Device& device = this->device();
  print_fitted(device_text(device) + "\n");
  table_.print_head();
}

void BenchTable::skip(const std::string& label, const std::string& variant, const std::string& why) {
  if (!options_.quiet) table_.print_row({label, variant}, "skipped: " + why);
  ++skipped_;
}

std::optional<measure::Buffers> BenchTable::buffers(const std::string& label, std::size_t bytes,
                                                    double times) {
  constexpr std::size_t kShort = std::size_t{32} << 20;
  const Device& device = this->device();
  in_queue_ = (options_.queue || bytes < kShort) && device.type != DeviceType::cpu;
  std::unique_ptr<measure::Meter>& meter = meters_.at(in_queue_ ? 1 : 0);
  if (!meter) meter = std::make_unique<measure::Meter>(context());
  if (bytes <= device.max_allocation &&
      times * static_cast<double>(bytes) <= 0.8 * static_cast<double>(device.global_bytes))
    return measure::make_buffers(context(), bytes);
  skip(label, "", "does not fit the device's memory");
  return std::nullopt;
}

void BenchTable::print(const BenchRow& row, const Plan& plan, const measure::Measurement& m,
                       const CallCosts& costs, const std::optional<std::string>& wrong) {
  const bool automatic = row.variant.empty();
  const double goal = automatic ? row.goal : 0;
  copy_name_ = m.copy_name;
  if (row.operations > 0 && !rates_) rates_ = measure_rates(context());
  Result result{.group = options_.group,
                .operation = plan.operation,
                .label = row.label,
                .asked = automatic ? "auto" : row.variant,
                .seconds = m.call,
                .bytes = m.bytes,
                .operations = row.operations > 0 ? row.operations : plan.prediction.operations,
                .copy_rate = row.operations > 0 ? 0 : m.copy_rate,
                .fp32_rate = row.operations > 0 ? rates_->fp32 : 0,
                .goal = goal,
                .wrong = wrong.value_or(""),
                .costs = costs};
  set_plan(result, device(), plan);
  std::string verdict = goal == 0 ? "" : result.share() >= goal ? "PASS" : "MISS";
  if (wrong) verdict = fmt::format("WRONG: {}", *wrong);
  if (!m.stable()) verdict += verdict.empty() ? "unstable" : " unstable";
  ++rows_;
  wrong_ += wrong ? 1 : 0;
  missed_ += result.share() < goal ? 1 : 0;
  if (!options_.quiet) print_row(result, m, verdict);
  if (csv_.is_open()) {
    csv_ << fmt::format(
        "\"{}\",\"{}\",\"{}\",{},{},{:.6f},{:.6f},{:.6f},{:.3f},\"{}\",{:.3f},{:.4f},{},{},{}\n",
        device().name, device().driver, row.label, result.asked, plan.variant, m.call.median * 1e3,
        m.call.low * 1e3, m.call.high * 1e3, result.rate() * 1e-9, of_operations_ ? "fp32" : m.copy_name,
        (result.by_operations() ? result.fp32_rate : result.copy_rate) * 1e-9, result.share(),
        goal > 0 ? fmt::format("{}", goal) : "", m.stable() ? "yes" : "no", wrong ? "wrong" : "right");
  }
  record(device(), std::move(result));
}

void BenchTable::print_row(const Result& r, const measure::Measurement& m, const std::string& verdict) {
  table_.print_row(
      {r.label, r.asked == "auto" ? fmt::format("auto: {}", r.variant) : r.asked,
       fmt::format("{:.4f}", m.call.median * 1e3), fmt::format("{:.1f} %", 100 * m.call.spread()),
       number_text(r.rate() * 1e-9), number_text((r.by_operations() ? r.fp32_rate : r.copy_rate) * 1e-9),
       fmt::format("{:.3f}", r.share()), r.goal > 0 ? fmt::format("{:.3f}", r.goal) : "",
       build_text(r.costs.build), host_text(r.costs.host)},
      verdict);
}

int BenchTable::end() {
  if (rows_ > 0 && !options_.quiet) {
    print_fitted(fmt::format(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %;\n{};\n{};\n"
        "built: compiled in the first call, if no cache had it; host: until a call returns.\n"
        "{}\n",
        fmt::format("{}: {}", of_operations_ ? "GFLOP/s" : "GB/s", traffic_),
        of_operations_
            ? std::string("fp32: the rate that the device reaches (smem bench rates), whatever the type")
            : fmt::format("copy: bytes read and written by {}, in turns with the operation", copy_name_),
        options_.seconds != 0
            ? std::string("Results are not compared with a plain loop.")
            : fmt::format("{} result(s) compared with a plain loop: {}.", rows_,
                          wrong_ == 0 ? std::string("all right") : fmt::format("{} wrong", wrong_))));
  }
  if (csv_.is_open()) {
    if (!csv_.finish()) refuse_csv(options_.csv);
  }
  if (wrong_ > 0) {
    std::fflush(stdout);
    fmt::print(stderr, "smem: {} wrong result(s)\n", wrong_);
    return kFailure;
  }
  // Lists go on without what a device cannot do; what was asked for by itself must have been done.
  if (!options_.is_list() && !options_.all_variants && skipped_ > 0) return kFailure;
  // At small sizes a miss says little, so only the full goals decide the exit code.
  return (options_.lists.goals || options_.lists.weak) && missed_ > 0 ? kFailure : kGood;
}

}  // namespace smem::cli
