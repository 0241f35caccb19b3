// smem bench: the benchmarks, files of their results, and what two such files say of each other.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/beside.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/results.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct BenchCommandOptions {
  std::string json, report, device;
  bool markdown = false;
  Lists lists;
  std::vector<std::string> files;
};

int compare_files(const BenchCommandOptions& options) {
  const Results before = read_results("--compare", options.files.at(0));
  const Results after = read_results("--compare", options.files.at(1));
  if (before.device != after.device || before.driver != after.driver) {
    fmt::print("different devices or drivers: {} (driver {}) and {} (driver {})\n", before.device,
               before.driver, after.device, after.driver);
  }
  Table table({{"operation", 16, Column::Kind::title},
               {"case", 42, Column::Kind::title},
               {"asked", 20, Column::Kind::text},
               {"before ms", 10},
               {"after ms", 10},
               {"faster", 9},
               {"between", 16}},
              18);
  table.print_head();
  std::size_t compared = 0, slower = 0, wrong = 0, alone = 0;
  for (const Result& b : before.rows) {
    const Result* found = nullptr;
    for (const Result& a : after.rows)
      if (a.operation == b.operation && a.label == b.label && a.asked == b.asked) found = &a;
    if (found == nullptr) {
      ++alone;
      continue;
    }
    const Comparison c = compare(b, *found);
    ++compared;
    slower += !c.is_noise() && c.speedup < 1 ? 1 : 0;
    wrong += found->wrong.empty() ? 0 : 1;
    const std::string asked = b.variant == found->variant
                                  ? fmt::format("{}{}", b.asked == "auto" ? "auto: " : "", b.variant)
                                  : fmt::format("{} -> {}", b.variant, found->variant);
    const char* verdict = c.is_noise() ? "inside the noise" : c.speedup > 1 ? "faster" : "SLOWER";
    table.print_row({b.operation, b.label, asked, fmt::format("{:.4f}", b.seconds.median * 1e3),
                     fmt::format("{:.4f}", found->seconds.median * 1e3), fmt::format("x {:.3f}", c.speedup),
                     fmt::format("{:.3f} - {:.3f}", c.low, c.high)},
                    fmt::format("{}{}", verdict, found->wrong.empty() ? "" : " WRONG"));
  }
  print_fitted(fmt::format(
      "faster: time before over time after; between: the same of the ends of both spreads. Where 1 lies "
      "between, the difference is noise.\n{} compared, {} slower, {} wrong, {} in one file alone.\n",
      compared, slower, wrong, alone + after.rows.size() - compared));
  return compared == 0 || slower > 0 || wrong > 0 ? kFailure : kGood;
}

void write_results(const BenchCommandOptions& options, const Results& all) {
  if (!options.json.empty()) write_text("--json", options.json, to_json(all));
  if (!options.report.empty()) write_text("--report", options.report, to_markdown(all));
}

/// The two rates of the roofline, measured anew and kept.
int print_rates(const std::string& device) {
  const Context context({.device = device});
  const Rates rates = measure_rates(context, true);
  print_fitted(device_text(context.device()) + "\n");
  fmt::print("copy  {:>10.1f} GB/s, read and written\nfp32  {:>10.1f} GFLOP/s\n", rates.copy * 1e-9,
             rates.fp32 * 1e-9);
  print_fitted(fmt::format(
      "balance {:>8.1f} operations a byte: below it memory bounds a kernel, above it arithmetic\n",
      rates.fp32 / rates.copy));
  return kGood;
}

void add_rates(CLI::App* bench, Measurements& measurements) {
  CLI::App* const command = bench->add_subcommand(
      "rates", "Measure the device's copy bandwidth and fp32 rate, and keep them for the roofline");
  auto device = std::make_shared<std::string>();
  add_device_option(command, *device);
  command->callback(
      [device, &measurements] { measurements.emplace_back([device] { return print_rates(*device); }); });
}

}  // namespace

void add_bench(CLI::App* root, int& exit_code) {
  CLI::App* const bench = root->add_subcommand(
      "bench", "Measure operations, calls and first calls, one after the other; compare results");
  bench->require_subcommand(0, 0);  // any number
  auto options = std::make_shared<BenchCommandOptions>();
  add_output_option(bench, "--json", options->json, "Write the rows to this file, as JSON");
  bench->add_flag("--markdown", options->markdown, "Also print the rows as tables in Markdown");
  add_output_option(bench, "--report", options->report, "Write the tables in Markdown to this file");
  CLI::Option* const files = bench
                                 ->add_option("--compare", options->files,
                                              "Compare two files of --json: what is faster, what is slower")
                                 ->expected(2, 2)
                                 ->type_name("FILE");
  add_list_flags(bench, options->lists);
  add_device_option(bench, options->device);
  auto measurements = std::make_shared<Measurements>();  // the callback below holds it
  add_bench_operations(bench, *measurements);
  add_bench_banks(bench, *measurements);
  add_rates(bench, *measurements);
  add_bench_host(bench, *measurements);
  add_bench_first_call(bench, *measurements);
  for (CLI::App* const one : bench->get_subcommands([](const CLI::App*) { return true; }))
    one->fallthrough();
  add_beside(bench, "bench",
             "Operations on several ranks, or devices of one: mpirun -np RANKS smem bench distributed");
  // Subcommands are called before bench itself.
  auto at_interrupt = std::make_shared<OnInterrupt>(
      kept([options](const Results& results) { write_results(*options, results); }));
  bench->callback([bench, files, options, at_interrupt, measurements, &exit_code] {
    const bool any = !bench->get_subcommands().empty(), lists = options->lists.any();
    if ((any || lists) == (files->count() > 0))
      throw CLI::RequiredError("A subcommand, --goals, --goals-small, --weak, or --compare with two files");
    if (files->count() > 0) {
      exit_code = compare_files(*options);
      return;
    }
    for (const auto& measure : *measurements)
      exit_code = std::max(exit_code, measure());
    if (!any) exit_code = run_all_lists(options->device, options->lists);
    write_results(*options, recorded());
    if (options->markdown) fmt::print("\n{}", to_markdown(recorded()));
  });
}

}  // namespace smem::cli
