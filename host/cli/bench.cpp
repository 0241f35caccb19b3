// smem bench: the benchmarks, files of their results, and what two such files say of each other.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/results.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options {
  std::string json, device;
  bool markdown = false, goals = false, goals_small = false;
  std::vector<std::string> files;
};

int compare_files(const Options& options) {
  const Results before = read_results("--compare", options.files.at(0));
  const Results after = read_results("--compare", options.files.at(1));
  if (before.device != after.device || before.driver != after.driver) {
    fmt::print("not of one device: {} (driver {}) and {} (driver {})\n", before.device, before.driver,
               after.device, after.driver);
  }
  fmt::print("{:<16}{:<42}{:<20}{:>10}{:>10}{:>9}{:>16}  \n", "operation", "case", "asked", "before ms",
             "after ms", "faster", "between");
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
    fmt::print("{:<16}{:<42}{:<20}{:>10.4f}{:>10.4f}{:>9}{:>16}  {}{}\n", b.operation, b.label,
               b.variant == found->variant ? fmt::format("{}{}", b.asked == "auto" ? "auto: " : "", b.variant)
                                           : fmt::format("{} -> {}", b.variant, found->variant),
               b.seconds.median * 1e3, found->seconds.median * 1e3, fmt::format("x {:.3f}", c.speedup),
               fmt::format("{:.3f} - {:.3f}", c.low, c.high),
               c.is_noise()    ? "inside the noise"
               : c.speedup > 1 ? "faster"
                               : "SLOWER",
               found->wrong.empty() ? "" : " WRONG");
  }
  fmt::print(
      "faster: time before over time after; between: the same of the ends of both spreads. Where 1 lies "
      "between, the difference is noise.\n{} compared, {} slower, {} wrong, {} in one file alone.\n",
      compared, slower, wrong, alone + after.rows.size() - compared);
  return compared == 0 || slower > 0 || wrong > 0 ? kFailure : kGood;
}

void write_results(const Options& options) {
  const Results& all = recorded();
  if (!options.json.empty()) write_text("--json", options.json, to_json(all));
  if (options.markdown) fmt::print("\n{}", to_markdown(all));
}

}  // namespace

void add_bench(Command root, int& exit_code) {
  const Command bench = root.add_command(
      "bench", "Measure operations, calls and first calls, one after the other; compare results");
  bench.require_commands(0, 0);  // any number
  auto options = std::make_shared<Options>();
  bench.add_option("--json", options->json, "Write the rows of operations to this file").type_name("FILE");
  bench.add_flag("--markdown", options->markdown, "Print them once more as a table in Markdown");
  const Option files =
      bench.add_option("--compare", options->files, "Two files of --json: what is faster, what is slower")
          .takes(2, 2)
          .type_name("FILE");
  add_list_flags(bench, options->goals, options->goals_small);
  add_device_option(bench, options->device);
  add_bench_operations(bench, exit_code);
  add_bench_banks(bench, exit_code);
  add_bench_rates(bench);
  add_bench_host(bench, exit_code);
  add_bench_first_call(bench, exit_code);
  for (const Command one : bench.commands())
    one.fall_through();
  // Called after those of the subcommands.
  bench.on_run([bench, files, options, &exit_code] {
    const bool any = !bench.chosen().empty(), lists = options->goals || options->goals_small;
    if ((any || lists) == files.is_given())
      throw_required("A subcommand, --goals, --goals-small, or --compare with two files");
    if (files.is_given()) {
      exit_code = compare_files(*options);
      return;
    }
    if (!any) run_all_lists(options->device, options->goals_small);
    write_results(*options);
  });
}

}  // namespace smem::cli
