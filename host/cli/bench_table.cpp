#include "cli/bench_table.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace smem::cli {

namespace {

constexpr int kMostValues = 1000;  // of an option; with no limit, CLI11 takes one
constexpr const char* kRow = "{:<42}{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>10}{:>9}{:>7}  {}\n";

[[noreturn]] void refuse_csv(const std::string& got) {
  throw Error(
      {.operation = "bench", .argument = "--csv", .expected = "a file that can be written", .got = got});
}

/// Calls `run` for each combination of the options' values.
void for_each_value(const std::vector<Option>& options, std::size_t from, const std::function<void()>& run) {
  while (from < options.size() && options[from].values().size() < 2)
    ++from;
  if (from == options.size()) return run();
  for (const std::string& value : options[from].values()) {
    options[from].set(value);
    for_each_value(options, from + 1, run);
  }
}

/// Whether a list was asked for by a command beside this one, or by the one above.
bool is_asked_elsewhere(Command command, const char* flag) {
  const Command above = command.parent();
  const std::vector<Command> beside = above.chosen();
  return above.is_given(flag) ||
         std::any_of(beside.begin(), beside.end(), [&](Command one) { return one.is_given(flag); });
}

using RunList = std::function<void(const std::string& device, bool small)>;
std::vector<RunList>& lists() {
  static std::vector<RunList> all;
  return all;
}

}  // namespace

std::vector<std::string> BenchOptions::variants_of(const std::vector<std::string_view>& names) const {
  std::vector<std::string> all = variants;
  if (all.empty()) all.emplace_back();
  if (all_variants) all.insert(all.end(), names.begin(), names.end());
  return all;
}

void add_bench_options(Command command, BenchOptions& options, const std::vector<std::string_view>& names,
                       const std::vector<Option>& of_one, const std::vector<Option>& asked, int& exit_code,
                       const std::function<int()>& run, bool takes_many) {
  add_device_option(command, options.device);
  const auto [goals, goals_small] = add_list_flags(command, options.goals, options.goals_small);
  for (const Option option : of_one) {
    option.excludes(goals).excludes(goals_small);
    if (takes_many) option.takes(1, kMostValues);
  }
  command.add_option("--variant", options.variants, "Instead of the plan's own choice; may be repeated")
      .one_of({names.begin(), names.end()});
  command.add_flag("--all-variants", options.all_variants, "The plan's own choice, and then every variant");
  command.add_option("--csv", options.csv, "Write the rows to this file too").type_name("FILE");
  lists().emplace_back([&options, &exit_code, run](const std::string& device, bool small) {
    options.device = device;
    (small ? options.goals_small : options.goals) = true;
    exit_code = std::max(exit_code, run());
  });
  command.on_run([command, &options, &exit_code, of_one, asked, run] {
    const bool named =
        std::any_of(of_one.begin(), of_one.end(), [](Option option) { return option.is_given(); });
    if (!named && !options.is_list()) {
      options.goals = is_asked_elsewhere(command, "--goals");
      options.goals_small = !options.goals && is_asked_elsewhere(command, "--goals-small");
    }
    bool any = options.is_list();
    std::string all;
    for (const Option option : asked) {
      any = any || option.is_given();
      all += option.name() + ", ";
    }
    if (!any) throw_required(all + "--goals, or --goals-small");
    for_each_value(of_one, 0, [&] { exit_code = std::max(exit_code, run()); });
  });
}

std::array<Option, 2> add_list_flags(Command command, bool& goals, bool& goals_small) {
  const Option all =
      command.add_flag("--goals", goals, "The list that smem is judged by; a missed goal is exit code 1");
  return {all,
          command.add_flag("--goals-small", goals_small, "The same at sizes for a quick look").excludes(all)};
}

void run_all_lists(const std::string& device, bool small) {
  for (const RunList& run : lists())
    run(device, small);
}

BenchTable::BenchTable(const BenchOptions& options, std::string traffic)
    : contexts_{Context({.device = options.device, .profiling = true}), Context({.device = options.device})},
      options_(options),
      traffic_(std::move(traffic)) {
  if (!options_.csv.empty()) {
    csv_.open(options_.csv);
    if (!csv_) refuse_csv(options_.csv);
    csv_
        << "device,driver,case,asked,variant,median_ms,low_ms,high_ms,gb_per_s,copy,copy_gb_per_s,share,goal,"
           "stable,result\n";
  }
  if (options_.quiet) return;
  const Device& device = this->device();
  fmt::print("{} ({}, driver {})\n", device.name, device.platform, device.driver);
  fmt::print(fmt::runtime(kRow), "case", "variant", "ms", "spread", "GB/s", "copy", "of copy", "built ms",
             "host us", "goal", "");
  std::fflush(stdout);
}

void BenchTable::skip(const std::string& label, const std::string& variant, const std::string& why) {
  if (!options_.quiet) fmt::print("{:<42}{:<24}skipped: {}\n", label, variant, why);
  ++skipped_;
}

std::optional<measure::Buffers> BenchTable::buffers(const std::string& label, std::size_t bytes,
                                                    double times) {
  constexpr std::size_t kShort = std::size_t{32} << 20;
  const Device& device = this->device();
  of_short_ = bytes < kShort && device.type != DeviceType::cpu;
  std::unique_ptr<measure::Meter>& meter = meters_.at(of_short_ ? 1 : 0);
  if (!meter) meter = std::make_unique<measure::Meter>(context());
  if (bytes <= device.max_allocation &&
      times * static_cast<double>(bytes) <= 0.8 * static_cast<double>(device.global_bytes))
    return measure::make_buffers(context(), bytes);
  skip(label, "", "does not fit the device's memory");
  return std::nullopt;
}

void BenchTable::fill(const measure::Buffers& buffers, const std::vector<unsigned char>& host) const {
  for (const measure::BufferPair& pair : buffers.pairs)
    write_buffer(context(), pair.in, host.data(), host.size());
}

void BenchTable::print(const BenchRow& row, const Plan& plan, const measure::Measurement& m,
                       const CallCosts& costs, const std::optional<std::string>& wrong) {
  const bool automatic = row.variant.empty();
  const double goal = automatic ? row.goal : 0;
  std::string verdict = goal == 0 ? "" : m.share() >= goal ? "PASS" : "MISS";
  if (wrong) verdict = fmt::format("WRONG: {}", *wrong);
  if (!m.stable()) verdict += verdict.empty() ? "unstable" : " unstable";
  copy_name_ = m.copy_name;
  ++rows_;
  wrong_ += wrong ? 1 : 0;
  missed_ += m.share() < goal ? 1 : 0;
  Result result{.operation = plan.operation,
                .label = row.label,
                .asked = automatic ? "auto" : row.variant,
                .seconds = m.call,
                .bytes = m.bytes,
                .operations = plan.prediction.operations,
                .copy_rate = m.copy_rate,
                .goal = goal,
                .wrong = wrong.value_or(""),
                .costs = costs};
  set_plan(result, device(), plan);
  record(device(), std::move(result));
  if (!options_.quiet) print_row(row, plan, m, costs, goal, verdict);
  if (!csv_.is_open()) return;
  csv_ << fmt::format(
      "\"{}\",\"{}\",\"{}\",{},{},{:.6f},{:.6f},{:.6f},{:.3f},\"{}\",{:.3f},{:.4f},{},{},{}\n", device().name,
      device().driver, row.label, automatic ? "auto" : row.variant, plan.variant, m.call.median * 1e3,
      m.call.low * 1e3, m.call.high * 1e3, m.rate() * 1e-9, m.copy_name, m.copy_rate * 1e-9, m.share(),
      goal > 0 ? fmt::format("{}", goal) : "", m.stable() ? "yes" : "no", wrong ? "wrong" : "right");
}

void BenchTable::print_row(const BenchRow& row, const Plan& plan, const measure::Measurement& m,
                           const CallCosts& costs, double goal, const std::string& verdict) const {
  fmt::print(fmt::runtime(kRow), row.label,
             row.variant.empty() ? fmt::format("auto: {}", plan.variant) : row.variant,
             fmt::format("{:.4f}", m.call.median * 1e3), fmt::format("{:.1f} %", 100 * m.call.spread()),
             fmt::format("{:.1f}", m.rate() * 1e-9), fmt::format("{:.1f}", m.copy_rate * 1e-9),
             fmt::format("{:.3f}", m.share()), build_text(costs.build), host_text(costs.host),
             goal > 0 ? fmt::format("{:.3f}", goal) : "", verdict);
  std::fflush(stdout);
}

int BenchTable::end() {
  if (rows_ > 0 && !options_.quiet) {
    fmt::print(
        "ms: median; spread: the middle four fifths of the repetitions, 'unstable' above 5 %;\nGB/s: {};\n"
        "copy: bytes read and written by {}, in turns with the operation;\n"
        "built: compiled in the first call, if no cache had it; host: until a call returns.\n"
        "{} result(s) compared with a plain loop: {}.\n",
        traffic_, copy_name_, rows_, wrong_ == 0 ? "all right" : fmt::format("{} wrong", wrong_));
  }
  if (csv_.is_open()) {
    if (!csv_.finish()) refuse_csv("a write that failed");
  }
  if (wrong_ > 0) {
    std::fflush(stdout);
    fmt::print(stderr, "smem: {} wrong result(s)\n", wrong_);
    return kFailure;
  }
  // Lists go on without what a device cannot do; what was asked for by itself must have been done.
  if (!options_.is_list() && !options_.all_variants && skipped_ > 0) return kFailure;
  // At small sizes a miss says little, so only the full goals decide the exit code.
  return options_.goals && missed_ > 0 ? kFailure : kGood;
}

}  // namespace smem::cli
